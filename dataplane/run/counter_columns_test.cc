// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/counter_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "dataplane/run/counter_columns_fixture.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const CounterEntity kQueuedPort = {.priority = 3, .node = "leaf0", .port = "Ethernet4"};
const CounterEntity kOneGpu = {.kind = EntityKind::kGpu, .index = 7, .node = "host1"};

// Writes readings, and keeps them to compare.
class Recorder {
 public:
  explicit Recorder(const std::string& path) : writer_(CounterColumnsWriter::Open(path).value()) {}

  uint32_t Announce(const CounterEntity& entity, std::vector<Metric> metrics) {
    entities_.emplace_back(entity, metrics);
    return writer_->Announce(entity, metrics);
  }
  void Append(uint32_t number, int64_t time_ns, int64_t arrival_ns, std::vector<uint64_t> values) {
    writer_->Append(number, FromNanoseconds(time_ns), FromNanoseconds(arrival_ns), values);
    expected_.push_back({.entity = entities_[number].first,
                         .metrics = entities_[number].second,
                         .time_ns = time_ns,
                         .arrival_ns = arrival_ns,
                         .values = std::move(values)});
  }
  Status Close() { return writer_->Close(); }
  CounterColumnsWriter& writer() { return *writer_; }
  const std::vector<ReadColumns::Reading>& expected() const { return expected_; }

 private:
  std::unique_ptr<CounterColumnsWriter> writer_;
  std::vector<std::pair<CounterEntity, std::vector<Metric>>> entities_;
  std::vector<ReadColumns::Reading> expected_;
};

TEST(CounterColumns, HasTheDocumentedBytes) {
  const TemporaryPath file("documented.columns");
  Recorder recorder(file.path());
  recorder.Announce(kQueuedPort, {Metric::kRxBytes, Metric::kLinkUp});
  recorder.Append(0, 5'000, 5'007, {1000, 1});
  recorder.Append(0, 6'000, 6'007, {1300, 1});
  recorder.Append(0, 6'500, 6'507, {1299, 1});
  ASSERT_TRUE(recorder.Close());
  const std::string bytes = file.Content();
  EXPECT_EQ(bytes.size(), recorder.writer().bytes());
  EXPECT_EQ(bytes.substr(0, 8), "\x89ROCCOL\x01");
  EXPECT_EQ(bytes.substr(bytes.size() - 12), Number(0, 4) + Number(3, 8)) << "the end mark";

  const std::vector<v1::CounterBlock> blocks = BlocksOf(bytes);
  ASSERT_EQ(blocks.size(), 1u);
  const v1::CounterBlock& block = blocks[0];
  EXPECT_THAT(block.metrics(), ElementsAre("rx_bytes", "link_up"));
  ASSERT_EQ(block.entities_size(), 1);
  EXPECT_EQ(block.entities(0).kind(), "port");
  EXPECT_EQ(block.entities(0).node(), "leaf0");
  EXPECT_EQ(block.entities(0).port(), "Ethernet4");
  EXPECT_EQ(block.entities(0).priority(), 3u);
  EXPECT_FALSE(block.entities(0).has_index());
  EXPECT_THAT(block.entities(0).metrics(), ElementsAre(0u, 1u));
  EXPECT_EQ(block.readings(), 3u);
  // Entity numbers 0, 0, 0 after -1: the differences minus 1 are 0, -1, -1, zigzag 0, 1, 1.
  EXPECT_THAT(block.numbers().planes(), ElementsAre(std::string("\x00\x01\x01", 3)));
  // Arrivals: 5007, +1000, +500, zigzag 10014 = 0x271e, 2000 = 0x07d0, 1000 = 0x03e8.
  EXPECT_THAT(block.arrivals().planes(), ElementsAre("\x1e\xd0\xe8", "\x27\x07\x03"));
  // Delays: 7, +0, +0, zigzag 14, 0, 0.
  EXPECT_THAT(block.delays().planes(), ElementsAre(std::string("\x0e\x00\x00", 3)));
  // Bytes: 1000, +300, -1, zigzag 2000 = 0x07d0, 600 = 0x0258, 1.
  ASSERT_EQ(block.values_size(), 2);
  EXPECT_EQ(block.values(0).metric(), 0u);
  EXPECT_THAT(block.values(0).planes(),
              ElementsAre("\xd0\x58\x01", std::string("\x07\x02\x00", 3)));
  EXPECT_EQ(block.values(1).metric(), 1u);
  EXPECT_THAT(block.values(1).planes(), ElementsAre(std::string("\x02\x00\x00", 3)));
}

TEST(CounterColumns, ReturnsWhatWasWritten) {
  const TemporaryPath file("returned.columns");
  Recorder recorder(file.path());
  std::mt19937_64 random(7);
  constexpr size_t kEntities = 3000;
  std::vector<uint32_t> numbers;
  std::vector<size_t> sizes;
  for (size_t i = 0; i < kEntities; ++i) {
    std::vector<Metric> metrics = {Metric::kRxBytes, Metric::kFcsErrors, Metric::kQueueWatermark};
    metrics.resize(1 + i % 3);
    sizes.push_back(metrics.size());
    numbers.push_back(recorder.Announce(
        {.node = "leaf" + std::to_string(i / 64), .port = "Ethernet" + std::to_string(i % 64)},
        metrics));
  }
  std::vector<uint64_t> bytes(kEntities);
  int64_t arrival = 1'750'000'000'000'000'000;
  for (size_t round = 0; round < 60; ++round) {  // 180,000 readings: three blocks
    for (size_t i = 0; i < kEntities; ++i) {
      // Grows irregularly, wraps at 32 bits in some entities, and restarts at zero once.
      bytes[i] += random() % 3'000'000'000;
      if (i % 5 == 0) bytes[i] %= uint64_t{1} << 32;
      if (i % 7 == 0 && round == 30) bytes[i] = 0;
      std::vector<uint64_t> values = {bytes[i], i % 11, random() % 100'000};
      values.resize(sizes[i]);
      arrival += static_cast<int64_t>(random() % 1000);
      recorder.Append(numbers[i], arrival - static_cast<int64_t>(random() % 50'000'000) + 1'000'000,
                      arrival, std::move(values));
    }
  }
  ASSERT_TRUE(recorder.Close());
  const std::string text = file.Content();
  EXPECT_EQ(BlocksOf(text).size(), 3u);
  const ReadColumns read = ReadAllColumns(text);
  EXPECT_EQ(read.error, std::nullopt);
  EXPECT_EQ(recorder.writer().readings(), 180'000u);
  EXPECT_TRUE(read.readings == recorder.expected());
  EXPECT_TRUE(ReadAllColumns(text, 1000).readings == recorder.expected()) << "in small reads";
}

TEST(CounterColumns, HasNoLimitsOnValuesAndTimes) {
  const TemporaryPath file("extreme.columns");
  Recorder recorder(file.path());
  recorder.Announce(kOneGpu, {Metric::kTemperature, Metric::kEnergy});
  recorder.Announce({.kind = EntityKind::kHost, .node = "h\xc3\xb6st"}, {Metric::kCpuBusy});
  recorder.Announce({.kind = EntityKind::kNic, .priority = 0, .node = "n", .port = "mlx5_0"},
                    {Metric::kPfcRx});
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  const int64_t latest = ToNanoseconds(kLatestTime);
  recorder.Append(1, latest, 0, {kMost});
  recorder.Append(0, 0, latest, {kMost, 0});
  recorder.Append(2, 5, 5, {kMost / 2 + 1});
  recorder.Append(0, latest, latest, {0, kMost});
  recorder.Append(1, 0, 0, {0});
  recorder.Append(2, 4, 6, {kMost / 2});
  ASSERT_TRUE(recorder.Close());
  const ReadColumns read = ReadAllColumns(file.Content());
  EXPECT_EQ(read.error, std::nullopt);
  EXPECT_TRUE(read.readings == recorder.expected());
}

TEST(CounterColumns, AnnouncesAnEntityAgainWithOtherMetrics) {
  const TemporaryPath file("again.columns");
  Recorder recorder(file.path());
  EXPECT_EQ(recorder.Announce(kQueuedPort, {Metric::kPfcRx}), 0u);
  recorder.Append(0, 1, 1, {10});
  EXPECT_EQ(recorder.Announce(kQueuedPort, {Metric::kPfcTx, Metric::kPfcRx}), 1u);
  recorder.Append(1, 2, 2, {5, 11});
  recorder.Append(0, 3, 3, {12});
  ASSERT_TRUE(recorder.Close());
  EXPECT_TRUE(ReadAllColumns(file.Content()).readings == recorder.expected());
}

TEST(CounterColumns, OmitsConstantColumns) {
  const TemporaryPath file("constant.columns");
  Recorder recorder(file.path());
  constexpr size_t kEntities = 4096;
  for (size_t i = 0; i < kEntities; ++i) {
    recorder.Announce({.node = "leaf0", .port = std::to_string(i)},
                      {Metric::kFcsErrors, Metric::kLinkSpeed});
  }
  for (int64_t round = 0; round < 32; ++round) {
    for (uint32_t i = 0; i < kEntities; ++i) {
      recorder.Append(i, round * 30'000'000'000, round * 30'000'000'000, {i, 400'000'000'000});
    }
  }
  ASSERT_TRUE(recorder.Close());
  const std::vector<v1::CounterBlock> blocks = BlocksOf(file.Content());
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[0].values_size(), 2);
  EXPECT_THAT(blocks[1].metrics(), IsEmpty());
  EXPECT_THAT(blocks[1].entities(), IsEmpty());
  EXPECT_THAT(blocks[1].values(), IsEmpty());
  EXPECT_THAT(blocks[1].delays().planes(), IsEmpty());
  EXPECT_TRUE(ReadAllColumns(file.Content()).readings == recorder.expected());
}

TEST(CounterColumns, CanBeEmpty) {
  const TemporaryPath file("empty.columns");
  auto writer = CounterColumnsWriter::Open(file.path()).value();
  ASSERT_TRUE(writer->Close());
  ASSERT_TRUE(writer->Close()) << "again";
  EXPECT_EQ(file.Content(), MagicOfColumns() + Number(0, 12));
  const ReadColumns read = ReadAllColumns(file.Content());
  EXPECT_EQ(read.error, std::nullopt);
  EXPECT_THAT(read.readings, IsEmpty());
}

TEST(CounterColumns, WritesTheSameBytesForTheSameCalls) {
  std::vector<std::string> files;
  for (const std::string name : {"first.columns", "second.columns"}) {
    const TemporaryPath file(name);
    Recorder recorder(file.path());
    std::mt19937_64 random(11);
    recorder.Announce(kQueuedPort, {Metric::kRxBytes});
    for (int64_t i = 0; i < 70'000; ++i) recorder.Append(0, i, i, {random()});
    ASSERT_TRUE(recorder.Close());
    files.push_back(file.Content());
  }
  EXPECT_TRUE(files[0] == files[1]);
}

// Returns the error of a file to which `write` writes.
template <typename Write>
std::string ErrorOfWriter(Write write) {
  const TemporaryPath file("refused.columns");
  const auto writer = CounterColumnsWriter::Open(file.path()).value();
  write(*writer);
  const Status closed = writer->Close();
  return closed ? "none" : closed.error().message;
}

TEST(CounterColumns, RefusesInvalidEntitiesAndReadings) {
  const std::vector<Metric> one = {Metric::kPfcRx};
  const auto announce = [](const CounterEntity& entity, const std::vector<Metric>& metrics) {
    return ErrorOfWriter([&](CounterColumnsWriter& writer) { writer.Announce(entity, metrics); });
  };
  EXPECT_THAT(announce({.port = "Ethernet1"}, one),
              HasSubstr("refused.columns: entity 0: node: expected a name of 1 to 128 bytes"));
  EXPECT_THAT(announce({.node = "leaf0", .port = "\xff"}, one), HasSubstr("port: expected a name"));
  EXPECT_THAT(announce({.node = std::string(129, 'x'), .port = "1"}, one), HasSubstr("node: "));
  EXPECT_THAT(announce({.priority = 8, .node = "leaf0", .port = "1"}, one),
              HasSubstr("priority: "));
  EXPECT_THAT(announce({.index = 1, .node = "leaf0", .port = "1"}, one), HasSubstr("index: "));
  EXPECT_THAT(announce({.kind = EntityKind::kHost, .node = "h", .port = "1"}, one),
              HasSubstr("port: a host has none"));
  EXPECT_THAT(announce(kQueuedPort, {}), HasSubstr("metrics: expected at least one"));
  EXPECT_THAT(announce(kQueuedPort, {Metric::kPfcRx, Metric::kPfcRx}),
              HasSubstr("duplicate metric \"pfc_rx\""));

  const auto append = [](uint32_t number, Timestamp time, const std::vector<uint64_t>& values) {
    return ErrorOfWriter([&](CounterColumnsWriter& writer) {
      const std::vector<Metric> metrics = {Metric::kPfcRx};
      writer.Announce(kQueuedPort, metrics);
      writer.Append(number, time, FromNanoseconds(0), values);
    });
  };
  EXPECT_EQ(append(0, kLatestTime, {1}), "none");
  EXPECT_THAT(append(1, kLatestTime, {1}), HasSubstr("reading of entity 1 with 1 values"));
  EXPECT_THAT(append(0, kLatestTime, {1, 2}), HasSubstr("reading of entity 0 with 2 values"));
  EXPECT_THAT(append(0, FromNanoseconds(-1), {1}),
              HasSubstr("time -1 or arrival 0 is out of range"));
}

TEST(CounterColumns, ReportsPathsThatCannotBeWritten) {
  const auto missing = CounterColumnsWriter::Open("/nonexistent/counters.columns");
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message,
              HasSubstr("/nonexistent/counters.columns: cannot be created"));
  const auto full = CounterColumnsWriter::Open("/dev/full").value();
  const Status closed = full->Close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(closed.error().message, HasSubstr("/dev/full: write failed"));
}

}  // namespace
}  // namespace rocescope
