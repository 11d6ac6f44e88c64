// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/metric/metric_store.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using topology::Fabric;

constexpr Duration kWindow = std::chrono::milliseconds(1);

Timestamp At(int64_t us) { return FromNanoseconds(us * 1000); }

TEST(MetricSeries, ACounterIsItsIncrementPerWindow) {
  MetricSeries series;
  for (const auto& [us, value] : {std::pair(0, 100), {1000, 107}, {2000, 107}, {3000, 110}}) {
    series.AddCounter(At(us), static_cast<uint64_t>(value), {}, kWindow);
  }
  EXPECT_THAT(series.windows(), ElementsAre(WindowValue{0, 7}, WindowValue{2, 3}));
  EXPECT_EQ(series.Sum(0, 3), 10u);
  EXPECT_EQ(series.Sum(1, 2), 0u);
}

TEST(MetricSeries, AnIncrementOverSeveralWindowsIsDistributed) {
  MetricSeries series;
  series.AddCounter(At(0), 0, {}, kWindow);
  series.AddCounter(At(3000), 10, {}, kWindow);
  EXPECT_THAT(series.windows(),
              ElementsAre(WindowValue{0, 4}, WindowValue{1, 3}, WindowValue{2, 3}));
}

TEST(MetricSeries, A32BitCounterWrapsAndAResetIsNoIncrement) {
  MetricSeries series;
  series.AddCounter(At(0), 0xfffffffe, {.bits = 32}, kWindow);
  EXPECT_EQ(series.AddCounter(At(1000), 3, {.bits = 32}, kWindow), ReadingFate::kOpen);
  EXPECT_FALSE(series.IsKnown(0)) << "the next reading decides";
  EXPECT_EQ(series.Sum(0, 1), 0u);
  series.AddCounter(At(2000), 4, {.bits = 32}, kWindow);
  EXPECT_TRUE(series.IsKnown(0));
  EXPECT_EQ(series.Sum(0, 1), 5u);
  EXPECT_EQ(series.restarts(), 0u);
  series.AddCounter(At(3000), 0, {.bits = 32}, kWindow);
  EXPECT_EQ(series.Sum(0, 3), 6u);
  EXPECT_EQ(series.restarts(), 1u);
  MetricSeries wide;
  wide.AddCounter(At(0), 1000, {}, kWindow);
  wide.AddCounter(At(1000), 10, {}, kWindow);
  EXPECT_EQ(wide.restarts(), 1u);
  EXPECT_TRUE(wide.windows().empty());
}

TEST(MetricSeries, ACounterOfADeviceThatWasResetDidNotWrap) {
  MetricSeries series;
  series.AddCounter(At(0), 0xfffffffe, {.bits = 32}, kWindow);
  series.AddCounter(At(1000), 3, {.bits = 32}, kWindow);
  series.AddCounter(At(2000), 4, {.bits = 32, .device_reset = At(1500)}, kWindow);
  EXPECT_FALSE(series.IsKnown(0));
  EXPECT_EQ(series.total(), 1u);
  EXPECT_EQ(series.restarts(), 1u);
  EXPECT_THAT(series.windows(), ElementsAre(WindowValue{1, 1}));
}

TEST(MetricSeries, ACounterThatWrapsAtEachReadingIsOneReadingLate) {
  MetricSeries series;
  uint64_t value = 0;
  for (int64_t i = 0; i < 10; ++i) {
    series.AddCounter(At(i * 1000), value, {.bits = 8}, kWindow);
    value = (value + 100) % 256;
  }
  EXPECT_GE(series.total(), 800u);
  EXPECT_EQ(series.total() % 100, 0u);
  EXPECT_EQ(series.restarts(), 0u);
}

TEST(MetricSeries, AGaugeIsItsHighestInEachWindow) {
  MetricSeries series;
  series.AddGauge(At(100), 5, OfGauge::kHighest, kWindow);
  series.AddGauge(At(200), 9, OfGauge::kHighest, kWindow);
  series.AddGauge(At(300), 2, OfGauge::kHighest, kWindow);
  series.AddGauge(At(5000), 1, OfGauge::kHighest, kWindow);
  EXPECT_THAT(series.windows(), ElementsAre(WindowValue{0, 9}, WindowValue{4, 1}));
  EXPECT_EQ(series.last(), 1u);
  EXPECT_EQ(series.Highest(0, 6), 9u);
}

TEST(MetricSeries, AStateIsItsWorstInEachWindow) {
  MetricSeries series;
  for (int second = 1; second <= 5; ++second) {
    for (int part = 1; part <= 10; ++part) {
      const Timestamp at = At((second - 1) * 1000 + part * 100);
      const bool is_down = at > At(1500) && at <= At(3500);
      series.AddGauge(at, is_down ? 0 : 1, OfGaugeIn(Metric::kLinkUp), kWindow);
    }
  }
  EXPECT_THAT(series.windows(), ElementsAre(WindowValue{0, 1}, WindowValue{1, 0}, WindowValue{2, 0},
                                            WindowValue{3, 0}, WindowValue{4, 1}));
}

TEST(MetricSeries, IgnoresOldReadingsAndDropsOldWindows) {
  MetricSeries series;
  series.AddCounter(At(5000), 5, {}, kWindow);
  series.AddCounter(At(4000), 1, {}, kWindow);
  EXPECT_EQ(series.last(), 5u);
  constexpr int64_t kMany = 3 * static_cast<int64_t>(MetricSeries::kMaxWindows);
  for (int64_t i = 6; i < kMany; ++i)
    series.AddCounter(At(i * 1000), static_cast<uint64_t>(i), {}, kWindow);
  EXPECT_EQ(series.windows().size(), MetricSeries::kMaxWindows);
  EXPECT_EQ(series.windows().back().window, kMany - 2);
}

// A year without readings, followed by an absurd increment.
TEST(MetricSeries, ALongSilenceIsCheap) {
  MetricSeries series;
  series.AddCounter(At(0), 0, {}, kWindow);
  series.AddCounter(At(int64_t{365} * 86'400 * 1'000'000), UINT64_MAX, {}, kWindow);
  EXPECT_EQ(series.windows().size(), MetricSeries::kMaxWindows);
}

class MetricStoreTest : public testing::Test {
 protected:
  void Tells(CounterEntity entity, Metric metric, int64_t us, uint64_t value) {
    store_.Add(
        {.entity = std::move(entity), .metric = metric, .value = value, .event_time = At(us)});
  }

  const Fabric fabric_ = topology::Generate({.hosts = 2, .leaves = 2, .spines = 1}).value();
  MetricStore store_{fabric_, {.window = kWindow, .entities = 3}};
};

TEST_F(MetricStoreTest, NamedSourcesReplaceAgentsOfTheSameEntity) {
  const topology::PortIndex port = fabric_.FindPort(fabric_.FindNode("leaf0"), "Ethernet1");
  const CounterEntity named{
      .kind = EntityKind::kPort, .node = "leaf0.fabric.example", .port = "Ethernet1"};
  const CounterEntity by_agent{.kind = EntityKind::kPort,
                               .index = fabric_.port(port).number,
                               .agent = fabric_.node(fabric_.FindNode("leaf0")).sflow_agent};
  Tells(by_agent, Metric::kFcsErrors, 0, 1);
  Tells(by_agent, Metric::kFcsErrors, 1000, 4);
  const auto windows = [&] {
    const MetricSeries* series =
        store_.Find({.kind = EntityKind::kPort, .index = port}, Metric::kFcsErrors);
    return series == nullptr
               ? std::vector<WindowValue>()
               : std::vector<WindowValue>(series->windows().begin(), series->windows().end());
  };
  EXPECT_THAT(windows(), ElementsAre(WindowValue{0, 3}));
  // The readings are at other times with another start: the two are never mixed.
  Tells(named, Metric::kFcsErrors, 1500, 5);
  Tells(by_agent, Metric::kFcsErrors, 2000, 9);
  Tells(named, Metric::kFcsErrors, 2500, 7);
  EXPECT_THAT(windows(), ElementsAre(WindowValue{1, 1}, WindowValue{2, 1}));
  EXPECT_EQ(store_.Statistics().told_twice, 1u);
}

TEST_F(MetricStoreTest, KeepsPrioritiesAndMetricsSeparate) {
  const CounterEntity port{
      .kind = EntityKind::kPort, .priority = 3, .node = "leaf0", .port = "Ethernet1"};
  Tells(port, Metric::kQueueBytes, 0, 9);
  Tells(port, Metric::kPfcRx, 0, 1);
  const topology::PortIndex index = fabric_.FindPort(fabric_.FindNode("leaf0"), "Ethernet1");
  EXPECT_NE(store_.Find({.index = index, .priority = 3}, Metric::kPfcRx), nullptr);
  EXPECT_EQ(store_.Find({.index = index, .priority = 3}, Metric::kPfcTx), nullptr);
  EXPECT_EQ(store_.Find({.index = index}, Metric::kPfcRx), nullptr);
}

TEST_F(MetricStoreTest, CountsUnknownAndRefusedEntities) {
  Tells({.kind = EntityKind::kHost, .node = "elsewhere"}, Metric::kCpuBusy, 0, 1);
  Tells({.kind = EntityKind::kGpu, .index = 7, .node = "host0"}, Metric::kGpuClock, 0, 1);
  EXPECT_EQ(store_.Statistics().unknown_entities, 2u);
  Tells({.kind = EntityKind::kHost, .node = "host0"}, Metric::kCpuBusy, 0, 1);
  Tells({.kind = EntityKind::kGpu, .index = 0, .node = "host0"}, Metric::kGpuClock, 0, 1);
  Tells({.kind = EntityKind::kNic, .node = "host0", .port = "mlx5_0"}, Metric::kCnpSent, 0, 1);
  EXPECT_EQ(store_.Statistics().entities_refused, 0u);
  Tells({.kind = EntityKind::kHost, .node = "host1"}, Metric::kCpuBusy, 0, 1);
  EXPECT_EQ(store_.Statistics().entities_refused, 1u);
}

TEST_F(MetricStoreTest, RefusesNewSeriesBeyondTheMaximumAndUpdatesPresentOnes) {
  const CounterEntity host{.kind = EntityKind::kHost, .node = "host0"};
  const CounterEntity other{.kind = EntityKind::kHost, .node = "host1"};
  MetricStore store(fabric_, {.window = kWindow, .series = 2});
  const auto add = [&](const CounterEntity& entity, Metric metric, int64_t us) {
    store.Add(CounterRecord{.entity = entity, .metric = metric, .value = 1, .event_time = At(us)});
  };
  add(host, Metric::kCpuBusy, 0);
  add(host, Metric::kMemoryFree, 0);
  EXPECT_EQ(store.Statistics().series_refused, 0u);
  add(host, Metric::kMemoryTotal, 100);
  add(other, Metric::kCpuBusy, 200);
  EXPECT_EQ(store.Statistics().series, 2u);
  EXPECT_EQ(store.Statistics().series_refused, 2u);
  EXPECT_EQ(store.Statistics().series_refused_at, At(200));
  EXPECT_EQ(store.entities().size(), 1u) << "an entity without series takes no memory";
  add(host, Metric::kMemoryFree, 3000);
  const topology::NodeIndex node = fabric_.FindNode("host0");
  EXPECT_EQ(
      store.Find({.kind = EntityKind::kHost, .index = node}, Metric::kMemoryFree)->last_reading(),
      At(3000));
  store.SetSeriesCapacity(3);
  add(other, Metric::kCpuBusy, 3000);
  EXPECT_EQ(store.Statistics().series, 3u);
}

// A switch restarts. The first counter might have wrapped, but the second one cannot have.
TEST_F(MetricStoreTest, ACounterOfASwitchThatRestartedDidNotWrap) {
  const CounterEntity first{.kind = EntityKind::kPort, .node = "leaf0", .port = "Ethernet1"};
  const CounterEntity second{.kind = EntityKind::kPort, .node = "leaf0", .port = "Ethernet2"};
  Tells(first, Metric::kTxDiscards, 0, 0xffffff00);
  Tells(second, Metric::kTxPackets, 0, 0x3'0000'0000);
  for (const int64_t us : {1'000'000, 2'000'000}) {
    Tells(first, Metric::kTxDiscards, us, 0);
    Tells(second, Metric::kTxPackets, us, 0);
  }
  const topology::PortIndex port = fabric_.FindPort(fabric_.FindNode("leaf0"), "Ethernet1");
  const MetricSeries* series =
      store_.Find({.kind = EntityKind::kPort, .index = port}, Metric::kTxDiscards);
  ASSERT_NE(series, nullptr);
  EXPECT_EQ(series->total(), 0u);
  EXPECT_EQ(series->restarts(), 1u);
}

TEST_F(MetricStoreTest, CountsAndIgnoresImpossibleReadings) {
  const CounterEntity gpu{.kind = EntityKind::kGpu, .index = 0, .node = "host0"};
  Tells(gpu, Metric::kGpuClock, 0, 0);
  Tells(gpu, Metric::kGpuClock, 1000, 0);
  const CounterEntity port{.kind = EntityKind::kPort, .node = "leaf0", .port = "Ethernet1"};
  Tells(port, Metric::kFcsErrors, 0, 1);
  Tells(port, Metric::kFcsErrors, 1000, uint64_t{1} << 63);
  Tells(port, Metric::kFcsErrors, 2000, 0);
  Tells(port, Metric::kFcsErrors, 1500, 0);
  const ReadingProblem& trouble = store_.trouble();
  const auto& clock = trouble.impossible[static_cast<size_t>(Metric::kGpuClock)];
  EXPECT_EQ(clock.count, 2u);
  EXPECT_EQ(clock.example, "host0:gpu0 gpu_clock 0");
  EXPECT_EQ(trouble.impossible[static_cast<size_t>(Metric::kFcsErrors)].count, 1u);
  EXPECT_EQ(trouble.backwards.example, "leaf0:Ethernet1 fcs_errors 0");
  EXPECT_EQ(trouble.late.count, 1u);
}

TEST_F(MetricStoreTest, AReadingWithAWrongTimeDoesNotMoveTheWindows) {
  const CounterEntity here{.kind = EntityKind::kHost, .node = "host0"};
  const CounterEntity there{.kind = EntityKind::kHost, .node = "host1"};
  const auto windows = [&] { return store_.WindowsRead().value_or(std::pair(-1, -1)); };
  for (const int64_t us : {0, 1000, 2000}) {
    Tells(here, Metric::kCpuBusy, us, 1);
    Tells(there, Metric::kCpuBusy, us, 1);
  }
  Tells(here, Metric::kCpuBusy, 3'600'000'000, 1);
  EXPECT_EQ(windows(), std::pair(int64_t{0}, int64_t{2}));
  EXPECT_EQ(store_.trouble().strayed.count, 1u);
  // The first node was right: the other one reaches the same hour.
  Tells(there, Metric::kCpuBusy, 3'600'000'000, 1);
  Tells(there, Metric::kCpuBusy, 3'600'001'000, 1);
  EXPECT_EQ(store_.trouble().strayed.count, 0u);
  EXPECT_EQ(windows(), std::pair(int64_t{3'600'000}, int64_t{3'600'001}));
}

}  // namespace
}  // namespace rocescope
