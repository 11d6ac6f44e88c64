// SPDX-License-Identifier: BSD-3-Clause
// The end of the process when an exception leaves a thread, a destructor or a noexcept function:
// a message and a documented exit code, not a signal. A service manager then restarts it.
#pragma once

namespace rocescope {

// From now on, an exception that nothing catches ends the process with kExitOutput, after a message
// on standard error. Files are left as after a kill: destructors do not run, because other threads
// still use their objects.
void EndOnUncaughtExceptions();

// Writes a message about a lack of memory to standard error, without allocating. `advice` continues
// the sentence, or is empty.
void ReportOutOfMemory(const char* advice);

}  // namespace rocescope
