// SPDX-License-Identifier: BSD-3-Clause
// `rocescope run`: runs the appliance until a signal. `rocescope config`: checks and prints its
// configuration.
#pragma once

#include <string>

#include "appliance/cli/command/analysis.h"
#include "appliance/cli/command/log.h"

namespace rocescope {

struct DaemonRunOptions {
  std::string config;  // path
  ReportFormat format = ReportFormat::kText;
  LogFormat log_format = LogFormat::kText;
};

// Runs the appliance. Prints one line to standard output for each fault that starts, is resolved or
// is withdrawn, and the log to standard error. Returns an ExitCode: kExitUnreadable if something
// that the configuration names cannot be opened, kExitDamaged if a source fails.
int RunDaemon(const DaemonRunOptions& options);

// Validates the file and prints its errors.
int RunConfigCheck(const std::string& path);
// Prints the file with all keys, or the defaults if the path is empty.
int RunConfigDump(const std::string& path);

}  // namespace rocescope
