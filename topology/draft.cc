// SPDX-License-Identifier: BSD-3-Clause
#include "topology/draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/nearest.h"
#include "topology/check.h"

namespace rocescope::topology {
namespace {

constexpr size_t kMaxMirroredPorts = 4 * kMaxPorts;  // limit for all sessions together

// Returns the trailing number of a name: 12 for "Ethernet12", 0 if there is none.
uint32_t NumberAtTheEnd(std::string_view name) {
  size_t begin = name.size();
  while (begin > 0 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  return static_cast<uint32_t>(
      ParseWholeNumber(name.substr(begin), 1, kNone - uint64_t{1}).value_or(0));
}

}  // namespace

void Draft::Begin(Fabric::Parts generated, Place place) {
  parts() = std::move(generated);
  const Origin origin = {.place = place, .generated = true};
  places_.nodes.assign(parts().nodes.size(), origin);
  places_.ports.assign(parts().ports.size(), origin);
  places_.links.assign(parts().links.size(), origin);
  places_.nics.assign(parts().nics.size(), origin);
  places_.gpus.assign(parts().gpus.size(), origin);
  places_.taps.assign(parts().taps.size(), origin);
  lists_ports_.assign(parts().nodes.size(), true);
  for (NodeIndex i = 0; i < parts().nodes.size(); ++i) nodes_.emplace(parts().nodes[i].name, i);
  for (PortIndex i = 0; i < parts().ports.size(); ++i) ports_.emplace(NameOf(i), i);
  ports_of_.resize(parts().nodes.size());
  for (PortIndex i = 0; i < parts().ports.size(); ++i) {
    ports_of_[parts().ports[i].node].push_back(i);
  }
  for (const Port& port : parts().ports) generated_links_.push_back(port.link);
  nics_of_.resize(parts().nodes.size());
  gpus_of_.resize(parts().nodes.size());
  for (NicIndex i = 0; i < parts().nics.size(); ++i) nics_of_[parts().nics[i].host].push_back(i);
  for (GpuIndex i = 0; i < parts().gpus.size(); ++i) gpus_of_[parts().gpus[i].host].push_back(i);
}

NodeIndex Draft::FindNode(std::string_view name) const {
  const auto at = nodes_.find(name);
  return at == nodes_.end() ? kNone : at->second;
}

PortIndex Draft::FindPort(std::string_view node_and_port) const {
  const auto at = ports_.find(node_and_port);
  return at == ports_.end() ? kNone : at->second;
}

NicIndex Draft::FindNic(NodeIndex host, std::string_view device) {
  for (const NicIndex nic : nics_of_[host]) {
    if (parts().nics[nic].device == device) return nic;
  }
  return kNone;
}

GpuIndex Draft::FindGpu(NodeIndex host, uint32_t number) {
  for (const GpuIndex gpu : gpus_of_[host]) {
    if (parts().gpus[gpu].number == number) return gpu;
  }
  return kNone;
}

std::string Draft::HintNode(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Node& node : parts().nodes) names.push_back(node.name);
  return DidYouMean(name, names);
}

std::string Draft::HintPort(NodeIndex node, std::string_view name) {
  std::vector<std::string_view> names;
  for (const PortIndex port : ports_of_[node]) names.push_back(parts().ports[port].name);
  return DidYouMean(name, names);
}

NodeIndex Draft::RequireNode(std::string_view name, Place place) {
  const NodeIndex node = FindNode(name);
  if (node == kNone) {
    errors_.Add(place, fmt::format("there is no node \"{}\"{}", name, HintNode(name)));
  }
  return node;
}

PortIndex Draft::RequirePort(std::string_view node_and_port, Place place) {
  if (const PortIndex port = FindPort(node_and_port); port != kNone) return port;
  const size_t colon = node_and_port.find(':');
  if (colon == std::string_view::npos) {
    errors_.Add(place, fmt::format("\"{}\" is not a port; expected NODE:PORT such as "
                                   "leaf0:Ethernet4",
                                   node_and_port));
    return kNone;
  }
  const NodeIndex node = RequireNode(node_and_port.substr(0, colon), place);
  return node == kNone ? kNone : RequirePortOf(node, node_and_port.substr(colon + 1), place);
}

PortIndex Draft::RequirePortOf(NodeIndex node, std::string_view port, Place place) {
  const std::string& name = parts().nodes[node].name;
  if (const PortIndex known = FindPort(fmt::format("{}:{}", name, port)); known != kNone) {
    return known;
  }
  if (!lists_ports_[node]) return AddPort(node, 0, port, place);
  errors_.Add(place, fmt::format("{} has no port \"{}\"{}", name, port, HintPort(node, port)));
  return kNone;
}

NodeIndex Draft::Describe(std::string_view name, bool is_switch, Place place) {
  const NodeIndex known = FindNode(name);
  if (known == kNone) {
    if (parts().nodes.size() >= kMaxNodes) {
      errors_.Add(place, fmt::format("more than {} nodes", kMaxNodes));
      return kNone;
    }
    const NodeIndex node = builder_.AddNode(
        {.name = std::string(name), .tier = is_switch ? Tier::kLeaf : Tier::kHost});
    places_.nodes.push_back({.place = place});
    lists_ports_.push_back(!is_switch);
    ports_of_.emplace_back();
    nics_of_.emplace_back();
    gpus_of_.emplace_back();
    nodes_.emplace(name, node);
    return node;
  }
  Origin& origin = places_.nodes[known];
  if (!origin.generated) {
    errors_.Add(place, fmt::format("{} is already described in line {}", name, origin.place.line));
    return kNone;
  }
  if (parts().nodes[known].IsSwitch() != is_switch) {
    errors_.Add(place, fmt::format("{} is a generated {}, not a {}", name,
                                   is_switch ? "host" : "switch", is_switch ? "switch" : "host"));
    return kNone;
  }
  origin.place = place;
  return known;
}

void Draft::Override(PartKind kind, uint32_t index, Place place) {
  if (kind == PartKind::kPort) places_.ports[index].place = place;
  if (kind == PartKind::kNic) places_.nics[index].place = place;
  if (kind == PartKind::kGpu) places_.gpus[index].place = place;
}

PortIndex Draft::AddPort(NodeIndex node, uint32_t number, std::string_view name, Place place) {
  if (parts().ports.size() >= kMaxPorts) {
    errors_.Add(place, fmt::format("more than {} ports", kMaxPorts));
    return kNone;
  }
  const std::string full = fmt::format("{}:{}", parts().nodes[node].name, name);
  const auto [at, is_new] = ports_.try_emplace(full, static_cast<PortIndex>(parts().ports.size()));
  if (!is_new) {
    errors_.Add(place, fmt::format("port {} is listed twice; the other entry is in line {}", full,
                                   places_.ports[at->second].place.line));
    return kNone;
  }
  places_.ports.push_back({.place = place});
  ports_of_[node].push_back(at->second);
  return builder_.AddPort(node, number, std::string(name));
}

NicIndex Draft::AddNic(Nic nic, std::string_view port, uint32_t number, Place place) {
  nic.port = AddPort(nic.host, number, port, place);
  if (nic.port == kNone) return kNone;
  const auto index = static_cast<NicIndex>(parts().nics.size());
  places_.nics.push_back({.place = place});
  nics_of_[nic.host].push_back(index);
  parts().nics.push_back(std::move(nic));
  return index;
}

GpuIndex Draft::AddGpu(Gpu gpu, Place place) {
  if (parts().gpus.size() >= kMaxGpus) {
    errors_.Add(place, fmt::format("more than {} GPUs", kMaxGpus));
    return kNone;
  }
  places_.gpus.push_back({.place = place});
  gpus_of_[gpu.host].push_back(static_cast<GpuIndex>(parts().gpus.size()));
  return builder_.AddGpu(std::move(gpu));
}

void Draft::AddTap(Tap tap, Place place) {
  mirrored_ports_ += tap.ports.size();
  if (mirrored_ports_ > kMaxMirroredPorts) {
    errors_.Add(place,
                fmt::format("more than {} mirrored ports in all sessions", kMaxMirroredPorts));
    return;
  }
  places_.taps.push_back({.place = place});
  builder_.AddTap(std::move(tap));
}

void Draft::AddLink(PortIndex a, PortIndex b, std::optional<uint64_t> bits_per_second,
                    std::optional<Duration> delay, Place place) {
  for (const PortIndex end : {a, b}) {
    // A cable that was moved keeps its speed and delay, even if it was unplugged before.
    if (end < generated_links_.size() && generated_links_[end] != kNone) {
      const Link& before = parts().links[generated_links_[end]];
      if (!bits_per_second) bits_per_second = before.bits_per_second;
      if (!delay) delay = before.delay;
    }
    const LinkIndex link = parts().ports[end].link;
    if (link == kNone) continue;
    if (!places_.links[link].generated) {
      errors_.Add(place, fmt::format("{} already has the link in line {}", NameOf(end),
                                     places_.links[link].place.line));
      return;
    }
    for (const PortIndex old_end : parts().links[link].ends) parts().ports[old_end].link = kNone;
  }
  if (!bits_per_second) bits_per_second = default_speed_;
  if (!bits_per_second) {
    errors_.Add(place,
                "the link has no speed; add \"speed: 400G\" here, or "
                "\"defaults: {speed: 400G}\" for all links");
    return;
  }
  places_.links.push_back({.place = place});
  builder_.AddLink(a, b, *bits_per_second, delay.value_or(default_delay_));
}

void Draft::Unplug(PortIndex port, Place place) {
  const LinkIndex link = parts().ports[port].link;
  if (link == kNone) {
    errors_.Add(place, fmt::format("{} has no cable", NameOf(port)));
    return;
  }
  for (const PortIndex end : parts().links[link].ends) parts().ports[end].link = kNone;
}

void Draft::NumberPorts() {
  std::vector<std::vector<PortIndex>> open(parts().nodes.size());
  for (PortIndex i = 0; i < parts().ports.size(); ++i) {
    if (parts().ports[i].number == 0) open[parts().ports[i].node].push_back(i);
  }
  std::vector<std::set<uint32_t>> taken(parts().nodes.size());
  for (const Port& port : parts().ports) {
    if (!open[port.node].empty() && port.number != 0) taken[port.node].insert(port.number);
  }
  for (NodeIndex node = 0; node < open.size(); ++node) {
    std::set<uint32_t> names = taken[node];
    const bool by_name = std::all_of(open[node].begin(), open[node].end(), [&](PortIndex i) {
      const uint32_t number = NumberAtTheEnd(parts().ports[i].name);
      return number != 0 && names.insert(number).second;
    });
    uint32_t next = 1;
    for (const PortIndex i : open[node]) {
      while (!by_name && taken[node].contains(next)) ++next;
      parts().ports[i].number = by_name ? NumberAtTheEnd(parts().ports[i].name) : next++;
    }
  }
}

// Removes links that are no longer connected to a port.
void Draft::DropUnplugged() {
  std::vector<Link>& links = parts().links;
  size_t kept = 0;
  for (size_t i = 0; i < links.size(); ++i) {
    if (parts().ports[links[i].ends[0]].link != i) continue;
    for (const PortIndex end : links[i].ends) {
      parts().ports[end].link = static_cast<LinkIndex>(kept);
    }
    links[kept] = links[i];
    places_.links[kept] = places_.links[i];
    ++kept;
  }
  links.resize(kept);
}

Place Draft::PlaceOfFault(PartKind kind, uint32_t index,
                          const std::vector<PortIndex>& moved_to) const {
  const auto place = [index](const std::vector<Origin>& origins) {
    return index < origins.size() ? origins[index].place : Place{};
  };
  switch (kind) {
    case PartKind::kNode:
      return place(places_.nodes);
    case PartKind::kPort: {
      const auto at = std::find(moved_to.begin(), moved_to.end(), index);
      return at == moved_to.end() ? Place{} : places_.ports[at - moved_to.begin()].place;
    }
    case PartKind::kLink:
      return place(places_.links);
    case PartKind::kNic:
      return place(places_.nics);
    case PartKind::kGpu:
      return place(places_.gpus);
    case PartKind::kTap:
      return place(places_.taps);
  }
  return {};
}

Result<Fabric> Draft::Build() {
  if (!errors_.empty()) return tl::unexpected(errors_.Take());
  NumberPorts();
  DropUnplugged();
  std::vector<PortIndex> moved_to;
  Fabric::Parts parts = builder_.Build(&moved_to);
  if (const auto fault = FindFault(parts)) {
    errors_.Add(PlaceOfFault(fault->kind, fault->index, moved_to), fault->message);
    return tl::unexpected(errors_.Take());
  }
  return Fabric::Make(std::move(parts));
}

}  // namespace rocescope::topology
