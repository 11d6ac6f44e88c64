// SPDX-License-Identifier: BSD-3-Clause
// Assertions for fuzzers.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace rocescope {

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "requirement failed: %s\n", what);
  std::abort();
}

}  // namespace rocescope
