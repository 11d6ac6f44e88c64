// SPDX-License-Identifier: BSD-3-Clause
// Load of each link from the counters at its ends or, without counters, from the flows observed on
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analytics/metric/metric_store.h"
#include "analytics/path/path.h"
#include "topology/fabric.h"

namespace rocescope {

enum class LoadSource : uint8_t {
  kNone,      // no data
  kCounters,  // bytes counted by the sender, otherwise by the receiver
  kPaths,     // only flows with a certain path here; bytes of other flows are missing
};

// One direction of a link in one analysis window.
struct LinkLoad {
  topology::PortIndex port = topology::kNone;  // sending port
  LoadSource source = LoadSource::kNone;       // source of `bytes`
  uint64_t bytes = 0;                          // bytes on the wire
  uint64_t marked = 0;                         // packets CE-marked in its queues
  uint64_t dropped = 0;                        // packets dropped because a queue was full
  Duration paused{};        // time for which PFC paused the port, summed over priorities
  uint64_t peak_bytes = 0;  // maximum depth of one of its queues; 0: not reported
  uint64_t errors = 0;      // frames received with errors at the other end

  friend bool operator==(const LinkLoad&, const LinkLoad&) = default;
};

struct LinkLoads {
  // Start of the window; unset if there is no data yet.
  std::optional<Timestamp> from;
  Duration window{};
  std::vector<LinkLoad> loads;  // ascending by port; only links with data
};

// Returns the latest window for which at least 90 % of the ports with counters have complete
// readings; without counters, the latest complete window with observed flows.
LinkLoads LinkLoadsOf(const topology::Fabric& fabric, const MetricStore& metrics,
                      const FlowPaths& paths);

// Returns the share of the link's speed that `load` used in a window of this length, from 0 to 1;
// nullopt: unknown.
std::optional<double> UtilizationOf(const topology::Fabric& fabric, const LinkLoad& load,
                                    Duration window);

}  // namespace rocescope
