// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/score_findings.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/score.pb.h"
#include "rocescope/v1/truth.pb.h"

namespace rocescope {
namespace {

constexpr int64_t kWindow = 1000;
constexpr const char* kLink = "leaf0:E1-spine0:E2";

// A run from 0 to 20,000 ns: connection i goes from 10.0.0.1 qp 10+i to 10.0.0.2 qp 20+i.
class ScoreFindingsTest : public testing::Test {
 protected:
  ScoreFindingsTest() {
    truth_.set_end_ns(20'000);
    for (const uint32_t i : {0u, 1u, 2u}) {
      v1::TruthConnection& connection = *truth_.add_connections();
      connection.set_job("train");
      connection.mutable_first()->set_address("10.0.0.1");
      connection.mutable_first()->set_qpn(10 + i);
      connection.mutable_second()->set_address("10.0.0.2");
      connection.mutable_second()->set_qpn(20 + i);
    }
  }
  v1::TruthFault& Fault(const std::string& kind, const std::string& place,
                        int64_t visible = 10'000) {
    v1::TruthFault& fault = *truth_.add_faults();
    fault.set_kind(kind);
    fault.set_place(place);
    fault.set_start_ns(9'000);
    fault.set_end_ns(15'000);
    fault.set_visible_ns(visible);
    return fault;
  }
  v1::Finding& Finding(const std::string& kind, const std::string& place, double confidence = 0.9) {
    v1::Finding& finding = *report_.add_findings();
    finding.set_kind(kind);
    finding.set_place(place);
    finding.set_confidence(confidence);
    *finding.mutable_start_time() = TimestampMessage(11'000);
    *finding.mutable_end_time() = TimestampMessage(14'000);
    *finding.mutable_detection_time() = TimestampMessage(12'000);
    return finding;
  }
  static void AddCulprit(v1::Finding& finding, const char* from, const char* to, uint32_t qpn) {
    v1::Culprit& culprit = *finding.add_culprits();
    culprit.set_source(from);
    culprit.set_destination(to);
    culprit.set_destination_qpn(qpn);
  }
  v1::FindingScore Score() {
    v1::FindingScore score;
    stated_ = ScoreFindings(truth_, report_, reported_, kWindow, score);
    return score;
  }

  v1::Truth truth_;
  v1::ReplayReport report_;
  std::vector<v1::Finding> reported_;  // during the run
  std::vector<StatedFinding> stated_;
};

TEST_F(ScoreFindingsTest, TheRightFindingIsRightInAll) {
  Fault("gray_loss", kLink);
  Finding("gray_loss", "spine0:E2-leaf0:E1");
  const v1::FindingScore score = Score();
  const v1::FaultScore& fault = score.faults(0);
  EXPECT_TRUE(fault.visible() && fault.detected() && fault.kind_right() && fault.place_right());
  EXPECT_EQ(fault.place_rank(), 1u);
  EXPECT_EQ(fault.delay_windows(), 2);  // from 10,000 to 12,000 ns
  EXPECT_EQ(score.false_findings_size(), 0);
  ASSERT_EQ(stated_.size(), 1u);
  EXPECT_TRUE(stated_[0].right);
}

TEST_F(ScoreFindingsTest, AFaultIsDetectedByKindOrPlaceAlone) {
  Fault("gray_loss", kLink);
  Finding("bit_errors", kLink);
  v1::FaultScore fault = Score().faults(0);
  EXPECT_TRUE(fault.detected() && fault.place_right());
  EXPECT_FALSE(fault.kind_right());
  EXPECT_EQ(fault.stated_kind(), "bit_errors");
  report_.mutable_findings(0)->set_kind("gray_loss");
  report_.mutable_findings(0)->set_place("leaf7:E1-spine0:E9");
  fault = Score().faults(0);
  EXPECT_TRUE(fault.detected() && fault.kind_right());
  EXPECT_FALSE(fault.place_right());
  EXPECT_FALSE(stated_[0].right);
}

TEST_F(ScoreFindingsTest, AnUnmatchedFindingIsFalseAndReportedInstead) {
  Fault("gray_loss", kLink);
  Finding("incast", "host0:mlx5_0", 0.6);
  Finding("flap", "leaf7:E1-spine0:E9", 0.7);
  const v1::FindingScore score = Score();
  EXPECT_FALSE(score.faults(0).detected());
  EXPECT_EQ(score.faults(0).stated_kind(), "flap");
  EXPECT_EQ(score.false_findings_size(), 2);
}

TEST_F(ScoreFindingsTest, FaultsAndFalseFindingsNameTheDetector) {
  Fault("gray_loss", kLink);
  Finding("gray_loss", kLink).set_detector("link_loss");
  Finding("incast", "host0:mlx5_0").set_detector("overload");
  const v1::FindingScore score = Score();
  EXPECT_EQ(score.faults(0).detector(), "link_loss");
  ASSERT_EQ(score.false_findings_size(), 1);
  EXPECT_EQ(score.false_findings(0).detector(), "overload");
}

TEST_F(ScoreFindingsTest, SuspicionsAreJudgedToo) {
  Fault("gray_loss", kLink);
  report_.mutable_diagnosis_coverage()->set_readings(v1::DiagnosisCoverage::READINGS_EACH_WINDOW);
  Finding("gray_loss", kLink, 0.3).set_uncalibrated_confidence(0.9);
  Finding("flap", "leaf7:E1-spine0:E9", 0.8).set_detector("link_state");
  const v1::FindingScore score = Score();
  ASSERT_EQ(score.judged_size(), 2);
  const v1::JudgedFinding& suspicion =
      score.judged(0).suspected() ? score.judged(0) : score.judged(1);
  const v1::JudgedFinding& wrong = score.judged(0).suspected() ? score.judged(1) : score.judged(0);
  EXPECT_TRUE(suspicion.suspected() && suspicion.right());
  EXPECT_EQ(suspicion.uncalibrated_confidence(), 0.9);
  EXPECT_EQ(suspicion.readings(), "each_window");
  EXPECT_FALSE(wrong.suspected() || wrong.right());
  EXPECT_EQ(wrong.detector(), "link_state");
}

TEST_F(ScoreFindingsTest, InAHealthyRunEveryFindingIsFalse) {
  Finding("flap", kLink);
  EXPECT_EQ(Score().false_findings_size(), 1);
}

TEST_F(ScoreFindingsTest, AFindingThatEndsBeforeTheFaultIsFalse) {
  Fault("gray_loss", kLink);
  *Finding("gray_loss", kLink).mutable_start_time() = TimestampMessage(1'000);
  *report_.mutable_findings(0)->mutable_end_time() = TimestampMessage(8'000);
  const v1::FindingScore score = Score();
  EXPECT_FALSE(score.faults(0).detected());
  EXPECT_EQ(score.false_findings_size(), 1);
}

// The fault starts at 9,000 ns; the start of its window minus one reading is 7,000.
TEST_F(ScoreFindingsTest, AnAlarmFromLongBeforeTheFaultIsFalseAndDetectsNothing) {
  Fault("gray_loss", kLink);
  v1::Finding& finding = Finding("gray_loss", kLink);
  finding.clear_end_time();  // still present
  *finding.mutable_start_time() = TimestampMessage(7'000);
  EXPECT_TRUE(Score().faults(0).detected());
  *finding.mutable_start_time() = TimestampMessage(6'999);
  const v1::FindingScore score = Score();
  EXPECT_FALSE(score.faults(0).detected());
  EXPECT_EQ(score.faults(0).stated_kind(), "gray_loss") << "it was there, and is no answer";
  EXPECT_EQ(score.false_findings_size(), 1);
  ASSERT_EQ(stated_.size(), 1u);
  EXPECT_FALSE(stated_[0].right);
}

TEST_F(ScoreFindingsTest, AVerdictFromBeforeTheFaultIsFalse) {
  Fault("gray_loss", kLink);
  v1::Finding& finding = Finding("gray_loss", kLink);
  *finding.mutable_start_time() = TimestampMessage(8'000);
  *finding.mutable_detection_time() = TimestampMessage(9'000);
  EXPECT_TRUE(Score().faults(0).detected());
  *finding.mutable_detection_time() = TimestampMessage(8'999);
  EXPECT_FALSE(Score().faults(0).detected());
  EXPECT_EQ(Score().false_findings_size(), 1);
}

TEST_F(ScoreFindingsTest, AnAlarmFromBeforeAFaultThatNeverShowedIsFalseToo) {
  Fault("gray_loss", kLink, 0);
  *Finding("gray_loss", kLink).mutable_start_time() = TimestampMessage(1'000);
  EXPECT_EQ(Score().false_findings_size(), 1);
}

TEST_F(ScoreFindingsTest, AFaultThatWasThereFromTheBeginningMayBeFoundFromThen) {
  Fault("polarisation", "leaf0", 500).set_start_ns(0);
  v1::Finding& finding = Finding("polarisation", "leaf0");
  finding.clear_start_time();
  finding.clear_end_time();
  EXPECT_TRUE(Score().faults(0).detected());
  EXPECT_EQ(Score().faults(0).delay_windows(), 11.5);  // from 500 to 12,000 ns
}

TEST_F(ScoreFindingsTest, OfTwoFaultsOneAfterTheOtherAnAlarmIsOfTheFirst) {
  Fault("gray_loss", kLink);
  Fault("gray_loss", kLink, 3'000).set_start_ns(3'000);
  v1::Finding& finding = Finding("gray_loss", kLink);
  *finding.mutable_start_time() = TimestampMessage(3'000);
  finding.clear_end_time();
  const v1::FindingScore score = Score();
  EXPECT_FALSE(score.faults(0).detected());
  EXPECT_TRUE(score.faults(1).detected());
}

TEST_F(ScoreFindingsTest, AftereffectsBelongToTheFault) {
  Fault("gray_loss", kLink);
  *Finding("gray_loss", kLink).mutable_start_time() = TimestampMessage(17'000);
  report_.mutable_findings(0)->clear_end_time();  // still present
  EXPECT_TRUE(Score().faults(0).detected());
}

TEST_F(ScoreFindingsTest, FindingsAtAFaultThatNeverShowedAreNeither) {
  Fault("gray_loss", kLink, 0);
  Finding("gray_loss", kLink);
  Finding("bit_errors", kLink);
  v1::Suspect& rival = *Finding("link_down", "leaf3").add_alternatives();
  rival.set_kind("gray_loss");
  rival.set_place(kLink);
  const v1::FindingScore score = Score();
  EXPECT_FALSE(score.faults(0).visible());
  EXPECT_FALSE(score.faults(0).detected());
  EXPECT_EQ(score.false_findings_size(), 0);
  EXPECT_TRUE(stated_.empty());
}

TEST_F(ScoreFindingsTest, FindingsElsewhereThanAFaultThatNeverShowedAreFalse) {
  Fault("gray_loss", kLink, 0);
  Finding("gray_loss", "leaf7:E1-spine0:E9");
  Finding("flap", "leaf7:E1-spine0:E9");
  const v1::FindingScore score = Score();
  EXPECT_EQ(score.false_findings_size(), 2);
  ASSERT_EQ(stated_.size(), 2u) << "they count in the calibration";
  EXPECT_FALSE(stated_[0].right || stated_[1].right);
}

TEST_F(ScoreFindingsTest, TheBestMatchCountsInsteadOfTheMostConfidentFinding) {
  Fault("gray_loss", kLink);
  Finding("gray_loss", "leaf7:E1-spine0:E9", 0.99);  // a second episode that does not exist
  Finding("gray_loss", kLink, 0.5);
  Finding("bit_errors", kLink, 0.9);
  const v1::FindingScore score = Score();
  EXPECT_TRUE(score.faults(0).kind_right() && score.faults(0).place_right());
  EXPECT_EQ(score.further_count(), 1u);
  ASSERT_EQ(score.false_findings_size(), 1);
  EXPECT_EQ(score.false_findings(0).place(), "leaf7:E1-spine0:E9");
}

TEST_F(ScoreFindingsTest, OneFindingIsOfOneFault) {
  Fault("gray_loss", kLink);
  Fault("gray_loss", "leaf1:E1-spine0:E3");
  Finding("gray_loss", "leaf1:E1-spine0:E3");
  const v1::FindingScore score = Score();
  EXPECT_FALSE(score.faults(0).detected());
  EXPECT_TRUE(score.faults(1).detected());
}

TEST_F(ScoreFindingsTest, ARivalsPlaceHasItsRank) {
  Fault("gray_loss", kLink);
  v1::Finding& finding = Finding("gray_loss", "leaf7:E1-spine0:E9");
  for (const char* place : {"leaf7:E1-spine0:E9", "leaf7", kLink}) {
    finding.add_alternatives()->set_place(place);
  }
  const v1::FaultScore fault = Score().faults(0);
  EXPECT_FALSE(fault.place_right());
  EXPECT_EQ(fault.place_rank(), 3u);  // its own, the switch, the link
}

TEST_F(ScoreFindingsTest, AFaultIsDetectedIfARivalIsRightInBoth) {
  Fault("nic_crash", "host2:mlx5_0");
  v1::Suspect& rival = *Finding("link_down", "leaf0:E3-host2:mlx5_0").add_alternatives();
  rival.set_kind("nic_crash");
  rival.set_place("host2:mlx5_1");
  EXPECT_FALSE(Score().faults(0).detected()) << "the other NIC";
  rival.set_place("host2:mlx5_0");
  const v1::FindingScore score = Score();
  EXPECT_TRUE(score.faults(0).detected());
  EXPECT_FALSE(score.faults(0).kind_right()) << "what it says first counts";
  EXPECT_FALSE(score.faults(0).place_right());
  EXPECT_EQ(score.faults(0).place_rank(), 2u);
  EXPECT_EQ(score.false_findings_size(), 0);
}

TEST_F(ScoreFindingsTest, WithoutADetectionTimeTheEndOfTheRunCounts) {
  Fault("gray_loss", kLink);
  Finding("gray_loss", kLink).clear_detection_time();
  EXPECT_EQ(Score().faults(0).delay_windows(), 10);
}

// Two faults of one link, in different directions: the finding without a direction can be of both,
// the other one only of the first. Taking the most confident pair first would leave one fault out.
TEST_F(ScoreFindingsTest, TwoFaultsAtOnePlaceShareTheirFindingsOptimally) {
  Fault("gray_loss", kLink).set_direction("leaf0:E1");
  Fault("gray_loss", kLink).set_direction("spine0:E2");
  Finding("gray_loss", kLink, 0.95);
  Finding("gray_loss", kLink, 0.6).set_direction("leaf0:E1");
  const v1::FindingScore score = Score();
  for (const v1::FaultScore& fault : score.faults()) {
    EXPECT_TRUE(fault.kind_right() && fault.place_right());
  }
  EXPECT_EQ(score.further_count(), 0u);
  EXPECT_EQ(score.false_findings_size(), 0);
}

TEST_F(ScoreFindingsTest, TwoKindsAtOnePlaceEachNeedTheirFinding) {
  Fault("flap", kLink);
  Fault("bit_errors", kLink);
  Finding("bit_errors", kLink);
  v1::FindingScore score = Score();
  EXPECT_FALSE(score.faults(0).detected());
  EXPECT_TRUE(score.faults(1).detected());
  Finding("link_down", kLink);  // the right place
  score = Score();
  EXPECT_TRUE(score.faults(0).detected());
  EXPECT_FALSE(score.faults(0).kind_right());
  EXPECT_TRUE(score.faults(1).kind_right());
}

// A right finding is not given away so that more faults have a finding.
TEST_F(ScoreFindingsTest, AMatchInBothWinsOverTwoPartialMatches) {
  Fault("flap", kLink);
  Fault("flap", "leaf1:E1-spine0:E3");
  Finding("flap", kLink);
  Finding("link_down", kLink);
  const v1::FindingScore score = Score();
  EXPECT_TRUE(score.faults(0).kind_right() && score.faults(0).place_right());
  EXPECT_FALSE(score.faults(1).detected());
  EXPECT_EQ(score.further_count(), 1u);
}

TEST_F(ScoreFindingsTest, FourConcurrentFaultsHaveTheirFindings) {
  const std::pair<const char*, const char*> faults[] = {{"gray_loss", kLink},
                                                        {"switch_crash", "leaf3"},
                                                        {"straggler", "host1:gpu:2"},
                                                        {"gray_loss", "leaf1:E1-spine0:E3"}};
  for (const auto& [kind, place] : faults) Fault(kind, place);
  for (const auto& [kind, place] : {faults[3], faults[1], faults[2]}) Finding(kind, place);
  Finding("incast", "host9:mlx5_0");
  const v1::FindingScore score = Score();
  ASSERT_EQ(score.faults_size(), 4);
  EXPECT_FALSE(score.faults(0).detected());
  for (const int i : {1, 2, 3}) {
    EXPECT_TRUE(score.faults(i).kind_right() && score.faults(i).place_right()) << i;
  }
  ASSERT_EQ(score.false_findings_size(), 1);
  EXPECT_EQ(score.false_findings(0).kind(), "incast");
}

// A PFC storm makes receivers slow anywhere: a slow receiver elsewhere is its effect, and does not
// detect the slow receiver that is a fault.
TEST_F(ScoreFindingsTest, AnEffectOfAnotherFaultDetectsNothingByItsKind) {
  Fault("pfc_storm", "host1:mlx5_0");
  Fault("slow_receiver", "host2:mlx5_0");
  Finding("pfc_storm", "host1:mlx5_0");
  Finding("slow_receiver", "host3:mlx5_0");
  v1::FindingScore score = Score();
  EXPECT_TRUE(score.faults(0).detected());
  EXPECT_FALSE(score.faults(1).detected());
  ASSERT_EQ(score.false_findings_size(), 1);
  EXPECT_EQ(score.false_findings(0).cause_kind(), "pfc_storm");
  EXPECT_EQ(score.false_findings(0).cause_place(), "host1:mlx5_0");
  report_.mutable_findings(1)->set_place("host2:mlx5_0");
  score = Score();
  EXPECT_TRUE(score.faults(1).kind_right() && score.faults(1).place_right());
  EXPECT_EQ(score.false_findings_size(), 0);
}

TEST_F(ScoreFindingsTest, TheFirstOfSeveralRightFindingsIsTheDetection) {
  Fault("flap", kLink);
  Finding("flap", kLink, 0.99);
  Finding("flap", kLink, 0.9);  // the first episode
  *report_.mutable_findings(1)->mutable_detection_time() = TimestampMessage(10'500);
  Finding("link_down", kLink, 0.9);  // even earlier, but less right
  *report_.mutable_findings(2)->mutable_detection_time() = TimestampMessage(10'100);
  EXPECT_EQ(Score().faults(0).delay_windows(), 0.5);
}

// The report states 12,000 ns, because the readings of that time sufficed. They arrived later.
TEST_F(ScoreFindingsTest, TheDelayEndsWhenAnAnalysisReportsTheFault) {
  Fault("gray_loss", kLink);
  Finding("gray_loss", kLink);
  const auto report = [&](const char* kind, const char* place, int64_t time) -> v1::Finding& {
    v1::Finding& finding = reported_.emplace_back(report_.findings(0));
    finding.set_kind(kind);
    finding.set_place(place);
    finding.clear_end_time();
    *finding.mutable_detection_time() = TimestampMessage(time);
    return finding;
  };
  report("gray_loss", kLink, 8'000);  // a false alarm from before the fault
  report("gray_loss", "leaf7:E1-spine0:E9", 12'000);
  report("bit_errors", kLink, 13'000);  // less right than the finding that counts
  report("gray_loss", kLink, 13'500).set_confidence(0.49);
  report("gray_loss", kLink, 14'000);
  report("gray_loss", kLink, 15'000);
  EXPECT_EQ(Score().faults(0).delay_windows(), 4);  // from 10,000 to 14,000 ns
  reported_.resize(4);
  report("gray_loss", kLink, 23'000);  // its readings arrived after the end of the run
  EXPECT_EQ(Score().faults(0).delay_windows(), 13);
  report_.mutable_findings(0)->set_kind("bit_errors");
  EXPECT_EQ(Score().faults(0).delay_windows(), 3) << "no finding was more right";
}

TEST_F(ScoreFindingsTest, AnEarlierFindingOfAnotherFaultEndsNoDelay) {
  Fault("gray_loss", kLink);
  Fault("bit_errors", kLink);
  Finding("gray_loss", kLink);
  Finding("link_down", kLink);  // assigned to the bit errors, by its place
  for (const auto& [number, time] : {std::pair(0, 11'000), std::pair(1, 13'000)}) {
    *reported_.emplace_back(report_.findings(number)).mutable_detection_time() =
        TimestampMessage(int64_t{time});
  }
  const v1::FindingScore score = Score();
  EXPECT_EQ(score.faults(0).delay_windows(), 1);
  EXPECT_EQ(score.faults(1).delay_windows(), 3);
}

TEST_F(ScoreFindingsTest, SuspicionsAreOnlyCounted) {
  Fault("gray_loss", kLink);
  Finding("gray_loss", kLink, 0.49);
  Finding("flap", "leaf7:E1-spine0:E9", 0.1);
  const v1::FindingScore score = Score();
  EXPECT_FALSE(score.faults(0).detected());
  EXPECT_EQ(score.faults(0).stated_kind(), "");
  EXPECT_EQ(score.false_findings_size(), 0);
  EXPECT_EQ(score.suspicions().stated(), 2u);
  EXPECT_EQ(score.suspicions().right(), 1u);
  EXPECT_TRUE(stated_.empty());
  report_.mutable_findings(0)->set_confidence(0.5);
  EXPECT_TRUE(Score().faults(0).detected());
}

// A window of 1,000 ns stands for a polling period of 30 s.
TEST_F(ScoreFindingsTest, TimesAreInWindowsAndInFabricTime) {
  Fault("gray_loss", kLink);
  Finding("gray_loss", kLink);
  v1::FindingScore score = Score();
  EXPECT_EQ(score.window_count(), 20);
  EXPECT_EQ(score.fabric_seconds(), 0);
  EXPECT_EQ(score.faults(0).delay_seconds(), 0);
  truth_.mutable_profile()->set_scale(30 / 1e-6);
  score = Score();
  EXPECT_NEAR(score.fabric_seconds(), 600, 1e-6);
  EXPECT_NEAR(score.faults(0).delay_seconds(), 60, 1e-6);
  EXPECT_EQ(score.faults(0).delay_windows(), 2);
}

// The fault starts at 9,000 ns. With a profile, a window of 1,000 ns and the clock error of 30 ns
// are added.
TEST_F(ScoreFindingsTest, ReadingsOfAProfileMayBeAWindowEarlier) {
  Fault("gray_loss", kLink);
  v1::Finding& finding = Finding("gray_loss", kLink);
  *finding.mutable_start_time() = TimestampMessage(7'000);
  *finding.mutable_detection_time() = TimestampMessage(7'970);
  EXPECT_FALSE(Score().faults(0).detected());
  truth_.mutable_profile()->set_scale(30 / 1e-6);
  truth_.mutable_profile()->add_pollers()->set_clock_offset_ns(-30);
  EXPECT_TRUE(Score().faults(0).detected());
  EXPECT_EQ(Score().faults(0).delay_windows(), 0);
  *finding.mutable_detection_time() = TimestampMessage(7'969);
  EXPECT_FALSE(Score().faults(0).detected());
  *finding.mutable_detection_time() = TimestampMessage(7'970);
  *finding.mutable_start_time() = TimestampMessage(5'970);
  EXPECT_TRUE(Score().faults(0).detected());
  *finding.mutable_start_time() = TimestampMessage(5'969);
  EXPECT_FALSE(Score().faults(0).detected());
}

TEST_F(ScoreFindingsTest, TheDetectionLimitIsKept) {
  v1::TruthFault& fault = Fault("gray_loss", kLink);
  fault.set_affected_frames(12);
  fault.set_detection_limit_frames(40);
  const v1::FaultScore score = Score().faults(0);
  EXPECT_TRUE(score.visible());
  EXPECT_EQ(score.affected_frames(), 12u);
  EXPECT_EQ(score.detection_limit_frames(), 40);
}

// kWindow is 1,000 ns. Added latency needs two windows, and an incast also four before it.
TEST_F(ScoreFindingsTest, FaultsMayBeShorterThanTheirDetectorsNeed) {
  v1::TruthFault& latency = Fault("added_latency", kLink);
  v1::TruthFault& incast = Fault("incast", "host0:mlx5_0");
  latency.set_end_ns(12'000);
  incast.set_end_ns(12'000);
  EXPECT_FALSE(Score().faults(0).too_short());
  EXPECT_FALSE(Score().faults(1).too_short());
  latency.set_end_ns(11'999);
  EXPECT_TRUE(Score().faults(0).too_short());
  truth_.set_start_ns(6'001);
  EXPECT_TRUE(Score().faults(1).too_short());
  latency.set_end_ns(12'000);
  *report_.mutable_diagnosis_coverage()->mutable_polling_interval() = DurationMessage(1'001);
  EXPECT_TRUE(Score().faults(0).too_short()) << "two polling periods";
}

// Pauses in a cycle show in one window, or in two if counters are not read at window ends.
TEST_F(ScoreFindingsTest, InterpolatedCountersNeedMoreWindows) {
  Fault("pfc_deadlock", kLink).set_end_ns(11'000);
  v1::DiagnosisCoverage& coverage = *report_.mutable_diagnosis_coverage();
  coverage.set_readings(v1::DiagnosisCoverage::READINGS_SIMULTANEOUS);
  EXPECT_FALSE(Score().faults(0).too_short());
  coverage.set_readings(v1::DiagnosisCoverage::READINGS_EACH_WINDOW);
  EXPECT_TRUE(Score().faults(0).too_short());
}

TEST_F(ScoreFindingsTest, TheReportMayStateThatAKindIsUndetectable) {
  Fault("mtu_mismatch", "leaf0");
  EXPECT_FALSE(Score().faults(0).undetectable());
  report_.mutable_diagnosis_coverage()->add_undetectable_kinds("mtu_mismatch");
  EXPECT_TRUE(Score().faults(0).undetectable());
}

TEST_F(ScoreFindingsTest, AFalseFindingWithABenignEventIsFalse) {
  v1::TruthBenign& event = *truth_.add_benign();
  event.set_kind("frame_error");
  event.set_place(kLink);
  event.set_start_ns(11'000);
  event.set_end_ns(11'000);
  Finding("bit_errors", kLink);
  const v1::FindingScore score = Score();
  ASSERT_EQ(score.false_findings_size(), 1);
  EXPECT_EQ(score.false_findings(0).benign_kind(), "frame_error");
  EXPECT_EQ(score.false_findings(0).benign_place(), kLink);
}

TEST_F(ScoreFindingsTest, UnknownVictimsAreNotZero) {
  v1::TruthFault& fault = Fault("gray_loss", kLink);
  fault.set_affected_jobs_unknown(true);
  fault.add_exposed_jobs("train");
  Finding("gray_loss", kLink).add_affected_job_ids("nccl-1");
  EXPECT_FALSE(Score().faults(0).has_affected_jobs());
  truth_.mutable_faults(0)->set_affected_jobs_unknown(false);
  const v1::FaultScore known = Score().faults(0);
  ASSERT_TRUE(known.has_affected_jobs());
  EXPECT_EQ(known.affected_jobs().stated(), 1u);
  EXPECT_EQ(known.affected_jobs().right(), 0u) << "the job was exposed, and not affected";
}

TEST_F(ScoreFindingsTest, CulpritsAreFlowsInEitherDirection) {
  v1::TruthFault& fault = Fault("incast", "host2:mlx5_0");
  for (const uint32_t connection : {0u, 1u}) fault.add_culprits(connection);
  v1::Finding& finding = Finding("incast", "host2:mlx5_0");
  AddCulprit(finding, "10.0.0.1", "10.0.0.2", 20);
  AddCulprit(finding, "10.0.0.2", "10.0.0.1", 10);  // the same one, in the reverse direction
  AddCulprit(finding, "10.0.0.1", "10.0.0.2", 22);  // no culprit
  AddCulprit(finding, "10.9.9.9", "10.0.0.2", 22);  // not a flow
  const v1::Hits hits = Score().faults(0).culprits();
  EXPECT_EQ(hits.stated(), 3u);
  EXPECT_EQ(hits.right(), 1u);
  EXPECT_EQ(hits.of(), 2u);
  EXPECT_EQ(hits.found(), 1u);
}

TEST_F(ScoreFindingsTest, CulpritsOfAMissedFaultAreMissed) {
  Fault("incast", "host2:mlx5_0").add_culprits(0);
  const v1::Hits hits = Score().faults(0).culprits();
  EXPECT_EQ(hits.stated(), 0u);
  EXPECT_EQ(hits.of(), 1u);
}

TEST_F(ScoreFindingsTest, VictimsAreTheTruthsJobsByTheirConnections) {
  Fault("gray_loss", kLink).add_affected_jobs("train");
  v1::Connection& connection = *report_.add_connections();
  connection.mutable_a()->set_address("10.0.0.1");
  connection.mutable_a()->set_qpn(10);
  connection.mutable_a()->set_job_id("nccl-1");
  connection.mutable_b()->clear_qpn();
  v1::Finding& finding = Finding("gray_loss", kLink);
  finding.add_affected_job_ids("nccl-1");
  finding.add_affected_job_ids("nccl-2");  // without a job
  const v1::Hits hits = Score().faults(0).affected_jobs();
  EXPECT_EQ(hits.stated(), 2u);
  EXPECT_EQ(hits.right(), 1u);
  EXPECT_EQ(hits.of(), 1u);
}

TEST_F(ScoreFindingsTest, TrafficOfNoJobIsNeitherAVictimNorAnError) {
  Fault("gray_loss", kLink).add_affected_jobs("train");
  for (v1::TruthConnection& connection : *truth_.mutable_connections()) connection.clear_job();
  v1::Connection& connection = *report_.add_connections();
  connection.mutable_a()->set_address("10.0.0.1");
  connection.mutable_a()->set_qpn(10);
  connection.mutable_a()->set_job_id("ib_write_bw");
  Finding("gray_loss", kLink).add_affected_job_ids("ib_write_bw");
  EXPECT_EQ(Score().faults(0).affected_jobs().stated(), 0u);
}

TEST_F(ScoreFindingsTest, APfcVerdictIsKindAndPlaceTogether) {
  v1::TruthFault& fault = Fault("pfc_deadlock", kLink);
  for (const char* port : {"leaf0:E1", "spine0:E5"}) fault.add_loop_ports(port);
  Finding("pfc_deadlock", kLink);
  Finding("pfc_deadlock", "leaf1:E1-spine0:E5");  // the other link of the loop
  Finding("pfc_storm", "host0:mlx5_0");
  Finding("flap", kLink);  // not about PFC
  const v1::Hits hits = Score().pfc_verdicts();
  EXPECT_EQ(hits.stated(), 3u);
  EXPECT_EQ(hits.right(), 2u);
  EXPECT_EQ(hits.of(), 1u);
  EXPECT_EQ(hits.found(), 1u);
}

TEST_F(ScoreFindingsTest, AHotspotIsRightWhereAQueueFilledUpMeanwhile) {
  const auto queue = [&](const char* port, int64_t start, int64_t end) {
    v1::TruthQueue& congested = *truth_.add_congested();
    congested.set_port(port);
    congested.set_start_ns(start);
    congested.set_end_ns(end);
  };
  queue("leaf0:E1", 1'000, 1'500);
  queue("leaf0:E1", 5'000, 5'500);
  queue("leaf0:E2", 1'000, 1'500);
  const auto hotspot = [&](const char* port, int64_t from, int64_t until) {
    v1::Hotspot& spot = *report_.add_hotspots();
    spot.set_port(port);
    *spot.mutable_start_time() = TimestampMessage(from);
    *spot.mutable_end_time() = TimestampMessage(until);
  };
  hotspot("leaf0:E1", 1'000, 2'000);
  hotspot("leaf0:E1", 3'000, 4'000);  // in between
  const v1::Hits hits = Score().hotspots();
  EXPECT_EQ(hits.stated(), 2u);
  EXPECT_EQ(hits.right(), 1u);
  EXPECT_EQ(hits.of(), 3u);
  EXPECT_EQ(hits.found(), 1u);
}

TEST_F(ScoreFindingsTest, HotspotsAreNotScoredIfTheTruthDoesNotKnowTheQueues) {
  truth_.set_congested_unknown(true);
  report_.add_hotspots()->set_port("leaf0:E1");
  EXPECT_EQ(Score().hotspots().stated(), 0u);
}

TEST_F(ScoreFindingsTest, OddWindowsAreStableIfBothHalvesOfThePastFindThem) {
  report_.mutable_anomalies()->mutable_statistics()->set_stable_count(9);
  report_.mutable_anomalies()->mutable_statistics()->set_unstable_count(3);
  const v1::Hits hits = Score().anomaly_windows();
  EXPECT_EQ(hits.stated(), 12u);
  EXPECT_EQ(hits.right(), 9u);
}

}  // namespace
}  // namespace rocescope
