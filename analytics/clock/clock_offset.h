// SPDX-License-Identifier: BSD-3-Clause
// The answer of the clock analysis: by how much the clocks differ that telemetry is stamped with.
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
  std::string name;        // "leaf0", "INT node 7", "172.16.0.9"; of a capture, see tap
  uint16_t tap = 0;        // of a capture: its number
  uint32_t group = 0;      // clocks of one group are tied to each other; from 0
  bool reference = false;  // the zero of its group
  // Its time less the reference's is within offset -+ uncertainty, if not unset: then no packets
  // tie the two both ways, directly or by others.
  std::optional<Duration> offset;
  Duration uncertainty{};
  // By how much the difference grows, in parts of 10^9, where it grew beyond all doubt.
  std::optional<double> drift_ppb;
  uint64_t packets = 0;  // that were seen at another clock too
};

struct ClockAnswer {
  std::vector<ClockOffset> clocks;  // in order of kind and name
  uint64_t contradictions = 0;      // windows of which no offsets would explain all packets
  uint64_t pairs_refused = 0;       // packets of clocks, or pairs of them, beyond the capacity
};

}  // namespace rocescope
