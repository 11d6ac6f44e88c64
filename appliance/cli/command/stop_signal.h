// SPDX-License-Identifier: BSD-3-Clause
// The first SIGINT or SIGTERM ends the input, so that `tcpdump -w - | rocescope replay -` prints
// its report; a second one ends the process immediately.
#pragma once

#include "dataplane/source/tap.h"

namespace rocescope {

// Call this once, before opening the inputs. A signal that the caller ignores (nohup, a shell's
// background job) stays ignored.
void EndInputOnSignal();

// Returns whether a signal was received.
bool InputEndedBySignal();

// Makes SIGHUP request a reload instead of ending the process.
void TakeReloadSignal();
// Makes SIGHUP have no effect.
void IgnoreReloadSignal();
// Returns whether SIGHUP was received since the last call.
bool ReloadAskedFor();

// Returns whether a signal ended a capture that was read from standard input only. That is the
// regular way to end it, even if the last packet is truncated.
bool LiveInputEndedBySignal(const CaptureTaps& captures);

}  // namespace rocescope
