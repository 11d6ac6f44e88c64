// SPDX-License-Identifier: BSD-3-Clause
// When flows had to send again, and what their receivers refused: what is lost shows there,
// wherever it was lost; and of which taps it had gone by already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/time.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_place.h"
#include "topology/fabric.h"

namespace rocescope {

struct LossWindow {
  int64_t window = 0;   // its number since the epoch
  uint64_t resent = 0;  // packets of the flow that had been sent before
  uint64_t refused =
      0;  // NAKs of a sequence error that the flow carries: they are about the other way

  friend bool operator==(const LossWindow&, const LossWindow&) = default;
};

// What the taps at a switch's ingress saw of a flow that lost packets.
struct LossSight {
  topology::NodeIndex node = topology::kNone;
  uint64_t late = 0;  // first copies behind later packets: lost before, or out of order
  uint64_t resent =
      0;  // that had been here before: lost behind, or sent again with those that were

  friend bool operator==(const LossSight&, const LossSight&) = default;
};

struct LossTrackerOptions {
  Duration window = std::chrono::seconds(1);  // of analysis
  size_t flows = size_t{1} << 17;             // with any loss
};

class LossTracker {
 public:
  // The fabric must outlive it.
  explicit LossTracker(const topology::Fabric& fabric, const LossTrackerOptions& options = {})
      : fabric_(fabric), options_(options) {}

  void LearnTap(const TapPlace& place);
  void Add(const FlowRecord& record);

  // By flow; windows ascending, those without loss left out. What several taps show of one window
  // is one thing: that of the tap that shows most.
  const std::map<FlowKey, std::vector<LossWindow>>& losses() const { return losses_; }
  // By flow, the same ones and those that came out of order; in no order. None: no tap whose place
  // is known saw it.
  const std::vector<LossSight>& SightsOf(const FlowKey& flow) const;
  uint64_t flows_refused() const { return flows_refused_; }

 private:
  void AddSight(const FlowRecord& record);

  const topology::Fabric& fabric_;
  const LossTrackerOptions options_;
  std::vector<topology::NodeIndex> of_tap_;
  std::map<FlowKey, std::vector<LossWindow>> losses_;
  std::map<FlowKey, std::vector<LossSight>> sights_;
  uint64_t flows_refused_ = 0;  // records
};

}  // namespace rocescope
