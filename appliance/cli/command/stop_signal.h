// SPDX-License-Identifier: BSD-3-Clause
// Ctrl-C, and what systemd or timeout(1) send: the first SIGINT or SIGTERM ends the input, so that
// `tcpdump -w - | rocescope replay -` prints its report; a second one ends the process at once.
#pragma once

#include "dataplane/source/tap.h"

namespace rocescope {

// Once, before the inputs are opened. A signal that the caller ignores (nohup, a shell's background
// job) stays ignored.
void EndInputOnSignal();

// Whether one has come.
bool InputEndedBySignal();

// SIGHUP, which ends a process else, asks from now on to read anew what can be.
void TakeReloadSignal();
// Whether one has come since the last call.
bool ReloadAskedFor();

// Whether one ended a capture that came by standard input alone: the way to end it, and no damage,
// though the last packet may be cut.
bool LiveInputEndedBySignal(const CaptureTaps& captures);

}  // namespace rocescope
