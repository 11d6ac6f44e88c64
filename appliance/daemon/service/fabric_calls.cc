// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "appliance/common/report/job_report.h"
#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/page.h"
#include "appliance/daemon/service/path_query.h"
#include "appliance/daemon/service/service.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"

namespace rocescope {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::NodeIndex;
using topology::Tier;

void FillNode(const Fabric& fabric, NodeIndex index, v1::TopologyNode& out) {
  const topology::Node& node = fabric.node(index);
  out.set_name(node.name);
  out.set_tier(std::string(NameOf(node.tier)));
  out.set_pod(node.pod == kNone ? -1 : static_cast<int32_t>(node.pod));
  for (const topology::NicIndex i : fabric.NicsOf(index)) {
    const topology::Nic& nic = fabric.nic(i);
    v1::TopologyNic& one = *out.add_nics();
    one.set_device(nic.device);
    one.set_rail(nic.rail);
    for (const topology::NicAddress& address : nic.addresses) {
      one.add_addresses(ToString(address.address));
    }
  }
  for (const topology::GpuIndex i : fabric.GpusOf(index)) {
    const topology::Gpu& gpu = fabric.gpu(i);
    v1::TopologyGpu& one = *out.add_gpus();
    one.set_number(gpu.number);
    one.set_rail(gpu.rail);
    if (gpu.nic != kNone) one.set_nic(fabric.nic(gpu.nic).device);
  }
}

// Returns the end in the lower tier first.
void FillLink(const Fabric& fabric, const topology::Link& link, v1::TopologyLink& out) {
  const auto tier = [&](topology::PortIndex port) {
    return fabric.node(fabric.port(port).node).tier;
  };
  const bool as_is = tier(link.ends[0]) <= tier(link.ends[1]);
  out.set_a(fabric.NameOf(link.ends[as_is ? 0 : 1]));
  out.set_b(fabric.NameOf(link.ends[as_is ? 1 : 0]));
  out.set_bits_per_second(link.bits_per_second);
}

double UseOf(const Fabric& fabric, const LinkLoad& load, Duration window) {
  const double bits =
      static_cast<double>(fabric.SpeedOf(load.port)) * static_cast<double>(window.count()) / 1e9;
  if (load.source == LoadSource::kNone || bits == 0) return -1;
  return std::min(1.0, static_cast<double>(load.bytes) * 8 / bits);
}

void FillLoad(const Fabric& fabric, const LinkLoad& load, Duration window, v1::LinkLoad& out) {
  out.set_port(fabric.NameOf(load.port));
  out.set_use(UseOf(fabric, load, window));
  if (load.source != LoadSource::kNone) {
    out.set_source(load.source == LoadSource::kCounters ? "counters" : "paths");
  }
  out.set_bytes(load.bytes);
  out.set_marked(load.marked);
  out.set_dropped(load.dropped);
  out.set_paused_ns(load.paused.count());
  out.set_peak_bytes(load.peak_bytes);
  out.set_errors(load.errors);
}

// Returns the neighbours in a higher tier, in the order of ports and without duplicates.
void AddAbove(const Fabric& fabric, NodeIndex node, std::set<NodeIndex>& seen,
              std::vector<NodeIndex>& above) {
  const topology::Node& at = fabric.node(node);
  for (uint32_t i = 0; i < at.port_count; ++i) {
    const NodeIndex peer = fabric.PeerNode(at.first_port + i);
    if (peer == kNone || fabric.node(peer).tier <= at.tier) continue;
    if (seen.insert(peer).second) above.push_back(peer);
  }
}

void FillSwitches(const Fabric& fabric, NodeIndex host, v1::NodeSwitches& out) {
  out.set_node(fabric.node(host).name);
  std::vector<topology::NicIndex> nics(fabric.NicsOf(host).begin(), fabric.NicsOf(host).end());
  std::ranges::stable_sort(nics, {}, [&](topology::NicIndex nic) { return fabric.nic(nic).rail; });
  std::set<NodeIndex> seen;
  std::vector<NodeIndex> level;
  for (const topology::NicIndex nic : nics) {
    const NodeIndex peer = fabric.PeerNode(fabric.nic(nic).port);
    if (peer != kNone && seen.insert(peer).second) level.push_back(peer);
  }
  while (!level.empty()) {
    std::vector<NodeIndex> above;
    for (const NodeIndex node : level) {
      const std::string& name = fabric.node(node).name;
      switch (fabric.node(node).tier) {
        case Tier::kLeaf:
          out.add_leaf(name);
          break;
        case Tier::kSpine:
          out.add_spine(name);
          break;
        case Tier::kCore:
          out.add_core(name);
          break;
        case Tier::kHost:
          break;
      }
      AddAbove(fabric, node, seen, above);
    }
    level = std::move(above);
  }
}

}  // namespace

ServiceStatus Service::GetTopology(const v1::GetTopologyRequest&, v1::Topology& out) {
  if (const auto there = NeedTopology(); !there) return there;
  const Fabric& fabric = *daemon_.fabric();
  out.set_name(fabric.name());
  for (NodeIndex i = 0; i < fabric.nodes().size(); ++i) FillNode(fabric, i, *out.add_nodes());
  for (const topology::Link& link : fabric.links()) FillLink(fabric, link, *out.add_links());
  return {};
}

ServiceStatus Service::ListLinkLoads(const v1::ListLinkLoadsRequest&,
                                     v1::ListLinkLoadsResponse& out) {
  const auto answer = AnsweredWithTopology();
  if (!answer) return tl::unexpected(answer.error());
  (*answer)->FillAge(*out.mutable_age());
  const LinkLoads& loads = *(*answer)->snapshot().link_loads;
  if (!loads.from) return {};
  out.set_from_ns(ToNanoseconds(*loads.from));
  out.set_until_ns(ToNanoseconds(*loads.from + loads.window));
  for (const LinkLoad& load : loads.loads) {
    FillLoad(*daemon_.fabric(), load, loads.window, *out.add_loads());
  }
  return {};
}

ServiceStatus Service::FindPaths(const v1::FindPathsRequest& request, v1::FindPathsResponse& out) {
  if (const auto there = NeedTopology(); !there) return there;
  const auto page = Page(request.page_token());
  if (!page) return tl::unexpected(page.error());
  const Snapshot& snapshot = page->answer->snapshot();
  const auto job = request.job().empty() ? std::nullopt : FindJob(snapshot, request.job());
  if (!job && !request.job().empty()) return tl::unexpected(NoSuchJob(request.job()));
  const auto found = QueryPaths(snapshot, job, request);
  if (!found) return tl::unexpected(found.error());
  page->answer->FillAge(*out.mutable_age());
  const PageEnd end =
      EndOfPage(page->first, request.page_size(), found->size(), PageVersion(*page->answer));
  for (uint64_t i = page->first; i < end.end; ++i) {
    FillPath(*daemon_.fabric(), *(*found)[i], *out.add_paths());
  }
  out.set_total(found->size());
  out.set_next_page_token(end.next);
  return {};
}

ServiceStatus Service::ListHotspots(const v1::ListHotspotsRequest& request,
                                    v1::ListHotspotsResponse& out) {
  if (const auto there = NeedTopology(); !there) return there;
  const auto page = Page(request.page_token());
  if (!page) return tl::unexpected(page.error());
  const AnswerView& answer = *page->answer;
  std::string job;
  if (!request.job().empty()) {
    const auto found = FindJob(answer.snapshot(), request.job());
    if (!found) return tl::unexpected(NoSuchJob(request.job()));
    job = answer.snapshot().attribution->jobs[*found].job.id;
  }
  std::vector<const v1::Hotspot*> hotspots;
  for (const v1::Hotspot& hotspot : answer.hotspots().hotspots()) {
    const auto& lost = hotspot.lost();
    if (!job.empty() && std::ranges::find(lost, job, &v1::LostTime::job) == lost.end()) continue;
    hotspots.push_back(&hotspot);
  }
  answer.FillAge(*out.mutable_age());
  const PageEnd end =
      EndOfPage(page->first, request.page_size(), hotspots.size(), PageVersion(answer));
  for (uint64_t i = page->first; i < end.end; ++i) *out.add_hotspots() = *hotspots[i];
  out.set_total(hotspots.size());
  out.set_next_page_token(end.next);
  return {};
}

ServiceStatus Service::ListNodeSwitches(const v1::ListNodeSwitchesRequest& request,
                                        v1::ListNodeSwitchesResponse& out) {
  if (const auto there = NeedTopology(); !there) return there;
  const Fabric& fabric = *daemon_.fabric();
  uint64_t first = 0;
  if (!request.page_token().empty()) {
    const auto token = ParsePageToken(request.page_token());
    if (!token || token->version != 0) {
      return RefuseFields({"page_token"},
                          "not a token of this appliance; leave it empty for the first page");
    }
    first = token->offset;
  }
  std::vector<NodeIndex> hosts;
  for (NodeIndex i = 0; i < fabric.nodes().size(); ++i) {
    if (!fabric.node(i).IsSwitch()) hosts.push_back(i);
  }
  std::ranges::sort(hosts, {}, [&](NodeIndex i) { return fabric.node(i).name; });
  const PageEnd end = EndOfPage(first, request.page_size(), hosts.size(), 0);
  for (uint64_t i = first; i < end.end; ++i) FillSwitches(fabric, hosts[i], *out.add_nodes());
  out.set_next_page_token(end.next);
  return {};
}

}  // namespace rocescope
