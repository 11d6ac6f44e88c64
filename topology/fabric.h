// SPDX-License-Identifier: BSD-3-Clause
// The model of a fabric as its operator describes it: hosts with NICs and GPUs, switches in tiers,
// ports and links, and mirror sessions. It contains no telemetry and no state.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "base/segment.h"
#include "base/time.h"

namespace rocescope::topology {

// Indices into the fabric's arrays. They are valid for one Fabric object only.
using NodeIndex = uint32_t;
using PortIndex = uint32_t;
using LinkIndex = uint32_t;
using NicIndex = uint32_t;
using GpuIndex = uint32_t;
using TapIndex = uint32_t;
inline constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// The ends of a link are usually one tier apart. Only the up-down rule of route.h relies on that.
enum class Tier : uint8_t { kHost, kLeaf, kSpine, kCore };
inline constexpr size_t kTierCount = 4;

struct Node {
  std::string name;  // unique; without spaces and colons
  Tier tier = Tier::kHost;
  uint32_t pod = kNone;      // pod of a leaf or spine with three tiers, from 0
  PortIndex first_port = 0;  // the ports of a node are consecutive
  uint32_t port_count = 0;
  // Identifiers of switches in telemetry; each one is unique. Unspecified or kNone: not used.
  IpAddress erspan_source;
  IpAddress sflow_agent;
  uint32_t int_switch_id = kNone;

  bool IsSwitch() const { return tier != Tier::kHost; }
};

struct Port {
  NodeIndex node = kNone;
  uint32_t number = 0;     // ifIndex, as in sFlow, INT and ERSPAN's port index; unique in a node
  std::string name;        // for example "Ethernet4" or "mlx5_0"; unique in a node
  LinkIndex link = kNone;  // kNone: not connected
};

struct Link {
  std::array<PortIndex, 2> ends = {kNone, kNone};  // two different nodes
  uint64_t bits_per_second = 0;                    // in each direction
  Duration delay{};                                // propagation delay in one direction

  PortIndex Opposite(PortIndex port) const { return port == ends[0] ? ends[1] : ends[0]; }
};

// Tenants may use the same addresses: an address identifies a NIC only within its segment.
struct NicAddress {
  Segment segment = 0;
  IpAddress address;

  friend auto operator<=>(const NicAddress&, const NicAddress&) = default;
};

// One port of an adapter, like a device of the RDMA core: a dual-port card is two NICs.
struct Nic {
  NodeIndex host = kNone;
  PortIndex port = kNone;  // every port of a host belongs to one NIC
  std::string device;      // RDMA device name such as "mlx5_0"; unique on a host
  std::string pci;         // for example "0000:17:00.0"; empty: unknown
  uint32_t rail = 0;
  std::vector<NicAddress> addresses;
};

struct Gpu {
  NodeIndex host = kNone;
  uint32_t number = 0;  // as numbered by nvidia-smi; unique on a host
  std::string pci;      // empty: unknown
  uint32_t rail = 0;
  NicIndex nic = kNone;  // nearest NIC of the same host; kNone: unknown
};

enum class TapDirection : uint8_t { kIngress, kEgress, kBoth };

// A mirror session of a switch. Its frames identify the switch (Node::erspan_source), the session,
// and, if the header has a field for it, the port.
struct Tap {
  NodeIndex node = kNone;
  // 0 to kMaxSession; sessions of a switch with the same number differ in direction.
  uint32_t session = 0;
  TapDirection direction = TapDirection::kIngress;
  bool names_port = true;  // the mirror header contains the port number
  // Egress copies are taken before the queue, so they include dropped frames.
  bool before_queue = false;
  std::vector<PortIndex> ports;
};
inline constexpr uint32_t kMaxSession = 1023;  // the ERSPAN session field has ten bits

// Immutable after construction. Thread-safe for reading.
class Fabric {
 public:
  // Input of Make, which checks its consistency with check.h. builder.h helps to fill it in.
  struct Parts {
    std::string name;
    std::vector<Node> nodes;
    std::vector<Port> ports;
    std::vector<Link> links;
    std::vector<Nic> nics;
    std::vector<Gpu> gpus;
    std::vector<Tap> taps;
  };
  static Result<Fabric> Make(Parts parts);

  // Returns the parts, to make a modified fabric.
  const Parts& parts() const { return parts_; }

  const std::string& name() const { return parts_.name; }
  std::span<const Node> nodes() const { return parts_.nodes; }
  std::span<const Port> ports() const { return parts_.ports; }
  std::span<const Link> links() const { return parts_.links; }
  std::span<const Nic> nics() const { return parts_.nics; }
  std::span<const Gpu> gpus() const { return parts_.gpus; }
  std::span<const Tap> taps() const { return parts_.taps; }

  const Node& node(NodeIndex index) const { return parts_.nodes[index]; }
  const Port& port(PortIndex index) const { return parts_.ports[index]; }
  const Link& link(LinkIndex index) const { return parts_.links[index]; }
  const Nic& nic(NicIndex index) const { return parts_.nics[index]; }
  const Gpu& gpu(GpuIndex index) const { return parts_.gpus[index]; }
  const Tap& tap(TapIndex index) const { return parts_.taps[index]; }

  std::span<const Port> PortsOf(NodeIndex node) const {
    return ports().subspan(parts_.nodes[node].first_port, parts_.nodes[node].port_count);
  }
  // Returns the port at the other end of the link; kNone if there is none.
  PortIndex Peer(PortIndex port) const {
    const LinkIndex link = parts_.ports[port].link;
    return link == kNone ? kNone : parts_.links[link].Opposite(port);
  }
  // Returns the node at the other end; kNone if there is none.
  NodeIndex PeerNode(PortIndex port) const {
    const PortIndex peer = Peer(port);
    return peer == kNone ? kNone : parts_.ports[peer].node;
  }
  // Returns the speed of the port's link; 0 if there is none.
  uint64_t SpeedOf(PortIndex port) const {
    const LinkIndex link = parts_.ports[port].link;
    return link == kNone ? 0 : parts_.links[link].bits_per_second;
  }
  // Returns the NIC of a host port; kNone for a switch port.
  NicIndex NicOf(PortIndex port) const { return nic_of_port_[port]; }
  // Returns the NICs of a host in port order, or its GPUs in the order of their numbers.
  std::span<const NicIndex> NicsOf(NodeIndex host) const;
  std::span<const GpuIndex> GpusOf(NodeIndex host) const;

  // Returns kNone if there is no such item.
  NodeIndex FindNode(std::string_view name) const;
  PortIndex FindPort(NodeIndex node, std::string_view name) const;
  PortIndex FindPortByNumber(NodeIndex node, uint32_t number) const;
  NicIndex FindNic(const NicAddress& address) const;
  NicIndex FindNicByDevice(NodeIndex host, std::string_view device) const;
  NodeIndex FindSwitchByInt(uint32_t switch_id) const;
  NodeIndex FindSwitchBySflow(const IpAddress& agent) const;
  NodeIndex FindSwitchByErspan(const IpAddress& source) const;
  // Returns the session of `node` that copies frames in this direction, which is ingress or egress.
  TapIndex FindTap(NodeIndex node, uint32_t session, TapDirection direction) const;

  // Returns the name used in reports: "leaf0:Ethernet4" for a port,
  // "leaf0:Ethernet4-spine1:Ethernet2" for a link.
  std::string NameOf(PortIndex port) const;
  std::string NameOfLink(LinkIndex link) const;

 private:
  // Sorted by key.
  template <typename Key>
  using Index = std::vector<std::pair<Key, uint32_t>>;
  // The items of node i are items[first[i]] to items[first[i + 1] - 1].
  struct Groups {
    std::vector<uint32_t> first;
    std::vector<uint32_t> items;

    std::span<const uint32_t> Of(NodeIndex node) const {
      return std::span(items).subspan(first[node], first[node + 1] - first[node]);
    }
  };

  explicit Fabric(Parts parts);
  template <typename Key, typename KeyOf>
  Index<Key> IndexSwitches(KeyOf key_of) const;

  Parts parts_;
  std::vector<NicIndex> nic_of_port_;
  std::vector<NodeIndex> nodes_by_name_;
  std::vector<PortIndex> ports_by_name_;    // consecutive for each node, like the ports
  std::vector<PortIndex> ports_by_number_;  // consecutive for each node, like the ports
  Groups nics_of_;
  Groups gpus_of_;
  Index<NicAddress> nics_by_address_;
  Index<uint32_t> switches_by_int_;
  Index<IpAddress> switches_by_sflow_;
  Index<IpAddress> switches_by_erspan_;
};

// "host", "leaf", "spine", "core".
std::string_view NameOf(Tier tier);
// "ingress", "egress", "both".
std::string_view NameOf(TapDirection direction);

}  // namespace rocescope::topology
