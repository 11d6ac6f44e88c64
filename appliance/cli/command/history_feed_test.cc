// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/history_feed.h"

#include <gmock/gmock.h>

#include "appliance/daemon/history/history_fixture.h"
#include "topology/fabric.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using testing::SizeIs;

class HistoryFeedTest : public HistoryTest {
 protected:
  // Returns a snapshot with a job, and with 1,000 bytes at the first port in the previous window.
  AnswerView AnswerAt(Timestamp reached, uint32_t restarted = 0) const {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->fabric = fabric_;
    snapshot->host_facts = std::make_shared<const HostFacts>();
    snapshot->flows = std::make_shared<const FlowSummaries>();
    snapshot->paths = std::make_shared<const FlowPaths>();
    snapshot->connections = std::make_shared<const ConnectionList>();
    Attribution attribution;
    attribution.jobs.emplace_back().job.id = "nccl-1";
    snapshot->attribution = std::make_shared<const Attribution>(std::move(attribution));
    snapshot->link_loads = std::make_shared<const LinkLoads>(
        LinkLoads{.from = reached - seconds(1),
                  .window = seconds(1),
                  .loads = {{.port = 0, .source = LoadSource::kCounters, .bytes = 1000}}});
    auto answer = std::make_shared<Answer>();
    answer->snapshot = std::move(snapshot);
    answer->reached = reached;
    answer->restarted = restarted;
    return {std::move(answer), seconds(1)};
  }

  const std::shared_ptr<const topology::Fabric> fabric_ = std::make_shared<const topology::Fabric>(
      topology::Generate({.hosts = 2, .leaves = 1, .spines = 1}).value());
  const Timestamp begin_ = Timestamp(hours(500'000)) + seconds(10);
};

TEST_F(HistoryFeedTest, GoesOnAfterTheClockWasSetBack) {
  const auto store = Open(Options());
  ASSERT_TRUE(store);
  HistoryFeed feed(store->get(), fabric_);
  feed.LookAt(AnswerAt(begin_ + hours(1)));
  for (int i = 0; i < 3; ++i) feed.LookAt(AnswerAt(begin_ + i * seconds(6), 1));
  feed.End();
  ASSERT_TRUE((*store)->Flush(kSoon));
  const auto links = (*store)->LinkSeries({.name = fabric_->NameOf(0), .step = kMinute});
  ASSERT_TRUE(links);
  ASSERT_THAT(links->points, SizeIs(2));
  EXPECT_EQ(links->points[0].from, Timestamp(hours(500'000)));
  EXPECT_EQ(links->points[0].bytes, 3000u);
  EXPECT_EQ(links->points[1].bytes, 1000u);
  const auto jobs = (*store)->JobSeries({.name = "nccl-1", .step = kMinute});
  ASSERT_TRUE(jobs);
  ASSERT_THAT(jobs->points, SizeIs(2));
  EXPECT_EQ(jobs->points[0].looks, 3u);
  EXPECT_EQ((*store)->counts().late, 0u);
}

TEST_F(HistoryFeedTest, StoresTheFirstAnswersOfEachMinute) {
  const auto store = Open(Options());
  ASSERT_TRUE(store);
  HistoryFeed feed(store->get(), fabric_);
  for (int i = 0; i < 24; ++i) feed.LookAt(AnswerAt(begin_ + i * seconds(10)));
  ASSERT_TRUE((*store)->Flush(kSoon));
  for (const AnswerPart part :
       {AnswerPart::kJobs, AnswerPart::kJob, AnswerPart::kHotspots, AnswerPart::kFindings,
        AnswerPart::kAnomalies, AnswerPart::kServiceLevels}) {
    const auto found = (*store)->AnswerAt({.part = part,
                                           .name = part == AnswerPart::kJob ? "nccl-1" : "",
                                           .at_ns = ToNanoseconds(begin_ + hours(1))});
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_TRUE(found->is_found) << static_cast<int>(part);
    EXPECT_EQ(FromNanoseconds(found->version), begin_) << "unchanged since then";
    EXPECT_EQ(FromNanoseconds(found->data_ns), begin_ + seconds(230));
  }
}

TEST_F(HistoryFeedTest, CountsLateData) {
  const auto store = Open(Options());
  ASSERT_TRUE(store);
  HistoryFeed feed(store->get(), fabric_);
  feed.LookAt(AnswerAt(begin_ + hours(1)));
  for (int i = 0; i < 3; ++i) feed.LookAt(AnswerAt(begin_ + i * seconds(6)));
  EXPECT_EQ((*store)->counts().late, 3u);
}

}  // namespace
}  // namespace rocescope
