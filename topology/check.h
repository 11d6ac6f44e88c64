// SPDX-License-Identifier: BSD-3-Clause
// Checks the consistency of a fabric's parts. The result names the faulty part, so that a loader
// can report its position in the file.
#pragma once

#include <optional>
#include <string>

#include "topology/fabric.h"

namespace rocescope::topology {

// Far above real fabrics, and low enough that hostile sizes give an error.
inline constexpr size_t kMaxNodes = size_t{1} << 20;
inline constexpr size_t kMaxPorts = size_t{1} << 20;
inline constexpr size_t kMaxGpus = size_t{1} << 20;
inline constexpr uint32_t kMaxRail = 1023;
inline constexpr uint64_t kMaxBitsPerSecond = 100'000'000'000'000;  // 100 Tb/s
inline constexpr Duration kMaxDelay = std::chrono::seconds(1);

enum class PartKind : uint8_t { kNode, kPort, kLink, kNic, kGpu, kTap };

struct Fault {
  PartKind kind = PartKind::kNode;
  uint32_t index = 0;  // index in the array of that kind
  std::string message;
};

// Returns the first inconsistency. If two parts contradict each other, the error is reported for
// the later one. Examples are a duplicate or invalid name, a port outside its node's range, a link
// without two ends on two nodes or without a speed, a host port that does not belong to exactly one
// NIC, a duplicate address in a segment, a GPU with a NIC of another host, and a tap on a host or
// on ports of another switch.
std::optional<Fault> FindFault(const Fabric::Parts& parts);

// Returns whether `name` is valid for a node: 1 to 255 printable ASCII characters without spaces,
// ':' (separates node and port), '"', and '[', ']' and ',' (used in name ranges).
bool IsNodeName(std::string_view name);
// Returns whether `name` is valid for a port, a device or a fabric: as for a node, but ':' and
// inner spaces are allowed.
bool IsPortName(std::string_view name);

}  // namespace rocescope::topology
