// SPDX-License-Identifier: BSD-3-Clause
// Who depends on what, from application to switch: job, communicator, rank, GPU, host, NIC, port,
// link, switch. Of one snapshot; whoever asks pays for making it.
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

// How much work hangs on something.
struct Reach {
  uint32_t jobs = 0;
  uint32_t ranks = 0;
  uint32_t gpus = 0;   // on which those ranks run, as far as known,
  uint32_t hosts = 0;  // likewise

  friend bool operator==(const Reach&, const Reach&) = default;
};

// What is not known of ways is missing from the graph.
struct FlowCoverage {
  uint64_t flows = 0;      // directions of connections that a job claims; of these
  uint64_t known = 0;      // the whole way is known, or likely,
  uint64_t partly = 0;     // or links that all possible ways have, or on which it was seen
  uint64_t unclaimed = 0;  // flows that no job claims: what they use seems unused

  friend bool operator==(const FlowCoverage&, const FlowCoverage&) = default;
};

class DependencyGraph {
 public:
  // All must outlive it, and be of one snapshot. A job needs its communicators, these their ranks;
  // a rank its host, its GPU, its NICs and the links that its flows, those it gets too, took last.
  // Of a claim that names no rank with a log, the job needs them. A GPU and a NIC need their host,
  // a NIC its port, a switch's port its switch, and a port and its link each other.
  //
  // Takes the time of sorting flows times hops, well below a second for 100,000 flows of 10,000
  // GPUs, and memory for each dependency once.
  DependencyGraph(const topology::Fabric& fabric, const Attribution& attribution,
                  const ConnectionList& connections, const FlowPaths& paths);

  const Elements& elements() const { return elements_; }
  const FlowCoverage& coverage() const { return coverage_; }

  // What it needs, directly or by others; itself left out. By kind and index. Nothing of an element
  // that there is not. Takes the time of what it finds, and a bit for each element.
  std::vector<Element> NeedsOf(const Element& element) const;
  // Who needs it: what is hit if it fails. Likewise.
  std::vector<Element> BlastRadiusOf(const Element& element) const;
  // Of a blast radius.
  Reach ReachOf(std::span<const Element> hit) const;

 private:
  // Of one element: others, one behind the other.
  struct Adjacency {
    std::vector<uint32_t> first;
    std::vector<uint32_t> others;

    std::span<const uint32_t> Of(uint32_t number) const {
      return std::span(others).subspan(first[number], first[number + 1] - first[number]);
    }
  };
  // By number: the first one needs the second one.
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
