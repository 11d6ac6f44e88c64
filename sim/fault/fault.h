// SPDX-License-Identifier: BSD-3-Clause
// One fault of a scenario: its kind, time, place and severity.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/engine/time.h"
#include "topology/fabric.h"
#include "topology/fault/fault_kind.h"

namespace rocescope::sim {

inline constexpr double kStragglerFactor = 4;  // if the factor of a straggler is not above 1

// Each kind uses the parameters that its row in topology/fault/fault_kind.h lists, and ignores the
// others; fault_parameter.h describes them. The values here are the defaults of scenarios.
struct FaultOptions {
  FaultKind kind = FaultKind::kLinkDown;
  SimTime onset = 0;
  SimTime duration = kNever;  // kNever: until the run ends
  SimTime every = 0;  // a recurring fault: time from one onset to the next; 0: it occurs once

  // The place.
  topology::LinkIndex link = topology::kNone;
  // Sending port, if the fault affects one direction of the link only.
  topology::PortIndex sender = topology::kNone;
  // swapped_cables: the ports whose cables are exchanged. `link` is the link of the first port.
  std::array<topology::PortIndex, 2> swapped = {topology::kNone, topology::kNone};
  topology::NodeIndex node = topology::kNone;
  topology::NicIndex nic = topology::kNone;
  topology::GpuIndex gpu = topology::kNone;

  double probability = 0.01;  // that a frame or packet is affected
  double burst = 1;           // mean number of consecutive frames that are lost
  uint32_t least_length = 0;  // bytes; shorter frames are not affected
  // degraded_rate: fraction of the rate that remains. straggler: slowdown (kStragglerFactor if
  // not above 1).
  double factor = 0.25;
  SimTime delay = 0;  // added to that of all frames or, for reordering, of affected ones
  SimTime period = kMillisecond;  // of a flap; the link is down for the first half
  double rate = 10e9;             // bit/s that a slow receiver accepts
  uint32_t mtu = 1500;            // bytes
  double alpha = 1.0 / 256;       // of the shared buffer's dynamic threshold
  // Bytes. By default far above the usual thresholds, so that the switch marks too late.
  uint64_t ecn_minimum = 8u << 20;
  uint64_t ecn_maximum = 9u << 20;
  std::vector<topology::NicIndex> senders;  // senders of the traffic that the fault adds
  uint64_t message = 1u << 20;              // bytes; size of their messages
  // A fault that grows: its severity at the onset as a fraction of the final severity. The severity
  // rises exponentially and is final when the fault or the run ends. 1: constant.
  double growth = 1;
};

// Kinds that can grow: those with a probability, a lower rate, a delay or a slowdown.
bool CanGrow(FaultKind kind);
// Kinds of links that can affect one direction only.
bool HasDirection(FaultKind kind);
// Kinds that only the packet model can simulate, because they depend on the order of packets in
// queues.
bool NeedsPackets(FaultKind kind);
// The fraction of the final severity at a time during the fault: from growth to 1.
double SeverityAt(const FaultOptions& options, SimTime time, SimTime run_end);
// The time at which the fault ends; kNever if it lasts until the run ends.
SimTime EndOf(const FaultOptions& options);

}  // namespace rocescope::sim
