// SPDX-License-Identifier: BSD-3-Clause
// `rocescope capture`: receives from DPDK ports, prints live counts, and reports at the end.
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
  std::string eal;                 // EAL options, quoted as for a shell
  std::vector<std::string> ports;  // device names or numbers; empty: all ports that EAL finds
  std::optional<Duration>
      seconds;          // unset: until a signal, or until all ports are capture files and end
  uint16_t lcores = 0;  // receiving cores; 0: all of EAL's
  SpreadBy spread = SpreadBy::kAuto;
  uint32_t mbufs = 0;  // mbufs in the pool of each port; 0: as many as its queues need
  AnalysisOptions analysis;
};

// Prints the report to standard output, and live counts and messages to standard error. Returns an
// ExitCode.
int RunCapture(const CaptureRunOptions& options);

}  // namespace rocescope
