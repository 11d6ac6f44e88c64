// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "appliance/api/message_value.h"
#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kMinuteNs = 60'000'000'000;

class HistoryCalls : public ServiceTest {
 protected:
  HistoryCalls() { OpenDaemon(kFabric); }
  ~HistoryCalls() override { service_.reset(); }

  void OpenHistory(std::chrono::milliseconds longest_question = std::chrono::seconds(20)) {
    const Duration long_enough = std::chrono::hours(24 * 36'500);
    auto store = HistoryStore::Open({.file = (folder_ / "history.db").string(),
                                     .retention = {.keep_events = long_enough,
                                                   .keep_series = long_enough,
                                                   .max_bytes = uint64_t{16} << 20},
                                     .longest_question = longest_question,
                                     .wall_clock = clock_},
                                    [](Severity, const std::string&) {});
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
    service_ = std::make_unique<Service>(*daemon_, "1.2.3", store_.get());
  }
  void Add(const HistoryRow& row) {
    store_->Add(row);
    ASSERT_TRUE(store_->Flush(std::chrono::seconds(20)));
  }

  std::unique_ptr<HistoryStore> store_;
  std::function<Timestamp()> clock_ = WallClock;
};

TEST_F(HistoryCalls, ClockTenYearsAheadIsAProblem) {
  OpenHistory();
  service_.reset();
  store_.reset();
  clock_ = [] { return WallClock() + std::chrono::hours(24 * 3652); };
  OpenHistory();
  v1::Health health;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
  EXPECT_THAT(health.problems(), testing::Contains(HasSubstr("days ahead of the time")));
  v1::ListProblemsResponse listed;
  ASSERT_TRUE(service_->ListProblems(LocalCaller(), {}, listed));
  EXPECT_EQ(listed.problems(listed.problems_size() - 1).kind(), "history_retention_suspended");
}

TEST_F(HistoryCalls, FailWithoutAHistory) {
  v1::ListPastEventsResponse events;
  v1::GetLinkHistoryResponse links;
  v1::GetJobHistoryResponse jobs;
  for (const ServiceStatus& status : {service_->ListPastEvents(LocalCaller(), {}, events),
                                      service_->GetLinkHistory(LocalCaller(), {}, links),
                                      service_->GetJobHistory(LocalCaller(), {}, jobs)}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().fault, ServiceFault::kNoHistory);
    EXPECT_THAT(status.error().message, HasSubstr("history.file"));
  }
}

TEST_F(HistoryCalls, SlowQueryAsksForAShorterRange) {
  OpenHistory(std::chrono::milliseconds(0));
  for (int i = 0; i < 2000; ++i) {
    store_->Add(LinkMinute{.minute = i, .port = "leaf0:1", .windows = 1});
  }
  ASSERT_TRUE(store_->Flush(std::chrono::seconds(20)));
  v1::GetLinkHistoryRequest request;
  request.set_port("leaf0:1");
  v1::GetLinkHistoryResponse response;
  const ServiceStatus status = service_->GetLinkHistory(LocalCaller(), request, response);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, ServiceFault::kTooLong);
  EXPECT_THAT(status.error().message, HasSubstr("shorter time range (start_time, end_time)"));
}

TEST_F(HistoryCalls, NegativeNumberOfPointsIsAnError) {
  OpenHistory();
  v1::GetLinkHistoryRequest request;
  request.set_port("leaf0:1");
  request.set_max_points(-1);
  v1::GetLinkHistoryResponse response;
  const ServiceStatus status = service_->GetLinkHistory(LocalCaller(), request, response);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, ServiceFault::kBadRequest);
  EXPECT_THAT(status.error().message, HasSubstr("max_points"));
}

TEST_F(HistoryCalls, EventsAreReturnedUnchangedInPages) {
  OpenHistory();
  v1::Event event;
  for (int i = 0; i < 3; ++i) {
    event.set_cursor(static_cast<uint64_t>(i) + 1);
    *event.mutable_event_time() = TimestampMessage(i * 1000);
    event.set_kind(v1::Event::KIND_FAULT_STARTED);
    event.mutable_finding()->set_place("leaf" + std::to_string(i));
    Add(ToPastEvent(event));
  }
  v1::ListPastEventsRequest request;
  request.set_page_size(2);
  v1::ListPastEventsResponse first;
  ASSERT_TRUE(service_->ListPastEvents(LocalCaller(), request, first));
  ASSERT_THAT(first.events(), SizeIs(2));
  EXPECT_EQ(first.events(0).finding().place(), "leaf2");
  EXPECT_EQ(first.events(0).cursor(), 0u) << "cursors are valid in one process only";
  request.set_page_token(first.next_page_token());
  v1::ListPastEventsResponse second;
  ASSERT_TRUE(service_->ListPastEvents(LocalCaller(), request, second));
  ASSERT_THAT(second.events(), SizeIs(1));
  EXPECT_EQ(Nanoseconds(second.events(0).event_time()), 0);
  EXPECT_EQ(second.next_page_token(), "");
  request.set_page_size(1);
  v1::ListPastEventsResponse smaller;
  EXPECT_TRUE(service_->ListPastEvents(LocalCaller(), request, smaller))
      << "the page size may change";
  request.set_kind(v1::Event::KIND_FAULT_RESOLVED);
  v1::ListPastEventsResponse other;
  const ServiceStatus changed = service_->ListPastEvents(LocalCaller(), request, other);
  ASSERT_FALSE(changed);
  EXPECT_THAT(changed.error().message, HasSubstr("belongs to a different request"));
  for (const char* token : {"x", "1", "1.", ".1", "1.2x", "1.2", "1.2.3"}) {
    request.set_page_token(token);
    v1::ListPastEventsResponse none;
    EXPECT_FALSE(service_->ListPastEvents(LocalCaller(), request, none)) << token;
  }
}

TEST_F(HistoryCalls, LinkUtilisationIsTheMeanOrUnknown) {
  OpenHistory();
  Add(LinkMinute{.minute = 10,
                 .port = "leaf0:Ethernet1",
                 .windows = 4,
                 .use_windows = 4,
                 .use_sum = 1,
                 .use_most = 0.7,
                 .bytes = 5});
  Add(LinkMinute{.minute = 12, .port = "leaf0:Ethernet1", .windows = 3, .marked = 9});
  v1::GetLinkHistoryRequest request;
  request.set_port("leaf0:Ethernet1");
  v1::GetLinkHistoryResponse response;
  ASSERT_TRUE(service_->GetLinkHistory(LocalCaller(), request, response));
  EXPECT_EQ(Nanoseconds(response.step()), kMinuteNs);
  ASSERT_THAT(response.points(), SizeIs(2)) << "minute 11 has no data";
  EXPECT_EQ(Nanoseconds(response.points(0).start_time()), 10 * kMinuteNs);
  EXPECT_EQ(response.points(0).mean_utilization(), 0.25);
  EXPECT_EQ(response.points(0).max_utilization(), 0.7);
  EXPECT_FALSE(response.points(1).has_mean_utilization());
  EXPECT_EQ(response.points(1).ce_marked_packets(), 9u);
  request.set_port("leaf9:Ethernet1");
  const ServiceStatus unknown = service_->GetLinkHistory(LocalCaller(), request, response);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().fault, ServiceFault::kUnknownElement);
}

TEST_F(HistoryCalls, JobPeriodIsTheMeanAndServiceTheWorst) {
  OpenHistory();
  Add(JobMinute{.minute = 10,
                .job = "nccl-1",
                .name = "pretrain",
                .allocation = 4711,
                .looks = 12,
                .bytes = 7,
                .iterations = 300,
                .period_looks = 2,
                .period_sum_ns = 500,
                .findings = 1,
                .service = 3});
  v1::GetJobHistoryRequest request;
  request.set_job_id("4711");
  v1::GetJobHistoryResponse response;
  ASSERT_TRUE(service_->GetJobHistory(LocalCaller(), request, response));
  ASSERT_THAT(response.points(), SizeIs(1));
  EXPECT_EQ(Nanoseconds(response.points(0).mean_iteration_period()), 250);
  EXPECT_EQ(response.points(0).iteration_count(), 300);
  EXPECT_EQ(response.points(0).service_level_state(), v1::ServiceLevel::STATE_MISSED);
  EXPECT_EQ(response.points(0).snapshot_count(), 12u);
  request.set_job_id("nobody");
  const ServiceStatus unknown = service_->GetJobHistory(LocalCaller(), request, response);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().fault, ServiceFault::kUnknownJob);
}

TEST_F(HistoryCalls, InvalidRangeIsAnError) {
  OpenHistory();
  v1::GetLinkHistoryRequest request;
  v1::GetLinkHistoryResponse response;
  const auto fault = [&](int64_t from, int64_t until, int64_t step) {
    *request.mutable_start_time() = TimestampMessage(from);
    request.clear_end_time();
    if (until != 0) *request.mutable_end_time() = TimestampMessage(until);
    *request.mutable_step() = DurationMessage(step);
    const ServiceStatus status = service_->GetLinkHistory(LocalCaller(), request, response);
    return status ? ServiceFault::kCount : status.error().fault;
  };
  EXPECT_EQ(fault(20, 10, 0), ServiceFault::kBadRequest);
  EXPECT_EQ(fault(-1, 10, 0), ServiceFault::kBadRequest);
  EXPECT_EQ(fault(0, 0, -1), ServiceFault::kBadRequest);
  EXPECT_EQ(fault(0, INT64_MAX, 0), ServiceFault::kBadRequest) << "after the latest time";
  EXPECT_EQ(fault(0, ToNanoseconds(kLatestTime), INT64_MAX), ServiceFault::kUnknownElement)
      << "this range is valid";
}

}  // namespace
}  // namespace rocescope
