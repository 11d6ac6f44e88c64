// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/loss/loss_tracker.h"

#include <algorithm>

#include "base/window_row.h"

namespace rocescope {
namespace {

// Maximum number of taps and TTLs, and of switches, per flow.
constexpr size_t kMaxSources = 32;
constexpr size_t kMaxNodes = 16;

// Returns the counts of the record's tap for the window, reset if they were for an earlier window.
// Returns `alone` if the tap has passed the window or there are too many taps.
template <typename Source, typename Counts>
Counts& CountsOfTap(std::vector<Source>& sources, const FlowRecord& record, Counts& alone) {
  auto at = std::ranges::find_if(sources, [&](const Source& source) {
    return source.tap == record.tap && source.ttl == record.ttl;
  });
  if (at == sources.end()) {
    if (sources.size() >= kMaxSources) return alone;
    at = sources.insert(at, Source{.tap = record.tap, .ttl = record.ttl, .counts = alone});
  }
  if (at->counts.window > alone.window) return alone;
  if (at->counts.window < alone.window) at->counts = alone;
  return at->counts;
}

uint64_t ResentIn(const FlowRecord& record) {
  return uint64_t{record.requests.retransmitted} + record.responses.retransmitted;
}

}  // namespace

void LossTracker::LearnTap(const TapLocation& place) {
  // Egress copies may be taken before or after the switch's queue drops the packet.
  if (place.side == TapSide::kEgress) return;
  if (place.tap >= of_tap_.size()) of_tap_.resize(size_t{place.tap} + 1, topology::kNone);
  of_tap_[place.tap] = fabric_.FindSwitchByErspan(place.switch_address);
}

std::vector<LossObservation> LossTracker::ObservationsOf(const FlowKey& flow, int64_t from,
                                                         int64_t until) const {
  std::vector<LossObservation> sights;
  const auto at = sights_.find(flow);
  if (at == sights_.end()) return sights;
  for (const Sight& sight : at->second.by_node) {
    LossObservation sum{.node = sight.node};
    for (const TapWindow& one : sight.windows) {
      if (one.window < from || one.window >= until) continue;
      sum.late += one.late;
      sum.retransmitted += one.retransmitted;
      sum.packets += one.packets;
      sum.missing += one.missing;
    }
    if (sum.late > 0 || sum.retransmitted > 0) sights.push_back(sum);
  }
  return sights;
}

std::vector<TapWindows> LossTracker::TapsOf(const FlowKey& flow) const {
  std::vector<TapWindows> taps;
  const auto at = sights_.find(flow);
  if (at == sights_.end()) return taps;
  for (const Sight& sight : at->second.by_node) {
    taps.push_back({.node = sight.node, .windows = sight.windows});
  }
  return taps;
}

// Evicts flows without any remembered window; runs at most once per window.
void LossTracker::Forget() {
  if (forgotten_ == newest_) return;
  forgotten_ = newest_;
  const int64_t before = newest_ - static_cast<int64_t>(kMaxWindows) + 1;
  std::erase_if(losses_, [&](const auto& entry) {
    const bool is_old = entry.second.back().window < before;
    if (is_old) sources_.erase(entry.first);
    return is_old;
  });
  std::erase_if(sights_, [&](const auto& entry) {
    if (entry.second.last >= before) return false;
    for (const Sight& sight : entry.second.by_node) sight_windows_ -= sight.windows.size();
    return true;
  });
}

LossTracker::Sights* LossTracker::SightsFor(const FlowKey& flow) {
  if (sights_.size() >= options_.flows || sight_windows_ >= options_.sights) Forget();
  if (sight_windows_ >= options_.sights) return nullptr;
  const auto at = sights_.find(flow);
  if (at != sights_.end()) return &at->second;
  return sights_.size() < options_.flows ? &sights_[flow] : nullptr;
}

void LossTracker::AddSight(const FlowRecord& record, int64_t window) {
  const uint32_t late = record.requests.reordered + record.responses.reordered;
  const auto retransmitted = static_cast<uint32_t>(ResentIn(record));
  if ((late == 0 && retransmitted == 0) || record.tap >= of_tap_.size()) return;
  const topology::NodeIndex node = of_tap_[record.tap];
  if (node == topology::kNone) return;
  Sights* const sights = SightsFor(record.flow);
  if (sights == nullptr) {
    ++refused_;
    return;
  }
  sights->last = std::max(sights->last, window);
  std::vector<Sight>& by_node = sights->by_node;
  auto sight = std::ranges::find(by_node, node, &Sight::node);
  if (sight == by_node.end()) {
    if (by_node.size() >= kMaxNodes) {
      ++refused_;
      return;
    }
    sight = by_node.insert(sight, Sight{.node = node});
  }
  const size_t before = sight->windows.size();
  TapWindow* const most = EntryOf(sight->windows, window);
  sight_windows_ += sight->windows.size() - before;
  if (most == nullptr) return;
  TapWindow alone{.window = window};
  TapWindow& counts = CountsOfTap(sight->sources, record, alone);
  counts.late += late;
  counts.retransmitted += retransmitted;
  counts.packets += static_cast<uint32_t>(record.packets);
  counts.missing += record.requests.missing + record.responses.missing;
  if (counts.packets >= most->packets) {
    most->packets = counts.packets;
    most->missing = counts.missing;
  }
  most->late = std::max(most->late, counts.late);
  most->retransmitted = std::max(most->retransmitted, counts.retransmitted);
}

void LossTracker::AddLoss(const FlowRecord& record, int64_t window) {
  const uint64_t retransmitted = ResentIn(record);
  const uint64_t refused = record.naks[static_cast<size_t>(NakKind::kSequenceError)];
  if (retransmitted == 0 && refused == 0) return;
  if (losses_.size() >= options_.flows && !losses_.contains(record.flow)) {
    Forget();
    if (losses_.size() >= options_.flows) {
      ++refused_;
      return;
    }
  }
  LossWindow* const most = EntryOf(losses_[record.flow], window);
  if (most == nullptr) return;
  LossWindow alone{.window = window};
  LossWindow& counts = CountsOfTap(sources_[record.flow], record, alone);
  counts.retransmitted += retransmitted;
  counts.refused += refused;
  most->retransmitted = std::max(most->retransmitted, counts.retransmitted);
  most->refused = std::max(most->refused, counts.refused);
}

void LossTracker::Add(const FlowRecord& record) {
  const int64_t window = record.interval_start.time_since_epoch() / options_.window;
  newest_ = std::max(newest_, window);
  AddSight(record, window);
  AddLoss(record, window);
}

}  // namespace rocescope
