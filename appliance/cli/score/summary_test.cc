// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rocescope/v1/score.pb.h"

namespace rocescope {
namespace {

// A run of one hour and 120 windows.
v1::Score Scored(const char* profile, bool has_fault, bool is_detected) {
  v1::Score score;
  score.set_profile(profile);
  v1::ViewScore& view = *score.add_views();
  view.set_view("all");
  v1::FindingScore& findings = *view.mutable_findings();
  findings.set_fabric_seconds(3'600);
  findings.set_window_count(120);
  if (!has_fault) return score;
  score.add_faults("flap");
  v1::FaultScore& fault = *findings.add_faults();
  fault.set_kind("flap");
  fault.set_visible(true);
  fault.set_detected(is_detected);
  fault.set_delay_windows(is_detected ? 2 : 0);
  fault.set_delay_seconds(is_detected ? 60 : 0);
  return score;
}

const v1::FigureSummary* Find(const v1::GroupSummary& group, const std::string& name) {
  const auto at = std::ranges::find(group.figures(), name, &v1::FigureSummary::name);
  return at == group.figures().end() ? nullptr : &*at;
}

TEST(Summary, HasAGroupForEachProfile) {
  const std::vector<v1::Score> scores = {Scored("a", true, true), Scored("b", true, false),
                                         Scored("a", true, false), Scored("a", false, false)};
  v1::ScoreSummary summary;
  Summarise(scores, {}, summary);
  ASSERT_EQ(summary.groups_size(), 2);
  const v1::GroupSummary& group = summary.groups(0);
  EXPECT_EQ(group.profile(), "a");
  EXPECT_EQ(group.view(), "all");
  EXPECT_EQ(group.run_count(), 3u);
  EXPECT_EQ(group.healthy_run_count(), 1u);
  EXPECT_EQ(group.window_count(), 360);
  EXPECT_DOUBLE_EQ(group.fabric_days(), 0.125);
  const v1::FigureSummary* recall = Find(group, "detection_recall");
  ASSERT_NE(recall, nullptr);
  EXPECT_EQ(recall->value(), 0.5);
  EXPECT_EQ(recall->unit(), "ratio");
  EXPECT_EQ(recall->numerator(), 1);
  EXPECT_EQ(recall->denominator(), 2);
  EXPECT_FALSE(recall->has_goal());
  const v1::FigureSummary* delay = Find(group, "delay_seconds_median");
  ASSERT_NE(delay, nullptr);
  EXPECT_EQ(delay->value(), 60);
  const v1::FigureSummary* alarms = Find(group, "false_alarms_per_day");
  ASSERT_NE(alarms, nullptr);
  EXPECT_EQ(alarms->denominator(), 0.125);
  EXPECT_NEAR(alarms->upper_bound(), 2.996 / 0.125, 0.005);
  ASSERT_EQ(group.kinds_size(), 1);
  EXPECT_EQ(group.kinds(0).visible_count(), 2u);
  EXPECT_EQ(group.kinds(0).median_delay_seconds(), 60);
  EXPECT_FALSE(summary.groups(1).kinds(0).has_median_delay_seconds()) << "nothing was detected";
}

TEST(Summary, HasTheRatesOfTheDetectors) {
  std::vector<v1::Score> scores = {Scored("a", false, false), Scored("a", false, false)};
  v1::FindingScore& findings = *scores[0].mutable_views(0)->mutable_findings();
  findings.add_judged()->set_detector("pause");
  findings.add_false_findings()->set_detector("pause");
  v1::ScoreSummary summary;
  Summarise(scores, {}, summary);
  ASSERT_EQ(summary.groups_size(), 1);
  const auto& detectors = summary.groups(0).detectors();
  const auto pause = std::ranges::find(detectors, "pause", &v1::DetectorSummary::detector);
  ASSERT_NE(pause, detectors.end());
  EXPECT_EQ(pause->finding_count(), 1u);
  EXPECT_EQ(pause->false_finding_count(), 1u);
  EXPECT_DOUBLE_EQ(pause->false_per_day(), 12);  // in two hours
  EXPECT_NEAR(pause->low(), 0.0253 * 12, 0.001);
  EXPECT_TRUE(pause->violated());
  EXPECT_EQ(detectors.rbegin()->detector(), "");
}

TEST(Summary, HasTheCalibrationOfFindings) {
  v1::Score score = Scored("a", true, true);
  for (const char* answer : {"finding", "pair"}) {
    v1::Bin& bin = *score.mutable_views(0)->add_bins();
    bin.set_answer(answer);
    bin.set_percent(90);
    bin.set_answers(200);
    bin.set_right(100);
    bin.set_confidence(180);
  }
  v1::ScoreSummary summary;
  Summarise(std::vector{score}, {}, summary);
  ASSERT_EQ(summary.groups(0).calibration_size(), 2) << "all findings, and their only bin";
  const v1::CalibrationSummary& all = summary.groups(0).calibration(0);
  EXPECT_FALSE(all.has_percent());
  EXPECT_EQ(all.finding_count(), 200u);
  EXPECT_DOUBLE_EQ(all.stated(), 0.9);
  EXPECT_DOUBLE_EQ(all.right(), 0.5);
  EXPECT_TRUE(all.judged());
  EXPECT_FALSE(all.met());
  EXPECT_EQ(summary.groups(0).calibration(1).percent(), 90u);
}

}  // namespace
}  // namespace rocescope
