// SPDX-License-Identifier: BSD-3-Clause
// Classifies a collective by the amount and order of data between its members.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analytics/collective/collective.h"

namespace rocescope {

// What one member sent to another in this step.
struct Arc {
  uint32_t from = 0;
  uint32_t to = 0;
  double bytes = 0;      // bytes per iteration
  double transfers = 0;  // messages per iteration; the parts of a split message count once
  double center = 0;  // centre of the transmission in slots, relative to the start of the iteration
  double length = 0;  // duration in slots
  double onset = 0;   // first packet in slots, relative to the start of the iteration
};

struct Shape {
  CollectiveKind kind = CollectiveKind::kUnknown;
  std::optional<CollectiveKind> alternative;
  double confidence = 0;
};

// `arcs` connect one group, with at most one arc per ordered pair. `host_of` is indexed by
// member. Members on the same host are not expected to send to each other over the fabric.
Shape ShapeOf(std::span<const Arc> arcs, std::span<const uint32_t> host_of);

}  // namespace rocescope
