// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/silent_loss.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "rocescope/v1/truth.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope::sim {
namespace {

constexpr double kWireOverheadBytes = 24;  // FCS, preamble, gap

class Finder {
 public:
  Finder(const topology::Fabric& fabric, ExactCounters& exact) : fabric_(fabric), exact_(exact) {
    for (uint32_t i = 0; i < exact.entities().size(); ++i) {
      const CounterEntity& entity = exact.entities()[i].entity;
      if (entity.port.empty()) continue;
      auto& entities = entity.priority == CounterEntity::kAllPriorities ? entities_ : queues_;
      entities.emplace(std::pair(entity.node, entity.port), i);
    }
  }

  // The losses on the link in the direction from this port.
  LossWatch OfLink(topology::PortIndex sender) {
    LossWatch watch;
    Add(entities_, sender, watch.sent);
    Add(entities_, fabric_.Peer(sender), watch.received);
    watch.in_flight = InFlight(sender, watch.sent);
    return watch;
  }
  // What enters a switch leaves it, is counted as dropped, or waits in a queue.
  LossWatch OfSwitch(topology::NodeIndex node) {
    LossWatch watch{
        .sent_metric = Metric::kRxPackets,
        .received_metrics = {Metric::kTxPackets, Metric::kRxDiscards, Metric::kTxDiscards,
                             Metric::kTtlDrops, Metric::kNoRouteDrops, Metric::kMtuDrops}};
    const topology::Node& at = fabric_.node(node);
    for (uint32_t i = 0; i < at.port_count; ++i) {
      Add(entities_, at.first_port + i, watch.sent);
      Add(entities_, at.first_port + i, watch.received);
      Add(queues_, at.first_port + i, watch.queues);
    }
    const double frames = SumAtEnd(watch.sent, Metric::kTxPackets);
    const double bytes = SumAtEnd(watch.sent, Metric::kTxBytes);
    if (frames > 0 && bytes > frames) watch.frame_bytes = bytes / frames;
    watch.most_queued = static_cast<uint64_t>(
        std::ceil(SumAtEnd(watch.queues, Metric::kQueueWatermark) / watch.frame_bytes));
    return watch;
  }

 private:
  using Entities = std::multimap<std::pair<std::string, std::string>, uint32_t>;

  void Add(const Entities& from, topology::PortIndex port, std::vector<uint32_t>& to) const {
    const auto [first, last] =
        from.equal_range({fabric_.node(fabric_.port(port).node).name, fabric_.port(port).name});
    for (auto at = first; at != last; ++at) to.push_back(at->second);
  }
  // The end of the run, or the last time before an outage that lasts until then.
  Timestamp LastTimeOf(uint32_t entity) const {
    for (const ExactCounters::Outage& outage : exact_.OutagesOf(entity)) {
      if (outage.begin > exact_.begin() && outage.end > exact_.end()) {
        return outage.begin - Duration(1);
      }
    }
    return exact_.end();
  }
  // The sum of a counter, or of the maxima of a watermark.
  double SumAtEnd(std::span<const uint32_t> entities, Metric metric) {
    double sum = 0;
    std::vector<uint64_t> values;
    for (const uint32_t entity : entities) {
      const std::vector<Metric>& metrics = exact_.entities()[entity].metrics;
      const auto at = std::find(metrics.begin(), metrics.end(), metric);
      values.resize(metrics.size());
      if (at == metrics.end() || !exact_.Read(entity, exact_.begin(), LastTimeOf(entity), values)) {
        continue;
      }
      sum += static_cast<double>(values[static_cast<size_t>(at - metrics.begin())]);
    }
    return sum;
  }
  // The greatest number of frames of mean length that are on the wire.
  uint64_t InFlight(topology::PortIndex port, std::span<const uint32_t> senders) {
    if (senders.empty()) return 0;
    const double frames = SumAtEnd(senders, Metric::kTxPackets);
    const double bytes = SumAtEnd(senders, Metric::kTxBytes);
    if (frames <= 0 || bytes <= 0) return 1;
    const topology::Link& link = fabric_.link(fabric_.port(port).link);
    const double capacity = static_cast<double>(link.bits_per_second) / 8 *
                            static_cast<double>(link.delay.count()) / 1e9;
    return 1 + static_cast<uint64_t>(capacity / (bytes / frames + kWireOverheadBytes));
  }

  const topology::Fabric& fabric_;
  ExactCounters& exact_;
  Entities entities_;
  Entities queues_;  // one for each priority of a port
};

topology::LinkIndex FindLink(const topology::Fabric& fabric, const std::string& name) {
  for (topology::LinkIndex link = 0; link < fabric.links().size(); ++link) {
    if (fabric.NameOfLink(link) == name) return link;
  }
  return topology::kNone;
}

}  // namespace

std::vector<SilentLoss> FindSilentLosses(const v1::Truth& truth, const topology::Fabric& fabric,
                                         ExactCounters& exact) {
  std::vector<SilentLoss> losses;
  Finder finder(fabric, exact);
  for (int i = 0; i < truth.faults_size(); ++i) {
    const v1::TruthFault& fault = truth.faults(i);
    const auto kind = FindFaultKind(fault.kind());
    if (!kind) continue;
    const auto add = [&](LossWatch watch) {
      watch.begin = FromNanoseconds(fault.start_ns());
      watch.end = FromNanoseconds(fault.end_ns());
      watch.lost = fault.affected_frames();
      losses.push_back({.fault = i, .watch = std::move(watch)});
    };
    if (InfoOf(*kind).need == Need::kSwitchSums) {
      const topology::NodeIndex node = fabric.FindNode(fault.place());
      if (node != topology::kNone) add(finder.OfSwitch(node));
    } else if (InfoOf(*kind).need == Need::kLinkSums) {
      const topology::LinkIndex link = FindLink(fabric, fault.place());
      if (link == topology::kNone) continue;
      for (const topology::PortIndex sender : fabric.link(link).ends) {
        if (fault.direction().empty() || fault.direction() == fabric.NameOf(sender)) {
          add(finder.OfLink(sender));
        }
      }
    }
  }
  return losses;
}

}  // namespace rocescope::sim
