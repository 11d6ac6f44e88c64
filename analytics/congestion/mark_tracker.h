// SPDX-License-Identifier: BSD-3-Clause
// Observations, by switch, of flows that carry CE-marked packets or CNPs. The queue that marked a
// flow lies between the last observation without marks and the first with marks.
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

// A flow at the ingress of a switch in one window.
struct MarkObservation {
  topology::NodeIndex node = topology::kNone;
  uint8_t ttl = 0;
  uint64_t packets = 0;
  uint64_t marked = 0;
  uint64_t cnps = 0;  // CNPs among the packets

  friend bool operator==(const MarkObservation&, const MarkObservation&) = default;
};

struct MarkWindow {
  int64_t window = 0;  // window number since the epoch
  std::vector<MarkObservation> sights;
};

// Windows are ascending.
using MarkedFlows = std::map<FlowKey, std::vector<MarkWindow>>;

struct MarkTrackerOptions {
  Duration window = std::chrono::seconds(1);  // length of an analysis window
  size_t flows = 1u << 16;                    // maximum number of flows with a CE mark or a CNP
};

class MarkTracker {
 public:
  // `fabric` must outlive this object.
  explicit MarkTracker(const topology::Fabric& fabric, const MarkTrackerOptions& options = {})
      : fabric_(fabric), options_(options) {}

  void LearnTap(const TapLocation& place);
  void Add(const RecordBatch& batch);

  const MarkedFlows& flows() const { return flows_; }
  // Whether the frames received by this port are mirrored.
  bool Sees(topology::PortIndex ingress) const {
    return nodes_seen_.contains(fabric_.port(ingress).node) || ports_seen_.contains(ingress);
  }
  // Records dropped because the table was full.
  uint64_t flows_refused() const { return flows_refused_; }
  // Flows with only old windows, evicted for new ones.
  uint64_t flows_evicted() const { return flows_evicted_; }
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
  std::set<topology::NodeIndex> nodes_seen_;  // switches whose mirrors do not identify the port
  std::set<topology::PortIndex> ports_seen_;
  MarkedFlows flows_;
  // Refusals since the last search for evictable flows; 0: that search found some.
  size_t refused_since_ = 0;
  uint64_t flows_refused_ = 0;
  uint64_t flows_evicted_ = 0;
};

}  // namespace rocescope
