// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/link_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/congestion/congestion_fixture.h"

namespace rocescope {
namespace {

using testing::IsEmpty;

// Windows of one millisecond.
class LinkLoadTest : public CongestionTest {
 protected:
  static Timestamp At(int64_t us) { return FromNanoseconds(us * 1000); }
  void Tells(EntityKind kind, std::string_view node, std::string_view port, Metric metric,
             int64_t us, uint64_t value, uint8_t priority = CounterEntity::kAllPriorities) {
    CounterRecord record;
    record.entity = {
        .kind = kind, .priority = priority, .node = std::string(node), .port = std::string(port)};
    record.metric = metric;
    record.value = value;
    record.event_time = At(us);
    metrics_.Add(record);
  }
  std::string NameOf(std::string_view from, std::string_view to) const {
    return fabric_.port(Port(from, to)).name;
  }
  // Counter of the switch's port to its neighbour.
  void SwitchTells(std::string_view from, std::string_view to, Metric metric, int64_t us,
                   uint64_t value, uint8_t priority = CounterEntity::kAllPriorities) {
    Tells(EntityKind::kPort, from, NameOf(from, to), metric, us, value, priority);
  }
  LinkLoads Loads() { return LinkLoadsOf(fabric_, metrics_, Paths()); }
  static const LinkLoad* Find(const LinkLoads& loads, topology::PortIndex port) {
    const auto at = std::ranges::find(loads.loads, port, &LinkLoad::port);
    return at == loads.loads.end() ? nullptr : &*at;
  }

  MetricStore metrics_{fabric_, {.window = std::chrono::milliseconds(1)}};
};

TEST_F(LinkLoadTest, IsEmptyAtFirst) {
  EXPECT_EQ(Loads().from, std::nullopt);
  EXPECT_THAT(Loads().loads, IsEmpty());
}

TEST_F(LinkLoadTest, UsesTheSendersCounterInTheLastCompleteWindow) {
  for (const int64_t us : {1000, 2000, 3000, 3500}) {
    SwitchTells("leaf0", "spine0", Metric::kTxBytes, us, static_cast<uint64_t>(us) * 100);
    SwitchTells("leaf0", "spine0", Metric::kEcnMarked, us, static_cast<uint64_t>(us), 3);
    SwitchTells("leaf0", "spine0", Metric::kEcnMarked, us, static_cast<uint64_t>(us), 4);
    SwitchTells("spine0", "leaf0", Metric::kFcsErrors, us, static_cast<uint64_t>(us) / 1000);
  }
  const LinkLoads loads = Loads();
  EXPECT_EQ(loads.from, At(2000));
  const LinkLoad* const load = Find(loads, Port("leaf0", "spine0"));
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->source, LoadSource::kCounters);
  EXPECT_EQ(load->bytes, 100'000u);
  EXPECT_EQ(load->marked, 2000u) << "of both priorities";
  EXPECT_EQ(load->errors, 1u) << "counted at the receiving port";
}

TEST_F(LinkLoadTest, UsesTheReceiversCounterWithoutTheSenders) {
  for (const int64_t us : {1000, 2000}) {
    SwitchTells("spine0", "leaf0", Metric::kTxBytes, us, 0);
    SwitchTells("spine0", "leaf0", Metric::kRxBytes, us, static_cast<uint64_t>(us) * 3);
  }
  const LinkLoads loads = Loads();
  const LinkLoad* const load = Find(loads, Port("leaf0", "spine0"));
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->bytes, 3000u);
}

TEST_F(LinkLoadTest, UsesFlowsWithoutCounters) {
  Takes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2,
        {.from = At(1000), .until = At(3000), .bytes = 4000});
  Takes({"host1", "leaf0", "spine0", "leaf1", "host5"}, 3,
        {.from = At(2000), .until = At(4500), .bytes = 5000});
  const LinkLoads loads = Loads();
  EXPECT_EQ(loads.from, At(3000)) << "the last complete window";
  const LinkLoad* const load = Find(loads, Port("leaf0", "spine0"));
  ASSERT_NE(load, nullptr);
  EXPECT_EQ(load->source, LoadSource::kPaths);
  EXPECT_EQ(load->bytes, 2000u) << "one of the 2.5 ms in which 5,000 bytes were sent";
}

TEST_F(LinkLoadTest, OneLatePortDoesNotDelayAll) {
  for (int host = 0; host < 12; ++host) {
    const std::string name = "host" + std::to_string(host);
    const std::string leaf = "leaf" + std::to_string(host / 4);
    for (const int64_t us : {1000, 2000, 3000}) {
      if (host == 5 && us == 3000) continue;
      SwitchTells(leaf, name, Metric::kTxBytes, us, static_cast<uint64_t>(us));
    }
  }
  const LinkLoads loads = Loads();
  EXPECT_EQ(loads.from, At(2000));
  EXPECT_EQ(Find(loads, Port("leaf1", "host5")), nullptr);
  EXPECT_NE(Find(loads, Port("leaf1", "host6")), nullptr);
}

TEST_F(LinkLoadTest, UtilizationIsAShareOfTheSpeedOrUnknown) {
  constexpr Duration kLength = std::chrono::milliseconds(1);
  LinkLoad load{.port = Port("leaf0", "spine0"), .source = LoadSource::kCounters};
  const uint64_t full = fabric_.SpeedOf(load.port) / 8 / 1000;
  load.bytes = full / 4;
  EXPECT_EQ(UtilizationOf(fabric_, load, kLength), 0.25);
  load.bytes = full + 1500;
  EXPECT_EQ(UtilizationOf(fabric_, load, kLength), 1) << "readings that span more than the window";
  EXPECT_EQ(UtilizationOf(fabric_, load, Duration(0)), std::nullopt);
  load.source = LoadSource::kNone;
  EXPECT_EQ(UtilizationOf(fabric_, load, kLength), std::nullopt);
}

}  // namespace
}  // namespace rocescope
