// SPDX-License-Identifier: BSD-3-Clause
// Readings of groups of counters equal a record for each value.
#include <gtest/gtest.h>

#include <random>

#include "analytics/metric/metric_store.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

constexpr Duration kWindow = std::chrono::milliseconds(1);

TEST(WindowWidth, FindsTheSameWindowAsADivision) {
  std::mt19937_64 random(1);
  for (const int64_t ns :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{1000}, int64_t{1'000'000'007},
        int64_t{30'000'000'000}, int64_t{1} << 40, (int64_t{1} << 40) + 1}) {
    const WindowWidth width{Duration(ns)};
    for (int i = 0; i < 1000; ++i) {
      const auto any = static_cast<int64_t>(random() >> (1 + random() % 63));
      const int64_t boundary = any / ns * ns;
      for (const int64_t time : {any, boundary, std::max<int64_t>(boundary - 1, 0), -any}) {
        ASSERT_EQ(width.NumberOf(FromNanoseconds(time)),
                  NumberOfWindow(FromNanoseconds(time), Duration(ns)))
            << time << " / " << ns;
      }
    }
    EXPECT_EQ(width.NumberOf(Timestamp::max()), NumberOfWindow(Timestamp::max(), Duration(ns)));
  }
}

class ReadingGroups : public testing::Test {
 protected:
  static CounterGroupPointer GroupOf(CounterEntity entity, std::vector<Metric> metrics,
                                     uint32_t number) {
    return std::make_shared<const CounterGroup>(
        CounterGroup{.entity = std::move(entity), .metrics = std::move(metrics), .number = number});
  }

  // Adds the same values to both stores.
  void Read(const CounterGroupPointer& group, int64_t us, const std::vector<uint64_t>& values) {
    const Timestamp time = FromNanoseconds(us * 1000);
    RecordBatch batch;
    batch.readings.push_back({.group = group, .event_time = time, .arrival_time = time});
    batch.reading_values = values;
    by_groups_.Add(batch);
    for (size_t i = 0; i < values.size(); ++i) {
      by_records_.Add({.entity = group->entity,
                       .metric = group->metrics[i],
                       .value = values[i],
                       .event_time = time,
                       .arrival_time = time});
    }
  }

  void ExpectEqual() const {
    ASSERT_EQ(by_groups_.entities().size(), by_records_.entities().size());
    for (const auto& [entity, of] : by_records_.entities()) {
      for (const auto& [metric, expected] : of.series) {
        const MetricSeries* const series = by_groups_.Find(entity, metric);
        ASSERT_NE(series, nullptr);
        EXPECT_TRUE(std::ranges::equal(series->windows(), expected.windows()));
        EXPECT_TRUE(std::ranges::equal(series->unknown(), expected.unknown()));
        EXPECT_TRUE(std::ranges::equal(series->skipped(), expected.skipped()));
        EXPECT_EQ(series->total(), expected.total());
        EXPECT_EQ(series->restarts(), expected.restarts());
        EXPECT_EQ(series->last_reading(), expected.last_reading());
      }
    }
    EXPECT_EQ(by_groups_.WindowsRead(), by_records_.WindowsRead());
    const MetricStatistics& statistics = by_groups_.Statistics();
    EXPECT_EQ(statistics.unknown_entities, by_records_.Statistics().unknown_entities);
    EXPECT_EQ(statistics.entities_refused, by_records_.Statistics().entities_refused);
    const auto is_same = [](const OddReadings& a, const OddReadings& b) {
      return a.count == b.count && a.example == b.example;
    };
    const ReadingProblem& a = by_groups_.trouble();
    const ReadingProblem& b = by_records_.trouble();
    EXPECT_TRUE(is_same(a.unknown, b.unknown));
    EXPECT_TRUE(is_same(a.strayed, b.strayed));
    EXPECT_TRUE(is_same(a.late, b.late));
    EXPECT_TRUE(is_same(a.backwards, b.backwards));
    EXPECT_TRUE(std::ranges::equal(a.impossible, b.impossible, is_same));
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 2, .leaves = 2, .spines = 1}).value();
  MetricStore by_groups_{fabric_, {.window = kWindow, .entities = 3}};
  MetricStore by_records_{fabric_, {.window = kWindow, .entities = 3}};
};

TEST_F(ReadingGroups, EqualRecords) {
  const auto leaf0 = GroupOf({.node = "leaf0", .port = "Ethernet1"},
                             {Metric::kTxPackets, Metric::kRxPackets, Metric::kLinkUp}, 0);
  const auto leaf1 =
      GroupOf({.node = "leaf1", .port = "Ethernet1"}, {Metric::kLinkUp, Metric::kFcsErrors}, 1);
  const auto gpu = GroupOf({.kind = EntityKind::kGpu, .index = 0, .node = "host0"},
                           {Metric::kGpuClock, Metric::kEnergy}, 2);
  const auto unknown = GroupOf({.node = "leaf0", .port = "none"}, {Metric::kLinkUp}, 3);
  const auto refused = GroupOf({.node = "leaf1", .port = "Ethernet2"}, {Metric::kLinkUp}, 4);
  std::mt19937_64 random(7);
  uint64_t packets = 0;
  for (int64_t us = 0; us < 400'000; us += 700) {
    if (random() % 50 == 0) packets = 0;
    Read(leaf0, us + static_cast<int64_t>(random() % 900), {packets += random() % 100, packets, 1});
    Read(leaf1, us, {random() % 3, us > 200'000 ? 5u : 0u});
    Read(gpu, us, {random() % 10 == 0 ? 0u : 1'000'000'000u, packets});
    Read(unknown, us, {1});
    Read(refused, us, {1});
  }
  ExpectEqual();
}

TEST_F(ReadingGroups, AreHeldIfTheirTimeIsFarFromOthers) {
  const auto here = GroupOf({.kind = EntityKind::kHost, .node = "host0"},
                            {Metric::kCpuBusy, Metric::kCpuIdle}, 0);
  const auto there = GroupOf({.kind = EntityKind::kHost, .node = "host1"}, {Metric::kCpuBusy}, 1);
  for (const int64_t us : {0, 1000, 2000}) {
    Read(here, us, {1, 2});
    Read(there, us, {1});
  }
  Read(here, 3'600'000'000, {5, 6});
  EXPECT_EQ(by_groups_.trouble().strayed.count, 2u);
  ExpectEqual();
  Read(there, 3'600'000'000, {9});
  Read(there, 3'600'001'000, {9});
  EXPECT_EQ(by_groups_.trouble().strayed.count, 0u);
  ExpectEqual();
}

// Another source numbers its groups from 0, too.
TEST_F(ReadingGroups, OfTwoSourcesMayHaveTheSameNumber) {
  const auto first = GroupOf({.kind = EntityKind::kHost, .node = "host0"}, {Metric::kCpuBusy}, 0);
  const auto second = GroupOf({.kind = EntityKind::kHost, .node = "host1"}, {Metric::kCpuIdle}, 0);
  for (int64_t us = 0; us < 10'000; us += 1000) {
    Read(first, us, {static_cast<uint64_t>(us)});
    Read(second, us, {static_cast<uint64_t>(2 * us)});
  }
  ExpectEqual();
}

}  // namespace
}  // namespace rocescope
