// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/loss/loss_tracker.h"

#include <algorithm>

#include "base/window_row.h"

namespace rocescope {

void LossTracker::LearnTap(const TapPlace& place) {
  // What leaves may be lost in the switch's queue yet, or have been.
  if (place.side == TapSide::kEgress) return;
  if (place.tap >= of_tap_.size()) of_tap_.resize(size_t{place.tap} + 1, topology::kNone);
  of_tap_[place.tap] = fabric_.FindSwitchByErspan(place.switch_address);
}

const std::vector<LossSight>& LossTracker::SightsOf(const FlowKey& flow) const {
  static const std::vector<LossSight> kNone;
  const auto at = sights_.find(flow);
  return at == sights_.end() ? kNone : at->second;
}

void LossTracker::AddSight(const FlowRecord& record) {
  const uint64_t late = uint64_t{record.requests.reordered} + record.responses.reordered;
  const uint64_t resent = uint64_t{record.requests.resent} + record.responses.resent;
  if ((late == 0 && resent == 0) || record.tap >= of_tap_.size()) return;
  const topology::NodeIndex node = of_tap_[record.tap];
  if (node == topology::kNone) return;
  auto at = sights_.find(record.flow);
  if (at == sights_.end()) {
    if (sights_.size() >= options_.flows) return;
    at = sights_.emplace(record.flow, std::vector<LossSight>()).first;
  }
  constexpr size_t kMost = 16;  // switches on a way, and on those before and after
  auto sight = std::ranges::find(at->second, node, &LossSight::node);
  if (sight == at->second.end()) {
    if (at->second.size() >= kMost) return;
    at->second.push_back({.node = node});
    sight = at->second.end() - 1;
  }
  sight->late += late;
  sight->resent += resent;
}

void LossTracker::Add(const FlowRecord& record) {
  AddSight(record);
  const uint64_t resent = uint64_t{record.requests.resent} + record.responses.resent;
  const uint64_t refused = record.naks[static_cast<size_t>(NakKind::kSequenceError)];
  if (resent == 0 && refused == 0) return;
  auto at = losses_.find(record.flow);
  if (at == losses_.end()) {
    if (losses_.size() >= options_.flows) {
      ++flows_refused_;
      return;
    }
    at = losses_.emplace(record.flow, std::vector<LossWindow>()).first;
  }
  LossWindow* const window =
      EntryOf(at->second, record.interval_start.time_since_epoch() / options_.window);
  if (window == nullptr) return;
  window->resent = std::max(window->resent, resent);
  window->refused = std::max(window->refused, refused);
}

}  // namespace rocescope
