// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/hotspot_traffic.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "topology/route.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

// What is left free of a link that is in full use, for gaps between frames.
constexpr double kFull = 0.9;

// A flow through the queue while it was hot.
struct Through {
  const FlowPath* path = nullptr;
  uint64_t bytes = 0;
};

void FillCulprits(std::span<const Through> flows, HotspotTraffic& traffic) {
  constexpr double kMost = 0.8;
  for (const Through& flow : flows) traffic.bytes += flow.bytes;
  traffic.flows = static_cast<uint32_t>(flows.size());
  const auto all = static_cast<double>(traffic.bytes);
  traffic.imbalance = static_cast<double>(flows[0].bytes) * static_cast<double>(flows.size()) / all;
  uint64_t held = 0;
  for (const Through& flow : flows) {
    if (static_cast<double>(held) >= kMost * all) break;
    held += flow.bytes;
    traffic.culprits.push_back({.flow = flow.path->flow,
                                .bytes = flow.bytes,
                                .share = static_cast<double>(flow.bytes) / all});
  }
}

// 0 of a port without a declared link.
double BytesASecond(const topology::Fabric& fabric, PortIndex port) {
  return static_cast<double>(fabric.SpeedOf(port)) / 8;
}

double Seconds(Duration duration) { return static_cast<double>(duration.count()) * 1e-9; }

void FillLost(const Hotspot& hotspot, std::span<const Through> flows, const FlowOwners& owners,
              double bytes_a_second, HotspotTraffic& traffic) {
  if (bytes_a_second == 0) return;
  struct Own {
    uint64_t bytes = 0;
    std::set<int> ranks;
  };
  std::map<uint32_t, Own> by_job;
  for (const Through& flow : flows) {
    const RankClaim* const owner = owners.Find(flow.path->flow);
    if (owner == nullptr) continue;
    Own& own = by_job[owner->job];
    own.bytes += flow.bytes;
    if (owner->rank >= 0) own.ranks.insert(owner->rank);
  }
  for (const auto& [job, own] : by_job) {
    const double others = static_cast<double>(traffic.bytes - own.bytes) / bytes_a_second;
    const double seconds =
        std::min(others + Seconds(hotspot.paused), Seconds(hotspot.until - hotspot.from));
    traffic.lost.push_back({.job = job,
                            .time = Duration(static_cast<int64_t>(seconds * 1e9)),
                            .ranks = {own.ranks.begin(), own.ranks.end()}});
  }
}

class Causes {
 public:
  Causes(const FlowPaths& paths, const MetricStore& metrics, const topology::Fabric& fabric)
      : paths_(paths), metrics_(metrics), fabric_(fabric), routes_(fabric) {}

  void Fill(const Hotspot& hotspot, std::span<const Through> culprits, HotspotTraffic& traffic) {
    if (hotspot.paused >= (hotspot.until - hotspot.from) - hotspot.paused) {
      traffic.cause = HotspotCause::kHeld;
      return;
    }
    const NodeIndex node = fabric_.port(hotspot.port).node;
    std::set<PortIndex> group = {hotspot.port};
    std::set<NicIndex> senders;
    for (const Through& flow : culprits) {
      senders.insert(flow.path->source);
      if (flow.path->destination == kNone || !fabric_.node(node).IsSwitch()) continue;
      const auto ways = routes_.NextHops(node, flow.path->destination);
      // One that strayed here has other ways, but not from here.
      if (std::ranges::find(ways, hotspot.port) == ways.end()) continue;
      group.insert(ways.begin(), ways.end());
    }
    traffic.group_links = static_cast<uint32_t>(group.size());
    double room = 0;
    double used = 0;
    for (const PortIndex port : group) {
      room += BytesASecond(fabric_, port) * Seconds(hotspot.until - hotspot.from);
      used += BytesBy(port, hotspot, port == hotspot.port ? traffic.bytes : 0);
    }
    if (room > 0) traffic.group_utilization = std::min(used / room, 1.0);
    if (culprits.empty() || room == 0) return;
    if (group.size() == 1) {
      traffic.cause = senders.size() > 1 ? HotspotCause::kIncast : HotspotCause::kOneSender;
    } else {
      traffic.cause =
          traffic.group_utilization < kFull ? HotspotCause::kCollision : HotspotCause::kOverload;
    }
  }

 private:
  // What the port says, or what flows are known to have sent by it.
  double BytesBy(PortIndex port, const Hotspot& hotspot, uint64_t known) {
    const MetricSeries* const series =
        metrics_.Find({.kind = EntityKind::kPort, .index = port}, Metric::kTxBytes);
    if (series != nullptr) {
      return static_cast<double>(
          series->Sum(metrics_.WindowOf(hotspot.from), metrics_.WindowOf(hotspot.until)));
    }
    if (known > 0) return static_cast<double>(known);
    uint64_t bytes = 0;
    for (const PathInterval* stretch : StretchesBy(port)) {
      bytes += BytesWithin(*stretch, hotspot.from, hotspot.until);
    }
    return static_cast<double>(bytes);
  }

  const std::vector<const PathInterval*>& StretchesBy(PortIndex port) {
    if (intervals_.empty()) {
      for (const FlowPath& path : paths_) {
        for (const PathInterval& stretch : path.intervals) {
          for (const PortIndex one : stretch.certain) intervals_[one].push_back(&stretch);
        }
      }
    }
    return intervals_[port];
  }

  const FlowPaths& paths_;
  const MetricStore& metrics_;
  const topology::Fabric& fabric_;
  topology::Routes routes_;
  std::unordered_map<PortIndex, std::vector<const PathInterval*>> intervals_;
};

// By hotspot; the largest first.
std::vector<std::vector<Through>> FlowsThrough(std::span<const Hotspot> hotspots,
                                               const FlowPaths& paths) {
  std::vector<std::vector<Through>> through(hotspots.size());
  std::unordered_map<PortIndex, std::vector<size_t>> at_port;
  for (size_t i = 0; i < hotspots.size(); ++i) at_port[hotspots[i].port].push_back(i);
  for (const FlowPath& path : paths) {
    for (const PathInterval& stretch : path.intervals) {
      for (const PortIndex port : stretch.certain) {
        const auto at = at_port.find(port);
        if (at == at_port.end()) continue;
        for (const size_t i : at->second) {
          const uint64_t bytes = BytesWithin(stretch, hotspots[i].from, hotspots[i].until);
          if (bytes == 0) continue;
          std::vector<Through>& flows = through[i];
          // A flow may have come by more than once.
          if (!flows.empty() && flows.back().path == &path) {
            flows.back().bytes += bytes;
          } else {
            flows.push_back({.path = &path, .bytes = bytes});
          }
        }
      }
    }
  }
  for (std::vector<Through>& flows : through) {
    std::ranges::sort(flows, [](const Through& a, const Through& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.path->flow < b.path->flow;
    });
  }
  return through;
}

}  // namespace

std::vector<HotspotTraffic> TrafficOf(std::span<const Hotspot> hotspots, const FlowPaths& paths,
                                      const FlowOwners& owners, const MetricStore& metrics,
                                      const topology::Fabric& fabric) {
  std::vector<HotspotTraffic> all(hotspots.size());
  if (hotspots.empty()) return all;
  const std::vector<std::vector<Through>> through = FlowsThrough(hotspots, paths);
  Causes causes(paths, metrics, fabric);
  for (size_t i = 0; i < hotspots.size(); ++i) {
    const std::vector<Through>& flows = through[i];
    HotspotTraffic& traffic = all[i];
    if (!flows.empty()) {
      FillCulprits(flows, traffic);
      FillLost(hotspots[i], flows, owners, BytesASecond(fabric, hotspots[i].port), traffic);
    }
    causes.Fill(hotspots[i], std::span(flows).first(traffic.culprits.size()), traffic);
  }
  return all;
}

}  // namespace rocescope
