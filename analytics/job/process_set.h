// SPDX-License-Identifier: BSD-3-Clause
// The processes of all logs, each once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dataplane/host/nccl_log.h"

namespace rocescope {

struct LoggedProcess {
  const NcclProcess* facts = nullptr;  // in the logs
  std::string source;                  // the log's name
  std::vector<std::string> notes;
};

// "node0:4889"
std::string ProcessName(const NcclProcess& process);

// The same log given twice, or a longer copy of it, counts once. Two processes of one name that
// share no communicator are two: process ids are reused, and containers may share a host's name.
// In an order that does not depend on the order of the logs.
std::vector<LoggedProcess> CollectProcesses(std::span<const NcclLog* const> logs);

}  // namespace rocescope
