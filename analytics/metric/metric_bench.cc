// SPDX-License-Identifier: BSD-3-Clause
// Measures how fast readings of 8,192 NICs with 12 counters are stored: as groups, and as a record
// for each value, which is the reference.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

#include "analytics/metric/metric_store.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

constexpr Duration kWindow = std::chrono::seconds(30);

const std::vector<Metric> kMetricsOfNic = {
    Metric::kRxBytes,    Metric::kRxPackets,     Metric::kRxErrors, Metric::kTxBytes,
    Metric::kTxPackets,  Metric::kTxErrors,      Metric::kLinkUp,   Metric::kCnpSent,
    Metric::kCnpHandled, Metric::kOutOfSequence, Metric::kPfcRx,    Metric::kLocalAckTimeout};

void StoreReadings(benchmark::State& state) {
  const bool by_groups = state.range(0) != 0;
  const topology::Fabric fabric =
      topology::Generate({.hosts = 1024, .nics_per_host = 8, .leaves = 16, .spines = 8}).value();
  std::vector<CounterGroupPointer> groups;
  for (const topology::Nic& nic : fabric.nics()) {
    groups.push_back(std::make_shared<const CounterGroup>(
        CounterGroup{.entity = {.kind = EntityKind::kNic,
                                .node = fabric.node(nic.host).name,
                                .port = nic.device},
                     .metrics = kMetricsOfNic,
                     .number = static_cast<uint32_t>(groups.size())}));
  }
  MetricStore store(fabric, {.window = kWindow});
  std::vector<uint64_t> values(kMetricsOfNic.size());
  RecordBatch batch;
  int64_t round = 0;
  for (auto _ : state) {
    state.PauseTiming();
    const Timestamp time(++round * kWindow);
    for (size_t i = 0; i < values.size(); i += 3) values[i] += 1'000'000;
    values[6] = 1;
    batch.Clear();
    for (const CounterGroupPointer& group : groups) {
      if (by_groups) {
        batch.readings.push_back({.group = group,
                                  .event_time = time,
                                  .arrival_time = time,
                                  .first = batch.reading_values.size()});
        batch.reading_values.insert(batch.reading_values.end(), values.begin(), values.end());
        continue;
      }
      for (size_t i = 0; i < values.size(); ++i) {
        batch.counters.push_back({.entity = group->entity,
                                  .metric = group->metrics[i],
                                  .value = values[i],
                                  .event_time = time,
                                  .arrival_time = time});
      }
    }
    state.ResumeTiming();
    store.Add(batch);
  }
  state.counters["readings"] = benchmark::Counter(
      static_cast<double>(state.iterations()) * static_cast<double>(groups.size()),
      benchmark::Counter::kIsRate);
}
BENCHMARK(StoreReadings)->ArgName("groups")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rocescope
