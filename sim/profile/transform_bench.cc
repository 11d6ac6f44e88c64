// SPDX-License-Identifier: BSD-3-Clause
// The transformation of the counters of 8,000 entities, read every 30 s for an hour: 960,000
// readings of 12 metrics. A day takes 24 times as long.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "sim/profile/transform.h"

namespace rocescope::sim {
namespace {

constexpr Timestamp kBegin = FromNanoseconds(1'750'000'000'000'000'000);

class ManyPorts final : public ExactCounters {
 public:
  ManyPorts() {
    for (uint32_t i = 0; i < 8'000; ++i) {
      CounterEntity port{.kind = EntityKind::kPort, .node = "leaf" + std::to_string(i / 64)};
      port.port = "Ethernet" + std::to_string(i % 64);
      std::vector<Metric> metrics;
      for (size_t metric = 0; metric < 12; ++metric) metrics.push_back(static_cast<Metric>(metric));
      entities_.push_back({.entity = port, .node = i / 64, .metrics = std::move(metrics)});
    }
  }
  std::span<const Entity> entities() const override { return entities_; }
  Timestamp begin() const override { return kBegin; }
  Timestamp end() const override { return kBegin + std::chrono::hours(1); }
  std::vector<Outage> OutagesOf(uint32_t) const override { return {}; }
  bool Read(uint32_t entity, Timestamp, Timestamp time, std::span<uint64_t> values) override {
    const auto ms = static_cast<uint64_t>((time - kBegin).count() / 1'000'000);
    for (size_t i = 0; i < values.size(); ++i) values[i] = i < 8 ? ms * (entity + i) : 0;
    return true;
  }

 private:
  std::vector<Entity> entities_;
};

class Discard final : public CounterSink {
 public:
  uint32_t Announce(const CounterEntity&, std::span<const Metric>) override { return number_++; }
  void Append(uint32_t, Timestamp, Timestamp, std::span<const uint64_t> values) override {
    benchmark::DoNotOptimize(values.data());
  }

 private:
  uint32_t number_ = 0;
};

Profile AsDeployed() {
  using std::chrono::seconds;
  Profile profile;
  profile.switches = {.period = seconds(30),
                      .random_phase = true,
                      .jitter = seconds(3),
                      .cached_share = 0.9,
                      .refresh = {seconds(1), seconds(10)}};
  profile.lost_readings = 0.002;
  profile.lost_polls = 0.01;
  profile.lost_poll_burst = 4;
  profile.late = 0.01;
  profile.lateness = {seconds(1), seconds(90)};
  profile.reordered = 0.001;
  profile.duplicates = 0.002;
  profile.random_start_values = true;
  profile.restarts_per_day = 0.01;
  return profile;
}

void RunTransform(benchmark::State& state, CounterSink& sink) {
  uint64_t readings = 0;
  for (auto _ : state) {
    ManyPorts exact;
    readings += Transform(exact, AsDeployed(), {}, sink).value().readings;
  }
  state.SetItemsProcessed(static_cast<int64_t>(readings));
}

void TransformOnly(benchmark::State& state) {
  Discard sink;
  RunTransform(state, sink);
}
BENCHMARK(TransformOnly)->Unit(benchmark::kMillisecond);

void TransformAndWrite(benchmark::State& state) {
  const std::string path = std::filesystem::temp_directory_path().string() + "/transform_bench_" +
                           std::to_string(::getpid());
  for (auto _ : state) {
    const auto sink = CounterColumnsWriter::Open(path).value();
    ManyPorts exact;
    benchmark::DoNotOptimize(Transform(exact, AsDeployed(), {}, *sink).value().readings);
    if (!sink->Close()) state.SkipWithError("the file cannot be written");
  }
  state.counters["bytes"] = static_cast<double>(std::filesystem::file_size(path));
  std::filesystem::remove(path);
}
BENCHMARK(TransformAndWrite)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rocescope::sim
