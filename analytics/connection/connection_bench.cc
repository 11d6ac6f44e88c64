// SPDX-License-Identifier: BSD-3-Clause
// Measures the number of packet observations per second and the cost of an answer: 10,000 queue
// pairs on 256 hosts, every request answered.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "analytics/connection/connection_tracker.h"
#include "analytics/connection/observation_builder.h"

namespace rocescope {
namespace {

std::vector<ObservationRecord> MakeObservations(uint32_t connections, uint32_t hosts, size_t count,
                                                bool lock_step) {
  std::mt19937 random(1);
  std::vector<TrueConnection> truth;
  std::vector<uint32_t> psn;
  for (uint32_t i = 0; i < connections; ++i) {
    const uint32_t a = random() % hosts;
    const uint32_t b = (a + 1 + random() % (hosts - 1)) % hosts;
    truth.push_back({.a = Host(a), .b = Host(b), .a_qpn = 2 * i + 2, .b_qpn = 2 * i + 3});
    psn.push_back(lock_step ? 0 : random() & k24BitMask);
  }
  std::vector<ObservationRecord> sightings;
  int64_t time = 0;
  while (sightings.size() < count) {
    for (uint32_t i = 0; i < connections; ++i) {
      sightings.push_back(Observation(truth[i].ToB(), ++time).Request(kSendOnly, psn[i]));
    }
    for (uint32_t i = 0; i < connections; ++i) {
      sightings.push_back(Observation(truth[i].ToA(), ++time).Ack(psn[i]));
      psn[i] = (psn[i] + 1) & k24BitMask;
    }
  }
  return sightings;
}

void AddObservations(benchmark::State& state) {
  const auto sightings =
      MakeObservations(5000, static_cast<uint32_t>(state.range(0)), 1'000'000, state.range(1) != 0);
  TestTracker tracker;
  for (const ObservationRecord& sighting : sightings) tracker.Add(sighting);
  int64_t added = 0;
  for (auto _ : state) {
    for (const ObservationRecord& sighting : sightings) tracker.Add(sighting);
    added += static_cast<int64_t>(sightings.size());
  }
  state.SetItemsProcessed(added);
}
BENCHMARK(AddObservations)
    ->ArgNames({"hosts", "lock_step"})
    ->Args({256, 0})
    ->Args({256, 1})
    ->Args({4, 0})
    ->Unit(benchmark::kMillisecond);

void Answer(benchmark::State& state) {
  TestTracker tracker;
  for (const ObservationRecord& sighting :
       MakeObservations(5000, static_cast<uint32_t>(state.range(0)), 200'000, false)) {
    tracker.Add(sighting);
  }
  size_t connections = 0;
  for (auto _ : state) connections = tracker.Connections().size();
  state.counters["connections"] = static_cast<double>(connections);
}
BENCHMARK(Answer)->ArgName("hosts")->Arg(256)->Arg(4)->Arg(2)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rocescope

BENCHMARK_MAIN();
