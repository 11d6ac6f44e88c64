// SPDX-License-Identifier: BSD-3-Clause
// Which of a run's telemetry to look at: `replay --only leaf-mirror,sflow` sees what a fabric with
// nothing else would have shown.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace rocescope {

// Of the mirrored frames.
enum class MirrorSessions : uint8_t {
  kNone,
  kAll,
  kPorts,      // sessions whose frames name their port
  kLeafPorts,  // the same, of leaves alone
  kPortSets,   // sessions whose frames do not
};

// What is off is left alone as if it had not been recorded.
struct RunParts {
  MirrorSessions mirror = MirrorSessions::kAll;
  bool int_reports = true;
  bool sflow = true;
  bool counters = true;
  bool switch_counters = false;  // without `counters`: of these, what switches' ports count alone
  bool nccl_logs = true;
  bool rdma = true;
  bool slurm = true;
};

// Words with commas between them; the error names the one that is unknown, and those that are not.
Result<RunParts> ParseRunParts(std::string_view text);

}  // namespace rocescope
