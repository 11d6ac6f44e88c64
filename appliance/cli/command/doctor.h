// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "appliance/cli/command/daemon_page.h"

namespace rocescope {

// Prints the problems of the appliance at `page`, each with a recommended action. Returns the exit
// code: 0 without problems, 1 with problems, or if no telemetry has been analysed yet, 3 if the
// appliance does not answer.
int RunDoctor(const DaemonPage& page);

}  // namespace rocescope
