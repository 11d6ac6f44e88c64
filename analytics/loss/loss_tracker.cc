// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/loss/loss_tracker.h"

#include <algorithm>

#include "base/window_row.h"

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
  LossWindow* const window =
      EntryOf(at->second, record.interval_start.time_since_epoch() / options_.window);
  if (window == nullptr) return;
  window->resent = std::max(window->resent, resent);
  window->refused = std::max(window->refused, refused);
}

}  // namespace rocescope
