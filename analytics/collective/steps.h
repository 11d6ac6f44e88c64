// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: what is done in an iteration, step by step, and by whom.
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

// Channels that share NICs: what is in step, whatever other rails do.
struct Component {
  std::vector<uint32_t> channels;
  Iterations iterations;
  Bits active;                   // any of the channels
  std::map<uint32_t, Bits> own;  // by NIC: what it sends of its own accord
};

// A stretch of the iteration in which something is done.
struct Step {
  size_t begin = 0;  // from the iteration's beginning
  size_t end = 0;    // behind it
};

// What a group of members does in one step.
struct GroupStep {
  size_t number = 0;  // of the step
  Step step;
  Shape shape;
  std::vector<Arc> arcs;          // between NICs
  std::vector<uint32_t> members;  // NICs
  double bytes = 0;
};

// Groups that are in the same step of one component have the same number.
std::vector<GroupStep> StepsOf(const Channels& channels, std::span<const Component> components,
                               Duration width);

}  // namespace rocescope
