// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/find_hotspots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Duration kWindow = std::chrono::milliseconds(1);

class HotspotTest : public testing::Test {
 protected:
  static Timestamp At(int64_t ms) { return FromNanoseconds(ms * 1'000'000); }
  void Reads(Metric metric, int64_t ms, uint64_t value) {
    metrics_.Add(
        {.entity = {.kind = EntityKind::kPort, .priority = 3, .node = "leaf0", .port = "Ethernet1"},
         .metric = metric,
         .value = value,
         .event_time = At(ms)});
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 2, .leaves = 2, .spines = 1}).value();
  const topology::PortIndex port_ = fabric_.FindPort(fabric_.FindNode("leaf0"), "Ethernet1");
  MetricStore metrics_{fabric_, {.window = kWindow}};
};

TEST_F(HotspotTest, LastsWhileTheQueueMarks) {
  for (const auto& [ms, marked] : {std::pair(0, 0), {1, 0}, {2, 5}, {3, 9}, {4, 9}, {5, 9}}) {
    Reads(Metric::kEcnMarked, ms, static_cast<uint64_t>(marked));
    Reads(Metric::kQueueWatermark, ms, ms == 3 ? 70'000 : 100);
  }
  EXPECT_THAT(HotspotsOf(metrics_, {}, {}), ElementsAre(Hotspot{.port = port_,
                                                                .priority = 3,
                                                                .from = At(1),
                                                                .until = At(3),
                                                                .peak_bytes = 70'000,
                                                                .marked = 9}));
}

TEST_F(HotspotTest, PeakExcludesLaterQueueDepths) {
  for (const auto& [ms, marked] : {std::pair(0, 0), {1, 0}, {2, 5}, {3, 5}, {4, 5}}) {
    Reads(Metric::kEcnMarked, ms, static_cast<uint64_t>(marked));
    Reads(Metric::kQueueWatermark, ms, ms == 2 ? 70'000 : 90'000);
  }
  const std::vector<Hotspot> hotspots = HotspotsOf(metrics_, {}, {});
  ASSERT_EQ(hotspots.size(), 1u);
  EXPECT_EQ(hotspots[0].until, At(2));
  EXPECT_EQ(hotspots[0].peak_bytes, 70'000u);
}

TEST_F(HotspotTest, IsSplitByACalmPeriod) {
  uint64_t dropped = 0;
  for (int64_t ms = 0; ms <= 10; ++ms) {
    dropped += ms == 2 || ms == 4 || ms == 8 ? 1 : 0;  // in windows 1, 3 and 7
    Reads(Metric::kQueueDrops, ms, dropped);
  }
  const std::vector<Hotspot> hotspots = HotspotsOf(metrics_, {}, {}, {.calm = 2});
  ASSERT_EQ(hotspots.size(), 2u);
  EXPECT_EQ(hotspots[0].from, At(1));
  EXPECT_EQ(hotspots[0].until, At(4));
  EXPECT_EQ(hotspots[0].dropped, 2u);
  EXPECT_EQ(hotspots[1].from, At(7));
}

TEST_F(HotspotTest, SumsPauseTimes) {
  Reads(Metric::kPfcRxTime, 0, 0);
  Reads(Metric::kPfcRxTime, 1, 400'000);
  ASSERT_EQ(HotspotsOf(metrics_, {}, {}).size(), 1u);
  EXPECT_EQ(HotspotsOf(metrics_, {}, {})[0].paused, std::chrono::microseconds(400));
}

TEST_F(HotspotTest, UsesPacketsWithoutCounters) {
  const Queues queues = {{{.port = port_, .queue = 3},
                          {{.window = 4, .peak_bytes = 90'000, .congested = 2, .packets = 9},
                           // deep, but the switch does not consider it congested
                           {.window = 5, .peak_bytes = 70'000, .packets = 9},
                           {.window = 9, .peak_bytes = 80'000, .congested = 1, .packets = 1}}}};
  const std::vector<MarkedQueue> marked = {
      {.port = port_, .window = 4, .marks = 2.6},
      {.port = port_, .window = 20, .marks = 7, .inferred = true}};
  EXPECT_THAT(HotspotsOf(metrics_, queues, marked),
              ElementsAre(Hotspot{.port = port_,
                                  .priority = 3,
                                  .source = HotspotSource::kInt,
                                  .from = At(4),
                                  .until = At(5),
                                  .peak_bytes = 90'000,
                                  .marked = 3},
                          Hotspot{.port = port_,
                                  .priority = 3,
                                  .source = HotspotSource::kInt,
                                  .from = At(9),
                                  .until = At(10),
                                  .peak_bytes = 80'000},
                          Hotspot{.port = port_,
                                  .source = HotspotSource::kInferred,
                                  .from = At(20),
                                  .until = At(21),
                                  .marked = 7}));
}

TEST_F(HotspotTest, IgnoresPacketsIfThereAreCounters) {
  for (int64_t ms = 0; ms <= 6; ++ms) Reads(Metric::kEcnMarked, ms, ms < 3 ? 0 : 5);
  const std::vector<MarkedQueue> marked = {{.port = port_, .window = 2, .marks = 4},
                                           {.port = port_, .window = 5, .marks = 4}};
  const std::vector<Hotspot> hotspots = HotspotsOf(metrics_, {}, marked);
  ASSERT_EQ(hotspots.size(), 1u);
  EXPECT_EQ(hotspots[0].source, HotspotSource::kCounters);
  EXPECT_EQ(hotspots[0].marked, 5u);
}

TEST_F(HotspotTest, IsNotReportedWithoutEvidence) {
  Reads(Metric::kEcnMarked, 0, 7);
  Reads(Metric::kEcnMarked, 1, 7);
  Reads(Metric::kQueueWatermark, 1, 90'000);
  EXPECT_THAT(HotspotsOf(metrics_, {}, {}), IsEmpty());
}

}  // namespace
}  // namespace rocescope
