// SPDX-License-Identifier: BSD-3-Clause
// Selects the telemetry of a run: `replay --only leaf-mirror,sflow` emulates a fabric that has no
// other telemetry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

// The selected mirror sessions.
enum class MirrorSessions : uint8_t {
  kNone,
  kAll,
  kPorts,      // sessions whose frames contain port information
  kLeafPorts,  // the same, on leaves only
  kPortSets,   // sessions whose frames contain no port information
};

// Parts that are off are ignored, as if they were not recorded.
struct RunParts {
  MirrorSessions mirror = MirrorSessions::kAll;
  bool int_reports = true;
  bool sflow = true;
  bool counters = true;
  bool switch_counters = false;  // without `counters`: only the counters of switch ports
  bool nccl_logs = true;
  bool rdma = true;
  bool slurm = true;
};

// Parses comma-separated words. The error names the unknown word and lists the known words.
Result<RunParts> ParseRunParts(std::string_view text);

}  // namespace rocescope
