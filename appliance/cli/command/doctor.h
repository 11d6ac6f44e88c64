// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "appliance/cli/command/box_page.h"

namespace rocescope {

// What keeps the box that serves at `page` from seeing what it should, each with its remedy. The
// process's exit code: 0 nothing, 1 something, 3 nobody answers.
int RunDoctor(const BoxPage& page);

}  // namespace rocescope
