// SPDX-License-Identifier: BSD-3-Clause
// Results of the clock analysis: offsets between the clocks that timestamp the telemetry.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace rocescope {

enum class StampKind : uint8_t { kMirror, kInt, kCapture };

struct ClockOffset {
  StampKind kind = StampKind::kMirror;
  std::string name;        // "leaf0", "INT node 7", "172.16.0.9"; for a capture, see `tap`
  uint16_t tap = 0;        // tap number of a capture
  uint32_t group = 0;      // clocks of one group are bounded relative to each other; starts at 0
  bool reference = false;  // whether this clock is the reference of its group
  // This clock minus the reference clock is within offset +- uncertainty. Unset: no packets bound
  // the difference in both directions, directly or through other clocks.
  std::optional<Duration> offset;
  Duration uncertainty{};
  // Rate of change of the offset in parts per billion. Set only where a drift is certain.
  std::optional<double> drift_ppb;
  uint64_t packets = 0;  // packets that were also observed by another clock
};

struct ClockAnswer {
  std::vector<ClockOffset> clocks;  // sorted by kind and name
  uint64_t contradictions = 0;  // windows in which no set of offsets is consistent with all packets
  // Packets of clocks, or pairs of clocks, dropped because a table was full.
  uint64_t pairs_refused = 0;
};

}  // namespace rocescope
