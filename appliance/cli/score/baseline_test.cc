// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/baseline.h"

#include <gtest/gtest.h>

#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/score.pb.h"
#include "rocescope/v1/truth.pb.h"

namespace rocescope {
namespace {

constexpr int64_t kWindow = 1'000'000;  // 1 ms
const LinkOfPort kLinks = {{"leaf0:E1", "leaf0:E1-spine0:E2"},
                           {"spine0:E2", "leaf0:E1-spine0:E2"},
                           {"leaf0:E3", "host0:mlx5_0-leaf0:E3"},
                           {"host0:mlx5_0", "host0:mlx5_0-leaf0:E3"},
                           {"host1:mlx5_0", "host1:mlx5_0-leaf1:E3"}};

// A reading of leaf0:E1, whose link has 100 Gbit/s: 12.5 MB per window.
std::vector<CounterRecord> Reading(int64_t time_ns, uint64_t bytes) {
  CounterRecord sent;
  sent.entity = {.kind = EntityKind::kPort, .node = "leaf0", .port = "E1"};
  sent.metric = Metric::kTxBytes;
  sent.value = bytes;
  sent.event_time = FromNanoseconds(time_ns);
  CounterRecord speed = sent;
  speed.metric = Metric::kLinkSpeed;
  speed.value = 100'000'000'000;
  return {sent, speed};
}

TEST(UtilisationBaseline, AnAlarmIsAWindowAboveNineTenths) {
  UtilisationBaseline baseline(kWindow);
  baseline.Take(Reading(0, 1'000'000));
  baseline.Take(Reading(kWindow, 12'250'000));      // 11.25 MB: 90 %, and not above
  baseline.Take(Reading(2 * kWindow, 24'125'000));  // 11.875 MB: 95 %
  const auto alarms = baseline.Alarms(kLinks);
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].link, "leaf0:E1-spine0:E2");
  EXPECT_EQ(alarms[0].from_ns, kWindow);
  EXPECT_EQ(alarms[0].until_ns, 2 * kWindow);
  EXPECT_DOUBLE_EQ(alarms[0].strength, 0.95);
}

TEST(UtilisationBaseline, ShortPeaksRaiseNoAlarm) {
  UtilisationBaseline baseline(kWindow);
  baseline.Take(Reading(0, 0));
  baseline.Take(Reading(kWindow / 2, 6'250'000));  // full rate, for half a window
  baseline.Take(Reading(kWindow, 6'250'000));
  EXPECT_TRUE(baseline.Alarms(kLinks).empty());
}

TEST(UtilisationBaseline, ACounterResetRaisesNoAlarm) {
  UtilisationBaseline baseline(kWindow);
  baseline.Take(Reading(0, 20'000'000));
  baseline.Take(Reading(kWindow, 0));
  baseline.Take(Reading(2 * kWindow, 12'500'000));
  EXPECT_EQ(baseline.Alarms(kLinks).size(), 1u);
}

void AddFlow(v1::ReplayReport& report, uint32_t qpn, uint64_t retransmitted,
             std::initializer_list<const char*> ports) {
  v1::Flow& flow = *report.add_flows();
  flow.set_destination_qpn(qpn);
  flow.mutable_loss()->set_retransmitted_packets(retransmitted);
  v1::FlowPath& path = *report.add_paths();
  path.set_destination_qpn(qpn);
  v1::PathInterval& stretch = *path.add_intervals();
  stretch.set_state(v1::PathInterval::STATE_EXACT);
  for (const char* port : ports) stretch.add_ports(port);
}

// leaf0:E1 gets 1/2 + 1/2, leaf0:E3 1/2 + 1/3; both have equally many flows.
TEST(VotingBaseline, AFlowsVoteIsSharedByTheLinksOfItsPath) {
  v1::ReplayReport report;
  AddFlow(report, 1, 1, {"host1:mlx5_0", "leaf0:E1"});
  AddFlow(report, 2, 7, {"leaf0:E1", "leaf0:E3"});  // independent of the number of lost packets
  AddFlow(report, 3, 1, {"host0:mlx5_0", "spine0:E2", "leaf0:E3"});
  AddFlow(report, 4, 0, {"leaf0:E3"});  // lost nothing
  const auto alarms = VotingAlarms(report, kLinks);
  ASSERT_EQ(alarms.size(), 1u);
  EXPECT_EQ(alarms[0].link, "leaf0:E1-spine0:E2");
  EXPECT_DOUBLE_EQ(alarms[0].strength, 1);
}

TEST(VotingBaseline, WithoutLossesThereAreNoVotes) {
  v1::ReplayReport report;
  AddFlow(report, 1, 0, {"host1:mlx5_0", "leaf0:E1"});
  EXPECT_TRUE(VotingAlarms(report, kLinks).empty());
}

class ScoreBaselineTest : public testing::Test {
 protected:
  void Fault(const std::string& kind, const std::string& place, int64_t visible_ns = 1000) {
    v1::TruthFault& fault = *truth_.add_faults();
    fault.set_kind(kind);
    fault.set_place(place);
    fault.set_visible_ns(visible_ns);
  }
  v1::BaselineScore Score(const std::vector<Alarm>& alarms) {
    v1::FindingScore score;
    ScoreBaseline(truth_, kVotingBaseline, alarms, score);
    return score.baselines(0);
  }
  const std::vector<Alarm> alarms_ = {
      {.link = "leaf7:E1-spine0:E9", .from_ns = 0, .until_ns = 900, .strength = 3},
      {.link = "host0:mlx5_0-leaf0:E3", .from_ns = 900, .until_ns = 1900, .strength = 1},
      {.link = "leaf0:E1-spine0:E2", .from_ns = 900, .until_ns = 1900, .strength = 2}};
  v1::Truth truth_;
};

TEST_F(ScoreBaselineTest, TheStrongestAlarmOfTheFaultsTimeCounts) {
  Fault("gray_loss", "spine0:E2-leaf0:E1");
  const v1::BaselineScore score = Score(alarms_);
  EXPECT_EQ(score.visible(), 1u);
  EXPECT_EQ(score.detected(), 1u);
  EXPECT_EQ(score.place_right(), 1u);
  EXPECT_EQ(score.healthy(), 0u);
}

TEST_F(ScoreBaselineTest, ALinkOfTheSwitchIsRightForTheSwitchAndNotForAnotherLink) {
  Fault("corruption", "spine0");
  EXPECT_EQ(Score(alarms_).place_right(), 1u);
  truth_.clear_faults();
  Fault("gray_loss", "leaf0:E5-spine0:E7");
  EXPECT_EQ(Score(alarms_).place_right(), 0u);
  truth_.clear_faults();
  Fault("incast", "host0:mlx5_0");
  EXPECT_EQ(Score({alarms_[1]}).place_right(), 1u);
  truth_.clear_faults();
  Fault("straggler", "host0:gpu:3");
  EXPECT_EQ(Score({alarms_[1]}).place_right(), 1u);
}

TEST_F(ScoreBaselineTest, AnAlarmInAHealthyRunIsOneTooMany) {
  EXPECT_EQ(Score(alarms_).healthy_alarms(), 1u);
  EXPECT_EQ(Score({}).healthy_alarms(), 0u);
  EXPECT_EQ(Score({}).healthy(), 1u);
}

TEST_F(ScoreBaselineTest, AFaultThatNeverShowedCountsNowhere) {
  Fault("gray_loss", "leaf0:E1-spine0:E2", 0);
  const v1::BaselineScore score = Score(alarms_);
  EXPECT_EQ(score.visible() + score.detected() + score.healthy(), 0u);
}

}  // namespace
}  // namespace rocescope
