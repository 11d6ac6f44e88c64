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

}  // namespace rocescope
