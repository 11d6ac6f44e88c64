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
      if (entity.priority == CounterEntity::kAllPriorities && !entity.port.empty()) {
        entities_.emplace(std::pair(entity.node, entity.port), i);
      }
    }
  }

  // The losses on the link in the direction from this port.
  LossWatch OfLink(topology::PortIndex sender) {
    LossWatch watch;
    Add(sender, watch.sent);
    Add(fabric_.Peer(sender), watch.received);
    watch.in_flight = InFlight(sender, watch.sent);
    return watch;
  }
  // What enters a switch must leave it.
  LossWatch OfSwitch(topology::NodeIndex node) {
    LossWatch watch{.sent_metric = Metric::kRxPackets, .received_metric = Metric::kTxPackets};
    const topology::Node& at = fabric_.node(node);
    for (uint32_t i = 0; i < at.port_count; ++i) {
      Add(at.first_port + i, watch.sent);
      Add(at.first_port + i, watch.received);
    }
    return watch;
  }

 private:
  void Add(topology::PortIndex port, std::vector<uint32_t>& entities) const {
    const auto found =
        entities_.find({fabric_.node(fabric_.port(port).node).name, fabric_.port(port).name});
    if (found != entities_.end()) entities.push_back(found->second);
  }
  // The greatest number of frames of mean length that are on the wire.
  uint64_t InFlight(topology::PortIndex port, std::span<const uint32_t> senders) {
    if (senders.empty()) return 0;
    const std::vector<Metric>& metrics = exact_.entities()[senders.front()].metrics;
    std::vector<uint64_t> values(metrics.size());
    double frames = 0;
    double bytes = 0;
    if (exact_.Read(senders.front(), exact_.end(), exact_.end(), values)) {
      for (size_t i = 0; i < metrics.size(); ++i) {
        if (metrics[i] == Metric::kTxPackets) frames = static_cast<double>(values[i]);
        if (metrics[i] == Metric::kTxBytes) bytes = static_cast<double>(values[i]);
      }
    }
    if (frames <= 0 || bytes <= 0) return 1;
    const topology::Link& link = fabric_.link(fabric_.port(port).link);
    const double capacity = static_cast<double>(link.bits_per_second) / 8 *
                            static_cast<double>(link.delay.count()) / 1e9;
    return 1 + static_cast<uint64_t>(capacity / (bytes / frames + kWireOverheadBytes));
  }

  const topology::Fabric& fabric_;
  ExactCounters& exact_;
  std::map<std::pair<std::string, std::string>, uint32_t> entities_;
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
