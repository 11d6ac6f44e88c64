// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ns3_export/nodes.h"

#include <fmt/format.h>
#include <ns3/channel.h>
#include <ns3/data-rate.h>
#include <ns3/ipv4.h>
#include <ns3/mac48-address.h>
#include <ns3/nstime.h>

#include <algorithm>
#include <map>
#include <utility>

#include "topology/builder.h"

namespace rocescope::ns3_export {
namespace {

using ns3::NetDevice;
using ns3::Ptr;

constexpr uint32_t kFirstSwitchAddress = 0xac10'0001;  // 172.16.0.1
constexpr uint32_t kSession = 1;                       // of all mirrors

uint64_t MacOf(const NetDevice& device) {
  uint8_t bytes[6];
  ns3::Mac48Address::ConvertFrom(device.GetAddress()).CopyTo(bytes);
  uint64_t mac = 0;
  for (const uint8_t byte : bytes) mac = mac << 8 | byte;
  return mac;
}

std::vector<topology::NicAddress> AddressesOf(const Ptr<NetDevice>& device) {
  std::vector<topology::NicAddress> addresses;
  const Ptr<ns3::Ipv4> ipv4 = device->GetNode()->GetObject<ns3::Ipv4>();
  const int32_t interface = ipv4 ? ipv4->GetInterfaceForDevice(device) : -1;
  if (interface < 0) return addresses;
  for (uint32_t i = 0; i < ipv4->GetNAddresses(static_cast<uint32_t>(interface)); ++i) {
    const auto address = ipv4->GetAddress(static_cast<uint32_t>(interface), i).GetLocal();
    addresses.push_back({.address = IpAddress::FromV4(address.Get())});
  }
  return addresses;
}

// The rate is an attribute of the device (PointToPoint) or of the channel (CSMA).
Result<uint64_t> RateOf(NetDevice& device, const std::string& name) {
  ns3::DataRateValue rate;
  if (!device.GetAttributeFailSafe("DataRate", rate) &&
      !device.GetChannel()->GetAttributeFailSafe("DataRate", rate)) {
    return MakeError(
        ErrorCode::kUnimplemented,
        fmt::format("{}: neither the device nor its channel has the attribute DataRate", name));
  }
  return rate.Get().GetBitRate();
}

class Reader {
 public:
  Reader(const std::vector<AddedNode>& nodes, const Options& options)
      : nodes_(nodes), options_(options), builder_(options.scenario) {
    for (uint32_t i = 0; i < nodes.size(); ++i) node_of_[ns3::PeekPointer(nodes[i].node)] = i;
  }

  Result<Fabric> Read() {
    AddNodes();
    for (uint32_t i = 0; i < nodes_.size(); ++i) {
      for (uint32_t j = 0; j < nodes_[i].node->GetNDevices(); ++j) {
        if (Status added = AddDevice(nodes_[i].node->GetDevice(j), i); !added) {
          return tl::unexpected(added.error());
        }
      }
    }
    std::vector<topology::PortIndex> moved_to;
    topology::Fabric::Parts parts = builder_.Build(&moved_to);
    for (topology::NodeIndex i = 0; i < parts.nodes.size(); ++i) AddTap(parts, i);
    auto fabric = topology::Fabric::Make(std::move(parts));
    if (!fabric) return tl::unexpected(fabric.error());
    Fabric out{.fabric = *std::move(fabric),
               .devices = std::vector<Ptr<NetDevice>>(devices_.size()),
               .link_layers = std::vector<LinkLayer>(devices_.size())};
    for (const auto& [device, port] : port_of_) {
      out.devices[moved_to[port]] = devices_[port];
      out.link_layers[moved_to[port]] = link_layers_[port];
    }
    return out;
  }

 private:
  void AddNodes() {
    uint32_t switches = 0;
    for (const AddedNode& added : nodes_) {
      topology::Node node{.name = added.name, .tier = added.tier};
      if (node.IsSwitch()) {
        node.erspan_source = IpAddress::FromV4(kFirstSwitchAddress + switches);
        node.sflow_agent = node.erspan_source;
        node.int_switch_id = ++switches;
      }
      builder_.AddNode(std::move(node));
    }
  }

  // Adds the port of the device and, once both ends are known, the link.
  Status AddDevice(const Ptr<NetDevice>& device, uint32_t node) {
    const Ptr<ns3::Channel> channel = device->GetChannel();
    if (!channel || device->IsBridge()) return {};  // loopback, or a bridge of other devices
    const std::string name = fmt::format("{}: device {}", nodes_[node].name, device->GetIfIndex());
    if (channel->GetNDevices() != 2) {
      return MakeError(
          ErrorCode::kUnimplemented,
          fmt::format("{} shares its channel with {} others; a link has two ends: connect each "
                      "device to a switch by a channel of its own",
                      name, channel->GetNDevices() - 1));
    }
    const Ptr<NetDevice> peer = channel->GetDevice(channel->GetDevice(0) == device ? 1 : 0);
    if (!node_of_.contains(ns3::PeekPointer(peer->GetNode()))) return {};
    const std::string type = device->GetInstanceTypeId().GetName();
    const bool is_ppp = type == "ns3::PointToPointNetDevice";
    if (!is_ppp && type != "ns3::CsmaNetDevice") {
      return MakeError(ErrorCode::kUnimplemented,
                       fmt::format("{} is a {}; only ns3::PointToPointNetDevice and "
                                   "ns3::CsmaNetDevice can be recorded",
                                   name, type));
    }
    const topology::PortIndex port = AddPort(device, node);
    devices_.push_back(device);
    link_layers_.push_back({.is_ppp = is_ppp, .mac = MacOf(*device), .peer_mac = MacOf(*peer)});
    port_of_[ns3::PeekPointer(device)] = port;
    const auto at = port_of_.find(ns3::PeekPointer(peer));
    if (at == port_of_.end()) return {};
    const auto rate = RateOf(*device, name);
    if (!rate) return tl::unexpected(rate.error());
    ns3::TimeValue delay;
    channel->GetAttribute("Delay", delay);
    builder_.AddLink(at->second, port, *rate, Duration(delay.Get().GetNanoSeconds()));
    return {};
  }

  topology::PortIndex AddPort(const Ptr<NetDevice>& device, uint32_t node) {
    if (nodes_[node].tier != topology::Tier::kHost) return builder_.AddNextPort(node);
    const uint32_t number = nics_[node]++;
    const topology::NicIndex nic = builder_.AddNic({.host = node,
                                                    .device = fmt::format("nic{}", number),
                                                    .rail = number,
                                                    .addresses = AddressesOf(device)});
    return builder_.parts().nics[nic].port;
  }

  void AddTap(topology::Fabric::Parts& parts, topology::NodeIndex index) const {
    const topology::Node& node = parts.nodes[index];
    if (!node.IsSwitch() || node.port_count == 0 || options_.mirror == Mirror::kNone) return;
    if (options_.mirror == Mirror::kLeaves && node.tier != topology::Tier::kLeaf) return;
    topology::Tap tap{.node = index,
                      .session = kSession,
                      .direction = options_.mirror_egress ? topology::TapDirection::kBoth
                                                          : topology::TapDirection::kIngress};
    for (uint32_t i = 0; i < node.port_count; ++i) tap.ports.push_back(node.first_port + i);
    parts.taps.push_back(std::move(tap));
  }

  const std::vector<AddedNode>& nodes_;
  const Options& options_;
  topology::Builder builder_;
  std::map<const ns3::Node*, uint32_t> node_of_;  // index in nodes_, which is the NodeIndex
  std::map<uint32_t, uint32_t> nics_;             // number of NICs by node
  std::map<const NetDevice*, topology::PortIndex> port_of_;
  // In the order of adding, which is that of the builder's port indices.
  std::vector<Ptr<NetDevice>> devices_;
  std::vector<LinkLayer> link_layers_;
};

}  // namespace

Result<Fabric> FabricOf(const std::vector<AddedNode>& nodes, const Options& options) {
  return Reader(nodes, options).Read();
}

}  // namespace rocescope::ns3_export
