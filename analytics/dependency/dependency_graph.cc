// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/dependency_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "analytics/job/flow_of.h"
#include "analytics/job/host_name.h"

namespace rocescope {
namespace {

using topology::kNone;

constexpr std::array<std::string_view, kElementKinds> kNames = {
    "job", "communicator", "rank", "gpu", "host", "nic", "port", "link", "switch"};

std::vector<uint32_t> FirstsOf(const Attribution& attribution, auto size_of) {
  std::vector<uint32_t> first = {0};
  for (const AttributedJob& job : attribution.jobs) {
    first.push_back(first.back() + static_cast<uint32_t>(size_of(job.job)));
  }
  return first;
}

// By the last one that begins at or before it.
uint32_t JobOf(const std::vector<uint32_t>& first, uint32_t index) {
  return static_cast<uint32_t>(std::ranges::upper_bound(first, index) - first.begin()) - 1;
}

std::optional<uint32_t> NumberIn(std::string_view text) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

}  // namespace

std::string_view NameOf(ElementKind kind) { return kNames[static_cast<size_t>(kind)]; }

DependencyGraph::DependencyGraph(const topology::Fabric& fabric, const Attribution& attribution,
                                 const ConnectionList& connections, const FlowPaths& paths)
    : fabric_(fabric),
      attribution_(attribution),
      first_rank_(FirstsOf(attribution, [](const Job& job) { return job.ranks.size(); })),
      first_communicator_(
          FirstsOf(attribution, [](const Job& job) { return job.communicators.size(); })) {
  const auto nodes = static_cast<uint32_t>(fabric.nodes().size());
  const std::array<uint32_t, kElementKinds> counts = {
      static_cast<uint32_t>(attribution.jobs.size()),
      first_communicator_.back(),
      first_rank_.back(),
      static_cast<uint32_t>(fabric.gpus().size()),
      nodes,
      static_cast<uint32_t>(fabric.nics().size()),
      static_cast<uint32_t>(fabric.ports().size()),
      static_cast<uint32_t>(fabric.links().size()),
      nodes};
  first_ = {0};
  for (const uint32_t count : counts) first_.push_back(first_.back() + count);
  std::vector<Edge> edges;
  AddFabric(edges);
  AddJobs(edges);
  AddFlows(connections, paths, edges);
  std::vector<Edge> turned;
  turned.reserve(edges.size());
  for (const auto& [from, to] : edges) turned.emplace_back(to, from);
  needs_ = Pack(std::move(edges), first_.back());
  needed_by_ = Pack(std::move(turned), first_.back());
}

Element DependencyGraph::ElementAt(uint32_t number) const {
  const auto kind =
      static_cast<size_t>(std::ranges::upper_bound(first_, number) - first_.begin()) - 1;
  return {.kind = static_cast<ElementKind>(kind), .index = number - first_[kind]};
}

bool DependencyGraph::Has(const Element& element) const {
  const auto kind = static_cast<size_t>(element.kind);
  if (element.index >= first_[kind + 1] - first_[kind]) return false;
  if (element.kind == ElementKind::kHost) return !fabric_.node(element.index).IsSwitch();
  return element.kind != ElementKind::kSwitch || fabric_.node(element.index).IsSwitch();
}

DependencyGraph::Adjacency DependencyGraph::Pack(std::vector<Edge> edges, uint32_t elements) {
  std::ranges::sort(edges);
  const auto doubles = std::ranges::unique(edges);
  edges.erase(doubles.begin(), doubles.end());
  Adjacency packed{.first = std::vector<uint32_t>(elements + 1)};
  packed.others.reserve(edges.size());
  for (const auto& [from, to] : edges) {
    ++packed.first[from + 1];
    packed.others.push_back(to);
  }
  for (uint32_t i = 0; i < elements; ++i) packed.first[i + 1] += packed.first[i];
  return packed;
}

void DependencyGraph::AddFabric(std::vector<Edge>& edges) const {
  const auto add = [&](ElementKind from, uint32_t i, ElementKind to, uint32_t j) {
    edges.emplace_back(NumberOf({from, i}), NumberOf({to, j}));
  };
  for (uint32_t gpu = 0; gpu < fabric_.gpus().size(); ++gpu) {
    add(ElementKind::kGpu, gpu, ElementKind::kHost, fabric_.gpu(gpu).host);
  }
  for (uint32_t nic = 0; nic < fabric_.nics().size(); ++nic) {
    add(ElementKind::kNic, nic, ElementKind::kHost, fabric_.nic(nic).host);
    add(ElementKind::kNic, nic, ElementKind::kPort, fabric_.nic(nic).port);
  }
  for (uint32_t port = 0; port < fabric_.ports().size(); ++port) {
    const topology::Port& of = fabric_.port(port);
    if (of.link != kNone) add(ElementKind::kPort, port, ElementKind::kLink, of.link);
  }
  for (uint32_t link = 0; link < fabric_.links().size(); ++link) {
    for (const topology::PortIndex end : fabric_.link(link).ends) {
      const topology::NodeIndex node = fabric_.port(end).node;
      if (fabric_.node(node).IsSwitch()) {
        add(ElementKind::kLink, link, ElementKind::kSwitch, node);
      }
    }
  }
}

void DependencyGraph::AddJobs(std::vector<Edge>& edges) const {
  for (uint32_t j = 0; j < attribution_.jobs.size(); ++j) {
    const Job& job = attribution_.jobs[j].job;
    const uint32_t self = NumberOf({ElementKind::kJob, j});
    for (uint32_t c = 0; c < job.communicators.size(); ++c) {
      const uint32_t communicator =
          NumberOf({ElementKind::kCommunicator, first_communicator_[j] + c});
      edges.emplace_back(self, communicator);
      for (const CommunicatorMember& member : job.communicators[c].members) {
        if (member.job_rank >= job.ranks.size()) continue;
        edges.emplace_back(communicator, RankNumber(j, static_cast<uint32_t>(member.job_rank)));
      }
    }
    for (uint32_t r = 0; r < job.ranks.size(); ++r) {
      const JobRank& rank = job.ranks[r];
      const uint32_t number = RankNumber(j, r);
      edges.emplace_back(self, number);
      for (const IpAddress& address : rank.addresses) {
        const topology::NicIndex nic = fabric_.FindNic({.address = address});
        if (nic == kNone) continue;
        edges.emplace_back(number, NumberOf({ElementKind::kNic, nic}));
        for (const topology::GpuIndex gpu : fabric_.GpusOf(fabric_.nic(nic).host)) {
          if (!rank.gpu_bus_id.empty() && fabric_.gpu(gpu).pci == rank.gpu_bus_id) {
            edges.emplace_back(number, NumberOf({ElementKind::kGpu, gpu}));
          }
        }
      }
      const topology::NodeIndex host = fabric_.FindNode(rank.host);
      if (host != kNone && !fabric_.node(host).IsSwitch()) {
        edges.emplace_back(number, NumberOf({ElementKind::kHost, host}));
      }
    }
  }
}

uint32_t DependencyGraph::RankNumber(uint32_t job, uint32_t member) const {
  return NumberOf({ElementKind::kRank, first_rank_[job] + member});
}

// The way that a flow took last is the one that it needs.
void DependencyGraph::AddFlows(const ConnectionList& connections, const FlowPaths& paths,
                               std::vector<Edge>& edges) const {
  size_t at = 0;
  for (const Connection& connection : connections) {
    if (at == attribution_.endpoints.size()) break;
    const EndClaims& claims = attribution_.endpoints[at++];
    for (size_t end = 0; end < 2; ++end) {
      const auto flow = FlowFrom(end, connection);
      const FlowPath* path = flow ? paths.Find(*flow, &FlowPath::flow) : nullptr;
      if (path == nullptr) continue;
      const PathStretch& stretch = path->stretches.back();
      std::vector<topology::PortIndex> ports = stretch.certain;
      for (const PathShare& share : stretch.shares) ports.push_back(share.port);
      for (const auto& claim : claims) {
        if (!claim) continue;
        const uint32_t user = claim->member >= 0
                                  ? RankNumber(claim->job, static_cast<uint32_t>(claim->member))
                                  : NumberOf({ElementKind::kJob, claim->job});
        for (const topology::PortIndex port : ports) {
          const topology::LinkIndex link = fabric_.port(port).link;
          if (link != kNone) edges.emplace_back(user, NumberOf({ElementKind::kLink, link}));
        }
      }
    }
  }
}

std::vector<Element> DependencyGraph::Closure(const Adjacency& adjacency,
                                              const Element& element) const {
  std::vector<Element> reached;
  if (!Has(element)) return reached;
  std::vector<bool> seen(first_.back());
  std::vector<uint32_t> open = {NumberOf(element)};
  seen[open[0]] = true;
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    for (const uint32_t other : adjacency.Of(at)) {
      if (seen[other]) continue;
      seen[other] = true;
      open.push_back(other);
      reached.push_back(ElementAt(other));
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

std::string DependencyGraph::NameOf(const Element& element) const {
  switch (element.kind) {
    case ElementKind::kJob:
      return attribution_.jobs[element.index].job.id;
    case ElementKind::kCommunicator: {
      const uint32_t job = JobOf(first_communicator_, element.index);
      return attribution_.jobs[job].job.communicators[element.index - first_communicator_[job]].id;
    }
    case ElementKind::kRank: {
      const uint32_t job = JobOf(first_rank_, element.index);
      const Job& of = attribution_.jobs[job].job;
      const JobRank& rank = of.ranks[element.index - first_rank_[job]];
      return rank.rank >= 0 ? fmt::format("{}:rank:{}", of.id, rank.rank)
                            : fmt::format("{}:{}:{}", of.id, rank.host, rank.process_id);
    }
    case ElementKind::kGpu: {
      const topology::Gpu& gpu = fabric_.gpu(element.index);
      return fmt::format("{}:gpu:{}", fabric_.node(gpu.host).name, gpu.number);
    }
    case ElementKind::kHost:
    case ElementKind::kSwitch:
      return fabric_.node(element.index).name;
    case ElementKind::kNic: {
      const topology::Nic& nic = fabric_.nic(element.index);
      return fmt::format("{}:{}", fabric_.node(nic.host).name, nic.device);
    }
    case ElementKind::kPort:
      return fabric_.NameOf(element.index);
    case ElementKind::kLink:
      return fabric_.NameOfLink(element.index);
  }
  return {};
}

std::optional<Element> DependencyGraph::Find(std::string_view name) const {
  for (uint32_t job = 0; job < attribution_.jobs.size(); ++job) {
    const std::string& id = attribution_.jobs[job].job.id;
    if (name == id) return Element{ElementKind::kJob, job};
    constexpr std::string_view kRank = ":rank:";
    if (!name.starts_with(id) || !name.substr(id.size()).starts_with(kRank)) continue;
    const auto wanted = NumberIn(name.substr(id.size() + kRank.size()));
    const auto& ranks = attribution_.jobs[job].job.ranks;
    for (uint32_t r = 0; wanted && r < ranks.size(); ++r) {
      if (ranks[r].rank == static_cast<int>(*wanted)) {
        return Element{ElementKind::kRank, first_rank_[job] + r};
      }
    }
  }
  const topology::NodeIndex whole = fabric_.FindNode(name);
  if (whole != kNone) {
    return Element{fabric_.node(whole).IsSwitch() ? ElementKind::kSwitch : ElementKind::kHost,
                   whole};
  }
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const topology::NodeIndex node = fabric_.FindNode(name.substr(0, colon));
  if (node == kNone) return std::nullopt;
  const std::string_view rest = name.substr(colon + 1);
  constexpr std::string_view kGpu = "gpu:";
  if (rest.starts_with(kGpu)) {
    const auto number = NumberIn(rest.substr(kGpu.size()));
    for (const topology::GpuIndex gpu : fabric_.GpusOf(node)) {
      if (number && fabric_.gpu(gpu).number == *number) return Element{ElementKind::kGpu, gpu};
    }
    return std::nullopt;
  }
  const topology::NicIndex nic = fabric_.FindNicByDevice(node, rest);
  if (nic != kNone) return Element{ElementKind::kNic, nic};
  const topology::PortIndex port = fabric_.FindPort(node, rest);
  if (port != kNone) return Element{ElementKind::kPort, port};
  // A link's name is that of one of this node's ports, a hyphen, and the other end's.
  for (const topology::Port& of : fabric_.PortsOf(node)) {
    if (of.link == kNone) continue;
    const auto own = static_cast<topology::PortIndex>(&of - fabric_.ports().data());
    if (name == fabric_.NameOf(own) + "-" + fabric_.NameOf(fabric_.Peer(own))) {
      return Element{ElementKind::kLink, of.link};
    }
  }
  return std::nullopt;
}

}  // namespace rocescope
