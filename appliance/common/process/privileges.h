// SPDX-License-Identifier: BSD-3-Clause
// From root to a user who may do nothing special, for good.
#pragma once

#include <string>

#include "base/result.h"

namespace rocescope {

// Whether this process runs as root, or with a capability (capabilities(7)).
bool IsPrivileged();

// All threads of this process become `user`, with that user's groups, without capabilities, and
// with no way back. Files and devices that are open stay so. Nothing if the process
// is that user's already. The error says why it was not done; the process is as it was then, or it
// is kInternal and the process must end.
Status BecomeUser(const std::string& user);

}  // namespace rocescope
