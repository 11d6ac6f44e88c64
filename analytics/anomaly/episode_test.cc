// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/episode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <set>

#include "analytics/anomaly/port_traffic_fixture.h"

namespace rocescope {

// Printed when an assertion fails.
void PrintTo(const Episode& episode, std::ostream* out) {
  *out << "kind " << static_cast<int>(episode.kind) << " job " << episode.job << " from "
       << (episode.from - PortTraffic::kBeginning) / std::chrono::seconds(1) << " until "
       << (episode.until - PortTraffic::kBeginning) / std::chrono::seconds(1) << " on "
       << episode.entities.size() << " entities";
}

namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr Duration kSlack = std::chrono::seconds(30);  // two windows

std::set<uint32_t> PortsOf(const Episode& episode) {
  std::set<uint32_t> ports;
  for (const Entity& entity : episode.entities) ports.insert(entity.index);
  return ports;
}

std::set<uint32_t> AsSet(const std::vector<uint32_t>& ports) {
  return {ports.begin(), ports.end()};
}

std::vector<const Episode*> OfKind(const std::vector<Episode>& all, EpisodeKind kind) {
  std::vector<const Episode*> episodes;
  for (const Episode& one : all) {
    if (one.kind == kind) episodes.push_back(&one);
  }
  return episodes;
}

std::vector<const Anomaly*> Single(const Anomalies& found) {
  std::vector<const Anomaly*> single;
  for (const Anomaly& one : found.anomalies) {
    if (one.episode == 0) single.push_back(&one);
  }
  return single;
}

std::set<uint32_t> PortsOf(const std::vector<const Anomaly*>& anomalies) {
  std::set<uint32_t> ports;
  for (const Anomaly* one : anomalies) ports.insert(one->entity.index);
  return ports;
}

void ExpectNear(Timestamp time, double seconds) {
  const Duration apart = time - PortTraffic::At(seconds);
  EXPECT_LE(apart, kSlack) << seconds;
  EXPECT_GE(apart, -kSlack) << seconds;
}

class EpisodeTest : public testing::Test {
 protected:
  const topology::Fabric fabric_ = SwitchesWithPorts(4, 25);
  PortTraffic traffic_{fabric_};
  const std::vector<uint32_t> twelve_ = PortsFrom(3, 12, 7);
};

TEST_F(EpisodeTest, FindsNothingInSteadyTraffic) {
  traffic_.jobs = {{.ports = twelve_, .active = {{0, 1800}}}};
  const Anomalies found = traffic_.Run(1800);
  EXPECT_THAT(found.episodes, IsEmpty());
  EXPECT_THAT(found.anomalies, IsEmpty());
}

TEST_F(EpisodeTest, FindsAJobThatStartsAndEnds) {
  traffic_.jobs = {{.ports = twelve_, .active = {{600, 1500}}}};
  const Anomalies found = traffic_.Run(2700);
  ASSERT_THAT(found.episodes, SizeIs(2));
  const Episode& start = found.episodes[0];
  const Episode& end = found.episodes[1];
  EXPECT_EQ(start.kind, EpisodeKind::kJobStarted);
  EXPECT_EQ(PortsOf(start), AsSet(twelve_));
  EXPECT_EQ(start.of, 12u);
  EXPECT_EQ(start.job, 1u);
  EXPECT_LT(start.before, 1e6);
  EXPECT_NEAR(start.after, 5e9 * 1.98, 1e9);
  ExpectNear(start.from, 600);
  EXPECT_EQ(end.kind, EpisodeKind::kJobEnded);
  EXPECT_EQ(end.job, 1u);
  EXPECT_EQ(PortsOf(end), AsSet(twelve_));
  ExpectNear(end.from, 1500);
  EXPECT_THAT(Single(found), IsEmpty());
}

TEST_F(EpisodeTest, FindsAPauseWithItsBothEnds) {
  traffic_.jobs = {{.ports = twelve_, .active = {{0, 720}, {840, 1800}}}};
  const Anomalies found = traffic_.Run(1800);
  ASSERT_THAT(found.episodes, SizeIs(1));
  const Episode& pause = found.episodes[0];
  EXPECT_EQ(pause.kind, EpisodeKind::kJobPaused);
  EXPECT_EQ(pause.count, 1u);
  EXPECT_EQ(PortsOf(pause), AsSet(twelve_));
  ExpectNear(pause.from, 720);
  ExpectNear(pause.until, 840);
  EXPECT_EQ(pause.paused, pause.until - pause.from);
  EXPECT_THAT(Single(found), IsEmpty());
}

TEST_F(EpisodeTest, MergesThePausesOfPeriodicCheckpoints) {
  traffic_.jobs = {
      {.ports = twelve_, .active = {{0, 600}, {660, 1200}, {1260, 1800}, {1860, 2700}}}};
  const std::vector<Episode> episodes = traffic_.Episodes(2700);
  ASSERT_THAT(episodes, SizeIs(1));
  EXPECT_EQ(episodes[0].kind, EpisodeKind::kJobPaused);
  EXPECT_EQ(episodes[0].count, 3u);
  EXPECT_THAT(episodes[0].steps, SizeIs(6));
  ExpectNear(episodes[0].from, 600);
  ExpectNear(episodes[0].until, 1860);
}

TEST_F(EpisodeTest, DoesNotClaimTheEndOfAJobThatStoppedNow) {
  traffic_.jobs = {{.ports = twelve_, .active = {{0, 900}}}};
  const std::vector<Episode> episodes = traffic_.Episodes(1080);
  ASSERT_THAT(episodes, SizeIs(1));
  EXPECT_EQ(episodes[0].kind, EpisodeKind::kJobStopped);
}

TEST_F(EpisodeTest, DistinguishesTwoJobs) {
  const std::vector<uint32_t> others = PortsFrom(4, 10, 7);
  traffic_.jobs = {{.ports = twelve_, .active = {{600, 1500}}},
                   {.ports = others, .rate = 1e9, .active = {{900, 1200}, {1320, 3000}}}};
  const std::vector<Episode> episodes = traffic_.Episodes(3000);
  ASSERT_THAT(episodes, SizeIs(4));
  EXPECT_EQ(episodes[0].kind, EpisodeKind::kJobStarted);
  EXPECT_EQ(episodes[0].job, 1u);
  EXPECT_EQ(episodes[1].kind, EpisodeKind::kJobStarted);
  EXPECT_EQ(episodes[1].job, 2u);
  EXPECT_EQ(PortsOf(episodes[1]), AsSet(others));
  EXPECT_EQ(episodes[2].kind, EpisodeKind::kJobPaused);
  EXPECT_EQ(episodes[2].job, 2u);
  EXPECT_EQ(episodes[3].kind, EpisodeKind::kJobEnded);
  EXPECT_EQ(episodes[3].job, 1u);
}

TEST_F(EpisodeTest, SeparatesJobsThatStartedTogetherAtTheNextChange) {
  const std::vector<uint32_t> others = PortsFrom(4, 12, 7);
  traffic_.jobs = {{.ports = twelve_, .active = {{600, 1500}}},
                   {.ports = others, .active = {{600, 3000}}}};
  const std::vector<Episode> episodes = traffic_.Episodes(3000);
  ASSERT_THAT(episodes, SizeIs(2));
  EXPECT_THAT(episodes[0].entities, SizeIs(24));
  EXPECT_EQ(episodes[1].kind, EpisodeKind::kJobEnded);
  EXPECT_EQ(PortsOf(episodes[1]), AsSet(twelve_));
  EXPECT_EQ(episodes[1].job, 2u);
}

TEST_F(EpisodeTest, StopsTwoJobsAtTheSameTime) {
  const std::vector<uint32_t> others = PortsFrom(4, 12, 7);
  traffic_.jobs = {{.ports = twelve_, .active = {{600, 1500}}},
                   {.ports = others, .active = {{900, 1500}}}};
  const std::vector<Episode> episodes = traffic_.Episodes(3000);
  const auto ends = OfKind(episodes, EpisodeKind::kJobEnded);
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_EQ(PortsOf(*ends[0]), AsSet(twelve_));
  EXPECT_EQ(PortsOf(*ends[1]), AsSet(others));
}

// Ports 90 to 93 carry the traffic of both jobs, like uplinks.
TEST_F(EpisodeTest, HandlesPortsOfTwoJobs) {
  std::vector<uint32_t> first = PortsFrom(0, 12);
  std::vector<uint32_t> second = PortsFrom(20, 12);
  for (const uint32_t shared : PortsFrom(90, 4)) {
    first.push_back(shared);
    second.push_back(shared);
  }
  traffic_.jobs = {{.ports = first, .active = {{600, 1800}}},
                   {.ports = second, .active = {{1200, 1500}, {1620, 3000}}}};
  const std::vector<Episode> episodes = traffic_.Episodes(3000);
  ASSERT_THAT(episodes, SizeIs(4));
  EXPECT_EQ(episodes[1].kind, EpisodeKind::kJobStarted);
  EXPECT_EQ(PortsOf(episodes[1]), AsSet(second));
  EXPECT_EQ(episodes[2].kind, EpisodeKind::kJobPaused);
  EXPECT_EQ(episodes[2].job, 2u);
  EXPECT_EQ(episodes[3].kind, EpisodeKind::kJobEnded);
  EXPECT_EQ(episodes[3].job, 1u);
}

TEST_F(EpisodeTest, FindsJobsOfMostPorts) {
  traffic_.jobs = {{.ports = PortsFrom(0, 80), .active = {{600, 1500}}}};
  const std::vector<Episode> episodes = traffic_.Episodes(2700);
  ASSERT_THAT(episodes, SizeIs(2));
  EXPECT_THAT(episodes[0].entities, SizeIs(80));
  EXPECT_EQ(episodes[1].kind, EpisodeKind::kJobEnded);
}

TEST_F(EpisodeTest, ReportsAPortWithErrorsInAdditionToTheStartOfItsJob) {
  traffic_.jobs = {{.ports = twelve_, .active = {{600, 2700}}}};
  traffic_.faults = {{.port = twelve_[4], .period = {600, 2700}, .fcs_errors = 20}};
  traffic_.fcs_counters = true;
  const Anomalies found = traffic_.Run(2700);
  ASSERT_THAT(found.episodes, SizeIs(1));
  const auto single = Single(found);
  ASSERT_THAT(single, testing::Not(IsEmpty()));
  for (const Anomaly* one : single) EXPECT_EQ(one->entity.index, twelve_[4]);
  ExpectNear(single[0]->from, 600);
}

TEST_F(EpisodeTest, ReportsAPortThatDegradesAloneWhileItsJobRuns) {
  for (const double since : {840.0, 1200.0}) {
    traffic_.jobs = {{.ports = twelve_, .active = {{600, 2700}}}};
    traffic_.faults = {{.port = twelve_[4], .period = {since, 2700}, .slowdown = 0.2}};
    const Anomalies found = traffic_.Run(2700);
    ASSERT_THAT(found.episodes, SizeIs(2));
    EXPECT_EQ(found.episodes[0].kind, EpisodeKind::kFellAlone);
    EXPECT_EQ(PortsOf(found.episodes[0]), (std::set<uint32_t>{twelve_[4]}));
    ExpectNear(found.episodes[0].from, since);
    EXPECT_EQ(found.episodes[1].kind, EpisodeKind::kJobStarted);
    EXPECT_THAT(Single(found), IsEmpty());
  }
}

// The traffic of single ports comes and goes: this is no degradation.
TEST_F(EpisodeTest, IgnoresTransfersOfSinglePorts) {
  traffic_.jobs = {{.ports = {5}, .active = {{600, 900}}},
                   {.ports = {40}, .active = {{300, 1500}}}};
  EXPECT_THAT(traffic_.Episodes(2400), IsEmpty());
}

TEST_F(EpisodeTest, DoesNotMakeAJobOfOnePortOrTwo) {
  traffic_.jobs = {{.ports = twelve_, .active = {{0, 3000}}}};
  traffic_.faults = {{.port = twelve_[4], .period = {1200, 3000}, .slowdown = 0},
                     {.port = twelve_[5], .period = {1200, 3000}, .slowdown = 0}};
  const Anomalies found = traffic_.Run(2700);
  ASSERT_THAT(found.episodes, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(found.episodes[i].kind, EpisodeKind::kFellAlone);
    EXPECT_EQ(PortsOf(found.episodes[i]), (std::set<uint32_t>{twelve_[4 + i]}));
  }
  EXPECT_THAT(Single(found), IsEmpty());
}

TEST_F(EpisodeTest, GroupsAnomaliesThatBeginTogetherWithoutAJob) {
  traffic_.jobs = {{.ports = twelve_, .active = {{0, 1800}}}};
  for (const uint32_t port : PortsFrom(3, 5, 7)) {
    traffic_.faults.push_back({.port = port, .period = {900, 1200}, .fcs_errors = 100});
  }
  traffic_.fcs_counters = true;
  const Anomalies found = traffic_.Run(1800);
  ASSERT_THAT(found.episodes, SizeIs(1));
  EXPECT_EQ(found.episodes[0].kind, EpisodeKind::kChangedTogether);
  EXPECT_EQ(found.episodes[0].metric, Metric::kFcsErrors);
  EXPECT_TRUE(found.episodes[0].up);
  EXPECT_THAT(found.episodes[0].entities, SizeIs(5));
}

TEST_F(EpisodeTest, DoesNotDependOnTheUpdateIntervalOrTheReadingTimes) {
  traffic_.jobs = {{.ports = twelve_, .active = {{600, 1500}, {1620, 2400}}}};
  traffic_.faults = {{.port = twelve_[4], .period = {1800, 2700}, .slowdown = 0.2}};
  const Anomalies often = traffic_.Run(2700, 1);
  const Anomalies rarely = traffic_.Run(2700, 1000);
  EXPECT_EQ(often.episodes, rarely.episodes);
  EXPECT_EQ(often.anomalies, rarely.anomalies);
  traffic_.staggered = false;
  const Anomalies same_time = traffic_.Run(2700);
  ASSERT_EQ(same_time.episodes.size(), often.episodes.size());
  for (size_t i = 0; i < often.episodes.size(); ++i) {
    EXPECT_EQ(same_time.episodes[i].kind, often.episodes[i].kind);
    EXPECT_EQ(same_time.episodes[i].entities, often.episodes[i].entities);
  }
}

// One hour of 11 switches with 1,034 ports. Ten times, a job starts, pauses, resumes or ends.
TEST(AnHourOfAThousandPorts, IsReportedInTwentyLines) {
  const topology::Fabric fabric = SwitchesWithPorts(11, 94);
  ASSERT_EQ(fabric.ports().size(), 1034u);
  PortTraffic traffic(fabric);
  traffic.noise = 0.2;
  traffic.fcs_counters = true;
  traffic.jobs = {
      {.ports = PortsFrom(0, 256), .rate = 8e9, .active = {{0, 3600}}},
      {.ports = PortsFrom(256, 64), .active = {{400, 1000}, {1120, 3600}}},    // 3 changes
      {.ports = PortsFrom(320, 128), .rate = 2e9, .active = {{480, 2000}}},    // 2
      {.ports = PortsFrom(448, 12), .active = {{700, 1620}, {1740, 3600}}},    // 3
      {.ports = PortsFrom(500, 280), .rate = 10e9, .active = {{2400, 3000}}},  // 2
  };
  traffic.faults = {{.port = 100, .period = {1500, 3600}, .slowdown = 0.3},
                    {.port = 260, .period = {2600, 3600}, .fcs_errors = 5}};
  const Anomalies found = traffic.Run(3600);
  const auto single = Single(found);
  RecordProperty("anomalies", static_cast<int>(found.anomalies.size()));
  RecordProperty("lines", static_cast<int>(found.episodes.size() + single.size()));
  EXPECT_EQ(PortsOf(single), (std::set<uint32_t>{260}));
  ASSERT_THAT(found.episodes, SizeIs(9));
  EXPECT_EQ(found.episodes[0].kind, EpisodeKind::kFellAlone);
  EXPECT_EQ(PortsOf(found.episodes[0]), (std::set<uint32_t>{100}));
  EXPECT_LE(found.episodes.size() + single.size(), 20u);
  EXPECT_GT(found.anomalies.size(), 200u);
  EXPECT_THAT(OfKind(found.episodes, EpisodeKind::kJobStarted), SizeIs(4));
  EXPECT_THAT(OfKind(found.episodes, EpisodeKind::kJobPaused), SizeIs(2));
  const auto ended = OfKind(found.episodes, EpisodeKind::kJobEnded);
  EXPECT_EQ(ended.size() + OfKind(found.episodes, EpisodeKind::kJobStopped).size(), 2u);
}

}  // namespace

}  // namespace rocescope
