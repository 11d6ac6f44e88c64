// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "appliance/api/message_value.h"
#include "appliance/cli/score/score_text.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/score.pb.h"
#include "rocescope/v1/truth.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

// Two ranks with a stripe of two connections: 10.0.0.1 qp 11 and 12, 10.0.0.2 qp 21 and 22. The
// first connection's data takes path "A" for 1000 bytes, then "B" for 3000.
class ScoreTest : public testing::Test {
 protected:
  ScoreTest() {
    v1::TruthJob& job = *truth_.add_jobs();
    job.set_name("train");
    for (const uint32_t rank : {0u, 1u}) {
      v1::TruthRank& one = *job.add_ranks();
      one.set_host("host" + std::to_string(rank));
      one.set_process_id(100 + rank);
    }
    for (const uint32_t stripe : {1u, 2u}) {
      v1::TruthConnection& connection = *truth_.add_connections();
      connection.set_job("train");
      connection.set_from_rank(0);
      connection.set_to_rank(1);
      connection.set_stripe(stripe);
      connection.mutable_first()->set_address("10.0.0.1");
      connection.mutable_first()->set_qpn(10 + stripe);
      connection.mutable_second()->set_address("10.0.0.2");
      connection.mutable_second()->set_qpn(20 + stripe);
      AddPath(connection, 0, 100, "leaf0:A", 1000);
      if (stripe == 1) AddPath(connection, 100, 200, "leaf0:B", 3000);
    }
  }

  static void AddPath(v1::TruthConnection& connection, int64_t start, int64_t end,
                      const std::string& port, uint64_t bytes) {
    v1::TruthPath& path = *connection.add_forward();
    path.set_start_ns(start);
    path.set_end_ns(end);
    path.add_ports(port);
    path.set_bytes(bytes);
  }
  v1::Connection& Pair(int a, int b) {
    v1::Connection& connection = *report_.add_connections();
    connection.set_state(v1::Connection::STATE_PAIRED);
    connection.set_confidence(0.99);
    connection.mutable_a()->set_address("10.0.0.1");
    connection.mutable_a()->set_qpn(a);
    connection.mutable_b()->set_address("10.0.0.2");
    connection.mutable_b()->set_qpn(b);
    connection.mutable_a()->clear_rank();
    connection.mutable_b()->clear_rank();
    return connection;
  }
  void Stretch(int64_t from, int64_t until, const std::string& port,
               v1::PathInterval::State state = v1::PathInterval::STATE_EXACT) {
    if (report_.paths().empty()) {
      v1::FlowPath& path = *report_.add_paths();
      path.set_source("10.0.0.1");
      path.set_destination("10.0.0.2");
      path.set_destination_qpn(21);
    }
    v1::PathInterval& stretch = *report_.mutable_paths(0)->add_intervals();
    *stretch.mutable_start_time() = TimestampMessage(from);
    *stretch.mutable_end_time() = TimestampMessage(until);
    stretch.set_state(state);
    stretch.add_ports("host0:mlx5_0");
    stretch.add_ports(port);
  }
  // right / of.
  double Share(MeasureKind kind, const ScoreOptions& options = {}) {
    v1::ViewScore score;
    score.set_view("leaves");
    ScoreView(truth_, report_, options, score);
    for (const v1::Measure& measure : score.measures()) {
      if (measure.name() == NameOf(kind)) return measure.right() / measure.of();
    }
    return -1;
  }

  v1::Truth truth_;
  v1::ReplayReport report_;
};

TEST_F(ScoreTest, TheRightPairsAreRight) {
  Pair(11, 21);
  Pair(12, 22);
  EXPECT_EQ(Share(MeasureKind::kPairPrecision), 1);
  EXPECT_EQ(Share(MeasureKind::kPairRecall), 1);
}

TEST_F(ScoreTest, APermutationWithinAStripeIsRightForTheStripeAlone) {
  Pair(11, 22);
  Pair(12, 21);
  EXPECT_EQ(Share(MeasureKind::kPairPrecision), 0);
  EXPECT_EQ(Share(MeasureKind::kStripePrecision), 1);
  EXPECT_EQ(Share(MeasureKind::kStripeRecall), 1);
}

TEST_F(ScoreTest, UnstatedPairsReduceTheRecall) {
  Pair(11, 21);
  EXPECT_EQ(Share(MeasureKind::kPairPrecision), 1);
  EXPECT_EQ(Share(MeasureKind::kPairRecall), 0.5);
}

TEST_F(ScoreTest, AConnectionWithoutTrafficCountsNowhere) {
  Pair(11, 21);
  truth_.mutable_connections(1)->mutable_forward(0)->set_bytes(0);
  EXPECT_EQ(Share(MeasureKind::kPairRecall), 1);
}

TEST_F(ScoreTest, AnEndIsRightByItsRanksNumber) {
  v1::Connection& pair = Pair(11, 21);
  for (v1::Endpoint* end : {pair.mutable_a(), pair.mutable_b()}) end->set_job_id("nccl-1");
  pair.mutable_a()->set_rank(0);
  pair.mutable_b()->set_rank(0);  // it is rank 1
  EXPECT_EQ(Share(MeasureKind::kRanks), 0.25);
}

TEST_F(ScoreTest, WithoutANumberByHostAndProcess) {
  v1::Connection& pair = Pair(11, 21);
  pair.mutable_b()->set_host("host1");
  pair.mutable_b()->set_process_id(101);
  EXPECT_EQ(Share(MeasureKind::kRanks), 0.25);
}

TEST_F(ScoreTest, ARestartedJobHasOtherProcesses) {
  v1::Connection& pair = Pair(11, 21);
  pair.mutable_b()->set_host("host1");
  pair.mutable_b()->set_process_id(201);
  EXPECT_EQ(Share(MeasureKind::kRanks), 0);
  v1::TruthRestart& restart = *truth_.mutable_jobs(0)->add_restarts();
  for (const uint32_t process : {200u, 201u}) restart.add_process_ids(process);
  truth_.mutable_connections(0)->set_incarnation(1);
  EXPECT_EQ(Share(MeasureKind::kRanks), 0.25);
}

TEST_F(ScoreTest, ANodeOfTheSchedulerIsNoRank) {
  v1::Connection& pair = Pair(11, 21);
  for (v1::Endpoint* end : {pair.mutable_a(), pair.mutable_b()}) {
    end->set_job_id("slurm-1");
    end->set_host("host0");
    end->set_rank_confidence(0.95);
  }
  v1::ViewScore score;
  ScoreView(truth_, report_, {}, score);
  EXPECT_EQ(Share(MeasureKind::kRanks), 0);
  EXPECT_EQ(Share(MeasureKind::kJobs), 1);
  ASSERT_EQ(score.bins_size(), 2);
  EXPECT_EQ(score.bins(0).answer(), "job");
  EXPECT_EQ(score.bins(0).answers(), 2u);
  EXPECT_EQ(score.bins(0).right(), 2u);
}

// Two NICs, in truth of one job: one cluster, for which any other answer has an index of 0.
TEST_F(ScoreTest, NicsThatNoJobHasAreAlone) {
  Pair(11, 21).mutable_a()->set_job_id("a");
  EXPECT_EQ(Share(MeasureKind::kJobs), 0);
}

TEST_F(ScoreTest, NicsAreOfTheJobThatHasMostOfTheirBytes) {
  for (const int first : {30, 40}) {  // another job, on the NICs 10.0.0.3 and 10.0.0.4
    v1::TruthConnection& connection = *truth_.add_connections();
    connection = truth_.connections(0);
    connection.set_job("other");
    connection.mutable_first()->set_address("10.0.0.3");
    connection.mutable_first()->set_qpn(static_cast<uint32_t>(first));
    connection.mutable_second()->set_address("10.0.0.4");
    connection.mutable_second()->set_qpn(static_cast<uint32_t>(first));
  }
  const auto state = [&](v1::Connection& pair, const char* job, uint64_t bytes) {
    pair.mutable_a()->set_job_id(job);
    pair.mutable_b()->set_job_id(job);
    pair.mutable_a_to_b()->set_data_bytes(bytes);
  };
  state(Pair(11, 21), "one", 1000);
  state(Pair(12, 22), "two", 10);
  v1::Connection& other = Pair(30, 30);
  other.mutable_a()->set_address("10.0.0.3");
  other.mutable_b()->set_address("10.0.0.4");
  state(other, "two", 1000);
  EXPECT_EQ(Share(MeasureKind::kJobs), 1);
}

// A true job with two collectives and 31 iterations of 1000 ns, and the same job in the report.
class IterationPatternTest : public ScoreTest {
 protected:
  IterationPatternTest() {
    v1::TruthJob& job = *truth_.mutable_jobs(0);
    job.clear_phases();
    job.clear_iterations();
    job.add_phases()->set_collective("ring");
    job.add_phases()->set_collective("all_to_all");
    for (int i = 0; i < 31; ++i) job.add_iterations()->set_start_ns(i * 1000);
    truth_.mutable_connections(1)->set_phase(1);
    v1::Connection& pair = Pair(11, 21);
    pair.mutable_a()->set_job_id("wire-1");
    pair.mutable_b()->set_job_id("wire-1");
    iteration_pattern_ = [this] {
      v1::Job& told = *report_.add_jobs();
      told.set_job_id("wire-1");
      return told.mutable_iteration_pattern();
    }();
    *iteration_pattern_->mutable_start_time() =
        TimestampMessage(600);  // the first iteration starts with computation
    *iteration_pattern_->mutable_end_time() = TimestampMessage(25'600);
    iteration_pattern_->set_iteration_count(25);
    *iteration_pattern_->mutable_period() = DurationMessage(1002);
    iteration_pattern_->add_members()->set_host("host0");
  }
  v1::IterationPattern* iteration_pattern_ = nullptr;
};

TEST_F(IterationPatternTest, ACollectiveIsRightByItsKind) {
  iteration_pattern_->add_collectives()->set_kind(v1::Collective::KIND_RING);
  EXPECT_EQ(Share(MeasureKind::kCollectives), 0.5);
  v1::Collective& other = *iteration_pattern_->add_collectives();
  other.set_kind(v1::Collective::KIND_TREE);
  other.set_alternative(v1::Collective::KIND_ALL_TO_ALL);
  EXPECT_EQ(Share(MeasureKind::kCollectives), 1);
  iteration_pattern_->add_collectives()->set_kind(v1::Collective::KIND_PIPELINE);  // one too many
  EXPECT_DOUBLE_EQ(Share(MeasureKind::kCollectives), 2.0 / 3);
}

TEST_F(IterationPatternTest, APeriodIsHeldAgainstTheIterationsThatWereSeen) {
  EXPECT_EQ(Share(MeasureKind::kPeriods), 1);
  EXPECT_EQ(Share(MeasureKind::kPeriodsWrong), 0);
  EXPECT_NEAR(Share(MeasureKind::kPeriodError), 0.002, 1e-9);
  *iteration_pattern_->mutable_period() = DurationMessage(1010);
  EXPECT_EQ(Share(MeasureKind::kPeriods), 0);
  EXPECT_EQ(Share(MeasureKind::kPeriodsStated), 1);
  EXPECT_EQ(Share(MeasureKind::kPeriodsWrong), 1);
}

// The iteration after the reported ones takes long.
TEST_F(IterationPatternTest, AStallOutsideOfTheReportedTimeDoesNotCount) {
  for (int i = 27; i < 31; ++i) {
    truth_.mutable_jobs(0)->mutable_iterations(i)->set_start_ns(i * 1000 + 5000);
  }
  EXPECT_EQ(Share(MeasureKind::kPeriods), 1);
}

TEST_F(IterationPatternTest, TheFirstIterationDoesNotCount) {
  truth_.mutable_jobs(0)->mutable_iterations(0)->set_start_ns(400);
  *iteration_pattern_->mutable_period() = DurationMessage(1000);
  EXPECT_EQ(Share(MeasureKind::kPeriodError), 0);
}

// 24 iterations after the first one, of which a crash of the job ended one.
TEST_F(IterationPatternTest, AnIterationThatACrashEndedMayCountOrNot) {
  v1::TruthRestart& restart = *truth_.mutable_jobs(0)->add_restarts();
  restart.set_stop_ns(12'500);
  restart.set_start_ns(13'000);
  EXPECT_EQ(Share(MeasureKind::kPeriods), 1);
  *iteration_pattern_->mutable_period() = DurationMessage(24'000 / 23);
  EXPECT_EQ(Share(MeasureKind::kPeriods), 1);
  *iteration_pattern_->mutable_period() = DurationMessage(1020);
  EXPECT_EQ(Share(MeasureKind::kPeriods), 0);
  truth_.mutable_jobs(0)->mutable_restarts(0)->set_stop_ns(30'500);  // later
  *iteration_pattern_->mutable_period() = DurationMessage(24'000 / 23);
  EXPECT_EQ(Share(MeasureKind::kPeriods), 0);
}

// Otherwise, an incomplete report could not be wrong.
TEST_F(IterationPatternTest, APeriodOfFewIterationsIsHeldAgainstTwenty) {
  iteration_pattern_->set_iteration_count(3);
  *iteration_pattern_->mutable_end_time() = TimestampMessage(3'600);
  *iteration_pattern_->mutable_period() = DurationMessage(1010);
  EXPECT_NEAR(Share(MeasureKind::kPeriodError), 0.01, 1e-9);
}

TEST_F(IterationPatternTest, AJobWithoutAPeriodIsWhollyOff) {
  report_.mutable_jobs(0)->clear_iteration_pattern();
  EXPECT_EQ(Share(MeasureKind::kPeriodError), 1);
  EXPECT_EQ(Share(MeasureKind::kPeriodsStated), 0);
}

TEST_F(IterationPatternTest, AStragglerIsNamedByItsHost) {
  v1::TruthFault& fault = *truth_.add_faults();
  fault.set_kind("straggler");
  fault.set_place("host0:gpu:0");
  fault.set_visible_ns(5);
  EXPECT_EQ(Share(MeasureKind::kWaitedFor), 0);
  iteration_pattern_->mutable_straggler()->set_member_index(0);
  EXPECT_EQ(Share(MeasureKind::kWaitedFor), 1);
  iteration_pattern_->mutable_members(0)->set_host("host7");  // another one that is not a straggler
  EXPECT_EQ(Share(MeasureKind::kWaitedFor), 0);
}

TEST_F(ScoreTest, APathIsRightForTheBytesOfItsTime) {
  Stretch(10, 90, "leaf0:A");
  Stretch(110, 190, "leaf0:B");
  // 1000 of 5000 bytes in total, those of the second connection, are not asserted.
  EXPECT_DOUBLE_EQ(Share(MeasureKind::kPath), 0.8);
  EXPECT_EQ(Share(MeasureKind::kPathWrong), 0);
}

TEST_F(ScoreTest, AChangeThatIsMissedIsWrongForItsBytes) {
  Stretch(10, 190, "leaf0:A");
  EXPECT_DOUBLE_EQ(Share(MeasureKind::kPath), 0.2);
  EXPECT_DOUBLE_EQ(Share(MeasureKind::kPathWrong), 0.6);
}

TEST_F(ScoreTest, UnassertedPathsAreNotWrong) {
  Stretch(10, 190, "leaf0:A", v1::PathInterval::STATE_AMBIGUOUS);
  EXPECT_EQ(Share(MeasureKind::kPath), 0);
  EXPECT_EQ(Share(MeasureKind::kPathWrong), 0);
}

TEST_F(ScoreTest, ElephantsAloneAreThoseOfSoManyBytes) {
  Stretch(10, 90, "leaf0:A");
  Stretch(110, 190, "leaf0:B");
  EXPECT_DOUBLE_EQ(Share(MeasureKind::kPath, {.elephant_bytes = 2000}), 1);
}

// Poisson: a path without any sample is not revealed.
TEST_F(ScoreTest, PathsWithExpectedSamplesAreInReach) {
  v1::TruthPath& over_core = *truth_.mutable_connections(0)->mutable_forward(0);
  const double bytes = static_cast<double>(over_core.bytes());
  double all = 0;
  for (const v1::TruthConnection& connection : truth_.connections()) {
    for (const auto* paths : {&connection.forward(), &connection.backward()}) {
      for (const v1::TruthPath& path : *paths) all += static_cast<double>(path.bytes());
    }
  }
  over_core.clear_ports();
  for (const char* port : {"leaf0:A", "spine0:A", "core0:A", "spine1:A", "leaf1:A"}) {
    over_core.add_ports(port);
  }
  EXPECT_NEAR(Share(MeasureKind::kPathReach, {.samples_per_byte = 2 / bytes}),
              1 - bytes * std::exp(-2) / all, 1e-12);
}

TEST_F(ScoreTest, ScoresAddUpInCountsAndNotInShares) {
  v1::ViewScore one;
  v1::Measure& measure = *one.add_measures();
  measure.set_name("path");
  measure.set_right(1);
  measure.set_of(1);
  v1::ViewScore other = one;
  other.mutable_measures(0)->set_right(0);
  other.mutable_measures(0)->set_of(3);
  AddScore(other, one);
  EXPECT_EQ(one.measures(0).right(), 1);
  EXPECT_EQ(one.measures(0).of(), 4);
}

TEST_F(ScoreTest, ATableListsMissedGoals) {
  v1::Score score;
  v1::ViewScore& view = *score.add_views();
  view.set_view("leaves");
  v1::Measure& measure = *view.add_measures();
  measure.set_name("path");
  measure.set_right(989);
  measure.set_of(1000);
  const ScoreTable two_tiers = RenderScores(std::span(&score, 1));
  EXPECT_FALSE(two_tiers.all_hold);
  EXPECT_THAT(two_tiers.text, HasSubstr("98.90 !"));
  EXPECT_THAT(two_tiers.text, HasSubstr("path is 98.900 %; the goal is at least 99.00 %"));
  score.set_switch_tier_count(3);  // for which 95 % are sufficient
  EXPECT_TRUE(RenderScores(std::span(&score, 1)).all_hold);
  EXPECT_TRUE(RenderScores(std::span(&score, 1)).has_goals);
}

TEST_F(ScoreTest, WithoutAMeasuredGoalNothingIsJudged) {
  v1::Score score;
  v1::ViewScore& view = *score.add_views();
  view.set_view("leaves");
  v1::Measure& measure = *view.add_measures();
  measure.set_name("jobs");  // "leaves" has no goal for it
  measure.set_right(1);
  measure.set_of(1);
  EXPECT_FALSE(RenderScores(std::span(&score, 1)).has_goals);
}

TEST_F(ScoreTest, ADeeplyNestedTruthIsRefusedBeforeItIsParsed) {
  v1::Truth truth;
  for (const char* one : {"[", "{\"faults\":"}) {
    std::string text = "{\"scenario\": \"[[\\\"[[\", \"unknown\": ";
    for (int i = 0; i < 100; ++i) text += one;
    const Status status = ParseTruth(text, "run/truth.json", truth);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().message, HasSubstr("run/truth.json: more than 64 nested"));
  }
  const std::string brackets(100, '[');
  EXPECT_TRUE(ParseTruth("{\"schema_version\": 2, \"scenario\": \"\\\"" + brackets + "\"}",
                         "run/truth.json", truth))
      << "brackets in a string are not nested";
}

TEST_F(ScoreTest, AnInvalidTruthIsNamed) {
  v1::Truth truth;
  const Status status = ParseTruth("{", "run/truth.json", truth);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("run/truth.json: "));
}

}  // namespace
}  // namespace rocescope
