// SPDX-License-Identifier: BSD-3-Clause
#include "sim/host/network.h"

#include <utility>

#include "base/hash.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kFirstQpn = 0x48;  // QPNs below are reserved for the NIC and the kernel
constexpr uint16_t kFirstSourcePort = 0xc000;
constexpr uint16_t kForeignService = 5201;  // TCP port of the listening end

SimTime ToSimTime(Duration duration) { return duration.count() * kNanosecond; }

}  // namespace

Network::Network(const topology::Fabric& fabric, const NetworkOptions& options)
    : fabric_(fabric), routes_(fabric), random_(options.seed, "network", 0) {
  MakeSwitches(options);
  MakeNics(options);
  ConnectPorts();
  for (const auto& one : switches_) one->Start();
  cache_.resize(switches_.size());
}

Network::~Network() { engine_.Clear(); }

void Network::MakeSwitches(const NetworkOptions& options) {
  switch_of_node_.assign(fabric_.nodes().size(), kUnknown);
  for (topology::NodeIndex node = 0; node < fabric_.nodes().size(); ++node) {
    if (!fabric_.node(node).IsSwitch()) continue;
    const auto number = static_cast<uint32_t>(switches_.size());
    SwitchOptions own = options.switches;
    own.random_seed = options.seed;
    own.hash_seed = HashCombine(options.seed, options.one_hash_seed ? 0 : number + 1);
    switches_.push_back(std::make_unique<Switch>(shared_, *this, number, own));
    switch_of_node_[node] = number;
    nodes_.push_back(node);
    for (const topology::Port& port : fabric_.PortsOf(node)) {
      constexpr uint64_t kUnplugged = 100'000'000'000;
      switches_.back()->AddPort(
          port.link == topology::kNone ? kUnplugged : fabric_.link(port.link).bits_per_second);
    }
  }
}

void Network::MakeNics(const NetworkOptions& options) {
  for (topology::NicIndex index = 0; index < fabric_.nics().size(); ++index) {
    const topology::Nic& nic = fabric_.nic(index);
    const topology::LinkIndex link = fabric_.port(nic.port).link;
    constexpr uint64_t kUnplugged = 100'000'000'000;
    nics_.push_back(std::make_unique<Nic>(
        shared_, index, options.nics,
        link == topology::kNone ? kUnplugged : fabric_.link(link).bits_per_second));
    nics_.back()->SetFind([this](uint32_t sender) { return &queue_pairs_[sender]->peer(); });
    next_qpn_.push_back(kFirstQpn);
    const topology::PortIndex edge = fabric_.Peer(nic.port);
    const bool switched =
        edge != topology::kNone && fabric_.node(fabric_.port(edge).node).IsSwitch();
    edge_of_nic_.push_back(switched ? switch_of_node_[fabric_.port(edge).node] : kUnknown);
    edge_port_of_nic_.push_back(
        switched ? static_cast<uint16_t>(edge - fabric_.node(fabric_.port(edge).node).first_port)
                 : uint16_t{0});
  }
}

void Network::ConnectPorts() {
  for (const topology::Link& link : fabric_.links()) {
    Port::Connect(port(link.ends[0]), port(link.ends[1]), ToSimTime(link.delay));
  }
}

Port& Network::port(topology::PortIndex index) {
  const topology::NodeIndex node = fabric_.port(index).node;
  if (!fabric_.node(node).IsSwitch()) return nics_[fabric_.NicOf(index)]->port();
  return switches_[switch_of_node_[node]]->port(index - fabric_.node(node).first_port);
}

uint64_t Network::DigestOf(const QueuePair& sender, HashFields fields) const {
  const topology::Nic& from = fabric_.nic(sender.nic().number());
  const topology::Nic& to = fabric_.nic(sender.peer().nic().number());
  uint64_t digest = HashCombine(sender.nic().number(), sender.peer().nic().number());
  if (!from.addresses.empty() && !to.addresses.empty()) {
    digest =
        HashCombine(FoldAddress(from.addresses[0].address), FoldAddress(to.addresses[0].address));
  }
  return fields == HashFields::kAddresses ? digest
                                          : HashCombine(digest, sender.identity().udp_source_port);
}

Network::Connection Network::Connect(topology::NicIndex first, topology::NicIndex second,
                                     QueuePairObserver* observer) {
  const auto make = [&](topology::NicIndex index) -> QueuePair* {
    const QueuePair::Identity identity = {
        .number = static_cast<uint32_t>(queue_pairs_.size()),
        .qpn = Qpn{next_qpn_[index]++},
        .udp_source_port = static_cast<uint16_t>(kFirstSourcePort | random_.Below(0x4000))};
    queue_pairs_.push_back(std::make_unique<QueuePair>(*nics_[index], identity, observer));
    return queue_pairs_.back().get();
  };
  QueuePair* const at_first = make(first);
  return Paired(*at_first, *make(second));
}

Network::Connection Network::ConnectForeign(topology::NicIndex first, topology::NicIndex second,
                                            ForeignReceiver* receiver) {
  const auto make = [&](topology::NicIndex index, uint32_t port) -> QueuePair& {
    const QueuePair::Identity identity = {.number = static_cast<uint32_t>(queue_pairs_.size()),
                                          .udp_source_port = static_cast<uint16_t>(port),
                                          .foreign = true};
    queue_pairs_.push_back(std::make_unique<QueuePair>(*nics_[index], identity, nullptr));
    queue_pairs_.back()->SetForeign(receiver);
    return *queue_pairs_.back();
  };
  // Linux's range of ephemeral ports.
  constexpr uint32_t kFirstEphemeral = 32'768;
  constexpr uint32_t kEphemerals = 28'232;
  const auto ephemeral = static_cast<uint32_t>(kFirstEphemeral + random_.Below(kEphemerals));
  QueuePair& at_first = make(first, ephemeral);
  return Paired(at_first, make(second, kForeignService));
}

Network::Connection Network::Paired(QueuePair& first, QueuePair& second) {
  QueuePair::Connect(first, second);
  for (QueuePair* end : {&first, &second}) {
    end->SetDigest(DigestOf(*end, HashFields::kFiveTuple));
  }
  return {&first, &second};
}

uint64_t Network::Digest(const Frame& frame, HashFields fields) const {
  return DigestOf(*queue_pairs_[frame.queue_pair], fields);
}

void Network::Reroute(const std::vector<bool>& failed_links) {
  routes_.SetFailed(failed_links);
  ForgetRoutes();
}

void Network::ForgetRoutes() {
  for (std::vector<Cached>& of_switch : cache_) of_switch.clear();
  next_hops_.clear();
  NoteRoutingChange();
}

void Network::SetDetour(topology::NodeIndex at, topology::NodeIndex edge, topology::PortIndex out) {
  const std::pair key(switch_of_node_[at], switch_of_node_[edge]);
  if (out == topology::kNone) {
    detours_.erase(key);
  } else {
    detours_[key] = static_cast<uint16_t>(out - fabric_.node(at).first_port);
  }
  ForgetRoutes();
}

std::vector<topology::PortIndex> Network::PathOf(const QueuePair& sender) {
  Frame frame;
  frame.queue_pair = sender.identity().number;
  frame.destination = sender.peer().nic().number();
  frame.digest = DigestOf(sender, HashFields::kFiveTuple);
  std::vector<topology::PortIndex> path;
  topology::PortIndex at = fabric_.Peer(fabric_.nic(sender.nic().number()).port);
  // A path through a Clos has at most five switches; more indicates a loop.
  constexpr size_t kMaxSwitches = 16;
  while (path.size() < kMaxSwitches) {
    if (at == topology::kNone) return {};
    const topology::NodeIndex node = fabric_.port(at).node;
    if (!fabric_.node(node).IsSwitch()) return path;
    const Port* out = switch_at(node).WouldChoose(frame);
    if (out == nullptr) return {};
    path.push_back(fabric_.node(node).first_port + out->number());
    at = fabric_.Peer(path.back());
  }
  return {};
}

Forwarding::Hops Network::NextHops(uint32_t switch_number, const Frame& frame) {
  const uint32_t edge = edge_of_nic_[frame.destination];
  if (edge == switch_number) return {&edge_port_of_nic_[frame.destination], 1};
  if (edge == kUnknown) return {nullptr, 0};
  std::vector<Cached>& of_switch = cache_[switch_number];
  if (of_switch.empty()) of_switch.resize(switches_.size());
  Cached& cached = of_switch[edge];
  if (cached.offset == kUnknown) [[unlikely]]
    Look(cached, switch_number, edge, frame.destination);
  if (cached.detour) [[unlikely]]
    NoteBounce(switch_number, frame, next_hops_[cached.offset]);
  return {next_hops_.data() + cached.offset, cached.count};
}

void Network::NoteBounce(uint32_t switch_number, const Frame& frame, uint16_t out) {
  if (frame.payload == 0) return;
  const topology::Node& node = fabric_.node(nodes_[switch_number]);
  const auto leads_up = [&](uint16_t number) {
    const topology::NodeIndex peer = fabric_.PeerNode(node.first_port + number);
    return peer != topology::kNone && fabric_.node(peer).tier > node.tier;
  };
  if (leads_up(frame.ingress) && leads_up(out)) bounced_.insert(frame.queue_pair);
}

void Network::Look(Cached& cached, uint32_t switch_number, uint32_t edge,
                   topology::NicIndex destination) {
  cached = {.offset = static_cast<uint32_t>(next_hops_.size()), .count = 1};
  if (const auto detour = detours_.find({switch_number, edge}); detour != detours_.end()) {
    next_hops_.push_back(detour->second);
    cached.detour = true;
    return;
  }
  const topology::NodeIndex node = nodes_[switch_number];
  const auto ports = routes_.NextHops(node, destination);
  cached.count = static_cast<uint32_t>(ports.size());
  for (const topology::PortIndex port : ports) {
    next_hops_.push_back(static_cast<uint16_t>(port - fabric_.node(node).first_port));
  }
}

}  // namespace rocescope::sim
