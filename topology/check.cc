// SPDX-License-Identifier: BSD-3-Clause
#include "topology/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace rocescope::topology {
namespace {

using MaybeFault = std::optional<Fault>;

constexpr size_t kLongestName = 255;

template <typename... Arguments>
Fault MakeFault(PartKind kind, size_t index, fmt::format_string<Arguments...> format,
                Arguments&&... arguments) {
  return {.kind = kind,
          .index = static_cast<uint32_t>(index),
          .message = fmt::format(format, std::forward<Arguments>(arguments)...)};
}

// Returns the indices of two parts with the same key, the later one second; nullopt if all keys
// differ. `key_of` returns nullopt for a part without a key.
template <typename Part, typename KeyOf>
std::optional<std::pair<size_t, size_t>> FindTwice(const std::vector<Part>& parts, KeyOf key_of) {
  using Key = typename decltype(key_of(parts[0]))::value_type;
  std::vector<std::pair<Key, size_t>> keys;
  keys.reserve(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (auto key = key_of(parts[i])) keys.emplace_back(*std::move(key), i);
  }
  std::sort(keys.begin(), keys.end());
  const auto at = std::adjacent_find(
      keys.begin(), keys.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (at == keys.end()) return std::nullopt;
  return std::pair(at->second, (at + 1)->second);
}

class Checker {
 public:
  explicit Checker(const Fabric::Parts& parts) : parts_(parts) {}

  MaybeFault Find() const {
    for (const auto step :
         {&Checker::CheckSizes, &Checker::CheckNodes, &Checker::CheckNodesUnique,
          &Checker::CheckPorts, &Checker::CheckPortsUnique, &Checker::CheckLinks,
          &Checker::CheckNics, &Checker::CheckAddresses, &Checker::CheckGpus,
          &Checker::CheckGpusUnique, &Checker::CheckTaps, &Checker::CheckTapsUnique}) {
      if (MaybeFault fault = (this->*step)()) return fault;
    }
    return std::nullopt;
  }

 private:
  MaybeFault CheckSizes() const {
    if (parts_.nodes.size() > kMaxNodes) {
      return MakeFault(PartKind::kNode, kMaxNodes, "more than {} nodes", kMaxNodes);
    }
    if (parts_.gpus.size() > kMaxGpus) {
      return MakeFault(PartKind::kGpu, kMaxGpus, "more than {} GPUs", kMaxGpus);
    }
    if (!parts_.name.empty() && !IsPortName(parts_.name)) {
      return MakeFault(PartKind::kNode, 0, "\"{}\" is not a valid fabric name", parts_.name);
    }
    if (parts_.ports.size() > kMaxPorts) {
      return MakeFault(PartKind::kPort, kMaxPorts, "more than {} ports", kMaxPorts);
    }
    return std::nullopt;
  }

  MaybeFault CheckNodes() const {
    size_t next = 0;
    for (size_t i = 0; i < parts_.nodes.size(); ++i) {
      const Node& node = parts_.nodes[i];
      if (!IsNodeName(node.name)) {
        return MakeFault(PartKind::kNode, i,
                         "\"{}\" is not a valid node name: expected 1 to {} printable characters "
                         "(ASCII) without spaces, ':', ',', '\"', '[' and ']'",
                         node.name, kLongestName);
      }
      if (node.first_port != next || node.port_count > parts_.ports.size() - next) {
        return MakeFault(PartKind::kNode, i,
                         "the ports of {} do not follow those of the previous node", node.name);
      }
      next += node.port_count;
      const bool named = !node.erspan_source.IsUnspecified() || !node.sflow_agent.IsUnspecified() ||
                         node.int_switch_id != kNone;
      if (!node.IsSwitch() && (named || node.pod != kNone)) {
        return MakeFault(PartKind::kNode, i,
                         "{} is a host: only a switch can have a pod, an ERSPAN source, an sFlow "
                         "agent or an INT switch id",
                         node.name);
      }
    }
    if (next == parts_.ports.size()) return std::nullopt;
    return MakeFault(PartKind::kPort, next, "port {} belongs to no node", next);
  }

  MaybeFault CheckNodesUnique() const {
    if (const auto two = FindTwice(parts_.nodes, [](const Node& node) {
          return std::optional<std::string_view>(node.name);
        })) {
      return MakeFault(PartKind::kNode, two->second, "there are two nodes named {}",
                       NodeName(two->second));
    }
    const auto address = [&](IpAddress Node::* member, std::string_view what) -> MaybeFault {
      const auto two = FindTwice(parts_.nodes, [member](const Node& node) {
        return (node.*member).IsUnspecified() ? std::nullopt : std::optional(node.*member);
      });
      if (!two) return std::nullopt;
      return MakeFault(PartKind::kNode, two->second, "{} and {} have the same {}, {}",
                       NodeName(two->first), NodeName(two->second), what,
                       ToString(parts_.nodes[two->second].*member));
    };
    if (auto fault = address(&Node::erspan_source, "ERSPAN source")) return fault;
    if (auto fault = address(&Node::sflow_agent, "sFlow agent")) return fault;
    if (const auto two = FindTwice(parts_.nodes, [](const Node& node) {
          return node.int_switch_id == kNone ? std::nullopt : std::optional(node.int_switch_id);
        })) {
      return MakeFault(PartKind::kNode, two->second, "{} and {} have the same INT switch id, {}",
                       NodeName(two->first), NodeName(two->second),
                       parts_.nodes[two->second].int_switch_id);
    }
    return std::nullopt;
  }

  MaybeFault CheckPorts() const {
    for (size_t n = 0; n < parts_.nodes.size(); ++n) {
      const Node& node = parts_.nodes[n];
      for (size_t i = node.first_port; i < node.first_port + size_t{node.port_count}; ++i) {
        const Port& port = parts_.ports[i];
        if (!IsPortName(port.name)) {
          return MakeFault(PartKind::kPort, i,
                           "\"{}\" is not a valid port name for {}: expected 1 to {} printable "
                           "ASCII characters without ',', '\"', '[' and ']'",
                           port.name, node.name, kLongestName);
        }
        if (port.node != n) {
          return MakeFault(PartKind::kPort, i,
                           "port {} is in the port range of {} but belongs to another node",
                           port.name, node.name);
        }
        if (port.link == kNone) continue;
        const bool there = port.link < parts_.links.size();
        if (!there ||
            (parts_.links[port.link].ends[0] != i && parts_.links[port.link].ends[1] != i))
          return MakeFault(PartKind::kPort, i, "{} refers to a link that does not end there",
                           PortName(i));
      }
    }
    return std::nullopt;
  }

  MaybeFault CheckPortsUnique() const {
    if (const auto two = FindTwice(parts_.ports, [](const Port& port) {
          return std::optional(std::pair(port.node, std::string_view(port.name)));
        })) {
      return MakeFault(PartKind::kPort, two->second, "{} has two ports named {}",
                       NodeName(parts_.ports[two->second].node), parts_.ports[two->second].name);
    }
    if (const auto two = FindTwice(parts_.ports, [](const Port& port) {
          return std::optional(std::pair(port.node, port.number));
        })) {
      return MakeFault(PartKind::kPort, two->second, "{} and {} have the same number, {}",
                       PortName(two->first), PortName(two->second),
                       parts_.ports[two->second].number);
    }
    return std::nullopt;
  }

  MaybeFault CheckLinks() const {
    for (size_t i = 0; i < parts_.links.size(); ++i) {
      const Link& link = parts_.links[i];
      for (const PortIndex end : link.ends) {
        if (end >= parts_.ports.size()) {
          return MakeFault(PartKind::kLink, i, "a link needs two existing ports");
        }
      }
      for (const PortIndex end : link.ends) {
        if (parts_.ports[end].link == i) continue;
        return MakeFault(PartKind::kLink, i, "{} has two links", PortName(end));
      }
      const auto [a, b] = link.ends;
      if (parts_.ports[a].node == parts_.ports[b].node) {
        return MakeFault(PartKind::kLink, i, "a link from {} to itself",
                         NodeName(parts_.ports[a].node));
      }
      if (link.bits_per_second == 0 || link.bits_per_second > kMaxBitsPerSecond) {
        return MakeFault(PartKind::kLink, i,
                         "the link {} to {} has {} bit/s; expected 1 to 100 Tb/s", PortName(a),
                         PortName(b), link.bits_per_second);
      }
      if (link.delay < Duration::zero() || link.delay > kMaxDelay) {
        return MakeFault(PartKind::kLink, i,
                         "the link {} to {} has a delay of {} ns; expected 0 to 1 s", PortName(a),
                         PortName(b), link.delay.count());
      }
    }
    return std::nullopt;
  }

  MaybeFault CheckNics() const {
    std::vector<bool> taken(parts_.ports.size());
    for (size_t i = 0; i < parts_.nics.size(); ++i) {
      const Nic& nic = parts_.nics[i];
      if (!IsHost(nic.host)) return MakeFault(PartKind::kNic, i, "NIC {} has no host", nic.device);
      if (!IsPortName(nic.device)) {
        return MakeFault(PartKind::kNic, i, "\"{}\" is not a valid device name for {}", nic.device,
                         NodeName(nic.host));
      }
      if (nic.port >= parts_.ports.size() || parts_.ports[nic.port].node != nic.host ||
          taken[nic.port]) {
        return MakeFault(PartKind::kNic, i, "NIC {} of {} has no port of its own on that host",
                         nic.device, NodeName(nic.host));
      }
      taken[nic.port] = true;
      if (nic.rail > kMaxRail) {
        return MakeFault(PartKind::kNic, i, "NIC {} of {} has rail {}; expected 0 to {}",
                         nic.device, NodeName(nic.host), nic.rail, kMaxRail);
      }
    }
    for (size_t i = 0; i < parts_.ports.size(); ++i) {
      if (taken[i] || !IsHost(parts_.ports[i].node)) continue;
      return MakeFault(PartKind::kPort, i, "{} is a host port without a NIC", PortName(i));
    }
    const auto two = FindTwice(parts_.nics, [](const Nic& nic) {
      return std::optional(std::pair(nic.host, std::string_view(nic.device)));
    });
    if (!two) return std::nullopt;
    return MakeFault(PartKind::kNic, two->second, "{} has two NICs named {}",
                     NodeName(parts_.nics[two->second].host), parts_.nics[two->second].device);
  }

  MaybeFault CheckAddresses() const {
    std::vector<std::pair<NicAddress, size_t>> all;
    for (size_t i = 0; i < parts_.nics.size(); ++i) {
      for (const NicAddress& address : parts_.nics[i].addresses) {
        if (address.address.IsUnspecified()) {
          return MakeFault(PartKind::kNic, i, "{} has the unspecified address", NicName(i));
        }
        all.emplace_back(address, i);
      }
    }
    std::sort(all.begin(), all.end());
    const auto at = std::adjacent_find(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
    if (at == all.end()) return std::nullopt;
    const NicAddress& address = at->first;
    return MakeFault(
        PartKind::kNic, (at + 1)->second, "{} and {} have the same address, {}{}",
        NicName(at->second), NicName((at + 1)->second), ToString(address.address),
        address.segment == 0 ? "" : fmt::format(" in segment {}", address.segment - 1));
  }

  MaybeFault CheckGpus() const {
    for (size_t i = 0; i < parts_.gpus.size(); ++i) {
      const Gpu& gpu = parts_.gpus[i];
      if (!IsHost(gpu.host)) {
        return MakeFault(PartKind::kGpu, i, "GPU {} has no host", gpu.number);
      }
      if (gpu.nic != kNone &&
          (gpu.nic >= parts_.nics.size() || parts_.nics[gpu.nic].host != gpu.host)) {
        return MakeFault(PartKind::kGpu, i,
                         "GPU {} of {} refers to a NIC that this host does not have", gpu.number,
                         NodeName(gpu.host));
      }
      if (gpu.rail > kMaxRail) {
        return MakeFault(PartKind::kGpu, i, "GPU {} of {} has rail {}; expected 0 to {}",
                         gpu.number, NodeName(gpu.host), gpu.rail, kMaxRail);
      }
    }
    return std::nullopt;
  }

  MaybeFault CheckGpusUnique() const {
    if (const auto two = FindTwice(parts_.gpus, [](const Gpu& gpu) {
          return std::optional(std::pair(gpu.host, gpu.number));
        })) {
      return MakeFault(PartKind::kGpu, two->second, "{} has two GPUs with the number {}",
                       NodeName(parts_.gpus[two->second].host), parts_.gpus[two->second].number);
    }
    const auto two = FindTwice(parts_.gpus, [](const Gpu& gpu) {
      return gpu.pci.empty() ? std::nullopt
                             : std::optional(std::pair(gpu.host, std::string_view(gpu.pci)));
    });
    if (!two) return std::nullopt;
    return MakeFault(PartKind::kGpu, two->second, "{} has two GPUs with the PCI address {}",
                     NodeName(parts_.gpus[two->second].host), parts_.gpus[two->second].pci);
  }

  MaybeFault CheckTaps() const {
    for (size_t i = 0; i < parts_.taps.size(); ++i) {
      const Tap& tap = parts_.taps[i];
      if (tap.node >= parts_.nodes.size() || !parts_.nodes[tap.node].IsSwitch()) {
        return MakeFault(PartKind::kTap, i, "a mirror session needs a switch");
      }
      const std::string& name = NodeName(tap.node);
      if (tap.session > kMaxSession) {
        return MakeFault(PartKind::kTap, i, "{} has mirror session {}; expected 0 to {}", name,
                         tap.session, kMaxSession);
      }
      if (tap.ports.empty()) {
        return MakeFault(PartKind::kTap, i, "mirror session {} of {} has no ports", tap.session,
                         name);
      }
      std::vector<PortIndex> sorted = tap.ports;
      std::sort(sorted.begin(), sorted.end());
      const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
      if (sorted.back() >= parts_.ports.size() || parts_.ports[sorted.front()].node != tap.node ||
          parts_.ports[sorted.back()].node != tap.node) {
        return MakeFault(PartKind::kTap, i,
                         "mirror session {} of {} refers to a port that this switch does not have",
                         tap.session, name);
      }
      if (twice != sorted.end()) {
        return MakeFault(PartKind::kTap, i, "mirror session {} of {} lists port {} twice",
                         tap.session, name, parts_.ports[*twice].name);
      }
    }
    return std::nullopt;
  }

  // A mirrored frame identifies its session and direction only, so two sessions must not share
  // both.
  MaybeFault CheckTapsUnique() const {
    for (const TapDirection direction : {TapDirection::kIngress, TapDirection::kEgress}) {
      const auto two = FindTwice(parts_.taps, [&](const Tap& tap) {
        return tap.direction == direction || tap.direction == TapDirection::kBoth
                   ? std::optional(std::pair(tap.node, tap.session))
                   : std::nullopt;
      });
      if (!two) continue;
      const Tap& tap = parts_.taps[two->second];
      return MakeFault(PartKind::kTap, two->second,
                       "{} has two mirror sessions {} in the same direction, {}",
                       NodeName(tap.node), tap.session, NameOf(direction));
    }
    return std::nullopt;
  }

  bool IsHost(NodeIndex node) const {
    return node < parts_.nodes.size() && !parts_.nodes[node].IsSwitch();
  }
  const std::string& NodeName(size_t node) const { return parts_.nodes[node].name; }
  std::string PortName(size_t port) const {
    return NodeName(parts_.ports[port].node) + ":" + parts_.ports[port].name;
  }
  std::string NicName(size_t nic) const {
    return NodeName(parts_.nics[nic].host) + ":" + parts_.nics[nic].device;
  }

  const Fabric::Parts& parts_;
};

bool IsPlain(char c) {
  const auto octet = static_cast<unsigned char>(c);
  return octet >= ' ' && octet < 0x7f &&
         std::string_view("\"[],").find(c) == std::string_view::npos;
}

}  // namespace

bool IsNodeName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsPlain(c) && c != ' ' && c != ':'; });
}

bool IsPortName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name.front() != ' ' &&
         name.back() != ' ' && std::all_of(name.begin(), name.end(), IsPlain);
}

std::optional<Fault> FindFault(const Fabric::Parts& parts) { return Checker(parts).Find(); }

}  // namespace rocescope::topology
