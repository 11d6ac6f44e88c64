// SPDX-License-Identifier: BSD-3-Clause
// The state of links, switches, NICs and GPUs that results from active faults and maintenance.
// Several of them may act on one element, so the state is always derived from all of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sim/benign/benign.h"
#include "sim/fault/fault.h"
#include "sim/host/network.h"
#include "topology/fabric.h"

namespace rocescope::sim {

struct ActiveFault {
  const FaultOptions* options = nullptr;
  uint32_t number = 0;   // index of the fault
  double severity = 1;   // 0 to 1; below 1 while a fault grows
  bool is_down = false;  // flap: the link is down now
};
struct ActiveMaintenance {
  const MaintenanceOptions* options = nullptr;
  bool is_down = false;  // false: drained only
};

struct FabricState {
  // Indexed by link.
  std::vector<bool> is_down;
  std::vector<bool> is_drained;
  std::vector<bool> is_disabled;  // by configuration, for maintenance
  // Indexed by node.
  std::vector<bool> node_is_down;  // switches and hosts
  std::vector<uint32_t> mtu;       // bytes
  // CE marks of a congested port, as a fraction of those with correct thresholds.
  std::vector<double> marks_factor;
  std::vector<double> loses_cnps;  // probability that the switch drops a CNP
  // PFC threshold: fraction of the buffer that one sender may use before the switch pauses it.
  std::vector<double> alpha;
  std::vector<bool> hashes_addresses;  // ECMP ignores UDP ports
  // The fault behind marks_factor, loses_cnps or alpha. It becomes visible when a port is
  // congested.
  std::map<std::pair<topology::NodeIndex, FaultKind>, uint32_t> fault_at;
  // Switches, and the NICs to which they drop all packets.
  std::vector<std::pair<topology::NodeIndex, topology::NicIndex>> blackholes;
  // Indexed by NIC.
  std::vector<bool> nic_is_down;
  std::vector<bool> storms;           // the NIC pauses its link continuously
  std::vector<double> receive_limit;  // bytes/s; 0: none
  // The fault behind receive_limit, by NIC. It becomes visible when the switch port is congested.
  std::map<topology::NicIndex, uint32_t> nic_fault;
  // Indexed by the port that sends over the link.
  std::vector<double> rate_factor;  // fraction of the link's speed
  std::vector<double> capacity;     // bytes/s; 0: nothing passes
  std::vector<SimTime> added_delay;
  // Keyed by GPU: factor that multiplies its compute time.
  std::map<topology::GpuIndex, double> slowdown;
};

// `real`: the fabric as it is cabled.
FabricState DeriveState(const topology::Fabric& real, const NetworkOptions& network,
                        std::span<const ActiveFault> faults,
                        std::span<const ActiveMaintenance> maintenance);

// The sending ports whose flows a difference of the two states concerns: because of the port's link
// or because of its node. In ascending order.
std::vector<topology::PortIndex> ChangedPorts(const topology::Fabric& real,
                                              const FabricState& before, const FabricState& after);

// The port that sends in the faulty direction of a fault's link; both ports if both directions are
// faulty.
std::vector<topology::PortIndex> SendersOf(const topology::Fabric& fabric,
                                           const FaultOptions& fault);

}  // namespace rocescope::sim
