// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/analysis_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "topology/generate.h"

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
  Engine engine_{{},
                 std::make_shared<const topology::Fabric>(
                     topology::Generate({.hosts = 4, .leaves = 1, .spines = 1}).value())};
  int restarted_ = 0;
  std::vector<std::string> notices_;
  RecordCounts counts_;
  uint64_t resident_ = 0;
  const std::atomic<bool> ended_ = true;
  AnalysisLoop loop_{
      engine_,
      {&exchange_},
      answers_,
      {.restart = [this] { ++restarted_; },
       .notify = [this](Severity, const std::string& text) { notices_.push_back(text); },
       .count_records = [this] { return counts_; },
       .memory = 1000,
       .series = 16,
       .resident_bytes = [this] { return resident_; }}};
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

TEST_F(AnalysisLoopTest, AnalysesNoFurtherFlowsWhenTheMemoryBudgetIsUsed) {
  const auto ingest = [this](uint32_t qpn) {
    exchange_.current().flows.push_back(
        {.flow = {.destination_qpn = {qpn}}, .interval_start = begin_});
    Reach(begin_ + seconds(qpn));                                 // no flow is idle for ten seconds
    std::this_thread::sleep_for(std::chrono::milliseconds(250));  // the pace of the check
  };
  ingest(1);
  EXPECT_EQ(engine_.flows(), 1u);
  resident_ = 751;
  ingest(2);  // the check precedes or follows it
  const size_t flows = engine_.flows();
  ingest(3);
  EXPECT_EQ(engine_.flows(), flows);
  EXPECT_TRUE(answers_.Latest()->is_memory_full);
  EXPECT_THAT(notices_, ElementsAre(HasSubstr("three quarters of the memory budget of 1000")));
  resident_ = 600;
  ingest(4);
  ingest(5);
  EXPECT_FALSE(answers_.Latest()->is_memory_full);
  EXPECT_GT(engine_.flows(), flows);
}

TEST_F(AnalysisLoopTest, RefusesNewCounterSeriesWhenTheMemoryBudgetIsUsed) {
  const auto ingest = [this](uint32_t host) {
    const CounterEntity entity{.kind = EntityKind::kHost, .node = "host" + std::to_string(host)};
    for (const Metric metric : {Metric::kCpuBusy, Metric::kMemoryFree, Metric::kMemoryTotal}) {
      exchange_.current().counters.push_back(
          {.entity = entity, .metric = metric, .value = 1, .event_time = begin_});
    }
    Reach(begin_ + seconds(host + 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(250));  // the pace of the check
  };
  resident_ = 751;
  Reach(begin_);
  std::this_thread::sleep_for(std::chrono::milliseconds(250));
  ingest(0);
  EXPECT_EQ(engine_.series(), 2u) << "an eighth of the maximum is always allowed";
  EXPECT_EQ(answers_.Latest()->snapshot->refused.metrics.series_refused, 1u);
  resident_ = 600;
  ingest(1);
  ingest(2);
  EXPECT_GE(engine_.series(), 5u);
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
