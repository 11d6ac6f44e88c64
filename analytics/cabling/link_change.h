// SPDX-License-Identifier: BSD-3-Clause
// When links came and went, as their ends' counters tell.
#pragma once

#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

// A link's state changed later than `after`, when it was last read before, and by `by`.
struct LinkChange {
  topology::LinkIndex link = topology::kNone;
  Timestamp after;
  Timestamp by;
  bool up = false;  // from then on
};

}  // namespace rocescope
