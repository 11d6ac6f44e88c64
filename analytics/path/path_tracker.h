// SPDX-License-Identifier: BSD-3-Clause
// Tracks the paths of flows. Each mirrored copy, INT hop or sFlow sample shows that a packet
// crossed one of some links; the result is the set of fabric paths consistent with all of them. An
// observation inconsistent with all remaining paths shows another path: if it is later than the old
// path, the flow was rerouted; if at the same time, the flow is spread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analytics/clock/clock_offsets.h"
#include "analytics/flow/flow_registry.h"
#include "analytics/path/crossing.h"
#include "analytics/path/path.h"
#include "analytics/path/path_finder.h"
#include "dataplane/record/record.h"
#include "topology/route.h"

namespace rocescope {

struct PathOptions {
  size_t intervals = 64;  // kept per flow
  // Packets on the old path may be observed this long after the first packet on the new path,
  // because of different queueing delays.
  Duration slack = std::chrono::microseconds(200);
  // A spread flow has left a path if it avoids it for this long.
  Duration calm = std::chrono::milliseconds(10);
  double likely = 0.95;  // minimum probability of a path reported as likely
};

class PathTracker {
 public:
  // `flows` and `fabric` must outlive this object.
  PathTracker(FlowRegistry& flows, const topology::Fabric& fabric, const PathOptions& options = {});
  PathTracker(const PathTracker&) = delete;
  PathTracker& operator=(const PathTracker&) = delete;

  void LearnTap(const TapLocation& place) {
    crossings_.LearnTap(place);
    tap_learnt_ = true;
  }
  // Clock estimates for correcting times; must outlive this object. Null: no correction.
  void SetClocks(const ClockOffsets* clocks) { clocks_ = clocks; }

  // Prefetches the state of a flow. Call it a few records before Add.
  void Approach(FlowId flow) const;

  void Add(FlowId flow, const FlowRecord& record);
  void Add(FlowId flow, const HopRecord& record);
  void Add(FlowId flow, const SampleRecord& record);

  // Packets of the flow from `time` on belong to another incarnation.
  void Cut(FlowId flow, Timestamp time);

  // Recomputes the flows that changed since the last call and shares all others with the previous
  // result; without any change it returns the same object.
  std::shared_ptr<const FlowPaths> Paths();
  const PathStatistics& Statistics() const { return statistics_; }

 private:
  // Packets of a flow observed at one crossing.
  struct Seen {
    CrossingId crossing = kNoCrossing;
    uint16_t tap = 0;  // low half of the number of the mirror's tap whose packets count
    uint8_t sources = 0;
    Timestamp first;
    Timestamp last;
    uint64_t packets = 0;
    uint64_t bytes = 0;
  };
  struct Stretch {
    PathChange began = PathChange::kFirstSeen;
    bool spread = false;
    bool settled = false;  // only times and counts can have changed since the last answer
    bool waits = false;    // a relevant tap may not have been active in this time
    std::vector<Seen> seen;
    // Observations that agree with no path. They are ignored when paths are derived from the other
    // observations. Null if there are none, which is usual.
    std::unique_ptr<std::vector<Seen>> strays;

    std::span<Seen> Strays() { return strays ? std::span<Seen>(*strays) : std::span<Seen>(); }
    bool IsEmpty() const { return seen.empty() && strays == nullptr; }
  };
  // Rarely needed data.
  struct History {
    std::optional<Timestamp> cut;
    std::vector<Stretch> earlier;  // before the open stretch
  };
  struct Flow {
    topology::NicIndex source = topology::kNone;
    topology::NicIndex destination = topology::kNone;
    uint16_t udp_source_port = 0;
    bool known = false;    // a record was added; otherwise the entry is unused
    bool changed = false;  // changed since the last answer
    Stretch now;           // the open stretch
    std::unique_ptr<History> history;

    History& MakeHistory();
    std::span<Stretch> Earlier();
  };
  // Times of the first and last packet at a crossing with a tap.
  struct Activity {
    Timestamp first = Timestamp::max();
    Timestamp last = Timestamp::min();
  };

  // Returns false if nothing was observed at the crossing before.
  static bool Merge(const Seen& seen, Stretch& stretch);
  static void Append(const Seen& seen, Stretch& stretch);
  static void CountAt(Seen& known, const Seen& seen);
  Flow* FindOrAdd(FlowId id);
  void Forget(FlowId id);
  void MarkChanged(FlowId id);
  void Add(Flow& flow, const Seen& seen);
  void AddNew(Flow& flow, const Seen& seen);
  bool AddToEarlier(Flow& flow, const Seen& seen);
  void Begin(Flow& flow, PathChange change);
  bool Agrees(const Flow& flow, const Stretch& stretch, CrossingId crossing);
  bool AgreePair(const Flow& flow, CrossingId a, CrossingId b);
  Duration SlackOf(const Seen& a, const Seen& b) const;
  void PartAt(const Flow& flow, const Stretch& before, const Stretch& after, PathInterval& left,
              PathInterval& right);
  FlowPath PathOf(FlowId id, const FlowPath* before);
  PathInterval AnswerOf(const Flow& flow, Stretch& stretch, const PathInterval* before);
  void Weigh(Stretch& stretch, std::span<const topology::Path> paths, PathInterval& answer);
  double Believable(Stretch& stretch, const topology::Path& path, uint64_t mirrored) const;
  void Spread(std::span<const Seen> all, PathInterval& answer) const;

  const PathOptions options_;
  topology::Routes routes_;
  CrossingTable crossings_;
  PathFinder finder_;
  const ClockOffsets* clocks_ = nullptr;
  const FlowRegistry& registry_;
  std::vector<Flow> flows_;        // indexed by id
  std::vector<Activity> active_;   // indexed by crossing
  std::vector<CrossingId> asked_;  // crossings of the current search
  PathStatistics statistics_;

  std::shared_ptr<const FlowPaths> paths_ = std::make_shared<const FlowPaths>();
  std::vector<FlowId> changed_;
  std::vector<FlowKey> gone_;  // evicted since the last answer
  bool tap_learnt_ = false;    // a tap was added since the last answer and may rule out any path
};

}  // namespace rocescope
