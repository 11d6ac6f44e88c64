// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "appliance/cli/score/score_text.h"
#include "rocescope/v1/score.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// A run with this many answers of confidence 0.9, of which this many are right.
v1::Score Scored(uint64_t answers, uint64_t right, const char* answer = "rank") {
  v1::Score score;
  v1::ViewScore& view = *score.add_views();
  view.set_view("leaves");
  v1::Bin& bin = *view.add_bins();
  bin.set_answer(answer);
  bin.set_percent(90);
  bin.set_answers(answers);
  bin.set_right(right);
  bin.set_confidence(0.9 * static_cast<double>(answers));
  return score;
}

CalibrationBin Only(const std::vector<v1::Score>& scores) {
  const std::vector<CalibrationBin> bins = Calibrate(scores);
  return bins.size() == 1 ? bins[0] : CalibrationBin{};
}

TEST(Calibration, IntervalOfIdenticalRunsIsAPoint) {
  const CalibrationBin bin = Only(std::vector<v1::Score>(10, Scored(100, 91)));
  EXPECT_EQ(bin.answers, 1000u);
  EXPECT_NEAR(bin.stated, 0.9, 1e-12);
  EXPECT_NEAR(bin.right, 0.91, 1e-12);
  EXPECT_NEAR(bin.low, -0.01, 1e-12);
  EXPECT_NEAR(bin.high, -0.01, 1e-12);
  EXPECT_EQ(bin.state, BinState::kHolds);
}

// With two runs, one of four resamples is twice the first, one is twice the second: both are within
// the middle 95 %.
TEST(Calibration, IntervalOfTwoRunsSpansBoth) {
  const CalibrationBin bin = Only({Scored(500, 500), Scored(500, 400)});
  EXPECT_NEAR(bin.right, 0.9, 1e-12);
  EXPECT_NEAR(bin.low, -0.1, 1e-12);
  EXPECT_NEAR(bin.high, 0.1, 1e-12);
  EXPECT_EQ(bin.state, BinState::kUnsure);
}

// The mean of 400 runs, a tenth of them all wrong: the standard error is sqrt(0.09 / 400) = 0.015,
// and 95 % of a normal distribution are within 1.96 of it.
TEST(Calibration, IntervalOfManyRunsMatchesTheStandardError) {
  std::vector<v1::Score> runs;
  for (int i = 0; i < 400; ++i) runs.push_back(Scored(10, i % 10 == 0 ? 0 : 10));
  const CalibrationBin bin = Only(runs);
  EXPECT_NEAR(bin.low, -1.96 * 0.015, 0.004);
  EXPECT_NEAR(bin.high, 1.96 * 0.015, 0.004);
}

TEST(Calibration, IsDeterministic) {
  const std::vector<v1::Score> runs = {Scored(300, 280), Scored(300, 250), Scored(300, 300)};
  EXPECT_EQ(Only(runs).low, Only(runs).low);
  EXPECT_EQ(Only(runs).high, Only(runs).high);
}

TEST(Calibration, MissesMoreThanThreePointsOff) {
  EXPECT_EQ(Only({Scored(1000, 930)}).state, BinState::kHolds);
  EXPECT_EQ(Only({Scored(1000, 931)}).state, BinState::kMisses);
  EXPECT_EQ(Only({Scored(1000, 869)}).state, BinState::kMisses);
}

TEST(Calibration, DoesNotJudgeFewAnswers) {
  EXPECT_EQ(Only({Scored(499, 0)}).state, BinState::kFew);
  EXPECT_EQ(Only({Scored(500, 0)}).state, BinState::kMisses);
}

TEST(Calibration, JudgesAHundredFindings) {
  EXPECT_EQ(Calibrate(std::vector{Scored(99, 0, "finding")}).back().state, BinState::kFew);
  EXPECT_EQ(Calibrate(std::vector{Scored(100, 0, "finding")}).back().state, BinState::kMisses);
  EXPECT_EQ(Calibrate(std::vector{Scored(100, 90, "finding")}).back().state, BinState::kHolds);
}

// 60 findings of 0.9 and 60 of 0.6: each bin has too few, all of them together state 0.75.
TEST(Calibration, HasARowOfAllFindings) {
  v1::Score run = Scored(60, 54, "finding");
  v1::Bin& other = *run.mutable_views(0)->add_bins();
  other.set_answer("finding");
  other.set_percent(60);
  other.set_answers(60);
  other.set_right(48);
  other.set_confidence(36);
  const std::vector<CalibrationBin> bins = Calibrate(std::vector{run});
  ASSERT_THAT(bins, SizeIs(3));
  EXPECT_FALSE(bins[0].percent);
  EXPECT_EQ(bins[0].answers, 120u);
  EXPECT_NEAR(bins[0].stated, 0.75, 1e-12);
  EXPECT_NEAR(bins[0].right, 0.85, 1e-12);
  EXPECT_NEAR(bins[0].low, -0.1, 1e-12);
  EXPECT_EQ(bins[0].state, BinState::kMisses);
  EXPECT_EQ(bins[1].state, BinState::kFew);
  EXPECT_EQ(bins[2].state, BinState::kFew);
}

TEST(Calibration, CountsARunOnceOverItsViews) {
  v1::Score both = Scored(500, 500);
  *both.add_views() = Scored(500, 400).views(0);
  const CalibrationBin bin = Only({both});
  EXPECT_EQ(bin.answers, 1000u);
  EXPECT_NEAR(bin.low, 0, 1e-12);  // there is only one run to draw
  EXPECT_NEAR(bin.high, 0, 1e-12);
}

TEST(Calibration, IsDrawnFromStatedToRight) {
  const std::vector<v1::Score> runs = {Scored(1000, 500)};
  const ScoreTable table = RenderScores(runs);
  // 50 columns: right at 50 %, stated at 90 %.
  EXPECT_THAT(table.text, HasSubstr(std::string(25, '.') + "*" + std::string(19, '.') + "|" +
                                    std::string(5, '.')));
  EXPECT_FALSE(table.is_calibrated);
  EXPECT_TRUE(table.is_judged);
  EXPECT_FALSE(RenderScores(std::vector<v1::Score>{Scored(1, 1)}).is_judged);
  EXPECT_TRUE(RenderScores(std::vector<v1::Score>{Scored(1000, 900)}).is_calibrated);
}

}  // namespace
}  // namespace rocescope
