// SPDX-License-Identifier: BSD-3-Clause
// Four hosts with two NICs and two GPUs each at two leaves under two spines: host0 and host1 at
// leaf0, the others at leaf1. There is no traffic until a test adds some.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "analytics/dependency/dependency_graph.h"
#include "topology/generate.h"

namespace rocescope {

class DependencyTest : public testing::Test {
 protected:
  static constexpr uint32_t kNics = 2;

  // A rank at the host's first NIC and GPU.
  JobRank RankAt(int number, const char* host) const {
    JobRank rank;
    rank.rank = number;
    rank.host = host;
    rank.addresses = {AddressOf(host)};
    rank.gpu_bus_id = fabric_.gpu(fabric_.GpusOf(fabric_.FindNode(host))[0]).pci;
    return rank;
  }
  uint32_t AddJob(const std::string& id, std::vector<JobRank> ranks) {
    Job job;
    job.id = id;
    job.ranks = std::move(ranks);
    attribution_.jobs.push_back({.job = job, .edges = {}});
    return static_cast<uint32_t>(attribution_.jobs.size() - 1);
  }
  static RankClaim Of(uint32_t job, int member) {
    return {.job = job, .rank = member, .member = member};
  }

  // Adds a connection between two hosts' NICs; the queue pair number of the sender is unknown.
  Connection& AddConnection(const char* from, const char* to, uint32_t qpn,
                            std::optional<RankClaim> sender, std::optional<RankClaim> receiver,
                            size_t nic = 0) {
    Connection connection;
    connection.endpoints[0] = {.address = AddressOf(to, nic), .qpn = Qpn{qpn}};
    connection.endpoints[1] = {.address = AddressOf(from, nic)};
    connections_.push_back(connection);
    attribution_.endpoints.push_back({receiver, sender});
    return connections_.back();
  }
  // Adds a path by node names.
  PathInterval& AddWay(const std::vector<std::string>& nodes, uint32_t qpn,
                       PathState state = PathState::kExact) {
    PathInterval stretch{.state = state};
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      stretch.certain.push_back(Port(nodes[i], nodes[i + 1]));
      stretch.path.ports[stretch.path.length++] = stretch.certain.back();
    }
    const FlowKey flow = {.source = AddressOf(nodes.front()),
                          .destination = AddressOf(nodes.back()),
                          .destination_qpn = Qpn{qpn}};
    if (paths_.empty() || paths_.back().flow != flow) paths_.push_back({.flow = flow});
    return paths_.back().intervals.emplace_back(stretch);
  }
  // Adds "job-1" with ranks at host0 and host3, whose only flow uses spine0.
  void AddSmallJob() {
    const uint32_t job = AddJob("job-1", {RankAt(0, "host0"), RankAt(1, "host3")});
    attribution_.jobs[job].job.communicators.push_back(
        {.id = "world", .rank_count = 2, .members = {{0, 0}, {1, 1}}});
    AddConnection("host0", "host3", 9, Of(job, 0), Of(job, 1));
    AddWay({"host0", "leaf0", "spine0", "leaf1", "host3"}, 9);
  }

  IpAddress AddressOf(std::string_view host, size_t nic = 0) const {
    return fabric_.nic(fabric_.NicsOf(fabric_.FindNode(host))[nic]).addresses[0].address;
  }
  // Returns the first port of `from` that is linked to `to`.
  topology::PortIndex Port(std::string_view from, std::string_view to) const {
    const topology::Node& node = fabric_.node(fabric_.FindNode(from));
    for (uint32_t i = 0; i < node.port_count; ++i) {
      if (fabric_.PeerNode(node.first_port + i) == fabric_.FindNode(to)) return node.first_port + i;
    }
    return topology::kNone;
  }
  std::string PortName(std::string_view from, std::string_view to) const {
    return fabric_.NameOf(Port(from, to));
  }
  std::string LinkName(std::string_view a, std::string_view b) const {
    return fabric_.NameOfLink(fabric_.port(Port(a, b)).link);
  }

  template <typename Ask>
  auto InGraph(Ask ask) const {
    const ConnectionList connections(connections_);
    const FlowPaths paths(paths_);
    return ask(DependencyGraph(fabric_, attribution_, connections, paths));
  }
  std::vector<std::string> HitBy(std::string_view name) const {
    return NamesOf(name, &DependencyGraph::BlastRadiusOf);
  }
  std::vector<std::string> NeededBy(std::string_view name) const {
    return NamesOf(name, &DependencyGraph::NeedsOf);
  }

  topology::Fabric fabric_ =
      topology::Generate({.hosts = 4, .nics_per_host = kNics, .leaves = 2, .spines = 2}).value();
  Attribution attribution_;
  std::vector<Connection> connections_;
  std::vector<FlowPath> paths_;

 private:
  std::vector<std::string> NamesOf(std::string_view name,
                                   std::vector<Element> (DependencyGraph::*others)(const Element&)
                                       const) const {
    return InGraph([&](const DependencyGraph& graph) {
      std::vector<std::string> names;
      const auto element = graph.elements().Find(name);
      EXPECT_TRUE(element) << name;
      if (!element) return names;
      for (const Element& other : (graph.*others)(*element)) {
        names.push_back(graph.elements().NameOf(other));
      }
      return names;
    });
  }
};

}  // namespace rocescope
