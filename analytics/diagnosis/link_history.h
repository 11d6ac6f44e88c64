// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "topology/fabric.h"

namespace rocescope {

// History of one link over the windows.
struct LinkHistory {
  size_t first = 0;              // window of the first sign
  size_t behind = 0;             // window after the last sign
  uint64_t times = 0;            // times that it went down; the larger number of both ends
  std::optional<size_t> second;  // window in which it went down for the second time
  bool any = false;
  bool was_up = false;  // at any time, as an end reports
  bool is_told = false;
};

using LinkHistories = std::vector<LinkHistory>;  // indexed by link

}  // namespace rocescope
