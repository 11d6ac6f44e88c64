// SPDX-License-Identifier: BSD-3-Clause
// Where a job had best run: hosts that are free, whose rails are whole, whose links are neither
// faulty nor busy, and that are near each other.
//
// A collective waits for its slowest flow. So what counts of a choice is its worst node, and of the
// links that flows spread over, the worst one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/congestion/link_load.h"
#include "analytics/diagnosis/finding.h"
#include "topology/fabric.h"
#include "topology/leaf_groups.h"

namespace rocescope {

// What a job that runs holds of a host.
struct NodeUsage {
  topology::NodeIndex node = topology::kNone;
  std::vector<uint32_t> gpus;   // by number; empty: all of the node
  std::optional<uint64_t> job;  // the scheduler's number; unset: no scheduler told of it

  friend bool operator==(const NodeUsage&, const NodeUsage&) = default;
};

// Either `nodes` or `gpus` is above 0.
struct PlacementRequest {
  uint32_t nodes = 0;  // whole ones
  uint32_t gpus = 0;
  uint32_t gpus_per_node = 0;                   // of `gpus`; 0: all that a node has
  std::vector<topology::NodeIndex> candidates;  // hosts, ascending, each once
};

enum class PlacementReasonKind : uint8_t {
  kInUse,
  kTooFewGpus,
  kNoLink,  // a rail that other hosts have is not plugged in
  kFault,
  kBusy,        // little of a link's time is left
  kPaused,      // likewise, mostly as PFC holds it
  kNotSeen,     // nobody tells the load of a link: it is not known to be well
  kFaultAbove,  // above its leaves: of no concern to a job below the same ones
  kBusyAbove,
};
// "in_use", "too_few_gpus", "no_link", "fault", "busy", "paused", "not_seen", "fault_above",
// "busy_above".
std::string_view NameOf(PlacementReasonKind kind);

struct PlacementReason {
  PlacementReasonKind kind = PlacementReasonKind::kInUse;
  double cost = 0;                   // of the score, 0 to 1
  std::string place;                 // empty: the node
  std::optional<FaultKind> finding;  // of faults
  std::vector<uint64_t> jobs;        // of kInUse: the scheduler's numbers
  double value = 0;  // busy: use of the link; paused: share of the time; faults: how sure
  std::string sentence;
};

// A reason of this cost, or more, keeps a node from being chosen.
inline constexpr double kUnsuitable = 0.5;
// As many of the worst are kept for each node.
inline constexpr size_t kMaxReasons = 16;

struct NodeRank {
  topology::NodeIndex node = topology::kNone;
  bool chosen = false;
  bool suits = false;
  // What the reasons leave of 1: those of the node; with those above its leaves; with those above
  // its pod.
  double score = 0;
  double beyond_leaf = 0;
  double beyond_pod = 0;
  uint32_t gpus = 0;
  uint32_t free_gpus = 0;
  uint32_t rails = 0;       // NICs with a link;
  uint32_t healthy_rails = 0;  // of these, those that no fault concerns which makes a node unsuitable
  uint32_t monitored_rails = 0;  // of these, those whose load somebody tells
  std::vector<PlacementReason> reasons;  // the worst first
};

enum class PlacementDistance : uint8_t { kNone, kNode, kLeaf, kPod, kFabric };
// "", "node", "leaf", "pod", "fabric".
std::string_view NameOf(PlacementDistance distance);

struct Placement {
  std::vector<NodeRank> nodes;  // chosen, then those that suit, then others; by score, then index
  std::vector<topology::NodeIndex> chosen;  // ascending; empty: not enough suit
  PlacementDistance distance = PlacementDistance::kNone;
  std::vector<uint32_t> groups;  // of the chosen, indices into LeafGroups::groups; ascending
  double score = 0;
  uint64_t offered = 0;  // nodes or GPUs that suit
  std::string sentence;
};

// The same for the same arguments, whatever the order of `uses`. Takes the time of the fabric's
// ports and of the candidates times a hundred.
Placement PlaceJob(const topology::Fabric& fabric, const topology::LeafGroups& groups,
                   const Findings& findings, const LinkLoads& loads, std::span<const NodeUsage> uses,
                   const PlacementRequest& request);

}  // namespace rocescope
