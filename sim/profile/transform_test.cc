// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "sim/profile/transform_fixture.h"

namespace rocescope::sim {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Transform, ReadsAllDevicesAtTheSameTimeWithExactValues) {
  FakeCounters exact(3, seconds(35));
  const Transformed result = Collect(exact, Plain());
  std::map<int64_t, std::set<std::string>> nodes;
  for (const auto& reading : result.sink.readings) {
    const CounterEntity& entity = result.sink.entities[reading.number];
    nodes[(reading.time - kFakeBegin).count() / 1'000'000'000].insert(entity.node);
    EXPECT_EQ(reading.time, reading.arrival);
    EXPECT_EQ(reading.values[0], FakeCounters::CountAt(IndexOf(exact, entity), reading.time));
  }
  EXPECT_THAT(nodes, ::testing::SizeIs(4)) << "0, 10, 20 and 30 s";
  for (const auto& [second, names] : nodes) {
    EXPECT_EQ(second % 10, 0);
    EXPECT_THAT(names, ::testing::SizeIs(6));
  }
  EXPECT_EQ(result.report.readings, 4u * 9) << "ports, their priorities, NICs; no GPUs";
}

TEST(Transform, RandomPhasesAreThoseOfNodesAndJitterDelaysSinglePolls) {
  Profile profile = Plain();
  profile.switches.random_phase = true;
  profile.switches.jitter = seconds(2);
  FakeCounters exact(20, seconds(200));
  const Transformed result = Collect(exact, profile);
  std::set<int64_t> phases;
  std::map<std::string, std::vector<Duration>> times;
  for (const auto& reading : PortsOf(result)) {
    times[result.sink.entities[reading.number].node].push_back(reading.time - kFakeBegin);
  }
  for (const auto& [node, of] : times) {
    ASSERT_GE(of.size(), 19u) << node;
    const Duration least = of[0] - seconds(2);
    for (size_t i = 0; i < of.size(); ++i) {
      const Duration due = of[i] - seconds(10) * i;
      EXPECT_GE(due, least);
      EXPECT_LE(due, of[0] + seconds(2));
    }
    EXPECT_LT(of[0], seconds(12));
    phases.insert(of[0].count());
  }
  EXPECT_EQ(phases.size(), 20u);
  EXPECT_LT(*phases.begin(), 3'000'000'000);
  EXPECT_GT(*phases.rbegin(), 7'000'000'000);
}

TEST(Transform, CacheReturnsTheValuesOfTheLastRefresh) {
  Profile profile = Plain();
  profile.switches = {.period = seconds(3), .cached_share = 1, .refresh = {seconds(7), seconds(7)}};
  FakeCounters exact(5, seconds(100));
  const Transformed result = Collect(exact, profile);
  std::map<std::string, std::set<int64_t>> phases;
  for (const auto& reading : PortsOf(result)) {
    const CounterEntity& entity = result.sink.entities[reading.number];
    const Timestamp time = ExactTime(exact, entity, reading.values[kRxPackets]);
    EXPECT_LE(time, reading.time);
    EXPECT_GT(time, reading.time - seconds(7) - milliseconds(1));
    if (time > kFakeBegin + seconds(1)) {
      phases[entity.node].insert((time - kFakeBegin).count() / 1'000'000 % 7'000);
    }
  }
  for (const auto& [node, of] : phases) EXPECT_EQ(of.size(), 1u) << node;
  for (const PollerReport& poller : result.report.pollers) {
    EXPECT_EQ(poller.staleness, poller.group == PollGroup::kSwitch ? seconds(7) : seconds(0));
  }
}

TEST(Transform, CacheIsThatOfAShareOfTheDevicesWithinARange) {
  Profile profile = Plain();
  profile.switches.cached_share = 0.5;
  profile.switches.refresh = {seconds(1), seconds(10)};
  const Transformed result = Collect(profile, 400);
  int cached = 0;
  Duration least = hours(1);
  Duration most{};
  for (const PollerReport& poller : result.report.pollers) {
    if (poller.refresh == Duration(0)) continue;
    ++cached;
    least = std::min(least, poller.refresh);
    most = std::max(most, poller.refresh);
  }
  EXPECT_NEAR(cached, 200, 4 * std::sqrt(100));
  EXPECT_GE(least, seconds(1));
  EXPECT_LT(least, seconds(2));
  EXPECT_LE(most, seconds(10));
  EXPECT_GT(most, seconds(9));
}

TEST(Transform, WatermarkIsTheMaximumSinceThePreviousRefresh) {
  Profile profile = Plain();
  FakeCounters exact(1, seconds(50));
  exact.spike = kFakeBegin + seconds(25);
  const Transformed result = Collect(exact, profile);
  CounterEntity entity = exact.entities()[1].entity;
  std::vector<uint64_t> watermarks;
  for (const auto& reading : result.sink.Of(entity)) watermarks.push_back(reading.values[1]);
  EXPECT_THAT(watermarks, ElementsAre(1, 1, 1, 1000, 1, 1));
}

TEST(Transform, LosesReadingsIndependently) {
  Profile profile = Plain();
  profile.lost_readings = 0.1;
  const Transformed result = Collect(profile, 50, seconds(1000));
  const double all = 101 * 150;
  EXPECT_EQ(result.report.readings + result.report.lost, all);
  EXPECT_EQ(result.report.readings, result.sink.readings.size());
  EXPECT_NEAR(static_cast<double>(result.report.lost), 0.1 * all, 4 * std::sqrt(0.09 * all));
}

TEST(Transform, LosesWholePollsInBursts) {
  Profile profile = Plain();
  profile.lost_polls = 0.2;
  profile.lost_poll_burst = 4;
  const Transformed result = Collect(profile, 50, seconds(10'000));
  std::map<std::string, std::set<int64_t>> polls;
  std::map<std::pair<std::string, int64_t>, int> readings;
  for (const auto& reading : result.sink.readings) {
    const std::string& node = result.sink.entities[reading.number].node;
    const int64_t poll = (reading.time - kFakeBegin) / seconds(10);
    polls[node].insert(poll);
    ++readings[{node, poll}];
  }
  for (const auto& [poll, count] : readings) {
    EXPECT_EQ(count, poll.first.starts_with("leaf") ? 2 : 1) << "all or nothing";
  }
  double bursts = 0;
  double lost = 0;
  for (const auto& [node, of] : polls) {
    bool before = true;
    for (int64_t poll = 0; poll <= 1000; ++poll) {
      const bool arrived = of.contains(poll);
      lost += arrived ? 0 : 1;
      bursts += before && !arrived ? 1 : 0;
      before = arrived;
    }
  }
  EXPECT_EQ(lost, static_cast<double>(result.report.lost_polls));
  EXPECT_NEAR(lost / (100 * 1001), 0.2, 0.02);
  EXPECT_NEAR(lost / bursts, 4, 0.3);
}

TEST(Transform, LateReadingsArriveWithinTheRangeAndKeepTheirTime) {
  Profile profile = Plain();
  profile.late = 0.25;
  profile.lateness = {seconds(3), seconds(30)};
  const Transformed result = Collect(profile, 50, seconds(1000));
  double late = 0;
  for (const auto& reading : result.sink.readings) {
    EXPECT_EQ((reading.time - kFakeBegin) % seconds(10), Duration(0));
    if (reading.arrival == reading.time) continue;
    ++late;
    EXPECT_GE(reading.arrival - reading.time, seconds(3));
    EXPECT_LE(reading.arrival - reading.time, seconds(30));
  }
  EXPECT_EQ(late, static_cast<double>(result.report.late));
  EXPECT_NEAR(late / static_cast<double>(result.sink.readings.size()), 0.25, 0.02);
}

TEST(Transform, ReorderedReadingsArriveAfterTheNextOne) {
  Profile profile = Plain();
  profile.reordered = 0.1;
  const Transformed result = Collect(profile, 20, seconds(1000));
  uint64_t overtaken = 0;
  for (const CounterEntity& entity : result.sink.entities) {
    Timestamp newest;
    for (const auto& reading : result.sink.Of(entity)) {
      overtaken += reading.time < newest ? 1 : 0;
      newest = std::max(newest, reading.time);
    }
  }
  EXPECT_GT(result.report.reordered, 400u);
  // Two successive readings that both are late keep their order.
  EXPECT_NEAR(static_cast<double>(overtaken), static_cast<double>(result.report.reordered),
              0.12 * static_cast<double>(result.report.reordered));
}

TEST(Transform, DuplicatesAreEqual) {
  Profile profile = Plain();
  profile.duplicates = 0.1;
  const Transformed result = Collect(profile, 20, seconds(1000));
  std::map<std::pair<uint32_t, Timestamp>, std::vector<std::vector<uint64_t>>> copies;
  for (const auto& reading : result.sink.readings) {
    copies[{reading.number, reading.time}].push_back(reading.values);
  }
  uint64_t twice = 0;
  for (const auto& [key, values] : copies) {
    ASSERT_LE(values.size(), 2u);
    if (values.size() < 2) continue;
    ++twice;
    EXPECT_EQ(values[0], values[1]);
  }
  EXPECT_EQ(twice, result.report.duplicates);
  EXPECT_NEAR(static_cast<double>(twice), 0.1 * 101 * 60, 100);
}

TEST(Transform, WrapsTheNamedCountersAt32Bits) {
  Profile profile = Plain();
  profile.switch_vendors[0].wrapping.set(static_cast<size_t>(Metric::kTxPackets));
  profile.switches.period = seconds(600);
  FakeCounters exact(3, hours(3));
  const Transformed result = Collect(exact, profile);
  bool wrapped = false;
  for (const auto& reading : PortsOf(result)) {
    const CounterEntity& entity = result.sink.entities[reading.number];
    const uint64_t count = FakeCounters::CountAt(IndexOf(exact, entity), reading.time);
    EXPECT_EQ(reading.values[0], count);
    EXPECT_EQ(reading.values[1], count % (uint64_t{1} << 32));
    wrapped |= count > UINT32_MAX;
  }
  EXPECT_TRUE(wrapped);
}

TEST(Transform, RandomStartValuesAreConstantOffsetsOfCounters) {
  Profile profile = Plain();
  profile.random_start_values = true;
  FakeCounters exact(3, seconds(100));
  const Transformed result = Collect(exact, profile);
  std::map<std::pair<uint32_t, size_t>, std::set<uint64_t>> offsets;
  for (const auto& reading : PortsOf(result)) {
    const uint32_t index = IndexOf(exact, result.sink.entities[reading.number]);
    for (size_t i = 0; i < 3; ++i) {
      offsets[{index, i}].insert(reading.values[i] - FakeCounters::CountAt(index, reading.time));
    }
    EXPECT_EQ(reading.values[3], FakeCounters::kSpeed) << "gauges have no start value";
  }
  std::set<uint64_t> all;
  for (const auto& [key, of] : offsets) {
    EXPECT_EQ(of.size(), 1u);
    all.insert(*of.begin());
  }
  EXPECT_EQ(all.size(), 9u);
}

TEST(Transform, SomeDevicesAreNeverRead) {
  Profile profile = Plain();
  profile.unread_switches = 0.3;
  const Transformed result = Collect(profile, 300);
  std::set<std::string> leaves;
  std::set<std::string> hosts;
  for (const CounterEntity& entity : result.sink.entities) {
    (entity.kind == EntityKind::kPort ? leaves : hosts).insert(entity.node);
  }
  EXPECT_NEAR(static_cast<double>(leaves.size()), 210, 4 * std::sqrt(63));
  EXPECT_EQ(hosts.size(), 300u);
  for (const PollerReport& poller : result.report.pollers) {
    if (poller.group == PollGroup::kSwitch) {
      EXPECT_EQ(poller.is_read, leaves.contains(poller.name));
    }
  }
}

TEST(Transform, VendorClassesLackMetrics) {
  Profile profile = Plain();
  VendorClass other{.name = "b", .share = 0.4};
  other.missing.set(static_cast<size_t>(Metric::kRxDiscards));
  other.missing.set(static_cast<size_t>(Metric::kPfcRx));
  other.missing.set(static_cast<size_t>(Metric::kQueueWatermark));
  profile.switch_vendors = {{.name = "a", .share = 0.6}, other};
  const Transformed result = Collect(profile, 200);
  int lacking = 0;
  for (size_t i = 0; i < result.sink.entities.size(); ++i) {
    const CounterEntity& entity = result.sink.entities[i];
    if (entity.kind != EntityKind::kPort) continue;
    const bool is_other = std::any_of(
        result.report.pollers.begin(), result.report.pollers.end(),
        [&](const auto& each) { return each.name == entity.node && each.vendor == "b"; });
    if (entity.priority == 3) {
      EXPECT_FALSE(is_other) << "an entity without metrics does not exist";
      continue;
    }
    lacking += is_other;
    const std::vector<Metric> whole = {Metric::kRxPackets, Metric::kTxPackets, Metric::kRxDiscards,
                                       Metric::kLinkSpeed};
    const std::vector<Metric> rest = {Metric::kRxPackets, Metric::kTxPackets, Metric::kLinkSpeed};
    EXPECT_EQ(result.sink.metrics_of[i], is_other ? rest : whole);
  }
  EXPECT_NEAR(lacking, 80, 4 * std::sqrt(48));
}

TEST(Transform, ClockOffsetsAreConstantForANodeAndBounded) {
  Profile profile = Plain();
  profile.clock_error = milliseconds(50);
  const Transformed result = Collect(profile, 100);
  std::map<std::string, std::set<int64_t>> offsets;
  for (const auto& reading : result.sink.readings) {
    offsets[result.sink.entities[reading.number].node].insert(
        (reading.time - reading.arrival).count());
  }
  int64_t least = 0;
  int64_t most = 0;
  for (const auto& [node, of] : offsets) {
    ASSERT_EQ(of.size(), 1u);
    least = std::min(least, *of.begin());
    most = std::max(most, *of.begin());
  }
  EXPECT_GE(least, -50'000'000);
  EXPECT_LT(least, -40'000'000);
  EXPECT_LE(most, 50'000'000);
  EXPECT_GT(most, 40'000'000);
}

TEST(Transform, ArrivalTimestampsIncludeTheResponseTime) {
  Profile profile = Plain();
  profile.device_timestamps = false;
  profile.response = seconds(2);
  profile.clock_error = milliseconds(50);
  FakeCounters exact(20, seconds(1000));
  const Transformed result = Collect(exact, profile);
  Duration most{};
  for (const auto& reading : PortsOf(result)) {
    const Timestamp time =
        ExactTime(exact, result.sink.entities[reading.number], reading.values[kRxPackets]);
    EXPECT_EQ(reading.time, reading.arrival);
    EXPECT_EQ((time - kFakeBegin) % seconds(10), Duration(0));
    most = std::max<Duration>(most, reading.time - time);
  }
  EXPECT_LE(most, seconds(2));
  EXPECT_GT(most, milliseconds(1900));
  EXPECT_EQ(result.report.pollers[0].staleness, seconds(2));
}

TEST(Transform, LeavesOutPriorities) {
  Profile profile = Plain();
  profile.switch_priorities = false;
  const Transformed result = Collect(profile);
  for (const CounterEntity& entity : result.sink.entities) {
    EXPECT_EQ(entity.priority, CounterEntity::kAllPriorities);
  }
}

TEST(Transform, QuirkIncrementsACounterSlowly) {
  Profile profile = Plain();
  profile.switch_vendors[0].quirk = {.metric = Metric::kRxDiscards, .period = seconds(30)};
  FakeCounters exact(3, seconds(600));
  const Transformed result = Collect(exact, profile);
  std::map<std::string, std::set<uint64_t>> added;
  for (const auto& reading : PortsOf(result)) {
    const CounterEntity& entity = result.sink.entities[reading.number];
    const uint64_t count = FakeCounters::CountAt(IndexOf(exact, entity), reading.time);
    EXPECT_EQ(reading.values[0], count);
    const uint64_t more = reading.values[2] - count;
    const auto due = static_cast<uint64_t>((reading.time - kFakeBegin) / seconds(30));
    EXPECT_TRUE(more == due || more == due + 1) << more << " of " << due;
    added[entity.node].insert(more);
  }
  for (const auto& [node, of] : added) EXPECT_GE(of.size(), 20u) << "one at a time";
}

TEST(Transform, OverridesApplyToTheNamedNodes) {
  Profile fast = Plain();
  fast.switches.period = seconds(1);
  fast.device_timestamps = true;
  fast.lost_readings = 0.5;
  Profile slow = Plain();
  slow.device_timestamps = false;
  slow.response = seconds(2);
  const std::vector<ProfileOverride> overrides = {{.nodes = {"leaf1", "leaf2"}, .profile = fast}};
  FakeCounters exact(4, seconds(100));
  KeptReadings sink;
  const auto report = Transform(exact, slow, {.overrides = overrides}, sink);
  ASSERT_TRUE(report) << report.error().message;
  for (uint32_t node = 0; node < 4; ++node) {
    const auto readings = sink.Of(exact.entities()[2 * node].entity);
    if (node == 1 || node == 2) {
      EXPECT_NEAR(static_cast<double>(readings.size()), 50.5, 4 * std::sqrt(101 * 0.25));
    } else {
      EXPECT_EQ(readings.size(), 11u);
    }
    // The first poll of all nodes is at the start of the run.
    EXPECT_EQ((readings.front().time - kFakeBegin) % seconds(1) == Duration(0),
              node == 1 || node == 2);
  }
}

TEST(Transform, ScaleMultipliesAllTimes) {
  Profile profile = Plain();
  profile.clock_error = milliseconds(50);
  profile.switches = {
      .period = seconds(10), .cached_share = 1, .refresh = {seconds(5), seconds(5)}};
  FakeCounters exact(2, milliseconds(10));
  const Transformed result = Collect(exact, profile, 1, 1e-4);
  EXPECT_EQ(result.sink.Of(exact.entities()[0].entity).size(), 11u);
  for (const PollerReport& poller : result.report.pollers) {
    if (!poller.is_read) continue;  // GPUs
    EXPECT_EQ(poller.period, milliseconds(1));
    EXPECT_LE(std::abs(poller.clock_offset.count()), 5000);
    if (poller.group == PollGroup::kSwitch) {
      EXPECT_EQ(poller.refresh, std::chrono::microseconds(500));
    }
  }
}

Profile Everything() {
  Profile profile = Plain();
  profile.switches = {.period = seconds(10),
                      .random_phase = true,
                      .jitter = seconds(3),
                      .cached_share = 0.7,
                      .refresh = {seconds(1), seconds(10)}};
  profile.nics = {.period = seconds(15), .random_phase = true, .jitter = seconds(1)};
  profile.response = seconds(2);
  profile.clock_error = milliseconds(50);
  profile.lost_readings = 0.02;
  profile.lost_polls = 0.02;
  profile.lost_poll_burst = 3;
  profile.late = 0.05;
  profile.lateness = {seconds(1), seconds(60)};
  profile.reordered = 0.02;
  profile.duplicates = 0.02;
  profile.unread_switches = 0.1;
  return profile;
}

// The conservation property of transform.h.
TEST(Transform, EachReadingIsTheExactValueAtATimeWithinItsBounds) {
  for (const bool device_timestamps : {true, false}) {
    Profile profile = Everything();
    profile.device_timestamps = device_timestamps;
    FakeCounters exact(30, seconds(2000));
    const Transformed result = Collect(exact, profile);
    ASSERT_GT(result.sink.readings.size(), 10'000u);
    const Duration clock = device_timestamps ? milliseconds(50) : milliseconds(0);
    for (const auto& reading : result.sink.readings) {
      const CounterEntity& entity = result.sink.entities[reading.number];
      const uint32_t index = IndexOf(exact, entity);
      const PollerReport& poller = result.report.pollers[result.report.poller_of[index]];
      const Timestamp least = std::max(kFakeBegin, reading.time - poller.staleness - clock);
      ASSERT_GE(reading.values[0], FakeCounters::CountAt(index, least));
      ASSERT_LE(reading.values[0], FakeCounters::CountAt(index, reading.time + clock));
    }
  }
}

TEST(Transform, WatchedReadingsHaveTheirExactTimes) {
  FakeCounters exact(10, seconds(2000));
  const std::vector<uint32_t> watched = {4, 0};
  KeptReadings sink;
  const auto report = Transform(exact, Everything(), {.seed = 3, .watched = watched}, sink).value();
  ASSERT_EQ(report.watched.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    std::set<std::pair<Timestamp, uint64_t>> arrived;
    for (const auto& reading : sink.Of(exact.entities()[watched[i]].entity)) {
      arrived.emplace(reading.time, reading.values[kRxPackets]);
    }
    std::set<std::pair<Timestamp, uint64_t>> reported;
    for (const ReadingTime& time : report.watched[i]) {
      reported.emplace(time.time, FakeCounters::CountAt(watched[i], time.exact));
    }
    EXPECT_EQ(arrived, reported);
  }
}

TEST(Transform, IsTheSameForOneSeed) {
  const Transformed first = Collect(Everything(), 10, seconds(1000), 7);
  const Transformed second = Collect(Everything(), 10, seconds(1000), 7);
  EXPECT_EQ(first.sink.readings, second.sink.readings);
  EXPECT_NE(first.sink.readings, Collect(Everything(), 10, seconds(1000), 8).sink.readings);
}

// Each purpose has its own random numbers.
TEST(Transform, OneSettingDoesNotChangeTheEffectOfOthers) {
  Profile profile = Everything();
  const Transformed with = Collect(profile, 10, seconds(1000));
  profile.late = 0;
  profile.duplicates = 0;
  const Transformed without = Collect(profile, 10, seconds(1000));
  const auto keys = [](const Transformed& result) {
    std::set<std::tuple<std::string, Timestamp, uint64_t>> found;
    for (const auto& reading : result.sink.readings) {
      const CounterEntity& entity = result.sink.entities[reading.number];
      found.emplace(entity.node + entity.port + std::to_string(entity.priority), reading.time,
                    reading.values[0]);
    }
    return found;
  };
  EXPECT_EQ(keys(with), keys(without));
}

TEST(Transform, ProfileThatDoesNotFitTheRunIsAnError) {
  const auto error = [](const Profile& profile) {
    FakeCounters exact(2, seconds(100));
    KeptReadings sink;
    const auto report = Transform(exact, profile, {}, sink);
    return report ? std::string() : report.error().message;
  };
  Profile slow = Plain();
  slow.switches.period = seconds(101);
  EXPECT_THAT(error(slow), HasSubstr("test.yaml: the period of switches, 101 s, is longer than the "
                                     "run of 100 s"));
  Profile hasty = Plain();
  hasty.nics.period = Duration(1);
  EXPECT_THAT(error(hasty), HasSubstr("the period of nics, 1 ns, would result in more than"));
  Profile stale = Plain();
  stale.nics.cached_share = 0.1;
  stale.nics.refresh = {seconds(1), seconds(200)};
  EXPECT_THAT(error(stale), HasSubstr("the refresh period of nics, 200 s, is longer"));
  Profile vendor = Plain();
  vendor.switch_vendors[0] = {.name = "slow", .refresh = DurationRange{seconds(1), seconds(101)}};
  EXPECT_THAT(error(vendor), HasSubstr("vendor class slow"));
  const auto error_of = [](const std::vector<ProfileOverride>& overrides) {
    FakeCounters exact(2, seconds(100));
    KeptReadings sink;
    const auto report = Transform(exact, Plain(), {.overrides = overrides}, sink);
    return report ? std::string() : report.error().message;
  };
  EXPECT_THAT(error_of({{.nodes = {"laef1"}, .profile = Plain()}}),
              HasSubstr("no node \"laef1\" with counters; did you mean \"leaf1\"?"));
  EXPECT_THAT(error_of({{.nodes = {"leaf0", "leaf1"}, .profile = Plain()},
                        {.nodes = {"leaf1"}, .profile = Plain()}}),
              HasSubstr("two overrides have the node \"leaf1\""));
  EXPECT_THAT(error_of({{.nodes = {"leaf1"}, .profile = slow}}),
              HasSubstr("the period of switches, 101 s, is longer"));
}

}  // namespace
}  // namespace rocescope::sim
