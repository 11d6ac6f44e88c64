// SPDX-License-Identifier: BSD-3-Clause
// `rocescope agent`: reports data of a GPU host to the appliance.
#pragma once

#include <string>
#include <vector>

#include "appliance/cli/command/log.h"

namespace rocescope {

struct AgentRunOptions {
  std::string config;  // a file; empty: use the defaults
  // Values from the command line, which override the file's; empty: none.
  std::string appliance;
  std::string host;
  std::vector<std::string> nccl_logs;
  LogFormat log_format = LogFormat::kText;
  bool dump = false;  // print the resulting configuration and exit
};

// Runs until SIGINT or SIGTERM; ignores SIGHUP, because it has nothing to reload. Returns an
// ExitCode: kExitUnreadable if something that the configuration names cannot be read, else
// kExitSuccess, even if the appliance never answered (messages report that).
int RunAgent(const AgentRunOptions& options);

}  // namespace rocescope
