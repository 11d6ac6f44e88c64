// SPDX-License-Identifier: BSD-3-Clause
// Whether the parts of a fabric hang together. Told by part, so that a loader can say where in its
// file the part stands.
#pragma once

#include <optional>
#include <string>

#include "topology/fabric.h"

namespace rocescope::topology {

// Far above what is built, and low enough that hostile sizes end in an error.
inline constexpr size_t kMaxNodes = size_t{1} << 20;
inline constexpr size_t kMaxPorts = size_t{1} << 20;
inline constexpr size_t kMaxGpus = size_t{1} << 20;
inline constexpr uint32_t kMaxRail = 1023;
inline constexpr uint64_t kMaxBitsPerSecond = 100'000'000'000'000;  // 100 Tb/s
inline constexpr Duration kMaxDelay = std::chrono::seconds(1);

enum class PartKind : uint8_t { kNode, kPort, kLink, kNic, kGpu, kTap };

struct Fault {
  PartKind kind = PartKind::kNode;
  uint32_t index = 0;  // in the parts' array of that kind
  std::string message;
};

// The first thing wrong, of the later of two parts where two contradict each other:
// names not unique or not printable, a port outside its node, a link without two ends on two nodes
// or without speed, a host's port without exactly one NIC, an address twice in a segment, a GPU
// with another host's NIC, a tap on a host or on ports of another switch.
std::optional<Fault> FindFault(const Fabric::Parts& parts);

// Whether it may name a node: 1 to 255 printable characters of ASCII without spaces, ':' (it parts
// node and port), '"', and '[', ']' and ',' (they make ranges of names).
bool IsNodeName(std::string_view name);
// Whether it may name a port, a device or a fabric: likewise, but ':' and inner spaces are allowed.
bool IsPortName(std::string_view name);

}  // namespace rocescope::topology
