// SPDX-License-Identifier: BSD-3-Clause
// The processes of all logs without duplicates.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dataplane/host/nccl_log.h"

namespace rocescope {

struct LoggedProcess {
  const NcclProcess* facts = nullptr;  // points into the logs
  std::string source;                  // name of the log
  std::vector<std::string> notes;
};

// "node0:4889"
std::string ProcessName(const NcclProcess& process);

// The same log given twice, or a longer copy of it, counts once. Two processes with the same name
// but no common communicator are different: process IDs are reused, and containers may share a host
// name. The order of the result does not depend on the order of the logs.
std::vector<LoggedProcess> CollectProcesses(std::span<const NcclLog* const> logs);

}  // namespace rocescope
