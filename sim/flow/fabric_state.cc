// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/fabric_state.h"

#include <algorithm>

#include "topology/fault/fault_kind.h"

namespace rocescope::sim {
namespace {

using topology::kNone;

void TakeDown(const topology::Fabric& fabric, topology::NodeIndex node, FabricState& state) {
  state.node_is_down[node] = true;
  for (const topology::Port& port : fabric.PortsOf(node)) {
    if (port.link != kNone) state.is_down[port.link] = true;
  }
}

void Add(const topology::Fabric& fabric, const ActiveFault& active, FabricState& state) {
  const FaultOptions& fault = *active.options;
  const double severity = active.severity;
  switch (fault.kind) {
    case FaultKind::kLinkDown:
      state.is_down[fault.link] = true;
      return;
    case FaultKind::kFlap:
      if (active.is_down) state.is_down[fault.link] = true;
      return;
    case FaultKind::kSwitchCrash:
      TakeDown(fabric, fault.node, state);
      return;
    case FaultKind::kNicCrash:
      state.nic_is_down[fault.nic] = true;
      state.is_down[fabric.port(fabric.nic(fault.nic).port).link] = true;
      return;
    case FaultKind::kDegradedRate:
      for (const topology::PortIndex port : SendersOf(fabric, fault)) {
        state.rate_factor[port] =
            std::min(state.rate_factor[port], 1 - (1 - fault.factor) * severity);
      }
      return;
    case FaultKind::kAddedLatency:
      for (const topology::PortIndex port : SendersOf(fabric, fault)) {
        state.added_delay[port] +=
            static_cast<SimTime>(static_cast<double>(fault.delay) * severity);
      }
      return;
    case FaultKind::kBlackhole:
      state.blackholes.emplace_back(fault.node, fault.nic);
      return;
    case FaultKind::kMtuMismatch:
      state.mtu[fault.node] = std::min(state.mtu[fault.node], fault.mtu);
      return;
    case FaultKind::kPolarisation:
      state.hashes_addresses[fault.node] = true;
      return;
    case FaultKind::kSlowReceiver:
      state.receive_limit[fault.nic] = fault.rate / 8;
      state.nic_fault[fault.nic] = active.number;
      return;
    case FaultKind::kPfcStorm:
      state.storms[fault.nic] = true;
      return;
    case FaultKind::kMisconfiguredEcn:
      state.marks_factor[fault.node] = 0;
      state.fault_at[{fault.node, fault.kind}] = active.number;
      return;
    case FaultKind::kMisconfiguredAlpha:
      state.alpha[fault.node] = std::min(state.alpha[fault.node], fault.alpha);
      state.fault_at[{fault.node, fault.kind}] = active.number;
      return;
    case FaultKind::kLostCnps:
      state.loses_cnps[fault.node] =
          std::max(state.loses_cnps[fault.node], fault.probability * severity);
      state.fault_at[{fault.node, fault.kind}] = active.number;
      return;
    case FaultKind::kStraggler: {
      const double factor = fault.factor > 1 ? fault.factor : kStragglerFactor;
      double& slowdown = state.slowdown.try_emplace(fault.gpu, 1).first->second;
      slowdown = std::max(slowdown, 1 + (factor - 1) * severity);
      return;
    }
    case FaultKind::kGrayLoss:
    case FaultKind::kBitErrors:
    case FaultKind::kCorruption:
    case FaultKind::kIncast:
    case FaultKind::kNoisyNeighbour:
    case FaultKind::kSwappedCables:
    case FaultKind::kPfcDeadlock:
    case FaultKind::kDeprioritisedCnps:
    case FaultKind::kReordering:
      return;  // act through losses or streams, or are built into the fabric
  }
}

void Add(const topology::Fabric& fabric, const ActiveMaintenance& active, FabricState& state) {
  const MaintenanceOptions& work = *active.options;
  switch (work.kind) {
    case MaintenanceKind::kLinkDrain:
      state.is_drained[work.link] = true;
      if (active.is_down) state.is_down[work.link] = state.is_disabled[work.link] = true;
      return;
    case MaintenanceKind::kSwitchUpgrade:
      for (const topology::Port& port : fabric.PortsOf(work.node)) {
        if (port.link != kNone) state.is_drained[port.link] = true;
      }
      if (active.is_down) TakeDown(fabric, work.node, state);
      return;
    case MaintenanceKind::kHostReboot:  // nothing is forwarded through a host
      if (active.is_down) TakeDown(fabric, work.node, state);
      return;
  }
}

double CapacityOf(const topology::Fabric& fabric, const FabricState& state,
                  topology::PortIndex port) {
  const topology::LinkIndex link = fabric.port(port).link;
  if (link == kNone || state.is_down[link]) return 0;
  const topology::PortIndex peer = fabric.Peer(port);
  double capacity =
      static_cast<double>(fabric.link(link).bits_per_second) / 8 * state.rate_factor[port];
  if (fabric.node(fabric.port(peer).node).IsSwitch()) return capacity;
  const topology::NicIndex nic = fabric.NicOf(peer);
  if (state.storms[nic]) return 0;
  const double limit = state.receive_limit[nic];
  return limit > 0 ? std::min(capacity, limit) : capacity;
}

}  // namespace

std::vector<topology::PortIndex> SendersOf(const topology::Fabric& fabric,
                                           const FaultOptions& fault) {
  if (fault.sender != kNone) return {fault.sender};
  const topology::Link& link = fabric.link(fault.link);
  return {link.ends[0], link.ends[1]};
}

FabricState DeriveState(const topology::Fabric& real, const NetworkOptions& network,
                        std::span<const ActiveFault> faults,
                        std::span<const ActiveMaintenance> maintenance) {
  const size_t ports = real.ports().size();
  const size_t nodes = real.nodes().size();
  const size_t nics = real.nics().size();
  FabricState state;
  state.is_down.resize(real.links().size());
  state.is_drained.resize(real.links().size());
  state.is_disabled.resize(real.links().size());
  state.node_is_down.resize(nodes);
  state.mtu.assign(nodes, network.switches.mtu);
  state.marks_factor.assign(nodes, 1);
  state.loses_cnps.resize(nodes);
  state.alpha.assign(nodes, network.switches.buffer.alpha);
  state.hashes_addresses.resize(nodes);
  state.nic_is_down.resize(nics);
  state.storms.resize(nics);
  state.receive_limit.resize(nics);
  state.rate_factor.assign(ports, 1);
  state.capacity.resize(ports);
  state.added_delay.resize(ports);
  for (const ActiveFault& fault : faults) Add(real, fault, state);
  for (const ActiveMaintenance& work : maintenance) Add(real, work, state);
  for (topology::NicIndex nic = 0; nic < nics; ++nic) {  // a NIC that is down sends no pauses
    const topology::Nic& of = real.nic(nic);
    if (state.nic_is_down[nic] || state.node_is_down[of.host]) state.storms[nic] = false;
  }
  for (topology::PortIndex port = 0; port < ports; ++port) {
    state.capacity[port] = CapacityOf(real, state, port);
  }
  return state;
}

std::vector<topology::PortIndex> ChangedPorts(const topology::Fabric& real,
                                              const FabricState& before, const FabricState& after) {
  std::vector<topology::PortIndex> changed;
  const auto concerns = [&](const auto& holes, topology::NodeIndex node) {
    return std::ranges::any_of(holes, [&](const auto& hole) { return hole.first == node; });
  };
  std::vector<bool> nodes(real.nodes().size());
  for (topology::NodeIndex node = 0; node < nodes.size(); ++node) {
    nodes[node] = before.mtu[node] != after.mtu[node] ||
                  before.marks_factor[node] != after.marks_factor[node] ||
                  before.loses_cnps[node] != after.loses_cnps[node] ||
                  before.alpha[node] != after.alpha[node] ||
                  (before.blackholes != after.blackholes &&
                   (concerns(before.blackholes, node) || concerns(after.blackholes, node)));
  }
  for (topology::PortIndex port = 0; port < real.ports().size(); ++port) {
    if (nodes[real.port(port).node] || before.capacity[port] != after.capacity[port] ||
        before.rate_factor[port] != after.rate_factor[port] ||
        before.added_delay[port] != after.added_delay[port]) {
      changed.push_back(port);
    }
  }
  return changed;
}

}  // namespace rocescope::sim
