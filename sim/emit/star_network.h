// SPDX-License-Identifier: BSD-3-Clause
// Three hosts on a switch, for tests. Host n is at the switch's port n, which is Ethernet n+1 and
// has the number n+1; cables are of 100 Gb/s and 1 us.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/emit/collector_port.h"
#include "sim/emit/memory_sink.h"
#include "sim/emit/packet.h"
#include "sim/host/network.h"
#include "topology/generate.h"

namespace rocescope::sim {

inline constexpr int64_t kTestEpochNs = 1'700'000'000'999'990'000;  // 10 us before a second is full

class StarNetwork {
 public:
  // Ports of `taps` are the switch's, from 0; their node is filled in.
  explicit StarNetwork(std::vector<topology::Tap> taps = {}, const NetworkOptions& options = {},
                       CollectorPortOptions port = {})
      : fabric_(MakeFabric(std::move(taps))),
        network_(fabric_, options),
        packets_(network_),
        port_(WithEpoch(port), sink_) {}

  const topology::Fabric& fabric() const { return fabric_; }
  Network& network() { return network_; }
  PacketWriter& packets() { return packets_; }
  CollectorPort& port() { return port_; }
  const MemorySink& sink() const { return sink_; }
  topology::NodeIndex switch_node() const { return fabric_.FindNode("leaf0"); }
  Switch& switch_at() { return network_.switch_at(switch_node()); }

  // A WRITE on a queue pair of its own.
  void Write(topology::NicIndex from, topology::NicIndex to, uint64_t bytes = 1000) {
    network_.Connect(from, to, nullptr).first->Post({.length = bytes});
  }
  void WriteAt(SimTime when, topology::NicIndex from, topology::NicIndex to,
               uint64_t bytes = 1000) {
    network_.engine().At(when, [this, from, to, bytes] { Write(from, to, bytes); });
  }
  const std::vector<MemorySink::Kept>& Run(SimTime end = kSecond) {
    network_.engine().Run(end);
    return sink_.frames();
  }

 private:
  static topology::Fabric MakeFabric(std::vector<topology::Tap> taps) {
    topology::Fabric::Parts parts =
        topology::GenerateParts({.shape = topology::Shape::kStar, .hosts = 3}).value();
    const auto node = static_cast<topology::NodeIndex>(
        std::find_if(parts.nodes.begin(), parts.nodes.end(),
                     [](const topology::Node& each) { return each.IsSwitch(); }) -
        parts.nodes.begin());
    for (topology::Tap& tap : taps) {
      tap.node = node;
      for (topology::PortIndex& port : tap.ports) port += parts.nodes[node].first_port;
    }
    parts.taps = std::move(taps);
    return topology::Fabric::Make(std::move(parts)).value();
  }
  static CollectorPortOptions WithEpoch(CollectorPortOptions port) {
    port.clock.epoch = FromNanoseconds(kTestEpochNs);
    return port;
  }

  topology::Fabric fabric_;
  Network network_;
  PacketWriter packets_;
  MemorySink sink_;
  CollectorPort port_;
};

}  // namespace rocescope::sim
