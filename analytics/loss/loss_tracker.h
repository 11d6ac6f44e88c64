// SPDX-License-Identifier: BSD-3-Clause
// When flows had to send again, and what their receivers refused: what is lost shows there,
// wherever it was lost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/time.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct LossWindow {
  int64_t window = 0;   // its number since the epoch
  uint64_t resent = 0;  // packets of the flow that had been sent before
  uint64_t refused =
      0;  // NAKs of a sequence error that the flow carries: they are about the other way

  friend bool operator==(const LossWindow&, const LossWindow&) = default;
};

struct LossTrackerOptions {
  Duration window = std::chrono::seconds(1);  // of analysis
  size_t flows = size_t{1} << 17;             // with any loss
};

class LossTracker {
 public:
  explicit LossTracker(const LossTrackerOptions& options = {}) : options_(options) {}

  void Add(const FlowRecord& record);

  // By flow; windows ascending, those without loss left out. What several taps show of one window
  // is one thing: that of the tap that shows most.
  const std::map<FlowKey, std::vector<LossWindow>>& losses() const { return losses_; }
  uint64_t flows_refused() const { return flows_refused_; }

 private:
  const LossTrackerOptions options_;
  std::map<FlowKey, std::vector<LossWindow>> losses_;
  uint64_t flows_refused_ = 0;  // records
};

}  // namespace rocescope
