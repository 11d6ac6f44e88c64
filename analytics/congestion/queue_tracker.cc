// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/queue_tracker.h"

#include <algorithm>

#include "base/window_row.h"

namespace rocescope {

void QueueTracker::Add(const HopRecord& record) {
  const wire::IntMetadata& told = record.metadata;
  if (record.dropped || !told.Has(wire::kIntPorts) || !told.Has(wire::kIntQueue)) return;
  const topology::NodeIndex node = fabric_.FindSwitchByInt(record.node_id);
  if (node == topology::kNone) return;
  const topology::PortIndex port = fabric_.FindPortByNumber(node, told.egress_port);
  if (port == topology::kNone) return;
  const QueueKey key = {.port = port, .queue = told.queue_id};
  auto at = queues_.find(key);
  if (at == queues_.end()) {
    if (queues_.size() >= options_.queues) {
      ++queues_refused_;
      return;
    }
    at = queues_.emplace(key, std::vector<QueueWindow>()).first;
  }
  QueueWindow* const window =
      EntryOf(at->second, record.arrival_time.time_since_epoch() / options_.window);
  if (window == nullptr) return;
  ++window->packets;
  window->congested += record.congested;
  window->peak_bytes = std::max<uint64_t>(window->peak_bytes, told.queue_occupancy);
  if (told.Has(wire::kIntHopLatency)) {
    window->longest = std::max(window->longest, Duration(told.hop_latency));
  }
}

}  // namespace rocescope
