// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/elements.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace rocescope {
namespace {

using topology::kNone;

constexpr std::array<std::string_view, kElementKinds> kNames = {
    "job", "communicator", "rank", "gpu", "host", "nic", "port", "link", "switch"};
constexpr std::string_view kRank = ":rank:";
constexpr std::string_view kGpu = "gpu:";

std::vector<uint32_t> FirstsOf(const Attribution& attribution, auto size_of) {
  std::vector<uint32_t> first = {0};
  for (const AttributedJob& job : attribution.jobs) {
    first.push_back(first.back() + static_cast<uint32_t>(size_of(job.job)));
  }
  return first;
}

// Returns the last owner that starts at or before the index.
uint32_t OwnerOf(const auto& first, uint32_t index) {
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

Elements::Elements(const topology::Fabric& fabric, const Attribution& attribution)
    : fabric_(fabric),
      attribution_(attribution),
      first_rank_(FirstsOf(attribution, [](const Job& job) { return job.ranks.size(); })),
      first_communicator_(
          FirstsOf(attribution, [](const Job& job) { return job.communicators.size(); })) {
  const size_t nodes = fabric.nodes().size();
  const std::array<size_t, kElementKinds> counts = {attribution.jobs.size(),
                                                    first_communicator_.back(),
                                                    first_rank_.back(),
                                                    fabric.gpus().size(),
                                                    nodes,
                                                    fabric.nics().size(),
                                                    fabric.ports().size(),
                                                    fabric.links().size(),
                                                    nodes};
  for (size_t kind = 0; kind < kElementKinds; ++kind) {
    first_[kind + 1] = first_[kind] + static_cast<uint32_t>(counts[kind]);
  }
}

Element Elements::At(uint32_t number) const {
  const uint32_t kind = OwnerOf(first_, number);
  return {.kind = static_cast<ElementKind>(kind), .index = number - first_[kind]};
}

bool Elements::Has(const Element& element) const {
  const auto kind = static_cast<size_t>(element.kind);
  if (element.index >= first_[kind + 1] - first_[kind]) return false;
  const bool is_node = element.kind == ElementKind::kHost || element.kind == ElementKind::kSwitch;
  return !is_node || Node(element.index) == element;
}

std::string Elements::NameOfRank(uint32_t index) const {
  const uint32_t job = OwnerOf(first_rank_, index);
  const Job& of = attribution_.jobs[job].job;
  const JobRank& rank = of.ranks[index - first_rank_[job]];
  if (rank.rank >= 0) return fmt::format("{}{}{}", of.id, kRank, rank.rank);
  if (rank.process_id != 0) return fmt::format("{}:{}:{}", of.id, rank.host, rank.process_id);
  // No process is known: the member is a NIC.
  if (!rank.devices.empty()) {
    return fmt::format("{}:{}:{}", of.id, rank.host, rank.devices[0].name);
  }
  return fmt::format("{}:{}:{}", of.id, rank.host,
                     rank.addresses.empty() ? "?" : ToString(rank.addresses[0]));
}

std::string Elements::NameOf(const Element& element) const {
  switch (element.kind) {
    case ElementKind::kJob:
      return attribution_.jobs[element.index].job.id;
    case ElementKind::kCommunicator: {
      const uint32_t job = OwnerOf(first_communicator_, element.index);
      return attribution_.jobs[job].job.communicators[element.index - first_communicator_[job]].id;
    }
    case ElementKind::kRank:
      return NameOfRank(element.index);
    case ElementKind::kGpu: {
      const topology::Gpu& gpu = fabric_.gpu(element.index);
      return fmt::format("{}:{}{}", fabric_.node(gpu.host).name, kGpu, gpu.number);
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

std::vector<std::string> Elements::Names() const {
  std::vector<std::string> names;
  for (uint32_t number = 0; number < count(); ++number) {
    const Element element = At(number);
    if (Has(element)) names.push_back(NameOf(element));
  }
  return names;
}

std::optional<Element> Elements::FindInJobs(std::string_view name) const {
  for (uint32_t job = 0; job < attribution_.jobs.size(); ++job) {
    const Job& of = attribution_.jobs[job].job;
    if (name == of.id) return Element{ElementKind::kJob, job};
    if (!name.starts_with(of.id) || !name.substr(of.id.size()).starts_with(':')) continue;
    const std::string_view rest = name.substr(of.id.size());
    const auto wanted =
        rest.starts_with(kRank) ? NumberIn(rest.substr(kRank.size())) : std::nullopt;
    for (uint32_t r = 0; r < of.ranks.size(); ++r) {
      const int rank = of.ranks[r].rank;
      const bool is_it = rank >= 0 ? wanted && std::cmp_equal(rank, *wanted)
                                   : name == NameOfRank(first_rank_[job] + r);
      if (is_it) return Rank(job, r);
    }
  }
  for (uint32_t job = 0; job < attribution_.jobs.size(); ++job) {
    const auto& communicators = attribution_.jobs[job].job.communicators;
    const auto at = std::ranges::find(communicators, name, &JobCommunicator::id);
    if (at == communicators.end()) continue;
    return Communicator(job, static_cast<uint32_t>(at - communicators.begin()));
  }
  return std::nullopt;
}

std::optional<Element> Elements::FindLink(topology::NodeIndex node, std::string_view name) const {
  for (const topology::Port& port : fabric_.PortsOf(node)) {
    if (port.link == kNone) continue;
    const auto own = static_cast<topology::PortIndex>(&port - fabric_.ports().data());
    if (name == fabric_.NameOf(own) + "-" + fabric_.NameOf(fabric_.Peer(own))) {
      return Element{ElementKind::kLink, port.link};
    }
  }
  return std::nullopt;
}

// `rest` is the part after the colon.
std::optional<Element> Elements::FindAt(topology::NodeIndex node, std::string_view rest) const {
  const auto number = rest.starts_with(kGpu) ? NumberIn(rest.substr(kGpu.size())) : std::nullopt;
  if (number) {
    for (const topology::GpuIndex gpu : fabric_.GpusOf(node)) {
      if (fabric_.gpu(gpu).number == *number) return Element{ElementKind::kGpu, gpu};
    }
  }
  const topology::NicIndex nic = fabric_.FindNicByDevice(node, rest);
  if (nic != kNone) return Element{ElementKind::kNic, nic};
  const topology::PortIndex port = fabric_.FindPort(node, rest);
  return port == kNone ? std::nullopt : std::optional(Element{ElementKind::kPort, port});
}

// Finds a job by the scheduler's number or name, if it is unique.
std::optional<Element> Elements::FindAllocated(std::string_view name) const {
  std::optional<Element> found;
  if (name.empty()) return found;  // an allocation can have an empty name
  for (uint32_t job = 0; job < attribution_.jobs.size(); ++job) {
    const auto& allocation = attribution_.jobs[job].job.allocation;
    if (!allocation) continue;
    if (name != allocation->name && name != std::to_string(allocation->id)) continue;
    if (found) return std::nullopt;
    found = Element{ElementKind::kJob, job};
  }
  return found;
}

std::optional<Element> Elements::Find(std::string_view name) const {
  if (const auto found = FindAsNamed(name)) return found;
  // The format of jobs in reports: ID [slurm NUMBER "NAME"].
  if (const size_t at = name.find(" [slurm "); at != std::string_view::npos) {
    return FindInJobs(name.substr(0, at));
  }
  if (const auto job = FindAllocated(name)) return job;
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto job = FindAllocated(name.substr(0, colon));
  return job ? FindInJobs(NameOf(*job) + std::string(name.substr(colon))) : std::nullopt;
}

std::optional<Element> Elements::FindAsNamed(std::string_view name) const {
  if (const auto found = FindInJobs(name)) return found;
  const topology::NodeIndex whole = fabric_.FindNode(name);
  if (whole != kNone) return Node(whole);
  const size_t colon = name.find(':');
  const topology::NodeIndex node =
      colon == std::string_view::npos ? kNone : fabric_.FindNode(name.substr(0, colon));
  if (node != kNone) {
    const auto found = FindAt(node, name.substr(colon + 1));
    return found ? found : FindLink(node, name);
  }
  const auto address = ParseIpAddress(name);
  const topology::NicIndex nic = address ? fabric_.FindNic({.address = *address}) : kNone;
  return nic == kNone ? std::nullopt : std::optional(Element{ElementKind::kNic, nic});
}

}  // namespace rocescope
