// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/flow_history.h"

#include <algorithm>
#include <array>
#include <string>

namespace rocescope::sim {
namespace {

using enum Metric;

constexpr std::array kPortMetrics = {kRxBytes,    kRxPackets,  kTxBytes,      kTxPackets,
                                     kFcsErrors,  kLinkUp,     kLinkFlaps,    kLinkSpeed,
                                     kRxDiscards, kTxDiscards, kTtlDrops,     kNoRouteDrops,
                                     kMtuDrops,   kAdminUp,    kFecCorrected, kFecUncorrected};
constexpr std::array kNicMetrics = {
    kRxBytes,         kRxPackets,     kTxBytes,       kTxPackets,        kFcsErrors,
    kLinkUp,          kLinkFlaps,     kLinkSpeed,     kRxDiscards,       kCnpSent,
    kCnpHandled,      kEcnMarkedRoce, kOutOfSequence, kDuplicateRequest, kPacketSequenceError,
    kLocalAckTimeout, kIcrcErrors,    kFecCorrected,  kFecUncorrected};
// The last metrics of ports and NICs, which they have with FEC only.
constexpr size_t kFecMetrics = 2;
constexpr std::array kPriorityMetrics = {
    kPfcRx,      kPfcTx,          kPfcRxTime,       kPfcTxTime,  kEcnMarked,
    kQueueBytes, kQueueWatermark, kBufferWatermark, kQueueDrops, kPfcWatchdog};
constexpr std::array kNicPriorityMetrics = {kPfcRx, kPfcTx, kPfcRxTime, kPfcTxTime};
constexpr std::array kGpuMetrics = {kGpuUtilisation, kGpuClock, kMemoryTotal, kMemoryFree,
                                    kTemperature};

bool Contains(std::span<const Metric> metrics, Metric metric) {
  return std::find(metrics.begin(), metrics.end(), metric) != metrics.end();
}

}  // namespace

HistoryBuilder::HistoryBuilder(const topology::Fabric& fabric, uint8_t data_priority, bool fec)
    : fabric_(fabric),
      entity_of_port_(fabric.ports().size(), topology::kNone),
      priority_of_port_(fabric.ports().size(), topology::kNone),
      entity_of_gpu_(fabric.gpus().size(), topology::kNone) {
  for (topology::NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    const topology::Node& of = fabric.node(node);
    const auto add = [&](topology::PortIndex port, EntityKind kind, std::span<const Metric> metrics,
                         std::span<const Metric> by_priority) {
      CounterEntity id = {.kind = kind, .node = of.name, .port = fabric.port(port).name};
      if (kind == EntityKind::kNic) id.port = fabric.nic(fabric.NicOf(port)).device;
      entity_of_port_[port] = static_cast<uint32_t>(history_.entities.size());
      AddEntity(id, node, port, metrics.first(metrics.size() - (fec ? 0 : kFecMetrics)));
      id.priority = data_priority;
      priority_of_port_[port] = static_cast<uint32_t>(history_.entities.size());
      AddEntity(id, node, port, by_priority);
      const topology::LinkIndex link = fabric.port(port).link;
      SetPort(port, kLinkUp, 0, 1);
      SetPort(port, kLinkSpeed, 0, fabric.link(link).bits_per_second);
      if (of.IsSwitch()) SetPort(port, kAdminUp, 0, 1);
    };
    for (uint32_t i = 0; i < of.port_count; ++i) {
      const topology::PortIndex port = of.first_port + i;
      if (fabric.port(port).link == topology::kNone) continue;
      if (of.IsSwitch()) {
        add(port, EntityKind::kPort, kPortMetrics, kPriorityMetrics);
      } else {
        add(port, EntityKind::kNic, kNicMetrics, kNicPriorityMetrics);
      }
    }
    for (const topology::GpuIndex gpu : fabric.GpusOf(node)) {
      entity_of_gpu_[gpu] = static_cast<uint32_t>(history_.entities.size());
      AddEntity({.kind = EntityKind::kGpu, .index = fabric.gpu(gpu).number, .node = of.name}, node,
                topology::kNone, kGpuMetrics);
    }
  }
}

void HistoryBuilder::AddEntity(CounterEntity id, topology::NodeIndex node, topology::PortIndex port,
                               std::span<const Metric> metrics) {
  history_.entities.push_back({.id = std::move(id),
                               .node = node,
                               .port = port,
                               .first_value = static_cast<uint32_t>(history_.values.size()),
                               .metrics = {metrics.begin(), metrics.end()}});
  history_.values.resize(history_.values.size() + metrics.size());
}

FlowHistory::Value& HistoryBuilder::ValueOf(uint32_t entity, Metric metric) {
  const FlowHistory::Entity& of = history_.entities[entity];
  const auto at = std::find(of.metrics.begin(), of.metrics.end(), metric);
  return history_.values[of.first_value + static_cast<size_t>(at - of.metrics.begin())];
}

FlowHistory::Value& HistoryBuilder::PortValue(topology::PortIndex port, Metric metric) {
  const uint32_t entity = Contains(history_.entities[entity_of_port_[port]].metrics, metric)
                              ? entity_of_port_[port]
                              : priority_of_port_[port];
  return ValueOf(entity, metric);
}

void HistoryBuilder::AddToPort(topology::PortIndex port, Metric metric, uint32_t count,
                               int32_t weight) {
  if (weight != 0) PortValue(port, metric).terms.push_back({count, weight});
}

void HistoryBuilder::AddSent(topology::PortIndex sender, uint32_t frames, uint32_t bytes,
                             int32_t weight) {
  const topology::PortIndex peer = fabric_.Peer(sender);
  AddToPort(sender, kTxPackets, frames, weight);
  AddToPort(sender, kTxBytes, bytes, weight);
  AddToPort(peer, kRxPackets, frames, weight);
  AddToPort(peer, kRxBytes, bytes, weight);
}

void HistoryBuilder::Set(FlowHistory::Value& value, SimTime time, uint64_t number) {
  if (!value.steps.empty() && value.steps.back().time == time) {
    value.steps.back().value = number;
  } else if (value.steps.empty() || value.steps.back().value != number) {
    value.steps.push_back({time, number});
  }
}

void HistoryBuilder::SetPort(topology::PortIndex port, Metric gauge, SimTime time, uint64_t value) {
  Set(PortValue(port, gauge), time, value);
}

void HistoryBuilder::SetGpu(topology::GpuIndex gpu, Metric gauge, SimTime time, uint64_t value) {
  Set(ValueOf(entity_of_gpu_[gpu], gauge), time, value);
}

void HistoryBuilder::AddGpuBusy(topology::GpuIndex gpu, uint32_t series, double scale) {
  ValueOf(entity_of_gpu_[gpu], kGpuUtilisation).busy.push_back({series, scale});
}

void HistoryBuilder::AddOutage(topology::NodeIndex node, topology::PortIndex port, SimTime begin,
                               SimTime end) {
  history_.outages.push_back({node, port, begin, end});
}

uint64_t HistoryBuilder::ValueAt(topology::PortIndex port, Metric metric, SimTime time) {
  int64_t total = 0;
  for (const FlowHistory::Term& term : PortValue(port, metric).terms) {
    const FlowHistory::Count& count = history_.counts[term.count];
    total += term.weight * WholeCount(history_.series[count.series].At(time) * count.scale);
  }
  return static_cast<uint64_t>(std::max<int64_t>(0, total));
}

FlowHistory HistoryBuilder::Finish(SimTime duration) {
  history_.duration = duration;
  for (Series& series : history_.series) series.Shrink();
  std::stable_sort(history_.outages.begin(), history_.outages.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return std::move(history_);
}

}  // namespace rocescope::sim
