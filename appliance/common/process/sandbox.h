// SPDX-License-Identifier: BSD-3-Clause
// What a program cannot do even if an attacker runs code in it: gain privileges, make system calls
// that it does not need, and open files that its configuration does not name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "appliance/common/process/file_access.h"
#include "appliance/common/process/system_call_filter.h"

namespace rocescope {

struct SandboxOptions {
  SandboxedProgram program = SandboxedProgram::kReader;
  // Files in addition to those of the system (SystemFiles). Unset: no restriction of files, because
  // with Landlock a process cannot read the environment of processes outside its sandbox.
  std::optional<std::vector<FileRule>> files;
  bool reads_processes = false;  // keep CAP_SYS_PTRACE, which reading other users' processes needs
};

// Files that libraries read: shared libraries, time zones, name resolution, this process, devices.
std::vector<FileRule> SystemFiles();

// Restricts all threads, permanently: no_new_privs, capabilities that are not needed after devices
// and sockets are open, files, system calls. Call it after the devices are open and the user is
// switched, and before connections are accepted. A restriction that the kernel does not support is
// omitted: returns a sentence for each. A build with sanitizers has no sandbox, because they need
// forbidden calls.
std::vector<std::string> EnterSandbox(const SandboxOptions& options);

// False for a build with sanitizers.
bool HasSandbox();

}  // namespace rocescope
