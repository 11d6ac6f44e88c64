// SPDX-License-Identifier: BSD-3-Clause
// Dependencies from application to switch in one snapshot: job, communicator, rank, GPU, host, NIC,
// port, link, switch. The graph is built on request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/dependency/element.h"
#include "analytics/dependency/elements.h"
#include "analytics/job/attribution.h"
#include "analytics/path/path.h"
#include "topology/fabric.h"

namespace rocescope {

// Amount of work that depends on an element.
struct Reach {
  uint32_t jobs = 0;
  uint32_t ranks = 0;
  uint32_t gpus = 0;   // known GPUs of those ranks
  uint32_t hosts = 0;  // known hosts of those ranks

  friend bool operator==(const Reach&, const Reach&) = default;
};

// The graph does not contain unknown parts of paths.
struct FlowCoverage {
  uint64_t flows = 0;  // directions of connections that are attributed to a job
  uint64_t known = 0;  // flows whose whole path is known or likely
  // Flows for which only the links common to all possible paths, or the observed links, are known.
  uint64_t partly = 0;
  // Flows not attributed to any job: the elements that they use look unused.
  uint64_t unclaimed = 0;

  friend bool operator==(const FlowCoverage&, const FlowCoverage&) = default;
};

class DependencyGraph {
 public:
  // All arguments must outlive the graph and belong to one snapshot. A job needs its communicators,
  // and they need their ranks. A rank needs its host, its GPU, its NICs and the links last used by
  // the flows that it sends or receives. If a flow is attributed to a job but to no rank with a
  // log, the job itself needs these links. A GPU needs its host. A NIC needs its host and its port.
  // A switch port needs its switch. A port and its link need each other.
  //
  // Construction takes O(n log n) for n = flows times hops, well below one second for 100,000 flows
  // of 10,000 GPUs. Each dependency is stored once.
  DependencyGraph(const topology::Fabric& fabric, const Attribution& attribution,
                  const ConnectionList& connections, const FlowPaths& paths);

  const Elements& elements() const { return elements_; }
  const FlowCoverage& coverage() const { return coverage_; }

  // Returns everything that the element needs, directly or indirectly, without the element itself,
  // sorted by kind and index. The result is empty for an unknown element. Takes time linear in the
  // result, plus one bit per element.
  std::vector<Element> NeedsOf(const Element& element) const;
  // Returns everything that needs the element, directly or indirectly, and therefore fails with it.
  // Order and cost are as for NeedsOf.
  std::vector<Element> BlastRadiusOf(const Element& element) const;
  // Summarises a blast radius.
  Reach ReachOf(std::span<const Element> hit) const;

 private:
  // Adjacency lists of all elements in one array.
  struct Adjacency {
    std::vector<uint32_t> first;
    std::vector<uint32_t> others;

    std::span<const uint32_t> Of(uint32_t number) const {
      return std::span(others).subspan(first[number], first[number + 1] - first[number]);
    }
  };
  // Pairs of element numbers: the first needs the second.
  class Edges;

  void AddFabric(Edges& edges) const;
  void AddJobs(Edges& edges) const;
  void AddFlows(const ConnectionList& connections, const FlowPaths& paths, Edges& edges);
  Adjacency Pack(std::span<const std::pair<uint32_t, uint32_t>> sorted) const;
  std::vector<Element> Closure(const Adjacency& adjacency, const Element& element) const;

  Elements elements_;
  FlowCoverage coverage_;
  Adjacency needs_;
  Adjacency needed_by_;
};

}  // namespace rocescope
