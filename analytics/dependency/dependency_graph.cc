// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/dependency_graph.h"

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>

#include "analytics/dependency/rank_places.h"
#include "analytics/job/flow_of.h"

namespace rocescope {

using topology::kNone;
using topology::LinkIndex;
using topology::NicIndex;
using topology::NodeIndex;
using topology::PortIndex;

class DependencyGraph::Edges {
 public:
  using Edge = std::pair<uint32_t, uint32_t>;

  explicit Edges(const Elements& elements) : elements_(elements) {}

  void Add(const Element& user, const Element& needed) {
    edges_.emplace_back(elements_.NumberOf(user), elements_.NumberOf(needed));
    if (edges_.size() >= next_) Tidy();
  }

  // Ascending, each once.
  std::vector<Edge> Take() && {
    Tidy();
    return std::move(edges_);
  }

 private:
  // Thousands of flows of one rank need the same links: now and then, so that memory is that of
  // different edges, and no more than twice the time of sorting once.
  void Tidy() {
    std::ranges::sort(edges_);
    const auto doubles = std::ranges::unique(edges_);
    edges_.erase(doubles.begin(), doubles.end());
    next_ = std::max(kFew, 2 * edges_.size());
  }

  static constexpr size_t kFew = size_t{1} << 20;
  const Elements& elements_;
  std::vector<Edge> edges_;
  size_t next_ = kFew;
};

namespace {

// The last stretch of the flow while it was this connection's: queue pair numbers are reused.
const PathInterval* LastWay(const FlowPath& path, const Connection& connection) {
  const Timestamp until = connection.valid_until.value_or(Timestamp::max());
  for (const PathInterval& stretch : std::views::reverse(path.intervals)) {
    if (stretch.from < until && stretch.until >= connection.valid_from) return &stretch;
  }
  return nullptr;
}

bool IsWhole(const PathInterval& way) {
  return way.state == PathState::kExact || way.state == PathState::kLikely;
}

// The ports that send: all that are known, or believed.
std::vector<PortIndex> PortsOn(const PathInterval& way) {
  if (IsWhole(way)) {
    return {way.path.hops().begin(), way.path.hops().end()};
  }
  std::vector<PortIndex> ports = way.certain;
  for (const PathShare& share : way.shares) {
    if (share.share > 0) ports.push_back(share.port);
  }
  return ports;
}

}  // namespace

DependencyGraph::DependencyGraph(const topology::Fabric& fabric, const Attribution& attribution,
                                 const ConnectionList& connections, const FlowPaths& paths)
    : elements_(fabric, attribution) {
  Edges edges(elements_);
  AddFabric(edges);
  AddJobs(edges);
  AddFlows(connections, paths, edges);
  std::vector<Edges::Edge> sorted = std::move(edges).Take();
  needs_ = Pack(sorted);
  for (auto& [user, needed] : sorted) std::swap(user, needed);
  std::ranges::sort(sorted);
  needed_by_ = Pack(sorted);
}

DependencyGraph::Adjacency DependencyGraph::Pack(
    std::span<const std::pair<uint32_t, uint32_t>> sorted) const {
  Adjacency packed{.first = std::vector<uint32_t>(size_t{elements_.count()} + 1), .others = {}};
  packed.others.reserve(sorted.size());
  for (const auto& [from, to] : sorted) {
    ++packed.first[from + 1];
    packed.others.push_back(to);
  }
  for (uint32_t i = 0; i < elements_.count(); ++i) packed.first[i + 1] += packed.first[i];
  return packed;
}

void DependencyGraph::AddFabric(Edges& edges) const {
  const topology::Fabric& fabric = elements_.fabric();
  for (uint32_t gpu = 0; gpu < fabric.gpus().size(); ++gpu) {
    edges.Add({ElementKind::kGpu, gpu}, {ElementKind::kHost, fabric.gpu(gpu).host});
  }
  for (NicIndex nic = 0; nic < fabric.nics().size(); ++nic) {
    edges.Add({ElementKind::kNic, nic}, {ElementKind::kHost, fabric.nic(nic).host});
    edges.Add({ElementKind::kNic, nic}, {ElementKind::kPort, fabric.nic(nic).port});
  }
  for (PortIndex port = 0; port < fabric.ports().size(); ++port) {
    const Element self = {ElementKind::kPort, port};
    const Element node = elements_.Node(fabric.port(port).node);
    if (node.kind == ElementKind::kSwitch) edges.Add(self, node);
    const LinkIndex link = fabric.port(port).link;
    if (link == kNone) continue;
    edges.Add(self, {ElementKind::kLink, link});
    edges.Add({ElementKind::kLink, link}, self);
  }
}

void DependencyGraph::AddJobs(Edges& edges) const {
  const RankPlaces places(elements_.fabric());
  const auto& jobs = elements_.attribution().jobs;
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    const Job& job = jobs[j].job;
    const Element self = {ElementKind::kJob, j};
    for (uint32_t c = 0; c < job.communicators.size(); ++c) {
      const Element communicator = elements_.Communicator(j, c);
      edges.Add(self, communicator);
      for (const CommunicatorMember& member : job.communicators[c].members) {
        if (member.job_rank >= job.ranks.size()) continue;
        edges.Add(communicator, elements_.Rank(j, static_cast<uint32_t>(member.job_rank)));
      }
    }
    for (uint32_t r = 0; r < job.ranks.size(); ++r) {
      const Element rank = elements_.Rank(j, r);
      edges.Add(self, rank);
      const NodeIndex host = places.HostOf(job.ranks[r]);
      if (host == kNone) continue;
      edges.Add(rank, {ElementKind::kHost, host});
      const topology::GpuIndex gpu = places.GpuOf(job.ranks[r], host);
      if (gpu != kNone) edges.Add(rank, {ElementKind::kGpu, gpu});
      for (const NicIndex nic : places.NicsOf(job.ranks[r], host)) {
        edges.Add(rank, {ElementKind::kNic, nic});
      }
    }
  }
}

void DependencyGraph::AddFlows(const ConnectionList& connections, const FlowPaths& paths,
                               Edges& edges) {
  const topology::Fabric& fabric = elements_.fabric();
  const auto& endpoints = elements_.attribution().endpoints;
  size_t at = 0;
  for (const Connection& connection : connections) {
    if (at == endpoints.size()) break;
    const EndClaims& claims = endpoints[at++];
    std::array<std::optional<Element>, 2> users;
    for (size_t end = 0; end < 2; ++end) {
      if (!claims[end]) continue;
      const uint32_t job = claims[end]->job;
      const int member = claims[end]->member;
      users[end] = member >= 0 ? elements_.Rank(job, static_cast<uint32_t>(member))
                               : Element{ElementKind::kJob, job};
      const ConnectionEndpoint& own = connection.endpoints[end];
      const NicIndex nic = fabric.FindNic({.segment = own.segment, .address = own.address});
      if (nic != kNone) edges.Add(*users[end], {ElementKind::kNic, nic});
    }
    for (size_t end = 0; end < 2; ++end) {
      const auto flow = FlowFrom(end, connection);
      if (!flow) continue;
      if (!users[0] && !users[1]) {
        ++coverage_.unclaimed;
        continue;
      }
      ++coverage_.flows;
      const FlowPath* path = paths.Find(*flow, &FlowPath::flow);
      const PathInterval* way = path == nullptr ? nullptr : LastWay(*path, connection);
      if (way == nullptr) continue;
      const std::vector<PortIndex> ports = PortsOn(*way);
      if (!ports.empty()) ++(IsWhole(*way) ? coverage_.known : coverage_.partly);
      for (const PortIndex port : ports) {
        const LinkIndex link = fabric.port(port).link;
        if (link == kNone) continue;
        for (const auto& user : users) {
          if (user) edges.Add(*user, {ElementKind::kLink, link});
        }
      }
    }
  }
}

std::vector<Element> DependencyGraph::Closure(const Adjacency& adjacency,
                                              const Element& element) const {
  std::vector<Element> reached;
  if (!elements_.Has(element)) return reached;
  std::vector<bool> seen(elements_.count());
  std::vector<uint32_t> open = {elements_.NumberOf(element)};
  seen[open[0]] = true;
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    for (const uint32_t other : adjacency.Of(at)) {
      if (seen[other]) continue;
      seen[other] = true;
      open.push_back(other);
      reached.push_back(elements_.At(other));
    }
  }
  std::ranges::sort(reached);
  return reached;
}

std::vector<Element> DependencyGraph::NeedsOf(const Element& element) const {
  return Closure(needs_, element);
}

std::vector<Element> DependencyGraph::BlastRadiusOf(const Element& element) const {
  return Closure(needed_by_, element);
}

Reach DependencyGraph::ReachOf(std::span<const Element> hit) const {
  Reach reach;
  std::vector<bool> seen(elements_.count());
  for (const Element& element : hit) {
    if (element.kind == ElementKind::kJob) ++reach.jobs;
    if (element.kind != ElementKind::kRank) continue;
    ++reach.ranks;
    for (const uint32_t number : needs_.Of(elements_.NumberOf(element))) {
      if (seen[number]) continue;
      seen[number] = true;
      const ElementKind kind = elements_.At(number).kind;
      if (kind == ElementKind::kGpu) ++reach.gpus;
      if (kind == ElementKind::kHost) ++reach.hosts;
    }
  }
  return reach;
}

}  // namespace rocescope
