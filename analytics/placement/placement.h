// SPDX-License-Identifier: BSD-3-Clause
// Recommends nodes for a job: idle hosts with complete rails, healthy and lightly loaded links, and
// short distances between each other.
//
// A collective waits for its slowest flow. The value of a choice is therefore determined by its
// worst node, and by the worst of the links over which its flows are spread.
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

// What a running job occupies on a host.
struct NodeUsage {
  topology::NodeIndex node = topology::kNone;
  std::vector<uint32_t> gpus;  // GPU numbers; empty: the whole node
  // The scheduler's job number; unset: the job is not registered by a scheduler.
  std::optional<uint64_t> job;

  friend bool operator==(const NodeUsage&, const NodeUsage&) = default;
};

// Exactly one of `nodes` and `gpus` is above 0.
struct PlacementRequest {
  uint32_t nodes = 0;  // whole nodes
  uint32_t gpus = 0;
  uint32_t gpus_per_node = 0;  // how many of `gpus` to use per node; 0: all GPUs of a node
  std::vector<topology::NodeIndex> candidates;  // hosts, ascending, unique
};

enum class PlacementReasonKind : uint8_t {
  kInUse,
  kTooFewGpus,
  kNoLink,  // a rail that other hosts have has no link
  kFault,
  kBusy,         // a link has little capacity left
  kPaused,       // a link has little capacity left, mostly because of PFC pauses
  kUnmonitored,  // no telemetry about the load of a link: its state is unknown
  kFaultAbove,   // above its leaves: irrelevant for a job within one leaf group
  kBusyAbove,
};
// "in_use", "too_few_gpus", "no_link", "fault", "busy", "paused", "unmonitored", "fault_above",
// "busy_above".
std::string_view NameOf(PlacementReasonKind kind);

struct PlacementReason {
  PlacementReasonKind kind = PlacementReasonKind::kInUse;
  double cost = 0;                   // reduction of the score, 0 to 1
  std::string place;                 // empty: the node itself
  std::optional<FaultKind> finding;  // kind of a fault
  std::vector<uint64_t> jobs;        // scheduler's job numbers, for kInUse
  double value = 0;  // busy: utilisation; paused: share of the time; faults: confidence
  std::string sentence;
};

// A node with a reason of at least this cost is not chosen.
inline constexpr double kUnsuitable = 0.5;
// Maximum number of reasons kept per node; the worst ones are kept.
inline constexpr size_t kMaxReasons = 16;

struct NodeRank {
  topology::NodeIndex node = topology::kNone;
  bool chosen = false;
  bool suits = false;
  // `score` is 1 reduced by the costs of the node's own reasons. `beyond_leaf` is reduced by those
  // above its leaves, too, and `beyond_pod` also by those above its pod.
  double score = 0;
  double beyond_leaf = 0;
  double beyond_pod = 0;
  uint32_t gpus = 0;
  uint32_t free_gpus = 0;
  uint32_t rails = 0;                    // NICs with a link
  uint32_t healthy_rails = 0;            // rails without a fault that makes a node unsuitable
  uint32_t monitored_rails = 0;          // rails with load telemetry
  std::vector<PlacementReason> reasons;  // worst first
};

enum class PlacementDistance : uint8_t { kNone, kNode, kLeaf, kPod, kFabric };
// "", "node", "leaf", "pod", "fabric".
std::string_view NameOf(PlacementDistance distance);

struct Placement {
  // Chosen, then other suitable, then unsuitable nodes; by score, then index.
  std::vector<NodeRank> nodes;
  std::vector<topology::NodeIndex> chosen;  // ascending; empty: not enough suitable nodes
  PlacementDistance distance = PlacementDistance::kNone;
  // Ascending indices into LeafGroups::groups of the chosen nodes' groups.
  std::vector<uint32_t> groups;
  double score = 0;
  uint64_t offered = 0;  // number of suitable nodes or GPUs
  std::string sentence;
};

// The result depends only on the arguments, not on the order of `uses`. Takes time linear in the
// ports of the fabric plus about one hundred times the candidates.
Placement PlaceJob(const topology::Fabric& fabric, const topology::LeafGroups& groups,
                   const Findings& findings, const LinkLoads& loads,
                   std::span<const NodeUsage> uses, const PlacementRequest& request);

}  // namespace rocescope
