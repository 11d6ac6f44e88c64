// SPDX-License-Identifier: BSD-3-Clause
// The sandbox of each command (appliance/common/process/sandbox.h), and the log of its refusals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "appliance/common/config/agent_config.h"
#include "appliance/common/config/config.h"
#include "appliance/common/process/file_access.h"

namespace rocescope {

// The files and directories that the appliance opens after it has started: those that `config` and
// the path of the configuration file name, and of DPDK.
std::vector<FileRule> FilesOf(const ApplianceConfig& config, const std::string& config_path);

// Enters the sandbox of `run` unless the configuration disables it. Returns the restrictions that
// the kernel does not support, which are logged.
std::vector<std::string> SandboxAppliance(const ApplianceConfig& config,
                                          const std::string& config_path);

// Enters the sandbox of `agent` unless the configuration disables it.
void SandboxAgent(const AgentConfig& config);

// Enters the sandbox of `decode` and `replay`, whose inputs are open and which write to standard
// output only.
void SandboxReader();

// Enters the sandbox of `capture`, whose ports receive. Drivers open sockets to query an interface.
void SandboxCapture();

// Prints a message that names the system calls that the sandbox denied, if any.
void ReportDenials();

// Logs system calls that the sandbox denied, each once.
class DenialLog {
 public:
  void Look();

 private:
  uint64_t denied_ = 0;
  size_t logged_ = 0;
};

}  // namespace rocescope
