// SPDX-License-Identifier: BSD-3-Clause
// Restricts the system calls of this process (seccomp(2)).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace rocescope {

// Programs with different system calls.
enum class SandboxedProgram : uint8_t {
  kAppliance,  // `run`: network, and files to write
  kAgent,      // `agent` and `capture`: network
  kReader,     // `decode` and `replay`: neither, except for what is already open
};

// Restricts all threads. System calls that no row of the table in system_call_filter.cc permits
// fail with EPERM and are counted. Those that only an attacker would use (execve, ptrace, mount,
// ...) end the process with SIGSYS. Sets no_new_privs. An error (kUnimplemented: the kernel has no
// seccomp) leaves the process as it was.
Status RestrictSystemCalls(SandboxedProgram program);

// Number of system calls that failed because of the filter.
uint64_t DeniedSystemCalls();

// Their names, each once.
std::vector<std::string> NamesOfDeniedSystemCalls();

}  // namespace rocescope
