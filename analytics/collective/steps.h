// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: the steps of an iteration and their participants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "analytics/collective/channel.h"
#include "analytics/collective/iterations.h"
#include "analytics/collective/shape.h"

namespace rocescope {

// Channels connected by common NICs. They advance together; other rails may drift from them.
struct Component {
  std::vector<uint32_t> channels;
  Iterations iterations;
  bool is_complete = false;      // whether FindCompleteIterations found them
  Bits active;                   // activity of any of the channels
  std::map<uint32_t, Bits> own;  // indexed by NIC: what it sends without waiting for others
};

// A time range of the iteration with activity.
struct Step {
  size_t begin = 0;  // slot, relative to the start of the iteration
  size_t end = 0;    // one past the last slot
};

// What a group of members does in one step.
struct GroupStep {
  size_t number = 0;  // step number
  Step step;
  Shape shape;
  std::vector<Arc> arcs;          // between NICs
  std::vector<uint32_t> members;  // NICs
  double bytes = 0;
};

// Groups in the same step of one component have the same number.
std::vector<GroupStep> StepsOf(const Channels& channels, std::span<const Component> components,
                               Duration width);

}  // namespace rocescope
