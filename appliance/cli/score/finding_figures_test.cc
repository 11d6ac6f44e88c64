// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/finding_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "appliance/cli/score/score.h"
#include "appliance/cli/score/score_text.h"
#include "rocescope/v1/score.pb.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Scores of runs for the view "full".
class FindingFiguresTest : public testing::Test {
 protected:
  v1::FindingScore& Run(const std::string& name, const std::string& kind) {
    v1::Score& score = scores_.emplace_back();
    score.set_scenario(name);
    if (!kind.empty()) score.add_faults(kind);
    v1::ViewScore& view = *score.add_views();
    view.set_view("full");
    return *view.mutable_findings();
  }
  v1::FaultScore& Fault(const std::string& name, const std::string& kind) {
    v1::FaultScore& fault = *Run(name, kind).add_faults();
    fault.set_kind(kind);
    fault.set_place("leaf0:E1-spine0:E2");
    fault.set_visible(true);
    return fault;
  }
  v1::FaultScore& Found(const std::string& name, const std::string& kind, double delay) {
    v1::FaultScore& fault = Fault(name, kind);
    fault.set_detected(true);
    fault.set_kind_right(true);
    fault.set_place_right(true);
    fault.set_place_rank(1);
    fault.set_stated_kind(kind);
    fault.set_delay_windows(delay);
    return fault;
  }
  static void AddFalse(v1::FindingScore& score, const std::string& kind) {
    v1::FalseFinding& wrong = *score.add_false_findings();
    wrong.set_kind(kind);
    wrong.set_place("leaf9");
    wrong.set_confidence(0.75);
  }
  Figure FigureOf(FindingMeasure measure, const KindWeights& weights = {}) {
    const auto runs = FindingsOf(scores_, "full");
    const std::vector<Figure> figures = FiguresOf(runs, "full", weights);
    const auto at = std::ranges::find(figures, measure, &Figure::measure);
    return at == figures.end() ? Figure{.value = -1} : *at;
  }

  std::vector<v1::Score> scores_;
};

TEST_F(FindingFiguresTest, PrecisionAndRecallAreOfFaults) {
  Found("1", "flap", 0);
  Found("2", "flap", 0);
  Fault("3", "flap");
  AddFalse(Run("4", ""), "incast");
  const Figure precision = FigureOf(FindingMeasure::kPrecision);
  EXPECT_EQ(precision.right, 2u);
  EXPECT_EQ(precision.of, 3u);
  const Figure recall = FigureOf(FindingMeasure::kRecall);
  EXPECT_EQ(recall.right, 2u);
  EXPECT_EQ(recall.of, 3u);
  EXPECT_FALSE(recall.Holds());
}

TEST_F(FindingFiguresTest, AFaultThatNeverShowedCountsNowhere) {
  Found("1", "flap", 0);
  Fault("2", "flap").set_visible(false);
  EXPECT_EQ(FigureOf(FindingMeasure::kRecall).of, 1u);
  const auto kinds = CountKinds(FindingsOf(scores_, "full"));
  EXPECT_EQ(kinds.at("flap").faults, 2u);
  EXPECT_EQ(kinds.at("flap").visible, 1u);
}

TEST_F(FindingFiguresTest, DelaysHaveAMedianAndAWorst) {
  for (const double delay : {0.5, 4.0, 1.0, 0.9}) Found("1", "flap", delay);
  EXPECT_DOUBLE_EQ(FigureOf(FindingMeasure::kMedianDelay).value, 0.95);
  EXPECT_EQ(FigureOf(FindingMeasure::kWorstDelay).value, 4);
  EXPECT_TRUE(FigureOf(FindingMeasure::kWorstDelay).Holds());
  Found("2", "flap", 5.1);
  EXPECT_FALSE(FigureOf(FindingMeasure::kWorstDelay).Holds());
}

TEST_F(FindingFiguresTest, OneFindingInAHealthyRunIsTooMany) {
  Run("1", "");
  EXPECT_TRUE(FigureOf(FindingMeasure::kHealthyFindings).Holds());
  v1::FindingScore& run = Run("2", "");
  AddFalse(run, "flap");
  AddFalse(run, "incast");
  const Figure figure = FigureOf(FindingMeasure::kHealthyFindings);
  EXPECT_EQ(figure.value, 2);
  EXPECT_EQ(figure.right, 1u);
  EXPECT_EQ(figure.of, 2u);
  EXPECT_FALSE(figure.Holds());
}

// flap has weight 3 and is always found; incast has weight 1 and is found in one of two runs: (3 +
// 1/2) / 4.
TEST_F(FindingFiguresTest, WeightsAreOfKindsAndNotOfRuns) {
  Found("1", "flap", 0);
  Found("2", "incast", 0);
  Fault("3", "incast");
  Found("4", "straggler", 0);  // has no weight
  const KindWeights weights = {{"flap", 3}, {"incast", 1}, {"polarisation", 9}};
  EXPECT_DOUBLE_EQ(FigureOf(FindingMeasure::kRecall, weights).weighted.value(), 3.5 / 4);
  EXPECT_FALSE(FigureOf(FindingMeasure::kRecall).weighted);
}

// Right: 3 + 1. Wrong: half a finding in each flap, which is 3/2, and 2 in one of the healthy runs,
// which are a third of the number of faulty ones: 4 * 2/3.
TEST_F(FindingFiguresTest, HealthyRunsKeepTheirPartInTheWeightedPrecision) {
  Found("1", "flap", 0);
  Found("2", "flap", 0);
  AddFalse(*scores_.back().mutable_views(0)->mutable_findings(), "incast");
  Found("3", "incast", 0);
  v1::FindingScore& healthy = Run("4", "");
  AddFalse(healthy, "flap");
  AddFalse(healthy, "flap");
  EXPECT_DOUBLE_EQ(
      FigureOf(FindingMeasure::kPrecision, {{"flap", 3}, {"incast", 1}}).weighted.value(),
      4 / (4 + 1.5 + 8.0 / 3));
}

// With weights like the numbers of faults, the weighted precision is the unweighted one: 3 faults
// are detected, one of them below the limit, and 3 findings are false.
TEST_F(FindingFiguresTest, WeightedAndUnweightedPrecisionCountTheSame) {
  Found("1", "flap", 0);
  v1::FindingScore& several = *scores_.back().mutable_views(0)->mutable_findings();
  scores_.back().add_faults("incast");
  v1::FaultScore& second = *several.add_faults();
  second.set_kind("incast");
  second.set_visible(true);
  AddFalse(several, "straggler");
  v1::FaultScore& small = Found("2", "gray_loss", 0);
  small.set_affected_frames(12);
  small.set_detection_limit_frames(50);
  AddFalse(*scores_.back().mutable_views(0)->mutable_findings(), "straggler");
  Fault("3", "flap").set_visible(false);
  Found("4", "incast", 0);
  AddFalse(Run("5", ""), "flap");
  const Figure figure =
      FigureOf(FindingMeasure::kPrecision, {{"flap", 2}, {"incast", 2}, {"gray_loss", 1}});
  EXPECT_EQ(figure.right, 3u);
  EXPECT_EQ(figure.of, 6u);
  EXPECT_DOUBLE_EQ(figure.weighted.value(), 0.5);
}

TEST_F(FindingFiguresTest, EachFaultIsTakenForOneKind) {
  Found("1", "flap", 0);
  Fault("2", "flap").set_stated_kind("link_down");
  Fault("3", "flap");
  Run("4", "");
  AddFalse(Run("5", ""), "incast");
  const Confusion confusion = CountConfusion(FindingsOf(scores_, "full"));
  EXPECT_EQ(confusion.at("flap"),
            (std::map<std::string, uint64_t>{{"flap", 1}, {"link_down", 1}, {"none", 1}}));
  EXPECT_EQ(confusion.at("healthy"), (std::map<std::string, uint64_t>{{"incast", 1}, {"none", 1}}));
}

TEST_F(FindingFiguresTest, TheTablesNameEachMissByItsScenario) {
  Found("0001-flap", "flap", 0);
  v1::FaultScore& missed = Fault("0002-incast", "incast");
  missed.set_stated_kind("flap");
  missed.set_stated_place("leaf9");
  v1::FaultScore& misplaced = Found("0003-gray_loss", "gray_loss", 1);
  misplaced.set_place_right(false);
  misplaced.set_place_rank(2);
  misplaced.set_stated_place("leaf5");
  AddFalse(Run("0004-healthy", ""), "polarisation");
  const ScoreTable table = RenderScores(scores_);
  EXPECT_FALSE(table.all_hold);
  EXPECT_THAT(
      table.text,
      AllOf(HasSubstr("0002-incast: incast at leaf0:E1-spine0:E2 was missed; reported "
                      "instead: flap at leaf9"),
            HasSubstr("0003-gray_loss: gray_loss at leaf0:E1-spine0:E2 was located at leaf5 "
                      "(the right place is number 2)"),
            HasSubstr("0004-healthy: polarisation at leaf9 (0.75) is false: the run is "
                      "healthy"),
            Not(HasSubstr("0001-flap")), HasSubstr("66.66")));
}

TEST_F(FindingFiguresTest, TheTablesListFaultTypesWithTooFewRuns) {
  for (int i = 0; i < 12; ++i) Found("1", "flap", 0);
  for (int i = 0; i < 11; ++i) Found("2", "incast", 0);
  for (int i = 0; i < 119; ++i) Run("3", "");
  const std::string text = RenderScores(scores_).text;
  EXPECT_THAT(text, AllOf(HasSubstr("incast 11"), HasSubstr("pfc_storm 0"),
                          HasSubstr("healthy runs 119"), Not(HasSubstr("flap 12, "))));
}

TEST_F(FindingFiguresTest, BaselinesArePrinted) {
  for (const uint64_t right : {1u, 0u}) {
    v1::BaselineScore& baseline = *Run("1", "flap").add_baselines();
    baseline.set_name("votes");
    baseline.set_visible(1);
    baseline.set_detected(right);
  }
  EXPECT_THAT(RenderScores(scores_).text, HasSubstr("50.00 (1 of 2)"));
}

TEST_F(FindingFiguresTest, The90thPercentileIsTheNearestRank) {
  for (int delay = 1; delay <= 10; ++delay) Found("1", "flap", delay);
  EXPECT_EQ(FigureOf(FindingMeasure::k90thDelay).value, 9);
  Found("2", "flap", 11);
  EXPECT_EQ(FigureOf(FindingMeasure::k90thDelay).value, 10);
}

// 3 false findings in two runs of half a day each.
TEST_F(FindingFiguresTest, FalseAlarmsPerDayHavePoissonBounds) {
  for (const char* name : {"1", "2"}) {
    v1::FindingScore& run = Run(name, "");
    run.set_fabric_seconds(43'200);
    run.set_window_count(20);
  }
  v1::FindingScore& run = *scores_.back().mutable_views(0)->mutable_findings();
  const Figure none = FigureOf(FindingMeasure::kFalsePerDay);
  EXPECT_EQ(none.value, 0);
  EXPECT_NEAR(none.upper.value(), 2.996, 5e-4);
  for (int i = 0; i < 3; ++i) AddFalse(run, "flap");
  const Figure figure = FigureOf(FindingMeasure::kFalsePerDay);
  EXPECT_DOUBLE_EQ(figure.value, 3);
  EXPECT_NEAR(figure.interval->low, 0.619, 5e-4);  // Garwood's table
  EXPECT_NEAR(figure.interval->high, 8.767, 5e-4);
  EXPECT_NEAR(figure.upper.value(), 7.754, 5e-4);
  EXPECT_EQ(FigureOf(FindingMeasure::kFalsePerWindows).value, -1) << "the time is known";
  const Figure healthy = FigureOf(FindingMeasure::kHealthyAlarms);
  EXPECT_EQ(healthy.right, 1u);
  EXPECT_EQ(healthy.of, 2u);
}

TEST_F(FindingFiguresTest, WithoutAProfileRatesArePerWindow) {
  v1::FindingScore& run = Run("1", "");
  run.set_window_count(20);
  AddFalse(run, "flap");
  EXPECT_DOUBLE_EQ(FigureOf(FindingMeasure::kFalsePerWindows).value, 50);
  EXPECT_EQ(FigureOf(FindingMeasure::kFalsePerDay).value, -1);
}

TEST_F(FindingFiguresTest, FiveSuspicionsPerDayAreAllowed) {
  v1::FindingScore& run = Run("1", "");
  run.set_fabric_seconds(2 * 86'400);
  run.set_window_count(20);
  run.mutable_suspicions()->set_stated(10);
  EXPECT_DOUBLE_EQ(FigureOf(FindingMeasure::kSuspicionsPerDay).value, 5);
  EXPECT_TRUE(FigureOf(FindingMeasure::kSuspicionsPerDay).Holds());
  EXPECT_EQ(FigureOf(FindingMeasure::kFalsePerDay).value, 0);
  run.mutable_suspicions()->set_stated(11);
  EXPECT_FALSE(FigureOf(FindingMeasure::kSuspicionsPerDay).Holds());
}

TEST_F(FindingFiguresTest, RunsOfMinutesAreTooShortForAGoalPerDay) {
  v1::FindingScore& run = Run("1", "");
  run.set_fabric_seconds(1200);
  run.set_window_count(20);
  EXPECT_FALSE(FigureOf(FindingMeasure::kSuspicionsPerDay).goal);
  run.set_fabric_seconds(86'400);
  EXPECT_TRUE(FigureOf(FindingMeasure::kSuspicionsPerDay).goal);
}

TEST_F(FindingFiguresTest, SecondsAreOfRunsWithAProfile) {
  Found("1", "flap", 2).set_delay_seconds(60);
  EXPECT_EQ(FigureOf(FindingMeasure::kMedianSeconds).value, -1);
  scores_.back().mutable_views(0)->mutable_findings()->set_fabric_seconds(600);
  EXPECT_EQ(FigureOf(FindingMeasure::kMedianSeconds).value, 60);
}

TEST_F(FindingFiguresTest, SilentLossHasARecallAboveAndBelowTheLimit) {
  const auto limited = [&](v1::FaultScore& fault, uint64_t frames) {
    fault.set_affected_frames(frames);
    fault.set_detection_limit_frames(50);
  };
  limited(Found("1", "gray_loss", 1), 50);
  limited(Found("2", "gray_loss", 1), 400);
  limited(Fault("3", "gray_loss"), 51);
  limited(Found("4", "gray_loss", 1), 49);
  limited(Fault("5", "gray_loss"), 12);
  limited(Fault("6", "gray_loss"), 12);
  limited(Fault("7", "gray_loss"), 12);
  v1::FaultScore& by_chance = Found("8", "gray_loss", 1);  // a false finding of this type elsewhere
  by_chance.set_place_right(false);
  by_chance.set_place_rank(0);
  limited(by_chance, 12);
  Found("9", "flap", 1);
  const auto expect = [&](FindingMeasure measure, uint64_t right, uint64_t of) {
    EXPECT_EQ(FigureOf(measure).right, right) << TitleOf(measure);
    EXPECT_EQ(FigureOf(measure).of, of) << TitleOf(measure);
  };
  expect(FindingMeasure::kSilentAbove, 2, 3);
  expect(FindingMeasure::kSilentBelow, 1, 5);
  expect(FindingMeasure::kRecall, 3, 4);
  expect(FindingMeasure::kRecallOfAll, 5, 9);
  expect(FindingMeasure::kPrecision, 5, 5);
  EXPECT_THAT(RenderScores(scores_).text,
              HasSubstr("gray_loss at leaf0:E1-spine0:E2 (12 frames, below the detection limit of "
                        "50) was missed"));
}

TEST_F(FindingFiguresTest, WithoutLimitsThereIsNoFigureAboutThem) {
  Found("1", "gray_loss", 1);
  EXPECT_EQ(FigureOf(FindingMeasure::kSilentAbove).value, -1);
  EXPECT_EQ(FigureOf(FindingMeasure::kRecallOfAll).value, -1);
}

TEST_F(FindingFiguresTest, PlacesAmongTheAlternativesAreListed) {
  Found("1", "flap", 1);
  v1::FaultScore& second = Found("2", "flap", 1);
  second.set_place_right(false);
  second.set_place_rank(2);
  EXPECT_EQ(FigureOf(FindingMeasure::kPlace).right, 1u);
  EXPECT_EQ(FigureOf(FindingMeasure::kPlaceListed).right, 2u);
}

TEST_F(FindingFiguresTest, ARunWithSeveralFaultsIsDividedBetweenTheirTypes) {
  Found("1", "flap", 1);
  scores_.back().add_faults("incast");
  v1::FindingScore& run = *scores_.back().mutable_views(0)->mutable_findings();
  v1::FaultScore& second = *run.add_faults();
  second.set_kind("incast");
  second.set_visible(true);
  AddFalse(run, "straggler");
  const auto kinds = CountKinds(FindingsOf(scores_, "full"));
  EXPECT_DOUBLE_EQ(kinds.at("flap").runs, 0.5);
  EXPECT_DOUBLE_EQ(kinds.at("incast").runs, 0.5);
  EXPECT_DOUBLE_EQ(kinds.at("incast").false_findings, 0.5);
  Run("2", "");
  Fault("3", "flap").set_visible(false);
  const auto numbers = CountByConcurrency(FindingsOf(scores_, "full"));
  ASSERT_EQ(numbers.size(), 2u) << "a run with an invisible fault has no number";
  EXPECT_EQ(numbers.at(0).runs, 1u);
  EXPECT_EQ(numbers.at(2).runs, 1u);
  EXPECT_EQ(numbers.at(2).visible, 2u);
  EXPECT_EQ(numbers.at(2).detected, 1u);
  EXPECT_EQ(numbers.at(2).false_runs, 1u);
  EXPECT_THAT(RenderScores(scores_).text, HasSubstr("VISIBLE FAULTS"));
}

TEST_F(FindingFiguresTest, FalseFindingsAreCountedByWhatTheyCoincideWith) {
  v1::FindingScore& run = Run("1", "");
  for (int i = 0; i < 3; ++i) AddFalse(run, "bit_errors");
  run.mutable_false_findings(0)->set_benign_kind("frame_error");
  run.mutable_false_findings(0)->set_cause_kind("flap");
  run.mutable_false_findings(1)->set_benign_kind("frame_error");
  run.mutable_false_findings(2)->set_cause_kind("flap");
  AddFalse(Run("2", ""), "bit_errors");
  const std::vector<CauseCounts> causes = CountCauses(FindingsOf(scores_, "full"));
  ASSERT_EQ(causes.size(), 3u);
  EXPECT_EQ(causes[0].cause, "benign frame_error");
  EXPECT_EQ(causes[0].findings, 2u);
  EXPECT_EQ(causes[0].runs, 1u);
  EXPECT_EQ(causes[1].cause, "effect of flap");
  EXPECT_EQ(causes[2].cause, "nothing");
}

TEST_F(FindingFiguresTest, ManyFalseFindingsOfARunAreCut) {
  v1::FindingScore& run = Run("noisy", "");
  for (int i = 0; i < 29; ++i) AddFalse(run, "bit_errors");
  EXPECT_THAT(RenderScores(scores_).text, HasSubstr("noisy: 24 more are false"));
}

// The profiles differ in one fault.
TEST_F(FindingFiguresTest, EachProfileHasItsTablesAndARow) {
  for (const char* profile : {"gnmi-1s", "snmp-30s"}) {
    Found("1", "flap", 1);
    scores_.back().set_profile(profile);
    Fault("2", "incast").set_detected(std::string(profile) == "gnmi-1s");
    scores_.back().set_profile(profile);
    for (v1::Score& score : scores_) {
      score.mutable_views(0)->set_view("all");
      v1::FindingScore& run = *score.mutable_views(0)->mutable_findings();
      run.set_fabric_seconds(86'400);
      run.set_window_count(20);
    }
  }
  const ScoreTable table = RenderScores(scores_);
  EXPECT_TRUE(table.all_hold) << "there are no goals for recall with a profile";
  EXPECT_THAT(table.text, AllOf(HasSubstr("PROFILE gnmi-1s\n"), HasSubstr("PROFILE snmp-30s\n")));
  const std::string rows = table.text.substr(table.text.find("\nPROFILES\n"));
  const std::string first = rows.substr(rows.find("gnmi-1s"), rows.find("snmp-30s"));
  EXPECT_THAT(first, AllOf(HasSubstr("100.00"), HasSubstr("0 (at most 1.50)")));
  EXPECT_THAT(rows.substr(rows.find("snmp-30s")),
              AllOf(HasSubstr("50.00"), Not(HasSubstr("100.00"))));
}

TEST_F(FindingFiguresTest, PerfectScoresMeetAllGoals) {
  Found("1", "flap", 1);
  Run("2", "");
  EXPECT_TRUE(RenderScores(scores_).all_hold);
  EXPECT_TRUE(RenderScores(scores_).has_goals);
}

TEST_F(FindingFiguresTest, TheCompleteViewHasNoGoals) {
  Found("1", "flap", 1);
  scores_[0].mutable_views(0)->set_view("all");
  EXPECT_FALSE(RenderScores(scores_).has_goals);
}

TEST_F(FindingFiguresTest, ScoresFromBeforeFindingsWereScoredAreStillRead) {
  v1::Score& score = scores_.emplace_back();
  ASSERT_TRUE(ParseScore(
      R"({"schema_version":1,"scenario":"old","faults":["flap"],"views":[{"view":"leaves",)"
      R"("measures":[{"name":"path","right":1,"of":1}]}]})",
      "old.score.json", score));
  const ScoreTable table = RenderScores(scores_);
  EXPECT_TRUE(table.all_hold);
  EXPECT_THAT(table.text, Not(HasSubstr("FAULTS")));
}

}  // namespace
}  // namespace rocescope
