// SPDX-License-Identifier: BSD-3-Clause
// `rocescope healthcheck`: asks a running box how it is, for containers and watchdogs.
#pragma once

#include "appliance/cli/command/box_page.h"

namespace rocescope {

// `page` is where it serves: "http://127.0.0.1:8080/". Prints its state, and its problems, a line
// each. Returns an ExitCode: kExitSuccess where it serves or waits for its first telemetry,
// kExitDamaged where it has problems, kExitUnreadable where nobody answers.
int RunHealthcheck(const BoxPage& page);

}  // namespace rocescope
