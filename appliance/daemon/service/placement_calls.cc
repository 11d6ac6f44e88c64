// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analytics/placement/placement.h"
#include "appliance/api/message_value.h"
#include "appliance/daemon/service/node_uses.h"
#include "appliance/daemon/service/page.h"
#include "appliance/daemon/service/service.h"
#include "base/nearest.h"
#include "base/text/name_range.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/leaf_groups.h"

namespace rocescope {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::NodeIndex;

std::vector<NodeIndex> AllHosts(const Fabric& fabric) {
  std::vector<NodeIndex> hosts;
  for (NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (!fabric.node(node).IsSwitch()) hosts.push_back(node);
  }
  return hosts;
}

tl::unexpected<ServiceError> UnknownNode(const Fabric& fabric, const std::string& name) {
  std::vector<std::string_view> known;
  for (const NodeIndex host : AllHosts(fabric)) known.push_back(fabric.node(host).name);
  return Refuse(ServiceFault::kUnknownNode,
                fmt::format("host \"{}\" is not in the topology{}", name, DidYouMean(name, known)));
}

// Returns the hosts in the lists, in ascending order without duplicates.
ServiceResult<std::vector<NodeIndex>> HostsOf(
    const Fabric& fabric, const RankPlaces& places,
    const google::protobuf::RepeatedPtrField<std::string>& lists) {
  std::vector<NodeIndex> hosts;
  size_t left = fabric.nodes().size();
  for (const std::string& list : lists) {
    const auto names = topology::ExpandNames(list, left);
    if (!names) {
      return Refuse(ServiceFault::kBadRequest,
                    fmt::format("{}; expected host names or a host list such as gpu-[1-32]",
                                names.error().message));
    }
    left -= names->size();
    for (const std::string& name : *names) {
      NodeIndex host = fabric.FindNode(name);
      if (host == kNone) host = places.HostOf({.host = name});
      if (host == kNone || fabric.node(host).IsSwitch()) return UnknownNode(fabric, name);
      hosts.push_back(host);
    }
  }
  std::ranges::sort(hosts);
  const auto same = std::ranges::unique(hosts);
  hosts.erase(same.begin(), same.end());
  return hosts;
}

ServiceResult<PlacementRequest> Read(const Fabric& fabric, const RankPlaces& places,
                                     const v1::RecommendNodesRequest& request) {
  if ((request.node_count() == 0) == (request.gpu_count() == 0)) {
    return RefuseFields({"node_count", "gpu_count"}, "exactly one of them must be greater than 0");
  }
  if (request.gpus_per_node() > 0 && request.gpu_count() == 0) {
    return RefuseFields({"gpus_per_node"}, "requires gpu_count");
  }
  if (request.gpu_count() > 0 && fabric.gpus().empty()) {
    return RefuseFields({"gpu_count"}, "the topology contains no GPUs; request node_count instead");
  }
  auto candidates = HostsOf(fabric, places, request.candidate_nodes());
  if (!candidates) return tl::unexpected(candidates.error());
  if (request.candidate_nodes().empty()) *candidates = AllHosts(fabric);
  const auto excluded = HostsOf(fabric, places, request.excluded_nodes());
  if (!excluded) return tl::unexpected(excluded.error());
  std::erase_if(*candidates,
                [&](NodeIndex host) { return std::ranges::binary_search(*excluded, host); });
  return PlacementRequest{.nodes = request.node_count(),
                          .gpus = request.gpu_count(),
                          .gpus_per_node = request.gpus_per_node(),
                          .candidates = *std::move(candidates)};
}

void FillReason(const PlacementReason& reason, v1::PlacementReason& out) {
  out.set_kind(EnumOf<v1::PlacementReason::Kind>(NameOf(reason.kind)));
  out.set_cost(reason.cost);
  out.set_place(reason.place);
  if (reason.finding) out.set_fault_kind(std::string(InfoOf(*reason.finding).name));
  for (const uint64_t job : reason.jobs) out.add_scheduler_job_ids(job);
  out.set_value(reason.value);
  out.set_sentence(reason.sentence);
}

void FillNode(const Fabric& fabric, const NodeRank& rank, v1::CandidateNode& out) {
  out.set_node(fabric.node(rank.node).name);
  out.set_chosen(rank.chosen);
  out.set_suitable(rank.suits);
  out.set_score(rank.score);
  out.set_score_beyond_leaf(rank.beyond_leaf);
  out.set_score_beyond_pod(rank.beyond_pod);
  out.set_gpu_count(rank.gpus);
  out.set_free_gpu_count(rank.free_gpus);
  out.set_rail_count(rank.rails);
  out.set_healthy_rail_count(rank.healthy_rails);
  out.set_monitored_rail_count(rank.monitored_rails);
  for (const PlacementReason& reason : rank.reasons) FillReason(reason, *out.add_reasons());
}

// How a reason concerns the health of a node. Load and running jobs do not.
v1::NodeHealth::Health HealthOf(const PlacementReason& reason) {
  switch (reason.kind) {
    case PlacementReasonKind::kFault:
    case PlacementReasonKind::kNoLink:
      return reason.cost >= kUnsuitable ? v1::NodeHealth::HEALTH_FAULTY
                                        : v1::NodeHealth::HEALTH_DEGRADED;
    case PlacementReasonKind::kFaultAbove:
    case PlacementReasonKind::kPaused:
      return v1::NodeHealth::HEALTH_DEGRADED;
    case PlacementReasonKind::kUnmonitored:
      return v1::NodeHealth::HEALTH_UNKNOWN;
    case PlacementReasonKind::kInUse:
    case PlacementReasonKind::kTooFewGpus:
    case PlacementReasonKind::kBusy:
    case PlacementReasonKind::kBusyAbove:
      break;
  }
  return v1::NodeHealth::HEALTH_OK;
}

void FillHealth(const Fabric& fabric, const NodeRank& rank, v1::NodeHealth& out) {
  out.set_node(fabric.node(rank.node).name);
  out.set_health(v1::NodeHealth::HEALTH_OK);
  out.set_healthy_rail_count(rank.healthy_rails);
  out.set_rail_count(rank.rails);
  out.set_monitored_rail_count(rank.monitored_rails);
  out.set_gpu_count(rank.gpus);
  out.set_free_gpu_count(rank.free_gpus);
  for (const PlacementReason& reason : rank.reasons) {
    for (const uint64_t job : reason.jobs) out.add_scheduler_job_ids(job);
    const v1::NodeHealth::Health health = HealthOf(reason);
    if (health == v1::NodeHealth::HEALTH_OK) continue;
    out.set_health(std::max(out.health(), health));
    FillReason(reason, *out.add_reasons());
  }
}

// All hosts with their problems, in the order of their names.
std::vector<NodeRank> RanksOf(const Fabric& fabric, const topology::LeafGroups& groups,
                              const Snapshot& snapshot, const std::vector<NodeUsage>& uses) {
  Findings findings = *snapshot.findings;
  std::erase_if(findings, IsSuspected);
  const PlacementRequest all = {.nodes = 1, .candidates = AllHosts(fabric)};
  std::vector<NodeRank> ranks =
      PlaceJob(fabric, groups, findings, *snapshot.link_loads, uses, all).nodes;
  std::ranges::sort(ranks, {}, [&](const NodeRank& rank) -> const std::string& {
    return fabric.node(rank.node).name;
  });
  return ranks;
}

}  // namespace

// Properties of the fabric that do not depend on telemetry.
struct Service::Neighbourhood {
  explicit Neighbourhood(const Fabric& fabric) : groups(LeafGroupsOf(fabric)), places(fabric) {}

  const topology::LeafGroups groups;
  const RankPlaces places;
};

const Service::Neighbourhood& Service::Neighbours() {
  std::call_once(neighbours_made_,
                 [&] { neighbours_ = std::make_shared<const Neighbourhood>(*daemon_.fabric()); });
  return *neighbours_;
}

// Registered jobs take precedence over the jobs in the snapshot.
std::vector<Allocation> Service::Allocations(const Snapshot& snapshot) const {
  std::vector<Allocation> all = registry_.All();
  const size_t registered = all.size();
  for (const Allocation& job : snapshot.host_facts->allocations) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(registered);
    const auto at = std::ranges::lower_bound(all.begin(), end, job.id, {}, &Allocation::id);
    if (at == end || at->id != job.id) all.push_back(job);
  }
  return all;
}

ServiceStatus Service::RecommendNodes(const Caller&, const v1::RecommendNodesRequest& request,
                                      v1::RecommendNodesResponse& out) {
  if (const auto there = NeedTopology(); !there) return there;
  const Fabric& fabric = *daemon_.fabric();
  const Neighbourhood& near = Neighbours();
  const auto read = Read(fabric, near.places, request);
  if (!read) return tl::unexpected(read.error());
  const auto answer = Answered();
  if (!answer) return tl::unexpected(answer.error());
  const Snapshot& snapshot = (*answer)->snapshot();
  if (!request.allow_missing_telemetry() && snapshot.link_loads->loads.empty() &&
      snapshot.findings->empty()) {
    return Refuse(
        ServiceFault::kNoDataYet,
        "no telemetry of the links has arrived, so no node is known to be healthy: try again "
        "later, or set `allow_missing_telemetry` (rocescope job place: --without-telemetry) for a "
        "recommendation by distance and running jobs only");
  }
  const std::vector<NodeUsage> uses =
      NodeUses(near.places, snapshot, Allocations(snapshot), (*answer)->answer().reached,
               request.scheduler_job_id());
  Findings findings = *snapshot.findings;
  std::erase_if(findings, IsSuspected);
  const Placement placement =
      PlaceJob(fabric, near.groups, findings, *snapshot.link_loads, uses, *read);
  (*answer)->FillMetadata(*out.mutable_snapshot());
  for (const NodeIndex node : placement.chosen) out.add_chosen_nodes(fabric.node(node).name);
  out.set_distance(EnumOf<v1::RecommendNodesResponse::Distance>(NameOf(placement.distance)));
  for (const uint32_t group : placement.groups) {
    out.add_leaf_groups(NameOf(fabric, near.groups.groups[group]));
  }
  out.set_score(placement.score);
  out.set_sentence(placement.sentence);
  out.set_suitable_count(static_cast<uint32_t>(placement.offered));
  size_t left = request.max_candidate_count() == 0 ? SIZE_MAX : request.max_candidate_count();
  for (const NodeRank& rank : placement.nodes) {
    if (!rank.chosen && left-- == 0) break;
    FillNode(fabric, rank, *out.add_candidates());
  }
  *out.mutable_coverage() = (*answer)->findings().diagnosis_coverage();
  return {};
}

ServiceStatus Service::ListNodes(const Caller&, const v1::ListNodesRequest& in,
                                 v1::ListNodesResponse& out) {
  if (const auto there = NeedTopology(); !there) return there;
  const auto page = Page(ReadListRequest(in));
  if (!page) return tl::unexpected(page.error());
  const AnswerView& answer = *page->answer;
  const Snapshot& snapshot = answer.snapshot();
  const Fabric& fabric = *daemon_.fabric();
  const Neighbourhood& near = Neighbours();
  const std::vector<NodeUsage> uses =
      NodeUses(near.places, snapshot, Allocations(snapshot), answer.answer().reached, 0);
  const std::vector<NodeRank> ranks = RanksOf(fabric, near.groups, snapshot, uses);
  answer.FillMetadata(*out.mutable_snapshot());
  *out.mutable_coverage() = answer.findings().diagnosis_coverage();
  const auto fill = [&](uint64_t i, v1::NodeHealth& node) { FillHealth(fabric, ranks[i], node); };
  return FillPage(page->list, PageVersion(answer), ranks.size(), fill, *out.mutable_nodes(), out);
}

}  // namespace rocescope
