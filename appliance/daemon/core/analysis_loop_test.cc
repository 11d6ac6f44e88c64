// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/analysis_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rocescope {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AnalysisLoopTest : public testing::Test {
 protected:
  // Advances a source and returns the time of the latest answer.
  Timestamp Reach(Timestamp now) {
    exchange_.HandOver(now, RecordExchange::WhenFull::kKeep);
    loop_.Run(ended_);
    return answers_.Latest()->reached;
  }

  const Timestamp begin_ = Timestamp(hours(500'000));
  RecordExchange exchange_{16};
  Answers answers_;
  Engine engine_;
  int restarted_ = 0;
  std::vector<std::string> notices_;
  RecordCounts counts_;
  const std::atomic<bool> ended_ = true;
  AnalysisLoop loop_{
      engine_,
      {&exchange_},
      answers_,
      {.restart = [this] { ++restarted_; },
       .notify = [this](Severity, const std::string& text) { notices_.push_back(text); },
       .count_records = [this] { return counts_; }}};
};

TEST_F(AnalysisLoopTest, ContinuesWhenTheClockIsSetAhead) {
  EXPECT_EQ(Reach(begin_), begin_);
  EXPECT_EQ(Reach(begin_ + hours(1)), begin_ + hours(1));
  EXPECT_EQ(restarted_, 0);
}

TEST_F(AnalysisLoopTest, RestartsWhenTheClockIsSetBack) {
  EXPECT_EQ(Reach(begin_ + hours(1)), begin_ + hours(1));
  EXPECT_EQ(answers_.Latest()->restarted, 0u);
  EXPECT_EQ(Reach(begin_), begin_);
  EXPECT_EQ(restarted_, 1);
  EXPECT_EQ(answers_.Latest()->restarted, 1u);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("set back by 3600 s")));
  EXPECT_EQ(Reach(begin_ + seconds(1)), begin_ + seconds(1));
  EXPECT_EQ(restarted_, 1);
}

TEST_F(AnalysisLoopTest, ASlightlyLateSourceDoesNotRestartIt) {
  EXPECT_EQ(Reach(begin_), begin_);
  EXPECT_EQ(Reach(begin_ - seconds(1)), begin_);
  EXPECT_EQ(restarted_, 0);
  EXPECT_THAT(notices_, IsEmpty());
}

TEST_F(AnalysisLoopTest, AnswersReportDroppedRecords) {
  Reach(begin_);
  EXPECT_EQ(answers_.Latest()->loss.records.given_up, 0u);
  counts_ = {.taken = 500, .given_up = 400};
  Reach(begin_ + seconds(1));
  EXPECT_EQ(answers_.Latest()->loss.records.given_up, 400u);
  EXPECT_EQ(answers_.Latest()->loss.records.taken, 500u);
}

}  // namespace
}  // namespace rocescope
