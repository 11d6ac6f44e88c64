// SPDX-License-Identifier: BSD-3-Clause
// Follows by which links flows go. Mirrored copies, INT hops and sFlow samples each say that a
// packet crossed one of some links; the paths of the fabric that agree with all of it are the
// answer. What agrees with none of them any more is another way: later than the old one it is a
// change, at the same time the flow is spread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "analytics/clock/clock_offsets.h"
#include "analytics/path/crossing.h"
#include "analytics/path/path.h"
#include "analytics/path/path_finder.h"
#include "dataplane/record/capacity.h"
#include "dataplane/record/flow_slot_index.h"
#include "dataplane/record/hint_cache.h"
#include "dataplane/record/idle_evictor.h"
#include "dataplane/record/record.h"
#include "topology/route.h"

namespace rocescope {

struct PathOptions {
  size_t flows = kFlowCapacity;
  size_t intervals = 64;  // of a flow, kept
  // Packets of an old way may be seen so long behind the first one of a new way: they waited in
  // other queues.
  Duration slack = std::chrono::microseconds(200);
  Duration calm = std::chrono::milliseconds(10);  // a spread flow that shuns a way for so long
  double likely = 0.95;                           // probability from which a path is asserted
};

class PathTracker {
 public:
  // The fabric must outlive it.
  explicit PathTracker(const topology::Fabric& fabric, const PathOptions& options = {});
  PathTracker(const PathTracker&) = delete;
  PathTracker& operator=(const PathTracker&) = delete;

  void LearnTap(const TapLocation& place) {
    crossings_.LearnTap(place);
    tap_learnt_ = true;
  }
  // By whose estimates times are corrected, which must outlive this one; null: by none.
  void SetClocks(const ClockOffsets* clocks) { clocks_ = clocks; }

  // Event time has reached `now`. By these times, which are of no tap, silence is told where there
  // is no room.
  void SetTime(Timestamp now) { now_ = std::max(now_, now); }

  // Starts loading what the record will be added to: worth it a few records ahead.
  void Approach(const FlowRecord& record) const;

  void Add(const FlowRecord& record);
  void Add(const HopRecord& record);
  void Add(const SampleRecord& record);

  // Packets of the flow from `time` on are another incarnation's.
  void Cut(const FlowKey& flow, Timestamp time);

  // Those of flows that changed since the last call are worked out anew; the others are shared with
  // what it returned, and if none changed it is the very same.
  std::shared_ptr<const FlowPaths> Paths();
  const PathStatistics& Statistics() const { return statistics_; }

 private:
  static constexpr uint32_t kNoFlow = UINT32_MAX;

  // Packets of a flow that were seen at a crossing.
  struct Seen {
    CrossingId crossing = kNoCrossing;
    uint16_t tap = 0;  // the lower half of the number of the mirror's tap that counts
    uint8_t sources = 0;
    Timestamp first;
    Timestamp last;
    uint64_t packets = 0;
    uint64_t bytes = 0;
  };
  struct Stretch {
    PathChange began = PathChange::kFirstSeen;
    bool spread = false;
    bool settled = false;  // since the last answer: only times and counts can differ from it
    bool waits = false;    // a tap that would count was not awake meanwhile, as far as is known
    std::vector<Seen> seen;
    // Agree with no path at all, and so say nothing of the others. Few have any: null is none.
    std::unique_ptr<std::vector<Seen>> strays;

    std::span<Seen> Strays() { return strays ? std::span<Seen>(*strays) : std::span<Seen>(); }
    bool IsEmpty() const { return seen.empty() && strays == nullptr; }
  };
  // What few flows have.
  struct History {
    std::optional<Timestamp> cut;
    std::vector<Stretch> earlier;  // before the open one
  };
  struct Flow {
    FlowKey key;
    topology::NicIndex source = topology::kNone;
    topology::NicIndex destination = topology::kNone;
    uint16_t udp_source_port = 0;
    bool changed = false;  // since the last answer
    Timestamp heard;       // by the tracker's clock
    Stretch now;           // the open one
    std::unique_ptr<History> history;

    History& MakeHistory();
    std::span<Stretch> Earlier();
  };
  // When anything was seen at a crossing that a tap watches.
  struct Activity {
    Timestamp first = Timestamp::max();
    Timestamp last = Timestamp::min();
  };

  // False: nothing was seen at the crossing yet.
  static bool Merge(const Seen& seen, Stretch& stretch);
  static void Append(const Seen& seen, Stretch& stretch);
  static void CountAt(Seen& known, const Seen& seen);
  uint32_t FindOrAdd(const FlowKey& key, uint32_t hint = kNoFlowHint);
  uint32_t Find(const FlowKey& key) const {
    return index_.Find(key, [this](uint32_t i) -> const FlowKey& { return flows_[i].key; });
  }
  uint32_t FindOrAddByKey(const FlowKey& key);
  uint32_t TakePlace();
  void MarkChanged(uint32_t flow);
  void Add(Flow& flow, const Seen& seen);
  void AddNew(Flow& flow, const Seen& seen);
  bool AddToEarlier(Flow& flow, const Seen& seen);
  void Begin(Flow& flow, PathChange change);
  bool Agrees(const Flow& flow, const Stretch& stretch, CrossingId crossing);
  bool AgreePair(const Flow& flow, CrossingId a, CrossingId b);
  Duration SlackOf(const Seen& a, const Seen& b) const;
  void PartAt(const Flow& flow, const Stretch& before, const Stretch& after, PathInterval& left,
              PathInterval& right);
  FlowPath PathOf(Flow& flow, const FlowPath* before);
  PathInterval AnswerOf(const Flow& flow, Stretch& stretch, const PathInterval* before);
  void Weigh(Stretch& stretch, std::span<const topology::Path> paths, PathInterval& answer);
  double Believable(Stretch& stretch, const topology::Path& path, uint64_t mirrored) const;
  void Spread(std::span<const Seen> all, PathInterval& answer) const;

  const PathOptions options_;
  topology::Routes routes_;
  CrossingTable crossings_;
  PathFinder finder_;
  const ClockOffsets* clocks_ = nullptr;
  FlowSlotIndex index_;
  HintCache hints_;
  std::vector<Flow> flows_;
  IdleEvictor<Timestamp> hand_;
  Timestamp now_;
  std::vector<Activity> active_;   // by crossing
  std::vector<CrossingId> asked_;  // of the question at hand
  PathStatistics statistics_;

  std::shared_ptr<const FlowPaths> paths_ = std::make_shared<const FlowPaths>();
  std::vector<uint32_t> changed_;  // flows
  std::vector<FlowKey> gone_;      // gave way since
  bool tap_learnt_ = false;        // since; what it will show may speak against any path
};

}  // namespace rocescope
