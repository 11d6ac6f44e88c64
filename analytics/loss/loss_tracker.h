// SPDX-License-Identifier: BSD-3-Clause
// Retransmissions and sequence error NAKs per flow, which show packet loss anywhere on the path,
// and the taps that had observed the lost packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/time.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

struct LossWindow {
  int64_t window = 0;          // window number since the epoch
  uint64_t retransmitted = 0;  // retransmitted packets of the flow
  uint64_t refused =
      0;  // sequence error NAKs carried by the flow; they refer to the opposite direction

  friend bool operator==(const LossWindow&, const LossWindow&) = default;
};

// Loss of a flow as observed at the ingress of a switch, by the tap there that observed most of it.
struct LossObservation {
  topology::NodeIndex node = topology::kNone;
  uint64_t late = 0;  // first copies that arrived after later packets: lost upstream, or reordered
  uint64_t retransmitted =
      0;  // packets that had passed here before: lost downstream, or retransmitted by go-back-N
  // In the same intervals: all packets, and PSNs that never arrived: the mirror lost their packets,
  // or they were lost upstream and have not been retransmitted yet.
  uint64_t packets = 0;
  int64_t missing = 0;

  friend bool operator==(const LossObservation&, const LossObservation&) = default;
};

// What the tap at a switch observed in one window, in the intervals with late or retransmitted
// packets; the fields are those of LossObservation.
struct TapWindow {
  int64_t window = 0;  // window number since the epoch
  uint32_t late = 0;
  uint32_t retransmitted = 0;
  uint32_t packets = 0;
  int32_t missing = 0;
};
struct TapWindows {
  topology::NodeIndex node = topology::kNone;
  std::span<const TapWindow> windows;  // ascending
};

struct LossTrackerOptions {
  Duration window = std::chrono::seconds(1);  // length of an analysis window
  size_t flows = size_t{1} << 17;             // flows with any loss
  size_t sights = size_t{1} << 22;  // maximum number of entries: one per flow, switch and window
};

class LossTracker {
 public:
  // `fabric` must outlive this object.
  explicit LossTracker(const topology::Fabric& fabric, const LossTrackerOptions& options = {})
      : fabric_(fabric), options_(options) {}

  void LearnTap(const TapLocation& place);
  void Add(const FlowRecord& record);

  // Keyed by flow; windows are ascending and contain loss. Several taps that show one window
  // describe the same loss: the tap that shows most of it counts. Several records of one tap for
  // one window are added.
  const std::map<FlowKey, std::vector<LossWindow>>& losses() const { return losses_; }
  // Returns the observations of a flow's retransmitted or reordered packets in the windows [from,
  // until), unordered. Empty: no tap with a known location observed the flow.
  std::vector<LossObservation> ObservationsOf(const FlowKey& flow, int64_t from,
                                              int64_t until) const;
  // Returns the same in all windows, by window and switch. Valid until the next call of Add.
  std::vector<TapWindows> TapsOf(const FlowKey& flow) const;
  // Records dropped because the table was full of flows with loss or reordering in recent windows.
  uint64_t refused() const { return refused_; }

 private:
  // What one tap has reported about its latest window, for copies with one TTL; copies with another
  // TTL are the same packets at another hop.
  struct Source {
    TapId tap = 0;
    uint8_t ttl = 0;
    LossWindow counts;
  };
  struct SightSource {
    TapId tap = 0;
    uint8_t ttl = 0;
    TapWindow counts;
  };
  struct Sight {
    topology::NodeIndex node = topology::kNone;
    std::vector<TapWindow> windows;  // ascending
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
  std::map<FlowKey, std::vector<Source>> sources_;  // sources of the same flows
  std::map<FlowKey, Sights> sights_;
  size_t sight_windows_ = 0;       // total over sights_
  int64_t newest_ = INT64_MIN;     // window
  int64_t forgotten_ = INT64_MIN;  // value of newest_ when the table was last found full
  uint64_t refused_ = 0;
};

}  // namespace rocescope
