// SPDX-License-Identifier: BSD-3-Clause
// `rocescope capture`: DPDK ports in, live counts while it runs, the report of a replay at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "appliance/cli/command/analysis.h"
#include "base/time.h"
#include "dataplane/port/spread_by.h"

namespace rocescope {

struct CaptureRunOptions {
  std::string eal;                  // EAL's words, quoted as a shell takes them
  std::vector<std::string> ports;   // device names or numbers; none: all that EAL found
  std::optional<Duration> seconds;  // none: until a signal, or until all ports are files that ended
  uint16_t lcores = 0;              // that receive; 0: all of EAL's
  SpreadBy spread = SpreadBy::kAuto;
  uint32_t mbufs = 0;  // of each port's pool; 0: enough for its queues
  AnalysisOptions analysis;
};

// Prints to standard output; live counts and messages go to standard error. Returns an ExitCode.
int RunCapture(const CaptureRunOptions& options);

}  // namespace rocescope
