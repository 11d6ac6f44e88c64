// SPDX-License-Identifier: BSD-3-Clause
// Drops root privileges permanently.
#pragma once

#include <string>

#include "base/result.h"

namespace rocescope {

// True if this process runs as root or has a capability (capabilities(7)).
bool IsPrivileged();

// Switches all threads of this process permanently to `user`, with that user's groups and without
// capabilities. Open files and devices stay open. Has no effect if the process already runs as that
// user. On error the process is unchanged, except for kInternal, after which it must exit.
Status BecomeUser(const std::string& user);

// Removes all capabilities from the bounding set of the calling thread and of threads that it
// starts later: no program that they execute can have one. Present capabilities stay. Has no effect
// without CAP_SETPCAP, which root has.
void ClearCapabilityBounds();

// Sets no_new_privs for all threads, and drops the capabilities that are not needed after devices
// and telemetry sockets are open. Kept are the right to listen on ports below 1024, to raise the
// priority of polling threads, and to open files of other users; with `reads_processes`, also the
// right to read other users' processes.
Status DropUnneededCapabilities(bool reads_processes);

}  // namespace rocescope
