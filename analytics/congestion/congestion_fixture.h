// SPDX-License-Identifier: BSD-3-Clause
// For tests of this folder: a small fabric, and whose flows take which ways through it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/path/path.h"
#include "topology/generate.h"

namespace rocescope {

// 12 hosts with one NIC each: host0 to host3 at leaf0, and so on; two spines. 100 Gb/s, so that
// 12.5 kB pass in a microsecond.
class CongestionTest : public testing::Test {
 protected:
  // The port by which `from` sends to `to`.
  topology::PortIndex Port(std::string_view from, std::string_view to) const {
    const topology::Node& node = fabric_.node(fabric_.FindNode(from));
    for (uint32_t i = 0; i < node.port_count; ++i) {
      if (fabric_.PeerNode(node.first_port + i) == fabric_.FindNode(to)) return node.first_port + i;
    }
    return topology::kNone;
  }
  topology::NicIndex NicOf(std::string_view host) const {
    return fabric_.NicsOf(fabric_.FindNode(host)).front();
  }
  IpAddress AddressOf(std::string_view host) const {
    return fabric_.nic(NicOf(host)).addresses.front().address;
  }
  FlowKey Flow(std::string_view from, std::string_view to, uint32_t qpn) const {
    return {.source = AddressOf(from), .destination = AddressOf(to), .destination_qpn = {qpn}};
  }
  // From the first of the nodes to the last. `stretch` says all but by which ports.
  FlowKey Takes(const std::vector<std::string>& nodes, uint32_t qpn, PathInterval stretch) {
    FlowPath path{.flow = Flow(nodes.front(), nodes.back(), qpn),
                  .source = NicOf(nodes.front()),
                  .destination = NicOf(nodes.back())};
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      stretch.certain.push_back(Port(nodes[i], nodes[i + 1]));
      stretch.path.ports[stretch.path.length++] = stretch.certain.back();
    }
    path.intervals.push_back(std::move(stretch));
    paths_.push_back(std::move(path));
    return paths_.back().flow;
  }
  // The connection whose first end sends `flow`, from the queue pair of this number.
  void Connects(const FlowKey& flow, uint32_t source_qpn) {
    Connection connection;
    connection.endpoints[0] = {.address = flow.source, .qpn = Qpn{source_qpn}};
    connection.endpoints[1] = {.address = flow.destination, .qpn = flow.destination_qpn};
    connections_.push_back(connection);
  }
  FlowPaths Paths() {
    std::ranges::sort(paths_, {}, &FlowPath::flow);
    return FlowPaths(paths_);
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 12, .leaves = 3, .spines = 2}).value();
  std::vector<FlowPath> paths_;
  std::vector<Connection> connections_;
};

}  // namespace rocescope
