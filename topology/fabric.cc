// SPDX-License-Identifier: BSD-3-Clause
#include "topology/fabric.h"

#include <algorithm>
#include <numeric>

#include "topology/check.h"

namespace rocescope::topology {
namespace {

template <typename Key>
uint32_t FindIn(const std::vector<std::pair<Key, uint32_t>>& index, const Key& key) {
  const auto at = std::lower_bound(index.begin(), index.end(), key,
                                   [](const auto& row, const Key& k) { return row.first < k; });
  return at == index.end() || at->first != key ? kNone : at->second;
}

// Finds the item whose key is `key` in a sorted range.
template <typename Key, typename KeyOf>
uint32_t FindAmong(std::span<const uint32_t> sorted, const Key& key, KeyOf key_of) {
  const auto at =
      std::lower_bound(sorted.begin(), sorted.end(), key,
                       [&](uint32_t item, const Key& k) { return Key(key_of(item)) < k; });
  return at == sorted.end() || Key(key_of(*at)) != key ? kNone : *at;
}

std::vector<uint32_t> Numbers(size_t count) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

// Port indices, with those of each node sorted by `key_of`.
template <typename KeyOf>
std::vector<PortIndex> SortPorts(const Fabric::Parts& parts, KeyOf key_of) {
  std::vector<PortIndex> sorted = Numbers(parts.ports.size());
  for (const Node& node : parts.nodes) {
    const auto begin = sorted.begin() + node.first_port;
    const auto before = [&](PortIndex a, PortIndex b) {
      return key_of(parts.ports[a]) < key_of(parts.ports[b]);
    };
    const auto end = begin + node.port_count;
    if (!std::is_sorted(begin, end, before)) std::sort(begin, end, before);
  }
  return sorted;
}

}  // namespace

Result<Fabric> Fabric::Make(Parts parts) {
  if (const auto fault = FindFault(parts)) {
    return MakeError(ErrorCode::kInvalidArgument, fault->message);
  }
  return Fabric(std::move(parts));
}

template <typename Key, typename KeyOf>
Fabric::Index<Key> Fabric::IndexSwitches(KeyOf key_of) const {
  Index<Key> index;
  for (NodeIndex i = 0; i < parts_.nodes.size(); ++i) {
    if (const std::optional<Key> key = key_of(parts_.nodes[i])) index.emplace_back(*key, i);
  }
  std::sort(index.begin(), index.end());
  return index;
}

Fabric::Fabric(Parts parts) : parts_(std::move(parts)) {
  nic_of_port_.assign(parts_.ports.size(), kNone);
  for (NicIndex i = 0; i < parts_.nics.size(); ++i) nic_of_port_[parts_.nics[i].port] = i;

  nodes_by_name_ = Numbers(parts_.nodes.size());
  std::sort(nodes_by_name_.begin(), nodes_by_name_.end(), [this](NodeIndex a, NodeIndex b) {
    return parts_.nodes[a].name < parts_.nodes[b].name;
  });
  ports_by_name_ = SortPorts(parts_, [](const Port& p) -> std::string_view { return p.name; });
  ports_by_number_ = SortPorts(parts_, [](const Port& p) { return p.number; });

  const auto group = [this](Groups& groups, std::vector<uint32_t> items, auto key_of) {
    std::sort(items.begin(), items.end(),
              [&](uint32_t a, uint32_t b) { return key_of(a) < key_of(b); });
    groups.first.assign(parts_.nodes.size() + 1, 0);
    for (const uint32_t item : items) ++groups.first[key_of(item).first + 1];
    std::partial_sum(groups.first.begin(), groups.first.end(), groups.first.begin());
    groups.items = std::move(items);
  };
  group(nics_of_, Numbers(parts_.nics.size()),
        [this](NicIndex i) { return std::pair(parts_.nics[i].host, parts_.nics[i].port); });
  group(gpus_of_, Numbers(parts_.gpus.size()),
        [this](GpuIndex i) { return std::pair(parts_.gpus[i].host, parts_.gpus[i].number); });

  for (NicIndex i = 0; i < parts_.nics.size(); ++i) {
    for (const NicAddress& address : parts_.nics[i].addresses) {
      nics_by_address_.emplace_back(address, i);
    }
  }
  std::sort(nics_by_address_.begin(), nics_by_address_.end());

  const auto unless_unspecified = [](const IpAddress& address) {
    return address.IsUnspecified() ? std::nullopt : std::optional(address);
  };
  switches_by_int_ = IndexSwitches<uint32_t>([](const Node& node) {
    return node.int_switch_id == kNone ? std::nullopt : std::optional(node.int_switch_id);
  });
  switches_by_sflow_ = IndexSwitches<IpAddress>(
      [&](const Node& node) { return unless_unspecified(node.sflow_agent); });
  switches_by_erspan_ = IndexSwitches<IpAddress>(
      [&](const Node& node) { return unless_unspecified(node.erspan_source); });
}

std::span<const NicIndex> Fabric::NicsOf(NodeIndex host) const { return nics_of_.Of(host); }
std::span<const GpuIndex> Fabric::GpusOf(NodeIndex host) const { return gpus_of_.Of(host); }

NodeIndex Fabric::FindNode(std::string_view name) const {
  return FindAmong(nodes_by_name_, name,
                   [this](NodeIndex i) -> std::string_view { return parts_.nodes[i].name; });
}

PortIndex Fabric::FindPort(NodeIndex node, std::string_view name) const {
  const Node& owner = parts_.nodes[node];
  return FindAmong(std::span(ports_by_name_).subspan(owner.first_port, owner.port_count), name,
                   [this](PortIndex i) -> std::string_view { return parts_.ports[i].name; });
}

PortIndex Fabric::FindPortByNumber(NodeIndex node, uint32_t number) const {
  const Node& owner = parts_.nodes[node];
  return FindAmong(std::span(ports_by_number_).subspan(owner.first_port, owner.port_count), number,
                   [this](PortIndex i) { return parts_.ports[i].number; });
}

NicIndex Fabric::FindNic(const NicAddress& address) const {
  return FindIn(nics_by_address_, address);
}

NicIndex Fabric::FindNicByDevice(NodeIndex host, std::string_view device) const {
  for (const NicIndex nic : NicsOf(host)) {
    if (parts_.nics[nic].device == device) return nic;
  }
  return kNone;
}

NodeIndex Fabric::FindSwitchByInt(uint32_t switch_id) const {
  return FindIn(switches_by_int_, switch_id);
}

NodeIndex Fabric::FindSwitchBySflow(const IpAddress& agent) const {
  return FindIn(switches_by_sflow_, agent);
}

NodeIndex Fabric::FindSwitchByErspan(const IpAddress& source) const {
  return FindIn(switches_by_erspan_, source);
}

TapIndex Fabric::FindTap(NodeIndex node, uint32_t session, TapDirection direction) const {
  for (TapIndex i = 0; i < parts_.taps.size(); ++i) {
    const Tap& tap = parts_.taps[i];
    if (tap.node == node && tap.session == session &&
        (tap.direction == direction || tap.direction == TapDirection::kBoth)) {
      return i;
    }
  }
  return kNone;
}

std::string Fabric::NameOf(PortIndex port) const {
  const Port& p = parts_.ports[port];
  return parts_.nodes[p.node].name + ":" + p.name;
}

std::string Fabric::NameOfLink(LinkIndex link) const {
  const Link& l = parts_.links[link];
  return NameOf(l.ends[0]) + "-" + NameOf(l.ends[1]);
}

std::string_view NameOf(Tier tier) {
  constexpr std::array<std::string_view, kTierCount> kNames = {"host", "leaf", "spine", "core"};
  return kNames[static_cast<size_t>(tier)];
}

std::string_view NameOf(TapDirection direction) {
  constexpr std::array<std::string_view, 3> kNames = {"ingress", "egress", "both"};
  return kNames[static_cast<size_t>(direction)];
}

}  // namespace rocescope::topology
