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
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

struct LossWindow {
  int64_t window = 0;   // its number since the epoch
  uint64_t retransmitted = 0;  // packets of the flow that had been sent before
  uint64_t refused =
      0;  // NAKs of a sequence error that the flow carries: they are about the other way

  friend bool operator==(const LossWindow&, const LossWindow&) = default;
};

// What the tap at a switch's ingress that saw most of it saw of a flow that lost packets.
struct LossObservation {
  topology::NodeIndex node = topology::kNone;
  uint64_t late = 0;  // first copies behind later packets: lost before, or out of order
  uint64_t retransmitted =
      0;  // that had been here before: lost behind, or sent again with those that were

  friend bool operator==(const LossObservation&, const LossObservation&) = default;
};

struct LossTrackerOptions {
  Duration window = std::chrono::seconds(1);  // of analysis
  size_t flows = size_t{1} << 17;             // with any loss
  size_t sights = size_t{1} << 22;            // windows of flows at switches, in all
};

class LossTracker {
 public:
  // The fabric must outlive it.
  explicit LossTracker(const topology::Fabric& fabric, const LossTrackerOptions& options = {})
      : fabric_(fabric), options_(options) {}

  void LearnTap(const TapLocation& place);
  void Add(const FlowRecord& record);

  // By flow; windows ascending, those without loss left out. What several taps show of one window
  // is one thing: that of the tap that shows most. What one tap tells of a window in several
  // records adds up.
  const std::map<FlowKey, std::vector<LossWindow>>& losses() const { return losses_; }
  // Of a flow, the same ones and those that came out of order, in windows from `from` on and before
  // `until`; in no order. None: no tap whose place is known saw it.
  std::vector<LossObservation> ObservationsOf(const FlowKey& flow, int64_t from, int64_t until) const;
  // Records that found no place: all were taken by flows that lost packets in windows that are
  // remembered, or came out of order there.
  uint64_t refused() const { return refused_; }

 private:
  // What one tap told so far of the last window that it told of, of copies with one TTL: others are
  // other hops of the same packets.
  struct Source {
    TapId tap = 0;
    uint8_t ttl = 0;
    LossWindow told;
  };
  struct SightWindow {
    int64_t window = 0;
    uint64_t late = 0;
    uint64_t retransmitted = 0;
  };
  struct SightSource {
    TapId tap = 0;
    uint8_t ttl = 0;
    SightWindow told;
  };
  struct Sight {
    topology::NodeIndex node = topology::kNone;
    std::vector<SightWindow> windows;  // ascending
    std::vector<SightSource> sources;
  };
  struct Sights {
    int64_t last = 0;  // window
    std::vector<Sight> by_node;
  };

  void AddLoss(const FlowRecord& record, int64_t window);
  void AddSight(const FlowRecord& record, int64_t window);
  Sights* SightsFor(const FlowKey& flow);
  void Forget();

  const topology::Fabric& fabric_;
  const LossTrackerOptions options_;
  std::vector<topology::NodeIndex> of_tap_;
  std::map<FlowKey, std::vector<LossWindow>> losses_;
  std::map<FlowKey, std::vector<Source>> sources_;  // of the same flows
  std::map<FlowKey, Sights> sights_;
  size_t sight_windows_ = 0;       // in all of these
  int64_t newest_ = INT64_MIN;     // window
  int64_t forgotten_ = INT64_MIN;  // the newest one when there last was no room
  uint64_t refused_ = 0;
};

}  // namespace rocescope
