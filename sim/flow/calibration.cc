// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/calibration.h"

#include <algorithm>
#include <cmath>

#include "sim/flow/flow_counters.h"
#include "sim/flow/flow_model.h"
#include "sim/run/simulation.h"

namespace rocescope::sim {
namespace {

struct Observed {
  std::vector<std::vector<Job::Iteration>> iterations;  // by job
  std::vector<uint64_t> sent;                           // bytes, by port
  uint64_t lost = 0;
  uint64_t retransmitted = 0;
  uint64_t timeouts = 0;
  uint64_t sequence_errors = 0;
};

Result<Observed> ByPackets(const Scenario& scenario) {
  auto simulation = Simulation::Make(scenario, {});
  if (!simulation) return tl::unexpected(simulation.error());
  if (const Status ran = (*simulation)->Run(nullptr); !ran) return tl::unexpected(ran.error());
  Observed observed;
  for (const auto& job : (*simulation)->jobs()) observed.iterations.push_back(job->iterations());
  Network& network = (*simulation)->network();
  const topology::Fabric& fabric = network.fabric();
  for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
    observed.sent.push_back(
        fabric.port(port).link == topology::kNone ? 0 : network.port(port).counters().tx_bytes);
  }
  for (const uint64_t lost : network.shared().lost) observed.lost += lost;
  for (uint32_t i = 0; i < network.queue_pair_count(); ++i) {
    observed.retransmitted += network.queue_pair(i).frames_resent();
  }
  for (topology::NicIndex nic = 0; nic < fabric.nics().size(); ++nic) {
    observed.timeouts += network.nic(nic).counters().local_ack_timeout_err;
    observed.sequence_errors += network.nic(nic).counters().packet_seq_err;
  }
  return observed;
}

Result<Observed> ByFlows(const Scenario& scenario) {
  auto model = FlowModel::Make(scenario);
  if (!model) return tl::unexpected(model.error());
  (*model)->Run(nullptr);
  Observed observed;
  for (const FlowModel::JobRecord& job : (*model)->jobs()) {
    observed.iterations.push_back(job.iterations);
    observed.retransmitted += job.retransmitted;
  }
  for (const auto& [cause, lost] : (*model)->lost()) observed.lost += lost;
  const FlowHistory& history = (*model)->history();
  FlowCounters counters(history, scenario.epoch);
  const topology::Fabric& fabric = (*model)->simulation().real_fabric();
  observed.sent.resize(fabric.ports().size());
  std::vector<uint64_t> values;
  for (uint32_t i = 0; i < history.entities.size(); ++i) {
    const FlowHistory::Entity& entity = history.entities[i];
    const auto at = std::find(entity.metrics.begin(), entity.metrics.end(), Metric::kTxBytes);
    if (at == entity.metrics.end()) continue;
    values.resize(entity.metrics.size());
    if (!counters.Read(i, counters.begin(), counters.end(), values)) continue;
    for (size_t m = 0; m < entity.metrics.size(); ++m) {
      if (entity.metrics[m] == Metric::kLocalAckTimeout) observed.timeouts += values[m];
      if (entity.metrics[m] == Metric::kPacketSequenceError) observed.sequence_errors += values[m];
    }
    observed.sent[entity.port] = values[static_cast<size_t>(at - entity.metrics.begin())];
  }
  return observed;
}

// Returns the mean over the first `count` iterations without the very first, which all ranks begin
// together.
double MeanTime(const std::vector<Job::Iteration>& iterations, size_t count) {
  double sum = 0;
  for (size_t i = 1; i < count; ++i) {
    sum += static_cast<double>(iterations[i].end - iterations[i - 1].end) / kSecond;
  }
  return count > 1 ? sum / static_cast<double>(count - 1) : 0;
}

size_t Complete(const std::vector<Job::Iteration>& iterations) {
  return static_cast<size_t>(
      std::find_if(iterations.begin(), iterations.end(),
                   [](const Job::Iteration& one) { return one.end == kNever; }) -
      iterations.begin());
}

}  // namespace

double Calibration::WorstUtilisation() const {
  return ports.empty() ? 0 : std::abs(ports[0].packet - ports[0].flow);
}

double Calibration::WorstIteration() const {
  double worst = 0;
  for (const JobTimes& job : jobs) {
    if (job.packet > 0) worst = std::max(worst, std::abs(job.flow / job.packet - 1));
  }
  return worst;
}

Result<Calibration> Calibrate(const Scenario& scenario) {
  const Result<Observed> packets = ByPackets(scenario);
  if (!packets) return tl::unexpected(packets.error());
  const Result<Observed> flows = ByFlows(scenario);
  if (!flows) return tl::unexpected(flows.error());
  Calibration result = {.jobs = {},
                        .ports = {},
                        .packet_lost = packets->lost,
                        .flow_lost = flows->lost,
                        .packet_retransmitted = packets->retransmitted,
                        .flow_retransmitted = flows->retransmitted,
                        .packet_timeouts = packets->timeouts,
                        .flow_timeouts = flows->timeouts,
                        .packet_sequence_errors = packets->sequence_errors,
                        .flow_sequence_errors = flows->sequence_errors};
  for (size_t job = 0; job < packets->iterations.size(); ++job) {
    const auto& a = packets->iterations[job];
    const auto& b = flows->iterations[job];
    const size_t count = std::min(Complete(a), Complete(b));
    result.jobs.push_back({.name = scenario.jobs[job].name,
                           .packet = MeanTime(a, count),
                           .flow = MeanTime(b, count),
                           .iterations = count});
  }
  const topology::Fabric& fabric = *scenario.fabric;
  const double seconds = static_cast<double>(scenario.duration) / kSecond;
  for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
    const topology::LinkIndex link = fabric.port(port).link;
    if (link == topology::kNone) continue;
    const double bytes = static_cast<double>(fabric.link(link).bits_per_second) / 8 * seconds;
    result.ports.push_back({.port = fabric.NameOf(port),
                            .packet = static_cast<double>(packets->sent[port]) / bytes,
                            .flow = static_cast<double>(flows->sent[port]) / bytes});
  }
  std::stable_sort(result.ports.begin(), result.ports.end(), [](const auto& a, const auto& b) {
    return std::abs(a.packet - a.flow) > std::abs(b.packet - b.flow);
  });
  return result;
}

}  // namespace rocescope::sim
