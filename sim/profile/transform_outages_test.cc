// SPDX-License-Identifier: BSD-3-Clause
// Readings of devices that reboot or are down, and of counters that restart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>

#include "sim/profile/transform_fixture.h"

namespace rocescope::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

TEST(TransformOutages, WatermarkIncludesTheTimeBeforeAnOutageIfItSurvives) {
  const auto watermarks = [](Duration spike, bool survives) {
    FakeCounters exact(1, seconds(50));
    exact.spike = kFakeBegin + spike;
    exact.down_from = kFakeBegin + seconds(15);
    exact.down_until = kFakeBegin + seconds(35);
    Profile profile = Plain();
    profile.counters_survive_reboots = survives;
    const Transformed result = Collect(exact, profile);
    std::vector<uint64_t> values;
    for (const auto& reading : result.sink.Of(exact.entities()[1].entity)) {
      values.push_back(reading.values[1]);
    }
    return values;  // at 0, 10, 40 and 50 s
  };
  EXPECT_THAT(watermarks(seconds(12), true), ElementsAre(1, 1, 1000, 1));
  EXPECT_THAT(watermarks(seconds(12), false), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(watermarks(seconds(37), false), ElementsAre(1, 1, 1000, 1));
}

TEST(TransformOutages, RestartedCountersContinueFromZero) {
  Profile profile = Plain();
  profile.restarts_per_day = 100;
  FakeCounters exact(10, hours(24));
  const Transformed result = Collect(exact, profile);
  uint64_t drops = 0;
  uint32_t restarts = 0;
  for (const PollerReport& poller : result.report.pollers) {
    if (poller.group == PollGroup::kSwitch) restarts += poller.restarts;
  }
  for (uint32_t node = 0; node < 10; ++node) {
    uint64_t before = 0;
    for (const auto& reading : result.sink.Of(exact.entities()[2 * node].entity)) {
      const uint64_t value = reading.values[kRxPackets];
      if (value >= before) {
        // One period later, unless the counter had passed its former value again.
        if (before > 0) {
          EXPECT_LE(value - before, (2 * node + 1) * 10'000'000);
        }
      } else {
        ++drops;
        EXPECT_LE(value, (2 * node + 1) * 10'000'000) << "at most one period since the restart";
      }
      before = value;
    }
  }
  EXPECT_NEAR(restarts, 1000, 4 * std::sqrt(1000));
  EXPECT_NEAR(static_cast<double>(drops), restarts, 15) << "some fall into one period";
}

TEST(TransformOutages, DeviceThatIsDownReportsNothing) {
  FakeCounters exact(1, seconds(50));
  exact.down_from = kFakeBegin + seconds(15);
  exact.down_until = kFakeBegin + seconds(35);
  const Transformed result = Collect(exact, Plain());
  std::vector<int64_t> times;
  for (const auto& reading : result.sink.Of(exact.entities()[0].entity)) {
    times.push_back((reading.time - kFakeBegin) / seconds(1));
  }
  EXPECT_THAT(times, ElementsAre(0, 10, 40, 50));
}

TEST(TransformOutages, CountersContinueFromZeroAfterAReboot) {
  Profile profile = Plain();
  profile.random_start_values = true;
  profile.switch_vendors[0].quirk = {.metric = Metric::kRxDiscards, .period = seconds(4)};
  FakeCounters exact(2, seconds(100));
  exact.down_from = kFakeBegin + seconds(15);
  exact.down_until = kFakeBegin + seconds(33);
  const Transformed result = Collect(exact, profile);
  for (const uint32_t index : {0u, 1u, 2u, 4u}) {
    const auto readings = result.sink.Of(exact.entities()[index].entity);
    ASSERT_EQ(readings.size(), 9u) << "not at 20 and 30 s";
    EXPECT_GE(readings[1].values[0], FakeCounters::CountAt(index, readings[1].time));
    for (size_t i = 2; i < readings.size(); ++i) {
      EXPECT_EQ(readings[i].values[0], FakeCounters::CountAt(index, readings[i].time) -
                                           FakeCounters::CountAt(index, exact.down_until));
    }
  }
  const auto last = result.sink.Of(exact.entities()[0].entity).back();
  EXPECT_EQ(last.values[3], FakeCounters::kSpeed) << "a gauge";
  const uint64_t discards = last.values[2] - last.values[0];
  EXPECT_TRUE(discards == 16 || discards == 17) << "of 67 s: " << discards;
  for (const PollerReport& poller : result.report.pollers) {
    EXPECT_EQ(poller.restarts, poller.is_read ? 1u : 0u) << poller.name;
  }
}

TEST(TransformOutages, CountersThatSurviveARebootAreExact) {
  Profile profile = Plain();
  profile.counters_survive_reboots = true;
  FakeCounters exact(2, seconds(100));
  exact.down_from = kFakeBegin + seconds(15);
  exact.down_until = kFakeBegin + seconds(33);
  const Transformed result = Collect(exact, profile);
  for (const auto& reading : PortsOf(result)) {
    const uint32_t index = IndexOf(exact, result.sink.entities[reading.number]);
    EXPECT_EQ(reading.values[0], FakeCounters::CountAt(index, reading.time));
  }
  for (const PollerReport& poller : result.report.pollers) EXPECT_EQ(poller.restarts, 0u);
}

// A random restart before or during an outage does not delay the one at its end.
TEST(TransformOutages, RandomRestartsAndRebootsComeInOrder) {
  Profile profile = Plain();
  profile.restarts_per_day = 20'000;
  FakeCounters exact(20, seconds(100));
  exact.down_from = kFakeBegin + seconds(41);
  exact.down_until = kFakeBegin + seconds(58);
  const Transformed result = Collect(exact, profile);
  for (const auto& reading : PortsOf(result)) {
    if (reading.time < exact.down_until) continue;
    const uint32_t index = IndexOf(exact, result.sink.entities[reading.number]);
    EXPECT_LE(reading.values[0], FakeCounters::CountAt(index, reading.time) -
                                     FakeCounters::CountAt(index, exact.down_until));
  }
  uint32_t restarts = 0;
  for (const PollerReport& poller : result.report.pollers) restarts += poller.restarts;
  const double expected = 40 * (1 + 83 * 20'000 / 86'400.0);
  EXPECT_NEAR(restarts, expected, 4 * std::sqrt(expected));
}

// The polls are at 0, 3, 6, ... s.
TEST(TransformOutages, DeviceDoesNotReportValuesCachedBeforeAnOutage) {
  Profile profile = Plain();
  profile.switches = {.period = seconds(3), .cached_share = 1, .refresh = {seconds(7), seconds(7)}};
  profile.counters_survive_reboots = true;  // shows the time of the refresh
  FakeCounters exact(30, seconds(100));
  exact.down_from = kFakeBegin + seconds(40);
  exact.down_until = kFakeBegin + seconds(44);
  const Transformed result = Collect(exact, profile);
  std::map<std::string, Duration> first;  // reading after the outage
  std::map<std::string, Duration> last;   // ... and before
  for (const auto& reading : PortsOf(result)) {
    const CounterEntity& entity = result.sink.entities[reading.number];
    const Timestamp refresh = ExactTime(exact, entity, reading.values[kRxPackets]);
    if (reading.time < exact.down_from) {
      last[entity.node] = reading.time - kFakeBegin;
      continue;
    }
    EXPECT_GE(refresh, exact.down_until - milliseconds(1)) << entity.node;
    first.try_emplace(entity.node, reading.time - kFakeBegin);
  }
  std::set<Duration> firsts;
  for (const auto& [node, time] : first) {
    EXPECT_EQ(last[node], seconds(39));
    EXPECT_LE(time, seconds(54)) << "at most one refresh period and one polling period later";
    firsts.insert(time);
  }
  EXPECT_EQ(first.size(), 30u);
  EXPECT_THAT(firsts, ElementsAre(seconds(45), seconds(48), seconds(51)));
}

// As before, but the watermark is that since the last answer.
TEST(TransformOutages, WatermarkCoversTheTimeSinceTheLastAnswer) {
  Profile profile = Plain();
  profile.switches = {.period = seconds(3), .cached_share = 1, .refresh = {seconds(7), seconds(7)}};
  profile.counters_survive_reboots = true;
  FakeCounters exact(30, seconds(100));
  exact.spike = kFakeBegin + seconds(39) + milliseconds(500);
  exact.down_from = kFakeBegin + seconds(40);
  exact.down_until = kFakeBegin + seconds(44);
  const Transformed result = Collect(exact, profile);
  for (uint32_t node = 0; node < 30; ++node) {
    std::set<Timestamp> refreshes;
    for (const auto& reading : result.sink.Of(exact.entities()[2 * node + 1].entity)) {
      if (reading.values[1] != 1000) continue;
      refreshes.insert(ExactTime(exact, exact.entities()[2 * node + 1].entity, reading.values[0]));
    }
    EXPECT_EQ(refreshes.size(), 1u) << node;
  }
}

}  // namespace
}  // namespace rocescope::sim
