// SPDX-License-Identifier: BSD-3-Clause
// The kind of a collective by who sends how much to whom.
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
  double bytes = 0;      // an iteration
  double transfers = 0;  // likewise: messages, those that follow a full one as part of it
  double center = 0;     // when it sent, from the iteration's beginning: stretches of the time line
  double length = 0;     // how long, in the same unit
  double onset = 0;      // its first packet, likewise
};

struct Shape {
  CollectiveKind kind = CollectiveKind::kUnknown;
  std::optional<CollectiveKind> alternative;
  double confidence = 0;
};

// Of one group, connected by `arcs`: at most one for an ordered pair. `host_of` by member; members
// of one host are not expected to send to each other over the fabric.
Shape ShapeOf(std::span<const Arc> arcs, std::span<const uint32_t> host_of);

}  // namespace rocescope
