// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/mark_tracker.h"

#include <algorithm>
#include <cstddef>

#include "base/window_row.h"

namespace rocescope {
namespace {

uint64_t NoticesIn(const FlowRecord& record) {
  return record.class_packets[static_cast<size_t>(OperationClass::kCnp)];
}

}  // namespace

void MarkTracker::LearnTap(const TapLocation& place) {
  if (place.tap >= of_tap_.size()) of_tap_.resize(size_t{place.tap} + 1, topology::kNone);
  // An egress copy may be taken before or after the packet is marked.
  if (place.side == TapSide::kEgress) return;
  const topology::NodeIndex node = fabric_.FindSwitchByErspan(place.switch_address);
  of_tap_[place.tap] = node;
  if (node == topology::kNone) return;
  if (!place.has_port) {
    nodes_seen_.insert(node);
  } else if (const auto port = fabric_.FindPortByNumber(node, place.port);
             port != topology::kNone) {
    ports_seen_.insert(port);
  }
}

// First find out which flows are marked, because observations without marks may come first.
void MarkTracker::Add(const RecordBatch& batch) {
  for (const FlowRecord& record : batch.flows) {
    if ((record.ce_marked == 0 && NoticesIn(record) == 0) || NodeOf(record.tap) == topology::kNone)
      continue;
    if (flows_.contains(record.flow)) continue;
    if (HasRoom(WindowOf(record))) {
      EntryOf(flows_[record.flow], WindowOf(record));
    } else {
      ++flows_refused_;
    }
  }
  if (flows_.empty()) return;
  for (const FlowRecord& record : batch.flows) Add(record);
}

// Evicts flows with only old windows, judged by the majority of windows because one clock may be
// wrong. After a futile search, the next one waits for some refusals.
bool MarkTracker::HasRoom(int64_t window) {
  if (flows_.size() < options_.flows) return true;
  if (refused_since_ > 0 && refused_since_++ < options_.flows / 8) return false;
  std::vector<int64_t> last = {window};
  for (const auto& [flow, windows] : flows_) last.push_back(windows.back().window);
  const auto late = last.begin() + static_cast<std::ptrdiff_t>(last.size() * 7 / 8);
  std::ranges::nth_element(last, late);
  const int64_t before = *late - static_cast<int64_t>(kMaxWindows) + 1;
  const size_t evicted =
      std::erase_if(flows_, [&](const auto& entry) { return entry.second.back().window < before; });
  flows_evicted_ += evicted;
  refused_since_ = evicted > 0 ? 0 : 1;
  return evicted > 0;
}

void MarkTracker::Add(const FlowRecord& record) {
  const topology::NodeIndex node = NodeOf(record.tap);
  if (node == topology::kNone) return;
  const auto at = flows_.find(record.flow);
  if (at == flows_.end()) return;
  MarkWindow* const window = EntryOf(at->second, WindowOf(record));
  if (window == nullptr) return;
  std::vector<MarkObservation>& sights = window->sights;
  auto sight = std::ranges::find_if(sights, [&](const MarkObservation& one) {
    return one.node == node && one.ttl == record.ttl;
  });
  if (sight == sights.end()) {
    constexpr size_t kMost = 16;  // more switches than on any path
    if (sights.size() == kMost) return;
    sight = sights.insert(sight, {.node = node, .ttl = record.ttl});
  }
  sight->packets += record.packets;
  sight->marked += record.ce_marked;
  sight->cnps += NoticesIn(record);
}

}  // namespace rocescope
