// SPDX-License-Identifier: BSD-3-Clause
// What active faults and maintenance make of links, switches, NICs and GPUs. Several of them may
// act on one element, so the state is always derived from all of them.
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
  double severity = 1;   // of a fault that grows
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
  std::vector<bool> node_is_down;    // switches and hosts
  std::vector<uint32_t> mtu;         // bytes
  std::vector<double> marks_factor;  // of the CE marks that correct thresholds would set
  std::vector<double> loses_cnps;    // probability
  std::vector<bool> pauses_early;
  std::vector<bool> hashes_addresses;                  // ECMP ignores ports
  std::map<topology::NodeIndex, uint32_t> node_fault;  // whose effect shows in congestion
  std::vector<std::pair<topology::NodeIndex, topology::NicIndex>> blackholes;
  // Indexed by NIC.
  std::vector<bool> nic_is_down;
  std::vector<bool> storms;           // PFC
  std::vector<double> receive_limit;  // bytes/s; 0: none
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

// The sending ports whose links, or whose nodes, differ in a way that concerns flows. In ascending
// order.
std::vector<topology::PortIndex> ChangedPorts(const topology::Fabric& real,
                                              const FabricState& before, const FabricState& after);

// The ports that send over the faulty direction or directions of a fault's link.
std::vector<topology::PortIndex> SendersOf(const topology::Fabric& fabric,
                                           const FaultOptions& fault);

}  // namespace rocescope::sim
