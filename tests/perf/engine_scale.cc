// SPDX-License-Identifier: BSD-3-Clause
// Measures the engine by number of queue pairs: CPU time per record and per publication, memory,
// and a path query. Prints one JSON object for engine.py.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "analytics/engine/engine.h"
#include "base/hash.h"
#include "dataplane/record/flow_key_hash.h"
#include "tests/perf/engine_load.h"
#include "tests/perf/memory.h"
#include "tests/perf/processor.h"

namespace rocescope::perf {
namespace {

constexpr uint32_t kWarmUp = 6;                 // intervals; each flow is observed within two
constexpr uint64_t kFewestRecords = 4'000'000;  // records in the timed part
constexpr uint32_t kConnectionsPerBatch = 2048;
constexpr uint32_t kQueries = 10'000;

template <typename Work>
double Timed(Work work) {
  const double begin = CpuSeconds();
  work();
  return CpuSeconds() - begin;
}

// The reference: a plain hash table that finds the same keys and adds to two numbers.
class Reference {
 public:
  void Ingest(const RecordBatch& batch) {
    for (const FlowRecord& record : batch.flows) Add(record.flow, record.bytes);
    for (const ObservationRecord& record : batch.sightings) Add(record.flow, record.payload_length);
    for (const HopRecord& record : batch.hops) Add(record.packet.flow, 0);
    for (const SampleRecord& record : batch.samples) Add(record.packet.flow, record.frame_length);
  }

 private:
  void Add(const FlowKey& key, uint64_t bytes) {
    auto& [packets, sum] = sums_[key];
    ++packets;
    sum += bytes;
  }
  std::unordered_map<FlowKey, std::array<uint64_t, 2>, FlowKeyHash> sums_;
};

// Generates one interval of all connections. Returns the CPU seconds of both.
struct Spent {
  double engine = 0;
  double reference = 0;
  uint64_t records = 0;
};

void Run(const EngineLoad& load, uint32_t interval, Engine& engine, Reference* reference,
         RecordBatch& batch, Spent& spent) {
  for (uint32_t first = 0; first < load.connections(); first += kConnectionsPerBatch) {
    const uint32_t count = std::min(kConnectionsPerBatch, load.connections() - first);
    load.Fill(interval, first, count, 1, batch);
    if (reference != nullptr) spent.reference += Timed([&] { reference->Ingest(batch); });
    spent.engine += Timed([&] { engine.Ingest(batch); });
    spent.records += batch.size();
  }
  const Timestamp end = batch.flows.back().interval_start + batch.flows.back().interval_width;
  spent.engine += Timed([&] { engine.Advance(end); });
}

int64_t Measure(uint32_t queue_pairs) {
  const double gigahertz = Gigahertz();
  const EngineLoad load(queue_pairs);
  RecordBatch batch;
  load.Fill(0, 0, std::min(kConnectionsPerBatch, load.connections()), 1, batch);

  const int64_t before = ResidentBytes();
  auto engine = std::make_unique<Engine>(
      EngineOptions{.iteration_pattern_pace = std::chrono::seconds(10)}, load.fabric());
  for (const TapLocation& tap : load.taps()) engine->LearnTap(tap);
  const int64_t empty = ResidentBytes();
  Spent warm;
  uint32_t interval = 0;
  for (; interval < kWarmUp; ++interval) Run(load, interval, *engine, nullptr, batch, warm);
  const int64_t state = ResidentBytes();
  const double first_publish = Timed([&] { engine->Publish(); });
  const int64_t published = ResidentBytes();

  Spent spent;
  {
    auto reference = std::make_unique<Reference>();
    Run(load, interval++, *engine, reference.get(), batch, warm);
    while (spent.records < kFewestRecords) {
      Run(load, interval++, *engine, reference.get(), batch, spent);
    }
  }
  std::shared_ptr<const Snapshot> snapshot = engine->Publish();
  Run(load, interval++, *engine, nullptr, batch, warm);
  const double publish_all = Timed([&] { snapshot = engine->Publish(); });
  const double publish_none = Timed([&] { snapshot = engine->Publish(); });

  const uint32_t few = std::max(1u, load.connections() / 100);
  load.Fill(interval++, 0, few, 1, batch);
  engine->Ingest(batch);
  const double publish_job = Timed([&] { snapshot = engine->Publish(); });
  load.Fill(interval++, 0, few, 100, batch);
  engine->Ingest(batch);
  const double publish_spread = Timed([&] { snapshot = engine->Publish(); });

  uint64_t known = 0;
  const double queries = Timed([&] {
    for (uint32_t i = 0; i < kQueries; ++i) {
      const auto connection = static_cast<uint32_t>(Mix64(i) % load.connections());
      const FlowKey key = load.FlowOf(connection, i % 2 == 1);
      const FlowPath* const path = snapshot->PathOf(key);
      known += path != nullptr && !path->intervals.empty();
    }
  });
  uint64_t paired = 0;
  for (const Connection& c : *snapshot->connections) paired += c.state == ConnectionState::kPaired;

  const auto per_pair = [&](int64_t bytes) { return static_cast<double>(bytes) / queue_pairs; };
  fmt::print(
      "{{\"queue_pairs\": {}, \"gigahertz\": {:.3f}, \"records\": {}, \"records_per_s\": {:.0f}, "
      "\"reference_per_s\": {:.0f}, \"empty_bytes\": {}, \"state_bytes_per_qp\": {:.0f}, "
      "\"bytes_per_qp\": {:.0f}, \"first_publish_s\": {:.6f}, \"publish_all_s\": {:.6f}, "
      "\"publish_none_s\": {:.9f}, \"publish_job_s\": {:.6f}, \"publish_spread_s\": {:.6f}, "
      "\"query_s\": {:.9f}, \"paths_known\": {:.4f}, \"flows\": {}, \"connections\": {}, "
      "\"paired\": {}, \"evicted\": {}, \"refused\": {}}}\n",
      queue_pairs, gigahertz, spent.records, static_cast<double>(spent.records) / spent.engine,
      static_cast<double>(spent.records) / spent.reference, empty - before, per_pair(state - empty),
      per_pair(published - empty), first_publish, publish_all, publish_none, publish_job,
      publish_spread, queries / kQueries, static_cast<double>(known) / kQueries,
      snapshot->flows->size(), snapshot->connections->size(), paired,
      snapshot->traffic_statistics.flows_evicted,
      snapshot->connection_statistics.flows_refused + snapshot->path_statistics.flows_refused);
  return 0;
}

}  // namespace
}  // namespace rocescope::perf

int main(int argc, char** argv) {
  CLI::App app("Measures the engine in steady state with 16,384 GPUs");
  uint32_t queue_pairs = 1'000'000;
  app.add_option("--queue-pairs", queue_pairs, "number of queue pairs, two per connection")
      ->check(CLI::Range(100u, 1u << 20))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return static_cast<int>(rocescope::perf::Measure(queue_pairs));
}
