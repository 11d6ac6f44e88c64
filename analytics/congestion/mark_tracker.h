// SPDX-License-Identifier: BSD-3-Clause
// What was seen, switch by switch, of flows some of whose packets carry a mark (CE), and of
// notifications of it (CNPs): between the last sight without and the first with lies the queue that
// set it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"
#include "topology/fabric.h"

namespace rocescope {

// A flow at a switch's ingress, in one window.
struct MarkObservation {
  topology::NodeIndex node = topology::kNone;
  uint8_t ttl = 0;
  uint64_t packets = 0;
  uint64_t marked = 0;
  uint64_t cnps = 0;  // among the packets

  friend bool operator==(const MarkObservation&, const MarkObservation&) = default;
};

struct MarkWindow {
  int64_t window = 0;  // its number since the epoch
  std::vector<MarkObservation> sights;
};

// Windows ascend.
using MarkedFlows = std::map<FlowKey, std::vector<MarkWindow>>;

struct MarkTrackerOptions {
  Duration window = std::chrono::seconds(1);  // of analysis
  size_t flows = 1u << 16;                    // remembered: those with a mark or a notification
};

class MarkTracker {
 public:
  // The fabric must outlive it.
  explicit MarkTracker(const topology::Fabric& fabric, const MarkTrackerOptions& options = {})
      : fabric_(fabric), options_(options) {}

  void LearnTap(const TapLocation& place);
  void Add(const RecordBatch& batch);

  const MarkedFlows& flows() const { return flows_; }
  // What comes in by this port of a switch is mirrored.
  bool Sees(topology::PortIndex ingress) const {
    return nodes_seen_.contains(fabric_.port(ingress).node) || ports_seen_.contains(ingress);
  }
  uint64_t flows_refused() const { return flows_refused_; }  // records of such
  uint64_t flows_evicted() const { return flows_evicted_; }  // of windows long past, for others
  Duration window() const { return options_.window; }

 private:
  topology::NodeIndex NodeOf(TapId tap) const {
    return tap < of_tap_.size() ? of_tap_[tap] : topology::kNone;
  }
  void Add(const FlowRecord& record);
  int64_t WindowOf(const FlowRecord& record) const {
    return record.interval_start.time_since_epoch() / options_.window;
  }
  bool HasRoom(int64_t window);

  const topology::Fabric& fabric_;
  const MarkTrackerOptions options_;
  std::vector<topology::NodeIndex> of_tap_;
  std::set<topology::NodeIndex> nodes_seen_;  // mirrors that name no port
  std::set<topology::PortIndex> ports_seen_;
  MarkedFlows flows_;
  size_t refused_since_ = 0;  // there last was a search for some that may give way; 0: found some
  uint64_t flows_refused_ = 0;
  uint64_t flows_evicted_ = 0;
};

}  // namespace rocescope
