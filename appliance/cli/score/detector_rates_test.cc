// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/detector_rates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analytics/diagnosis/detectors.h"
#include "rocescope/v1/score.pb.h"

namespace rocescope {
namespace {

constexpr double kDay = 86'400;

v1::FindingScore OneRun(double seconds) {
  v1::FindingScore score;
  score.set_fabric_seconds(seconds);
  return score;
}

void AddFinding(v1::FindingScore& score, const char* detector, bool is_false) {
  score.add_judged()->set_detector(detector);
  if (is_false) score.add_false_findings()->set_detector(detector);
}

const DetectorRate& Of(const std::vector<DetectorRate>& rates, std::string_view detector) {
  return *std::ranges::find(rates, detector, &DetectorRate::detector);
}

TEST(DetectorRates, CountsTheFindingsOfEachDetector) {
  v1::FindingScore score = OneRun(kDay);
  AddFinding(score, "pause", false);
  AddFinding(score, "pause", true);
  AddFinding(score, "hashing", false);
  score.add_judged()->set_suspected(true);
  score.mutable_judged()->rbegin()->set_detector("hashing");
  const std::vector<RunFindings> runs = {{.score = &score}};
  const auto rates = DetectorRatesOf(runs);
  EXPECT_EQ(rates.size(), kDetectorCount + 1);
  EXPECT_EQ(Of(rates, "pause").findings, 2u);
  EXPECT_EQ(Of(rates, "pause").false_findings, 1u);
  EXPECT_EQ(Of(rates, "hashing").findings, 1u);
  EXPECT_EQ(Of(rates, "").findings, 3u);
  EXPECT_EQ(Of(rates, "").false_findings, 1u);
  EXPECT_LE(Of(rates, "").stated, kMostFalseAlarmsPerDay);
}

// The interval of one event begins at 0.0253 (Garwood), and that of none at 0.
TEST(DetectorRates, ARateIsExceededIfTheLowerBoundIsAboveIt) {
  v1::FindingScore score = OneRun(kDay);
  AddFinding(score, "pause", true);
  const std::vector<RunFindings> one_day = {{.score = &score}};
  const DetectorRate pause = Of(DetectorRatesOf(one_day), "pause");
  EXPECT_NEAR(pause.interval->low, 0.0253, 0.0001);
  EXPECT_TRUE(pause.IsViolated());
  EXPECT_FALSE(Of(DetectorRatesOf(one_day), "hashing").IsViolated());
  score.set_fabric_seconds(0.0254 / pause.stated * kDay);
  EXPECT_FALSE(Of(DetectorRatesOf(one_day), "pause").IsViolated());
}

TEST(DetectorRates, WithoutFabricTimeThereAreNoRates) {
  v1::FindingScore score = OneRun(0);
  AddFinding(score, "pause", true);
  const std::vector<RunFindings> runs = {{.score = &score}};
  const auto rates = DetectorRatesOf(runs);
  EXPECT_FALSE(Of(rates, "pause").measured);
  EXPECT_FALSE(Of(rates, "pause").IsViolated());
  EXPECT_EQ(RenderDetectorRates(rates), "");
}

TEST(DetectorRates, TheTableMarksARateThatIsExceeded) {
  v1::FindingScore score = OneRun(kDay);
  AddFinding(score, "pause", true);
  const std::vector<RunFindings> runs = {{.score = &score}};
  const std::string text = RenderDetectorRates(DetectorRatesOf(runs));
  EXPECT_NE(text.find("yes !"), std::string::npos) << text;
  EXPECT_NE(text.find("0.0253 to 5.57"), std::string::npos) << text;
}

}  // namespace
}  // namespace rocescope
