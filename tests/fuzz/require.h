// SPDX-License-Identifier: BSD-3-Clause
// How a fuzzer says that something does not hold.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace rocescope {

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

}  // namespace rocescope
