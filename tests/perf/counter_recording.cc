// SPDX-License-Identifier: BSD-3-Clause
// Measures writing and reading a long recording of counters in both forms: CPU time, size and
// memory. Prints one JSON object for counters.py.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "dataplane/run/counter_columns.h"
#include "dataplane/run/counter_columns_reader.h"
#include "dataplane/run/counter_lines_writer.h"
#include "dataplane/telemetry/counter_file.h"
#include "tests/perf/memory.h"
#include "tests/perf/processor.h"

namespace rocescope {
namespace {

constexpr uint32_t kPortsPerSwitch = 64;
constexpr Duration kPeriod = std::chrono::seconds(30);
constexpr Timestamp kEpoch = FromNanoseconds(1'750'000'000'000'000'000);

const std::vector<Metric> kMetricsOfPort = {
    Metric::kRxBytes,    Metric::kRxPackets,  Metric::kTxBytes,   Metric::kTxPackets,
    Metric::kFcsErrors,  Metric::kLinkUp,     Metric::kLinkSpeed, Metric::kLinkFlaps,
    Metric::kRxDiscards, Metric::kTxDiscards, Metric::kEcnMarked, Metric::kQueueWatermark};

// What the real recording would be without a file.
class NoSink final : public CounterSink {
 public:
  uint32_t Announce(const CounterEntity&, std::span<const Metric>) override { return number_++; }
  void Append(uint32_t, Timestamp, Timestamp, std::span<const uint64_t> values) override {
    sum_ += values[0] + values.back();
  }
  uint64_t sum() const { return sum_; }

 private:
  uint32_t number_ = 0;
  uint64_t sum_ = 0;
};

// Ports of a fabric. Traffic grows irregularly while a job runs, a quarter of the ports is idle at
// any time, errors are rare, and a job lasts an hour. The same arguments give the same readings.
class Ports {
 public:
  Ports(uint32_t count, uint32_t rounds, bool polled)
      : rounds_(rounds), polled_(polled), values_(count) {
    for (auto& values : values_) values.assign(kMetricsOfPort.size(), 0);
  }

  // Returns the number of readings.
  uint64_t Record(CounterSink& sink) {
    for (uint32_t i = 0; i < values_.size(); ++i) {
      sink.Announce({.node = fmt::format("leaf{}", i / kPortsPerSwitch),
                     .port = fmt::format("Ethernet{}", i % kPortsPerSwitch)},
                    kMetricsOfPort);
      values_[i][5] = 1;
      values_[i][6] = 400'000'000'000;
    }
    for (uint32_t round = 0; round < rounds_; ++round) {
      for (uint32_t i = 0; i < values_.size(); ++i) {
        Grow(values_[i], i, round);
        const Timestamp arrival = kEpoch + round * kPeriod + Phase(i / kPortsPerSwitch, round);
        sink.Append(i, polled_ ? arrival - Delay(i / kPortsPerSwitch, round) : arrival, arrival,
                    values_[i]);
      }
    }
    return uint64_t{rounds_} * values_.size();
  }

 private:
  uint64_t Below(uint64_t bound) {
    state_ += 0x9e3779b97f4a7c15;
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Mix64(state_)) * bound) >> 64);
  }

  void Grow(std::vector<uint64_t>& values, uint32_t port, uint32_t round) {
    constexpr uint32_t kRoundsPerJob = 120;
    if (Mix64(uint64_t{port / 8} << 32 | round / kRoundsPerJob) % 4 == 0) return;
    constexpr uint64_t kMost = 1'500'000'000'000;  // bytes in 30 s at 400 Gbit/s
    for (const size_t at : {size_t{0}, size_t{2}}) {
      const uint64_t bytes = kMost / 2 + Below(kMost / 4);
      values[at] += bytes;
      values[at + 1] += bytes / 4170 + Below(20'000);
    }
    if (Below(1000) == 0) values[4] += 1;
    if (Below(200) == 0) values[8] += Below(30);
    values[10] += Below(50'000);
    values[11] = Below(400'000);
  }

  // Switches are polled one after the other, each with a delay of its own.
  Duration Phase(uint32_t node, uint32_t round) const {
    if (!polled_) return Duration(0);
    const uint64_t step =
        static_cast<uint64_t>(kPeriod.count()) / (values_.size() / kPortsPerSwitch + 1);
    return Duration(node * step + Mix64(uint64_t{node} << 32 | round) % step);
  }
  static Duration Delay(uint32_t node, uint32_t round) {
    return Duration(1'000'000 + Mix64(uint64_t{node} << 33 | round) % 40'000'000);
  }

  const uint32_t rounds_;
  const bool polled_;
  std::vector<std::vector<uint64_t>> values_;
  uint64_t state_ = 0;
};

[[noreturn]] void Give(const Error& error) {
  fmt::print(stderr, "counter_recording: {}\n", error.message);
  std::exit(1);
}

template <typename Writer>
void Write(const std::string& path, Ports ports) {
  auto writer = Writer::Open(path);
  if (!writer) Give(writer.error());
  ports.Record(**writer);
  if (const Status closed = (*writer)->Close(); !closed) Give(closed.error());
}

uint64_t ReadRecords(const std::string& path) {
  auto file = CounterFile::Open(path);
  if (!file) Give(file.error());
  RecordBatch batch;
  for (bool more = true; more; batch.Clear()) {
    const Result<bool> taken = (*file)->TakeUntil(Timestamp::max(), batch, 4096);
    if (!taken) Give(taken.error());
    more = *taken;
  }
  return (*file)->ledger().decoded;
}

uint64_t ReadColumns(const std::string& path) {
  auto reader = CounterColumnsReader::Open(path);
  if (!reader) Give(reader.error());
  CounterColumnsReader::Reading reading;
  while (true) {
    const Result<bool> next = (*reader)->Next(reading);
    if (!next) Give(next.error());
    if (!*next) return (*reader)->readings();
  }
}

// Returns the CPU seconds of `work`.
template <typename Work>
double Seconds(Work work) {
  const double begin = CpuSeconds();
  work();
  return CpuSeconds() - begin;
}

void Measure(const std::string& folder, uint32_t ports, uint32_t rounds, bool polled) {
  const std::string columns = folder + "/counters.columns";
  const std::string lines = folder + "/counters.jsonl";
  const double speed = Gigahertz();
  NoSink none;
  uint64_t readings = 0;
  const double drawn = Seconds([&] { readings = Ports(ports, rounds, polled).Record(none); });
  const int64_t before = ResidentBytes();
  ForgetPeak();
  const double written =
      Seconds([&] { Write<CounterColumnsWriter>(columns, Ports(ports, rounds, polled)); });
  const int64_t writer_peak = PeakBytes() - before;
  uint64_t read = 0;
  ForgetPeak();
  const double as_readings = Seconds([&] { read = ReadColumns(columns); });
  const int64_t reader_peak = PeakBytes() - before;
  if (read != readings) Give({.message = "readings are missing"});
  const double as_records = Seconds([&] { read = ReadRecords(columns); });
  if (read != readings) Give({.message = "readings are missing"});
  // The same recording as lines, but shorter.
  const uint32_t few = std::max(1u, rounds / 48);
  uint64_t fewer = 0;
  const double drawn_few = Seconds([&] { fewer = Ports(ports, few, polled).Record(none); });
  const double lines_written =
      Seconds([&] { Write<CounterLinesWriter>(lines, Ports(ports, few, polled)); });
  const double lines_read = Seconds([&] { read = ReadRecords(lines); });
  if (read != fewer) Give({.message = "lines are missing"});
  fmt::print(
      "{{\"readings\": {}, \"metrics\": {}, \"gigahertz\": {:.3f}, \"generate_s\": {:.3f}, "
      "\"write_s\": {:.3f}, \"bytes\": {}, \"writer_peak_bytes\": {}, \"read_s\": {:.3f}, "
      "\"reader_peak_bytes\": {}, \"records_s\": {:.3f}, \"lines_readings\": {}, "
      "\"lines_write_s\": {:.3f}, \"lines_bytes\": {}, \"lines_read_s\": {:.3f}, \"sum\": {}}}\n",
      readings, kMetricsOfPort.size(), speed, drawn, written - drawn,
      std::filesystem::file_size(columns), writer_peak, as_readings, reader_peak, as_records, fewer,
      lines_written - drawn_few, std::filesystem::file_size(lines), lines_read, none.sum());
  std::error_code ignored;
  for (const std::string& path : {columns, lines}) std::filesystem::remove(path, ignored);
}

}  // namespace
}  // namespace rocescope

int main(int argc, char** argv) {
  CLI::App app("Measures recordings of counters; the default is a day of 8,000 ports");
  std::string folder;
  uint32_t ports = 8000;
  uint32_t rounds = 2880;
  bool polled = false;
  app.add_option("FOLDER", folder, "folder for the two files, which are removed")->required();
  app.add_option("--ports", ports, "number of ports");
  app.add_option("--rounds", rounds, "readings of each port");
  app.add_flag("--polled", polled, "poll switches one after the other, with random delays");
  CLI11_PARSE(app, argc, argv);
  rocescope::Measure(folder, ports, rounds, polled);
  return 0;
}
