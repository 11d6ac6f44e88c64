// SPDX-License-Identifier: BSD-3-Clause
// `rocescope agent`: on a host with GPUs, tells the box what only the host knows.
#pragma once

#include <string>
#include <vector>

namespace rocescope {

struct AgentRunOptions {
  std::string config;  // a file; empty: the defaults
  // What the command line says beside it, and stands before it; empty: nothing.
  std::string box;
  std::string host;
  std::vector<std::string> nccl_logs;
  bool dump = false;  // print the configuration that results, and do nothing
};

// Until a signal. Returns an ExitCode: kExitUnreadable where something that the configuration names
// cannot be read; kExitSuccess though the box may never have answered, which messages told.
int RunAgent(const AgentRunOptions& options);

}  // namespace rocescope
