// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/loss/loss_tracker.h"

#include <algorithm>

namespace rocescope {

void LossTracker::Add(const FlowRecord& record) {
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
  std::vector<LossWindow>& windows = at->second;
  const int64_t window = record.interval_start.time_since_epoch() / options_.window;
  auto place = std::ranges::lower_bound(windows, window, {}, &LossWindow::window);
  if (place == windows.end() || place->window != window) {
    place = windows.insert(place, {.window = window});
  }
  place->resent = std::max(place->resent, resent);
  place->refused = std::max(place->refused, refused);
  if (windows.size() > kMostWindows) windows.erase(windows.begin());
}

}  // namespace rocescope
