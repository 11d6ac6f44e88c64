// SPDX-License-Identifier: BSD-3-Clause
// Link state changes according to the counters of both ends.
#pragma once

#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

// The link's state changed in the interval (after, by], between two readings.
struct LinkChange {
  topology::LinkIndex link = topology::kNone;
  Timestamp after;
  Timestamp by;
  bool up = false;  // new state
};

}  // namespace rocescope
