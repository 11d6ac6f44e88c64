// SPDX-License-Identifier: BSD-3-Clause
// Packet and byte counters that contradict others or cannot be right. No silent loss is derived
// from wrong packet counters.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/fabric.h"

namespace rocescope {

class DiagnosisInput;

enum class CounterDefect : uint8_t {
  kShortFrames,   // fewer bytes per packet than any frame has: only the bytes are wrong
  kLongFrames,    // more bytes per packet than any frame has
  kRounded,       // only multiples of a large number
  kFalls,         // often lower than the reading before
  kSurplus,       // one end of the link received more packets than the other end sent
  kBytesAgree,    // the ends of the link count different packets, but the same bytes
  kMostMismatch,  // most links of these ports seem to lose frames
};
inline constexpr size_t kCounterDefects = 7;

struct UnusableCounters {
  CounterDefect defect{};
  std::vector<topology::PortIndex> ports;  // ascending
  // Of the first port, see CounterProblem; 0 for defects that have no such value.
  double value = 0;

  friend bool operator==(const UnusableCounters&, const UnusableCounters&) = default;
};

// Whether the packets that one port sent can be compared with those that another port received.
bool AreUsable(const DiagnosisInput& input, topology::PortIndex sender,
               topology::PortIndex receiver);

// Whether the packets that the port received can be compared with the errors among them.
bool CountsExposure(const DiagnosisInput& input, topology::PortIndex receiver);

// Packets that the other end of the link received beyond those that the port counted as sent, in
// the stored windows. If the ends are read at different times, an estimate from the whole time.
uint64_t SurplusFrom(const DiagnosisInput& input, topology::PortIndex sender);
inline bool HasSurplus(const DiagnosisInput& input, topology::PortIndex sender) {
  return SurplusFrom(input, sender) > 0;
}
// Packets that a switch seems to lose because it counts other packets than its neighbours.
uint64_t SurplusAt(const DiagnosisInput& input, topology::NodeIndex node);

// Whether the received and sent packets of all ports of the switch can be added up.
bool AreUsable(const DiagnosisInput& input, topology::NodeIndex node);

// At most one for each defect, in this order. Each port is in one of them.
std::vector<UnusableCounters> UnusableCountersIn(const DiagnosisInput& input);

}  // namespace rocescope
