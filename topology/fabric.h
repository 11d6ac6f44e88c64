// SPDX-License-Identifier: BSD-3-Clause
// What a fabric is, as its operator would describe it: hosts with NICs and GPUs, switches in tiers,
// the ports and links between them, and where copies of frames are taken. No telemetry, no state.
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

// Places in the fabric's arrays. They hold for one Fabric, never across two.
using NodeIndex = uint32_t;
using PortIndex = uint32_t;
using LinkIndex = uint32_t;
using NicIndex = uint32_t;
using GpuIndex = uint32_t;
using TapIndex = uint32_t;
inline constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// A link's ends differ by one tier, except where an operator's cabling is unusual: nothing here
// relies on it but route.h's rule of up and then down.
enum class Tier : uint8_t { kHost, kLeaf, kSpine, kCore };
inline constexpr size_t kTierCount = 4;

struct Node {
  std::string name;  // unique; no space and no colon
  Tier tier = Tier::kHost;
  uint32_t pod = kNone;      // of a leaf or spine of three tiers, counted from 0
  PortIndex first_port = 0;  // a node's ports lie one behind the other
  uint32_t port_count = 0;
  // Of switches: how telemetry names them, each unique. Unspecified or kNone where it does not.
  IpAddress erspan_source;
  IpAddress sflow_agent;
  uint32_t int_switch_id = kNone;

  bool IsSwitch() const { return tier != Tier::kHost; }
};

struct Port {
  NodeIndex node = kNone;
  uint32_t number = 0;     // ifIndex: what sFlow, INT and ERSPAN's port index say; unique in a node
  std::string name;        // "Ethernet4", "mlx5_0"; unique in a node
  LinkIndex link = kNone;  // kNone: nothing is plugged in
};

struct Link {
  std::array<PortIndex, 2> ends = {kNone, kNone};  // of two different nodes
  uint64_t bits_per_second = 0;                    // each way
  Duration delay{};                                // of propagation, one way

  PortIndex Opposite(PortIndex port) const { return port == ends[0] ? ends[1] : ends[0]; }
};

// Tenants reuse addresses: an address names a NIC within its segment alone.
struct NicAddress {
  Segment segment = 0;
  IpAddress address;

  friend auto operator<=>(const NicAddress&, const NicAddress&) = default;
};

// One port of an adapter, as RDMA's own devices are: a card with two ports is two of them.
struct Nic {
  NodeIndex host = kNone;
  PortIndex port = kNone;  // each port of a host is one NIC's
  std::string device;      // of the RDMA core: "mlx5_0"; unique in a host
  std::string pci;         // "0000:17:00.0"; empty: unknown
  uint32_t rail = 0;
  std::vector<NicAddress> addresses;
};

struct Gpu {
  NodeIndex host = kNone;
  uint32_t number = 0;  // as nvidia-smi counts; unique in a host
  std::string pci;      // empty: unknown
  uint32_t rail = 0;
  NicIndex nic = kNone;  // the nearest, of the same host; kNone: unknown
};

enum class TapDirection : uint8_t { kIngress, kEgress, kBoth };

// A mirror session of a switch. Its frames name the switch (Node::erspan_source), the session, and
// the port where the header has room for it.
struct Tap {
  NodeIndex node = kNone;
  uint32_t session = 0;  // 0 to kMaxSession; a switch's sessions of one number differ in direction
  TapDirection direction = TapDirection::kIngress;
  bool names_port = true;     // the mirror's header carries the port's number
  bool before_queue = false;  // an egress copy is taken before the queue: dropped frames show
  std::vector<PortIndex> ports;
};
inline constexpr uint32_t kMaxSession = 1023;  // ERSPAN's session has ten bits

// Immutable once built. Safe to read from any thread.
class Fabric {
 public:
  // What a builder fills in (builder.h). Make checks that it hangs together, by check.h.
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

  // To make another fabric that differs a little.
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
  // The port at the other end of a port's link; kNone if there is none.
  PortIndex Peer(PortIndex port) const {
    const LinkIndex link = parts_.ports[port].link;
    return link == kNone ? kNone : parts_.links[link].Opposite(port);
  }
  // The node at the other end; kNone if there is none.
  NodeIndex PeerNode(PortIndex port) const {
    const PortIndex peer = Peer(port);
    return peer == kNone ? kNone : parts_.ports[peer].node;
  }
  // Of a port's link; 0 if there is none.
  uint64_t SpeedOf(PortIndex port) const {
    const LinkIndex link = parts_.ports[port].link;
    return link == kNone ? 0 : parts_.links[link].bits_per_second;
  }
  // The NIC that a host's port is; kNone for a switch's.
  NicIndex NicOf(PortIndex port) const { return nic_of_port_[port]; }
  // Of a host: in the order of its ports; in the order of their numbers.
  std::span<const NicIndex> NicsOf(NodeIndex host) const;
  std::span<const GpuIndex> GpusOf(NodeIndex host) const;

  // kNone if there is none.
  NodeIndex FindNode(std::string_view name) const;
  PortIndex FindPort(NodeIndex node, std::string_view name) const;
  PortIndex FindPortByNumber(NodeIndex node, uint32_t number) const;
  NicIndex FindNic(const NicAddress& address) const;
  NicIndex FindNicByDevice(NodeIndex host, std::string_view device) const;
  NodeIndex FindSwitchByInt(uint32_t switch_id) const;
  NodeIndex FindSwitchBySflow(const IpAddress& agent) const;
  NodeIndex FindSwitchByErspan(const IpAddress& source) const;
  // The session of `node` that takes copies in this direction: ingress or egress.
  TapIndex FindTap(NodeIndex node, uint32_t session, TapDirection direction) const;

  // "leaf0:Ethernet4", how people and reports name a port; a link is
  // "leaf0:Ethernet4-spine1:Ethernet2".
  std::string NameOf(PortIndex port) const;
  std::string NameOfLink(LinkIndex link) const;

 private:
  // Sorted by the key.
  template <typename Key>
  using Index = std::vector<std::pair<Key, uint32_t>>;
  // Of the node with number i: items[first[i]] up to items[first[i + 1]].
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
  std::vector<PortIndex> ports_by_name_;    // a node's lie where its ports do
  std::vector<PortIndex> ports_by_number_;  // likewise
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
