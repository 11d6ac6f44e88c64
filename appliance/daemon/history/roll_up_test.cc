// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/roll_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "appliance/api/message_value.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Duration kWindow = std::chrono::seconds(1);
constexpr Timestamp kStart = FromNanoseconds(0) + 100 * kMinute;

std::shared_ptr<const topology::Fabric> TwoHosts() {
  return std::make_shared<const topology::Fabric>(
      topology::Generate({.hosts = 2, .leaves = 1, .spines = 1}).value());
}

// Window i: i times 125 MB, which is i % of 100 Gbit/s for a second.
LinkLoads Window(int i) {
  return {.from = kStart + i * kWindow,
          .window = kWindow,
          .loads = {{.port = 0,
                     .source = LoadSource::kCounters,
                     .bytes = static_cast<uint64_t>(i) * 125'000'000,
                     .marked = 2,
                     .dropped = static_cast<uint64_t>(i % 2),
                     .paused = Duration(10),
                     .peak_bytes = static_cast<uint64_t>(1000 - i),
                     .errors = 1},
                    {.port = 1, .marked = 5}}};
}

LinkMinute LinkOf(const HistoryRow& row) { return std::get<LinkMinute>(row); }

TEST(LinkRollUp, MinuteIsTheSumOfItsWindows) {
  const auto fabric = TwoHosts();
  LinkRollUp links(fabric);
  for (int i = 0; i < 60; ++i) links.Add(Window(i));
  EXPECT_THAT(links.Take(), IsEmpty()) << "a late window may still arrive";
  links.Add(Window(60));
  const auto rows = links.Take();
  ASSERT_THAT(rows, SizeIs(2));
  const LinkMinute first = LinkOf(rows[0]);
  EXPECT_EQ(first.minute, 100);
  EXPECT_EQ(first.port, fabric->NameOf(0));
  EXPECT_EQ(first.windows, 60u);
  EXPECT_EQ(first.use_windows, 60u);
  EXPECT_NEAR(first.use_sum, 17.70, 1e-9) << "0 + 1 + ... + 59 %";
  EXPECT_NEAR(first.use_most, 0.59, 1e-12);
  EXPECT_EQ(first.bytes, uint64_t{1770} * 125'000'000);
  EXPECT_EQ(first.marked, 120u);
  EXPECT_EQ(first.dropped, 30u);
  EXPECT_EQ(first.paused_ns, 600u);
  EXPECT_EQ(first.peak_bytes, 1000u);
  EXPECT_EQ(first.errors, 60u);
  const LinkMinute second = LinkOf(rows[1]);
  EXPECT_EQ(second.use_windows, 0u) << "its bytes are unknown";
  EXPECT_EQ(second.marked, 300u);
}

TEST(LinkRollUp, WindowCountsOnceAndALateOneDoesNot) {
  LinkRollUp links(TwoHosts());
  for (const int i : {58, 59, 58, 59, 60, 59, 60, 61}) links.Add(Window(i));
  EXPECT_EQ(links.late(), 1u);
  const auto rows = links.Take(/*unfinished=*/true);
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_EQ(LinkOf(rows[0]).windows, 2u);
  EXPECT_EQ(LinkOf(rows[2]).minute, 101);
  EXPECT_EQ(LinkOf(rows[2]).windows, 2u);
}

TEST(LinkRollUp, ContinuesAfterTheClockWasSetBack) {
  LinkRollUp links(TwoHosts());
  for (const int i : {3600, 3601}) links.Add(Window(i));
  links.Restart();
  for (const int i : {0, 1, 2, 60}) links.Add(Window(i));
  EXPECT_EQ(links.late(), 0u);
  const auto rows = links.Take();
  ASSERT_THAT(rows, SizeIs(4));
  EXPECT_EQ(LinkOf(rows[0]).minute, 160);
  EXPECT_EQ(LinkOf(rows[0]).windows, 2u);
  EXPECT_EQ(LinkOf(rows[2]).minute, 100);
  EXPECT_EQ(LinkOf(rows[2]).windows, 3u);
}

TEST(LinkRollUp, WindowCountsAgainAfterTheClockWasSetBack) {
  LinkRollUp links(TwoHosts());
  links.Add(Window(30));
  links.Restart();
  links.Add(Window(30));  // another time with the same timestamp
  EXPECT_THAT(links.Take(/*unfinished=*/true), SizeIs(4))
      << "rows of the same minute are added in the file";
}

TEST(LinkRollUp, TheSameWindowsGiveTheSameRows) {
  const auto fabric = TwoHosts();
  LinkRollUp one(fabric);
  LinkRollUp other(fabric);
  for (int i = 0; i < 200; i += 3) {
    one.Add(Window(i));
    other.Add(Window(i));
    if (i % 2 == 0) other.Add(Window(i));
  }
  const auto rows = one.Take(true);
  const auto others = other.Take(true);
  ASSERT_EQ(rows.size(), others.size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(LinkOf(rows[i]), LinkOf(others[i]));
}

TEST(LinkRollUp, IsEmptyWithoutAWindowOrAFabric) {
  LinkRollUp links(TwoHosts());
  links.Add({});
  LinkRollUp blind(nullptr);
  blind.Add(Window(0));
  EXPECT_THAT(links.Take(true), IsEmpty());
  EXPECT_THAT(blind.Take(true), IsEmpty());
}

v1::JobSummary Job(uint64_t bytes, int64_t period_ms, v1::ServiceLevel::State service,
                   int findings) {
  v1::JobSummary job;
  job.set_job_id("nccl-1");
  job.mutable_allocation()->set_scheduler_job_id(4711);
  job.mutable_allocation()->set_name("pretrain");
  job.set_bytes(bytes);
  *job.mutable_iteration_period() = DurationMessage(period_ms * 1'000'000);
  job.set_service_level_state(service);
  for (int i = 0; i < findings; ++i) job.add_finding_sentences("a fault");
  return job;
}

TEST(JobRollUp, BytesAreDifferencesAndIterationsTimeByThePeriod) {
  JobRollUp jobs;
  const auto at = [](int second) { return kStart + std::chrono::seconds(second); };
  jobs.Add(at(10), std::vector{Job(1000, 0, v1::ServiceLevel::STATE_NO_DATA, 0)});
  jobs.Add(at(20), std::vector{Job(4000, 200, v1::ServiceLevel::STATE_MET, 1)});
  jobs.Add(at(30), std::vector{Job(4000, 300, v1::ServiceLevel::STATE_MISSED, 3)});  // no traffic
  jobs.Add(at(20), std::vector{Job(9999, 200, v1::ServiceLevel::STATE_MET, 0)});     // late
  jobs.Add(at(40), std::vector{Job(3500, 200, v1::ServiceLevel::STATE_AT_RISK,
                                   0)});  // connections attributed differently
  jobs.Add(at(50), std::vector{Job(3600, 400, v1::ServiceLevel::STATE_MET, 0)});
  EXPECT_THAT(jobs.Take(), IsEmpty());
  jobs.Add(at(60), std::vector{Job(3700, 200, v1::ServiceLevel::STATE_MET, 0)});
  EXPECT_EQ(jobs.late(), 1u);
  const auto rows = jobs.Take();
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(std::get<JobMinute>(rows[0]),
            (JobMinute{.minute = 100,
                       .job = "nccl-1",
                       .name = "pretrain",
                       .allocation = 4711,
                       .looks = 5,
                       .bytes = 1000 + 3000 + 100,
                       .iterations = 10 / 0.2 + 10 / 0.4,
                       .period_looks = 4,
                       .period_sum_ns = (200 + 300 + 200 + 400) * uint64_t{1'000'000},
                       .findings = 3,
                       .service = 3}));
  const auto last = jobs.Take(true);
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(std::get<JobMinute>(last[0]).minute, 101);
  EXPECT_EQ(std::get<JobMinute>(last[0]).bytes, 100u);
}

TEST(JobRollUp, ContinuesAfterTheClockWasSetBack) {
  JobRollUp jobs;
  const auto at = [](int second) { return kStart + std::chrono::seconds(second); };
  jobs.Add(at(3600), std::vector{Job(1000, 0, v1::ServiceLevel::STATE_MET, 0)});
  jobs.Restart();
  jobs.Add(at(10), std::vector{Job(300, 0, v1::ServiceLevel::STATE_MET, 0)});  // after the restart
  jobs.Add(at(20), std::vector{Job(400, 0, v1::ServiceLevel::STATE_MET, 0)});
  EXPECT_EQ(jobs.late(), 0u);
  const auto rows = jobs.Take(true);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(std::get<JobMinute>(rows[0]).minute, 160);
  EXPECT_EQ(std::get<JobMinute>(rows[1]).minute, 100);
  EXPECT_EQ(std::get<JobMinute>(rows[1]).bytes, 400u);
}

}  // namespace
}  // namespace rocescope
