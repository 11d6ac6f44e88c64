// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <csignal>

namespace rocescope {

// Call this first in main. A write beyond the limit on the size of files (RLIMIT_FSIZE, `ulimit
// -f`) then fails with EFBIG and is reported like a full disk; by default, the signal SIGXFSZ
// terminates the process.
inline void IgnoreFileSizeSignal() { std::signal(SIGXFSZ, SIG_IGN); }

}  // namespace rocescope
