// SPDX-License-Identifier: BSD-3-Clause
// `rocescope run`: the appliance until a signal; `rocescope config`: what it would be told.
#pragma once

#include <string>

#include "appliance/cli/command/analysis.h"

namespace rocescope {

struct BoxRunOptions {
  std::string config;  // a file
  ReportFormat format = ReportFormat::kText;
};

// A line for each fault that begins, is over or is taken back goes to standard output, messages go
// to standard error. Returns an ExitCode: kExitUnreadable where something that the configuration
// names cannot be opened, kExitDamaged where a source failed meanwhile.
int RunBox(const BoxRunOptions& options);

// Whether the file can be read; says what is wrong with it.
int RunConfigCheck(const std::string& path);
// The file with all keys, or without one (empty) the defaults.
int RunConfigDump(const std::string& path);

}  // namespace rocescope
