// SPDX-License-Identifier: BSD-3-Clause
// For tests of this folder: a fabric of two tiers that may be cabled otherwise than declared, and
// what its flows and counters would say.
#pragma once

#include <array>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/cabling/cabling.h"
#include "topology/generate.h"

namespace rocescope {

class CablingWorld {
 public:
  // Four leaves with two hosts each, and four spines.
  CablingWorld()
      : declared_(topology::Generate(
                      {.shape = topology::Shape::kLeafSpine, .hosts = 8, .leaves = 4, .spines = 4})
                      .value()),
        real_(declared_),
        received_(declared_.ports().size()),
        sent_(declared_.ports().size()) {}

  static constexpr Timestamp At(int64_t ms) {
    return FromNanoseconds(1'000'000'000 + ms * 1'000'000);
  }

  const topology::Fabric& declared() const { return declared_; }

  // The declared port by which one sends to the other.
  topology::PortIndex PortTo(std::string_view from, std::string_view to) const {
    return PortTo(declared_, declared_.FindNode(from), declared_.FindNode(to));
  }
  topology::LinkIndex LinkOf(std::string_view a, std::string_view b) const {
    return declared_.port(PortTo(a, b)).link;
  }

  // The cables of two ports, in each other's place.
  void Swap(topology::PortIndex a, topology::PortIndex b) {
    topology::Fabric::Parts parts = real_.parts();
    const std::array<topology::PortIndex, 2> far = {real_.Peer(a), real_.Peer(b)};
    const std::array<topology::LinkIndex, 2> links = {real_.port(a).link, real_.port(b).link};
    parts.links[links[0]].ends = {a, far[1]};
    parts.ports[far[1]].link = links[0];
    parts.links[links[1]].ends = {b, far[0]};
    parts.ports[far[0]].link = links[1];
    real_ = topology::Fabric::Make(std::move(parts)).value();
  }
  topology::PortIndex RealPeer(topology::PortIndex port) const { return real_.Peer(port); }

  // Ports that send, of a flow between hosts of different leaves that leaves its own by this port.
  std::vector<topology::PortIndex> PathBy(std::string_view from, topology::PortIndex uplink,
                                          std::string_view to) const {
    const topology::PortIndex first = declared_.nic(NicOf(from)).port;
    const topology::NodeIndex spine = real_.PeerNode(uplink);
    const topology::PortIndex last = real_.Peer(declared_.nic(NicOf(to)).port);
    return {first, uplink, PortTo(real_, spine, real_.port(last).node), last};
  }

  // Frames by each of these ports, as counters see them.
  void Carry(const std::vector<topology::PortIndex>& path, uint64_t bytes, uint64_t lost = 0) {
    for (const topology::PortIndex port : path) {
      sent_[port] += bytes;
      received_[real_.Peer(port)] += bytes - lost;
    }
  }

  // What all ports' counters say now.
  RecordBatch Counters(Timestamp time) const {
    RecordBatch batch;
    for (topology::PortIndex port = 0; port < declared_.ports().size(); ++port) {
      const topology::Node& node = declared_.node(declared_.port(port).node);
      CounterRecord record = {.event_time = time, .arrival_time = time};
      record.entity = {.kind = node.IsSwitch() ? EntityKind::kPort : EntityKind::kNic,
                       .node = node.name,
                       .port = declared_.port(port).name};
      for (const auto& [metric, value] :
           {std::pair(Metric::kRxBytes, received_[port]), std::pair(Metric::kTxBytes, sent_[port]),
            std::pair(Metric::kLinkUp, uint64_t{1})}) {
        record.metric = metric;
        record.value = value;
        batch.counters.push_back(record);
      }
    }
    return batch;
  }

  FlowKey Flow(std::string_view from, std::string_view to, uint32_t qpn) const {
    return {.source = declared_.nic(NicOf(from)).addresses.front().address,
            .destination = declared_.nic(NicOf(to)).addresses.front().address,
            .destination_qpn = {qpn}};
  }

  // What INT says of a packet that takes these ports.
  RecordBatch Postcards(const FlowKey& flow, const std::vector<topology::PortIndex>& path,
                        Timestamp time) const {
    RecordBatch batch;
    for (size_t i = 1; i < path.size(); ++i) {
      HopRecord hop;
      hop.packet = {.known = true, .flow = flow, .ttl = static_cast<uint8_t>(64 - i)};
      hop.node_id = declared_.node(declared_.port(path[i]).node).int_switch_id;
      hop.metadata.present = wire::kIntPorts;
      hop.metadata.ingress_port =
          static_cast<uint16_t>(declared_.port(real_.Peer(path[i - 1])).number);
      hop.metadata.egress_port = static_cast<uint16_t>(declared_.port(path[i]).number);
      hop.event_time = time + Duration(i);
      batch.hops.push_back(hop);
    }
    return batch;
  }

  // What ingress mirrors show of the flow; taps are numbered as ports are.
  RecordBatch Copies(const FlowKey& flow, const std::vector<topology::PortIndex>& path,
                     Timestamp from, Timestamp until) const {
    RecordBatch batch;
    for (size_t i = 1; i < path.size(); ++i) {
      batch.flows.push_back({.flow = flow,
                             .tap = static_cast<TapId>(real_.Peer(path[i - 1])),
                             .ttl = static_cast<uint8_t>(65 - i),
                             .first_seen = from,
                             .last_seen = until,
                             .packets = 10});
    }
    return batch;
  }
  void LearnTaps(Cabling& cabling) const {
    for (topology::PortIndex port = 0; port < declared_.ports().size(); ++port) {
      const topology::Node& node = declared_.node(declared_.port(port).node);
      if (!node.IsSwitch()) continue;
      cabling.LearnTap({.tap = static_cast<TapId>(port),
                        .switch_address = node.erspan_source,
                        .session = 1,
                        .side = TapSide::kIngress,
                        .has_port = true,
                        .port = declared_.port(port).number});
    }
  }

 private:
  topology::NicIndex NicOf(std::string_view host) const {
    return declared_.NicsOf(declared_.FindNode(host)).front();
  }
  static topology::PortIndex PortTo(const topology::Fabric& fabric, topology::NodeIndex from,
                                    topology::NodeIndex to) {
    const topology::Node& node = fabric.node(from);
    for (uint32_t i = 0; i < node.port_count; ++i) {
      if (fabric.PeerNode(node.first_port + i) == to) return node.first_port + i;
    }
    return topology::kNone;
  }

  topology::Fabric declared_;
  topology::Fabric real_;
  std::vector<uint64_t> received_;  // by port
  std::vector<uint64_t> sent_;
};

}  // namespace rocescope
