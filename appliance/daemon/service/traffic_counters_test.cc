// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/traffic_counters.h"

#include <gmock/gmock.h>

namespace rocescope {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::Key;

LinkLoads Window(int64_t second, std::vector<LinkLoad> loads) {
  return {.from = Timestamp(seconds(second)), .window = seconds(1), .loads = std::move(loads)};
}

TEST(TrafficCounters, AddsEachWindowOnce) {
  TrafficCounters totals;
  const LinkLoad load = {
      .port = 7, .bytes = 100, .marked = 3, .dropped = 2, .paused = seconds(1), .errors = 1};
  for (const int64_t second : {10, 10, 11, 10}) totals.AddLinks(Window(second, {load}), 0);
  const auto links = totals.Links();
  ASSERT_THAT(links, ElementsAre(Key(7u)));
  const LinkTotals& link = links.at(7);
  EXPECT_EQ(link.bytes, 200u);
  EXPECT_EQ(link.marked, 6u);
  EXPECT_EQ(link.dropped, 4u);
  EXPECT_EQ(link.errors, 2u);
  EXPECT_EQ(link.paused, Duration(seconds(2)));
  EXPECT_EQ(totals.missed_windows(), 0u);
}

TEST(TrafficCounters, CountsMissedWindows) {
  TrafficCounters totals;
  totals.AddLinks(Window(10, {}), 0);
  totals.AddLinks(Window(14, {}), 0);
  EXPECT_EQ(totals.missed_windows(), 3u);
}

TEST(TrafficCounters, ContinuesAfterTheClockWasSetBack) {
  TrafficCounters totals;
  const LinkLoad load = {.port = 7, .bytes = 100};
  totals.AddLinks(Window(1000, {load}), 0);
  totals.AddLinks(Window(10, {load}), 1);
  totals.AddLinks(Window(11, {load}), 1);
  EXPECT_EQ(totals.Links().at(7).bytes, 300u);
  EXPECT_EQ(totals.missed_windows(), 0u);
}

TEST(TrafficCounters, FirstLinksKeepTheirSeries) {
  TrafficCounters totals({.max_links = 2});
  totals.AddLinks(Window(1, {{.port = 5, .bytes = 1}, {.port = 9, .bytes = 1}}), 0);
  totals.AddLinks(Window(2, {{.port = 1, .bytes = 1}, {.port = 9, .bytes = 1}}), 0);
  EXPECT_THAT(totals.Links(), ElementsAre(Key(5u), Key(9u)));
  EXPECT_EQ(totals.Links().at(9).bytes, 2u);
  EXPECT_EQ(totals.omitted_links(), 1u);
}

TEST(TrafficCounters, JobsNeverDecrease) {
  TrafficCounters totals;
  EXPECT_EQ(totals.AddJob("j", 100), 100u);
  EXPECT_EQ(totals.AddJob("j", 60), 100u) << "attributed differently";
  EXPECT_EQ(totals.AddJob("j", 90), 130u);
}

TEST(TrafficCounters, EndedJobsMakeRoom) {
  TrafficCounters totals({.max_jobs = 1});
  EXPECT_EQ(totals.AddJob("a", 1), 1u);
  EXPECT_EQ(totals.AddJob("b", 1), std::nullopt);
  totals.KeepJobs({"b"});
  EXPECT_EQ(totals.AddJob("b", 1), 1u);
}

TEST(TrafficCounters, AgentsMayRestart) {
  TrafficCounters totals;
  totals.AddAgents({{"a", 5}, {"b", 1}});
  totals.AddAgents({{"a", 7}, {"b", 0}});
  EXPECT_EQ(totals.agent_lost_batches(), 8u);
  totals.AddAgents({{"a", 2}});
  EXPECT_EQ(totals.agent_lost_batches(), 10u);
}

}  // namespace
}  // namespace rocescope
