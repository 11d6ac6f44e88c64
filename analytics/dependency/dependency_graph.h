// SPDX-License-Identifier: BSD-3-Clause
// Who depends on what, from application to switch: job, communicator, rank, GPU, host, NIC, port,
// link, switch. Of one snapshot; whoever asks pays for making it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/connection/connection.h"
#include "analytics/job/attribution.h"
#include "analytics/path/path.h"
#include "topology/fabric.h"

namespace rocescope {

enum class ElementKind : uint8_t {
  kJob,
  kCommunicator,
  kRank,
  kGpu,
  kHost,
  kNic,
  kPort,
  kLink,
  kSwitch,
};
inline constexpr size_t kElementKinds = 9;

std::string_view NameOf(ElementKind kind);

struct Element {
  ElementKind kind = ElementKind::kJob;
  // The topology's index, or that in Attribution::jobs. Of a communicator or rank: its place among
  // all of them, job by job.
  uint32_t index = 0;

  friend auto operator<=>(const Element&, const Element&) = default;
};

class DependencyGraph {
 public:
  // All must outlive it. A job needs its communicators, these their ranks, a rank its GPU, its NICs
  // and the links that its flows take now; a GPU and a NIC their host, a NIC its port, a port its
  // link, a link the switches at its ends. Time and memory: flows times hops.
  DependencyGraph(const topology::Fabric& fabric, const Attribution& attribution,
                  const ConnectionList& connections, const FlowPaths& paths);

  // "leaf0", "host3", "host3:mlx5_1", "host3:gpu:5", "leaf0:Ethernet4", a link's two ports with a
  // hyphen between them, a job's id, JOB:rank:NUMBER; none if there is no such element.
  std::optional<Element> Find(std::string_view name) const;
  std::string NameOf(const Element& element) const;

  // What it needs, directly or by others; itself left out. By kind and index.
  std::vector<Element> NeedsOf(const Element& element) const;
  // Who needs it: what is hit if it fails. Likewise.
  std::vector<Element> BlastRadiusOf(const Element& element) const;

 private:
  // Of one element: others, one behind the other.
  struct Adjacency {
    std::vector<uint32_t> first;
    std::vector<uint32_t> others;

    std::span<const uint32_t> Of(uint32_t number) const {
      return std::span(others).subspan(first[number], first[number + 1] - first[number]);
    }
  };
  using Edge = std::pair<uint32_t, uint32_t>;

  uint32_t NumberOf(const Element& element) const {
    return first_[static_cast<size_t>(element.kind)] + element.index;
  }
  Element ElementAt(uint32_t number) const;
  bool Has(const Element& element) const;
  uint32_t RankNumber(uint32_t job, uint32_t member) const;
  void AddFabric(std::vector<Edge>& edges) const;
  void AddJobs(std::vector<Edge>& edges) const;
  void AddFlows(const ConnectionList& connections, const FlowPaths& paths,
                std::vector<Edge>& edges) const;
  static Adjacency Pack(std::vector<Edge> edges, uint32_t elements);
  std::vector<Element> Closure(const Adjacency& adjacency, const Element& element) const;

  const topology::Fabric& fabric_;
  const Attribution& attribution_;
  std::vector<uint32_t> first_rank_;          // of each job, among all ranks
  std::vector<uint32_t> first_communicator_;  // likewise
  std::vector<uint32_t> first_;               // element of each kind, among all
  Adjacency needs_;
  Adjacency needed_by_;
};

}  // namespace rocescope
