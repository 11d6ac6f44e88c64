// SPDX-License-Identifier: BSD-3-Clause
// `rocescope healthcheck`: checks the state of a running appliance, for container health checks and
// watchdogs.
#pragma once

#include "appliance/cli/command/daemon_page.h"

namespace rocescope {

// Prints the state and the problems of the appliance at `page` ("http://127.0.0.1:8080/"), one line
// each. Returns an ExitCode: kExitSuccess if it is serving or waits for its first telemetry,
// kExitDamaged if it is degraded, kExitUnreadable if it does not answer.
int RunHealthcheck(const DaemonPage& page);

}  // namespace rocescope
