// SPDX-License-Identifier: BSD-3-Clause
// Measures a diagnosis of a large fabric: all ports report counters, in the windows of a snapshot,
// and carry flows. The fabric is healthy, or NIC counters omit a frame now and then, so that the
// counters of no host's link balance.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "analytics/diagnosis/diagnose.h"
#include "analytics/diagnosis/diagnosis_input.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NicIndex;
using topology::PortIndex;

constexpr Duration kWindow = std::chrono::seconds(1);
constexpr int64_t kWindows = 32;
constexpr uint8_t kRoce = 3;

struct Large {
  topology::Fabric fabric;
  MetricStore metrics;
  std::vector<FlowPath> paths;
  std::vector<FlowSummary> flows;
  CounterChecks counter_checks{fabric};
  LinkErrors link_errors{fabric};
  LinkLosses link_losses{fabric};

  // Each host has eight NICs and GPUs; rail-optimised, with 64 hosts per leaf.
  Large(uint32_t hosts, bool nics_leave_frames_out)
      : fabric(topology::Generate({.hosts = hosts,
                                   .nics_per_host = 8,
                                   .rail_optimised = true,
                                   .leaves = hosts / 64 * 8,
                                   .spines = 32,
                                   .parallel_links = 2})
                   .value()),
        metrics(fabric, {.window = kWindow}) {
    FillCounters(nics_leave_frames_out);
    FillFlows();
  }

  DiagnosisInput MakeScene() {
    return DiagnosisInput({.fabric = fabric,
                           .metrics = metrics,
                           .paths = all_paths,
                           .flows = all_flows,
                           .connections = connections,
                           .attribution = attribution,
                           .iteration_patterns = iteration_patterns,
                           .cabling = cabling,
                           .delays = delays,
                           .queue_uses = queues,
                           .losses = losses,
                           .counter_checks = counter_checks,
                           .link_errors = link_errors,
                           .link_losses = link_losses});
  }

 private:
  CounterEntity NameOf(PortIndex port, uint8_t priority) const {
    const topology::Port& one = fabric.port(port);
    const NicIndex nic = fabric.NicOf(port);
    CounterEntity entity{.kind = nic == kNone ? EntityKind::kPort : EntityKind::kNic};
    entity.node = fabric.node(one.node).name;
    entity.port = nic == kNone ? one.name : fabric.nic(nic).device;
    entity.priority = priority;
    return entity;
  }

  // Each direction carries as much in a window as its link and the window's number say.
  void FillCounters(bool nics_leave_frames_out) {
    const auto frames_from = [](PortIndex sender, int64_t window) {
      return static_cast<uint64_t>(1'000'000 + (sender * 7919 + window * 104'729) % 500'000);
    };
    for (PortIndex port = 0; port < fabric.ports().size(); ++port) {
      const PortIndex peer = fabric.Peer(port);
      const bool is_nic = fabric.NicOf(port) != kNone;
      uint64_t sent = 0;
      uint64_t received = 0;
      uint64_t marked = 0;
      for (int64_t w = 0; w <= kWindows; ++w) {
        const Timestamp time(w * kWindow);
        const auto say = [&](Metric metric, uint64_t value,
                             uint8_t priority = CounterEntity::kAllPriorities) {
          metrics.Add({.entity = NameOf(port, priority),
                       .metric = metric,
                       .value = value,
                       .event_time = time});
        };
        if (w > 0) {
          sent += frames_from(port, w);
          received += frames_from(peer, w) - (nics_leave_frames_out && is_nic ? 1000 : 0);
          marked += frames_from(port, w) % 3;
        }
        say(Metric::kTxPackets, sent);
        say(Metric::kTxBytes, sent * 4096);
        say(Metric::kRxPackets, received);
        say(Metric::kRxBytes, received * 4096);
        say(Metric::kLinkUp, 1);
        say(Metric::kLinkSpeed, 100'000'000'000);
        say(Metric::kPfcTx, 0, kRoce);
        say(Metric::kPfcRxTime, 0, kRoce);
        if (is_nic) continue;
        say(Metric::kEcnMarked, marked, kRoce);
        say(Metric::kQueueWatermark, marked % 3 == 0 ? 30'000 : 300'000 + sent % 1000, kRoce);
        say(Metric::kBufferWatermark, 400'000 + sent % 1000, kRoce);
      }
    }
  }

  // Four from each NIC to others of its rail, by any spine.
  void FillFlows() {
    std::mt19937 random(1);
    const auto nics = static_cast<uint32_t>(fabric.nics().size());
    for (NicIndex source = 0; source < nics; ++source) {
      for (uint32_t i = 1; i <= 4; ++i) {
        const NicIndex destination = (source + i * i * 8 * 61) % nics;
        FlowPath path{.flow = {.source = fabric.nic(source).addresses[0].address,
                               .destination = fabric.nic(destination).addresses[0].address,
                               .destination_qpn = {source * 8 + i}},
                      .source = source,
                      .destination = destination};
        PathInterval stretch{.from = Timestamp(Duration(0)),
                             .until = Timestamp(kWindows * kWindow),
                             .state = PathState::kExact,
                             .probability = 1,
                             .candidates = 1,
                             .packets = 1'000'000,
                             .bytes = 4'000'000'000};
        const auto go = [&](PortIndex port) {
          stretch.path.ports[stretch.path.length++] = port;
          stretch.certain.push_back(port);
        };
        const PortIndex first = fabric.nic(source).port;
        const PortIndex last = fabric.Peer(fabric.nic(destination).port);
        const topology::NodeIndex from = fabric.PeerNode(first);
        const topology::NodeIndex to = fabric.port(last).node;
        go(first);
        if (from != to) {
          std::vector<PortIndex> up;
          for (uint32_t p = 0; p < fabric.node(from).port_count; ++p) {
            const PortIndex port = fabric.node(from).first_port + p;
            if (fabric.NicOf(fabric.Peer(port)) == kNone) up.push_back(port);
          }
          go(up[random() % up.size()]);
          const topology::NodeIndex spine = fabric.PeerNode(stretch.certain.back());
          for (uint32_t p = 0; p < fabric.node(spine).port_count; ++p) {
            const PortIndex port = fabric.node(spine).first_port + p;
            if (fabric.PeerNode(port) != to) continue;
            go(port);
            break;
          }
        }
        go(last);
        FlowSummary flow{.flow = path.flow};
        flow.total.last_seen = stretch.until;
        flow.total.packets = stretch.packets;
        flow.total.bytes = flow.total.payload_bytes = stretch.bytes;
        path.intervals.push_back(std::move(stretch));
        paths.push_back(std::move(path));
        flows.push_back(std::move(flow));
      }
    }
    std::ranges::sort(paths, {}, &FlowPath::flow);
    std::ranges::sort(flows, {}, &FlowSummary::flow);
    all_paths = FlowPaths(paths);
    all_flows = FlowSummaries(flows);
  }

 public:
  FlowPaths all_paths;
  FlowSummaries all_flows;
  ConnectionList connections;
  Attribution attribution;
  std::vector<JobIterationPattern> iteration_patterns;
  CablingAnswer cabling;
  Delays delays;
  QueueUses queues;
  LossTracker losses{fabric, {.window = kWindow}};
};

void DiagnoseLargeFabric(benchmark::State& state) {
  Large large(static_cast<uint32_t>(state.range(0)) / 8, state.range(1) != 0);
  size_t findings = 0;
  for (auto _ : state) {
    const DiagnosisInput input = large.MakeScene();
    findings = Diagnose(input).size();
  }
  state.counters["findings"] = static_cast<double>(findings);
  state.counters["ports"] = static_cast<double>(large.fabric.ports().size());
}
BENCHMARK(DiagnoseLargeFabric)
    ->ArgNames({"gpus", "unbalanced"})
    ->Args({1024, 0})
    ->Args({10'240, 0})
    ->Args({10'240, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rocescope
