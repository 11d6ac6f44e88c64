// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/machine_need.h"

#include <algorithm>
#include <cmath>

#include "appliance/cli/plan/mirror_plan.h"
#include "appliance/cli/plan/mirrored_ports.h"
#include "appliance/cli/plan/sizing.h"

namespace rocescope::plan {
namespace {

using topology::Fabric;
using topology::NodeIndex;
using topology::PortIndex;

constexpr uint64_t kMinutesADay = 24 * 60;

uint64_t CoresFor(double packets_per_second, double safety) {
  const double cores = packets_per_second * safety / static_cast<double>(kPacketsPerCore);
  return static_cast<uint64_t>(std::ceil(cores));
}

uint64_t WithHeadroom(uint64_t bytes) {
  return static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * kMemoryHeadroom));
}

// The number of NICs whose flows the taps observe, where a NIC counts at each tap that observes it.
// Uplinks of a leaf share the flows to its NICs: a flow uses one of them.
uint64_t NicsAtTaps(const Fabric& fabric, const MirrorPlan& plan) {
  uint64_t nics = 0;
  NodeIndex last = topology::kNone;
  for (const MirrorSession& session : plan.sessions) {
    if (plan.choice == MirrorChoice::kUplinks) {
      if (session.tap.node != last) nics += NicPortsOf(fabric, session.tap.node).size();
    } else {
      nics += session.tap.ports.size() *
              (session.tap.direction == topology::TapDirection::kBoth ? 2 : 1);
    }
    last = session.tap.node;
  }
  return nics;
}

uint64_t CounterSeries(const Fabric& fabric, const PlanOptions& options) {
  if (options.samples_per_second <= 0) return 0;
  uint64_t ports = 0;
  for (const topology::Node& node : fabric.nodes()) {
    if (!node.IsSwitch()) continue;
    for (PortIndex port = node.first_port; port < node.first_port + node.port_count; ++port) {
      if (fabric.SpeedOf(port) != 0) ++ports;
    }
  }
  return ports * kSeriesPerPort;
}

}  // namespace

uint64_t MachineNeed::ReceiveCores() const {
  uint64_t sum = 0;
  for (const ReceiveNeed& each : collectors) sum += each.cores;
  return sum;
}

bool MachineNeed::FitsIn(const PlanOptions& options) const {
  return (!options.cores || cores <= *options.cores) &&
         (!options.memory || memory_bytes <= *options.memory);
}

bool MachineNeed::BarelyFitsIn(const PlanOptions& options) const {
  return (!options.cores || least_cores <= *options.cores) &&
         (!options.memory || least_memory_bytes <= *options.memory);
}

MachineNeed NeedOf(const Fabric& fabric, const PlanOptions& options, const MirrorPlan& plan) {
  MachineNeed need = {.cores = kOtherCores, .least_cores = kMeasuredOtherCores};
  uint64_t least_receivers = 0;
  for (const CollectorLoad& load : plan.collectors) {
    ReceiveNeed each = {.packets_per_second = load.line_rate.per_second * options.utilisation};
    each.cores = CoresFor(each.packets_per_second, kCoreSafety);
    each.least_cores = CoresFor(each.packets_per_second, 1);
    each.memory_bytes = each.cores * kReceiveCoreBytes;
    need.cores += each.cores;
    need.least_cores += each.least_cores;
    least_receivers += each.least_cores;
    need.collectors.push_back(each);
  }
  const uint64_t nics = NicsAtTaps(fabric, plan);
  // The sender's NIC and the receiver's NIC have the same flow.
  need.flows = std::min<uint64_t>(nics, fabric.nics().size()) * options.queue_pairs;
  uint64_t flows_at_taps = nics * options.queue_pairs;
  if (need.flows > kMostFlows) flows_at_taps = flows_at_taps * kMostFlows / need.flows;
  const uint64_t state = kBaseBytes + flows_at_taps * kFlowBytes +
                         fabric.links().size() * kLinkBytes +
                         CounterSeries(fabric, options) * kSeriesBytes;
  const auto of_receivers = [](uint64_t cores) {
    return std::min(cores, kMostReceiveCores) * kReceiveCoreBytes;
  };
  need.least_memory_bytes = state + of_receivers(least_receivers);
  need.budget_bytes = WithHeadroom(state + of_receivers(need.ReceiveCores()));
  need.memory_bytes = WithHeadroom(need.budget_bytes);
  need.history_bytes = 2 * fabric.links().size() * kMinutesADay * kHistoryDays * kLinkMinuteBytes;
  return need;
}

}  // namespace rocescope::plan
