// SPDX-License-Identifier: BSD-3-Clause
// Runs a function on every thread of this process, because capabilities and Landlock rules belong
// to threads and the kernel has no call that changes them for a whole process.
#pragma once

#include <cstddef>

namespace rocescope {

// Runs `action` on each other thread in a signal handler, so that it may call async-signal-safe
// functions only (signal-safety(7)), and then on the calling thread. Threads that start meanwhile
// are included. Returns the number of threads on which it returned false, or that did not run it
// within a second because they block the signal. At most one call at a time in a process.
size_t RunOnEveryThread(bool (*action)());

}  // namespace rocescope
