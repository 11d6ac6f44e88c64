// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analytics/congestion/link_load.h"
#include "appliance/api/message_value.h"
#include "appliance/common/report/job_report.h"
#include "appliance/daemon/service/job_summary.h"
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
  out.set_tier(EnumOf<v1::TopologyNode::Tier>(NameOf(node.tier)));
  if (node.pod != kNone) out.set_pod(node.pod);
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
    one.set_index(gpu.number);
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

void FillLoad(const Fabric& fabric, const LinkLoad& load, Duration window, v1::LinkLoad& out) {
  out.set_port(fabric.NameOf(load.port));
  if (const auto utilization = UtilizationOf(fabric, load, window)) {
    out.set_utilization(*utilization);
  }
  if (load.source != LoadSource::kNone) {
    out.set_source(load.source == LoadSource::kCounters ? v1::LinkLoad::SOURCE_COUNTERS
                                                        : v1::LinkLoad::SOURCE_PATHS);
  }
  out.set_bytes(load.bytes);
  out.set_ce_marked_packets(load.marked);
  out.set_dropped_packets(load.dropped);
  *out.mutable_paused_duration() = DurationMessage(load.paused);
  if (load.peak_bytes != 0) out.set_peak_queue_bytes(load.peak_bytes);
  out.set_error_frames(load.errors);
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
          out.add_leaf_switches(name);
          break;
        case Tier::kSpine:
          out.add_spine_switches(name);
          break;
        case Tier::kCore:
          out.add_core_switches(name);
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

ServiceStatus Service::GetTopology(const Caller&, const v1::GetTopologyRequest&,
                                   v1::Topology& out) {
  if (const auto there = NeedTopology(); !there) return there;
  const Fabric& fabric = *daemon_.fabric();
  out.set_name(fabric.name());
  for (NodeIndex i = 0; i < fabric.nodes().size(); ++i) FillNode(fabric, i, *out.add_nodes());
  for (const topology::Link& link : fabric.links()) FillLink(fabric, link, *out.add_links());
  return {};
}

ServiceStatus Service::ListLinkLoads(const Caller&, const v1::ListLinkLoadsRequest& in,
                                     v1::ListLinkLoadsResponse& out) {
  if (in.has_at_time()) return PastLinkLoads(in, out);
  if (const auto there = NeedTopology(); !there) return there;
  const auto page = Page(ReadListRequest(in));
  if (!page) return tl::unexpected(page.error());
  page->answer->FillMetadata(*out.mutable_snapshot());
  const LinkLoads& loads = *page->answer->snapshot().link_loads;
  if (loads.from) {
    *out.mutable_start_time() = TimestampMessage(*loads.from);
    *out.mutable_end_time() = TimestampMessage(*loads.from + loads.window);
  }
  const auto fill = [&](uint64_t i, v1::LinkLoad& load) {
    FillLoad(*daemon_.fabric(), loads.loads[i], loads.window, load);
  };
  return FillPage(page->list, PageVersion(*page->answer), loads.from ? loads.loads.size() : 0, fill,
                  *out.mutable_link_loads(), out);
}

ServiceStatus Service::ListHotspots(const Caller& caller, const v1::ListHotspotsRequest& in,
                                    v1::ListHotspotsResponse& out) {
  if (const auto named = NeedJob(caller, in.job_id()); !named) return named;
  if (in.has_at_time()) return PastHotspots(caller, in, out);
  if (const auto there = NeedTopology(); !there) return there;
  const auto page = Page(ReadListRequest(in));
  if (!page) return tl::unexpected(page.error());
  const AnswerView& answer = *page->answer;
  const OwnJobs own = OwnJobsOf(caller, answer);
  const auto job = JobIdOf(answer.snapshot(), own, in.job_id());
  if (!job) return tl::unexpected(job.error());
  std::vector<const v1::Hotspot*> hotspots;
  for (const v1::Hotspot& hotspot : answer.hotspots().hotspots()) {
    const auto& lost = hotspot.lost_times();
    if (!job->empty() && std::ranges::find(lost, *job, &v1::LostTime::job_id) == lost.end())
      continue;
    hotspots.push_back(&hotspot);
  }
  answer.FillMetadata(*out.mutable_snapshot());
  const auto fill = [&](uint64_t i, v1::Hotspot& hotspot) {
    hotspot = *hotspots[i];
    own.Restrict(hotspot);
  };
  return FillPage(page->list, PageVersion(answer), hotspots.size(), fill, *out.mutable_hotspots(),
                  out);
}

ServiceStatus Service::ListNodeSwitches(const Caller&, const v1::ListNodeSwitchesRequest& in,
                                        v1::ListNodeSwitchesResponse& out) {
  if (const auto there = NeedTopology(); !there) return there;
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  const Fabric& fabric = *daemon_.fabric();
  std::vector<NodeIndex> hosts;
  for (NodeIndex i = 0; i < fabric.nodes().size(); ++i) {
    if (!fabric.node(i).IsSwitch()) hosts.push_back(i);
  }
  std::ranges::sort(hosts, {}, [&](NodeIndex i) { return fabric.node(i).name; });
  const auto fill = [&](uint64_t i, v1::NodeSwitches& node) {
    FillSwitches(fabric, hosts[i], node);
  };
  return FillPage(*list, 0, hosts.size(), fill, *out.mutable_node_switches(), out);
}

}  // namespace rocescope
