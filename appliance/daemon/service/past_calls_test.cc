// SPDX-License-Identifier: BSD-3-Clause
// Calls with at_time.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include "appliance/api/message_value.h"
#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/service/past_answer.h"
#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kPastMinuteNs = 60'000'000'000;
constexpr int64_t kPastStartNs = int64_t{29'000'000} * kPastMinuteNs;  // in 2025

class PastCalls : public ServiceTest {
 protected:
  PastCalls() { OpenDaemon(kFabric); }
  ~PastCalls() override { service_.reset(); }

  void OpenHistory() {
    const Duration long_enough = std::chrono::hours(24 * 36'500);
    auto store = HistoryStore::Open({.file = (folder_ / "history.db").string(),
                                     .retention = {.keep_events = long_enough,
                                                   .keep_series = long_enough,
                                                   .max_bytes = uint64_t{16} << 20}},
                                    [](Severity, const std::string&) {});
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
    service_ = std::make_unique<Service>(*daemon_, "1.2.3", store_.get());
  }
  // Stores the answers of the current snapshot as those of this time.
  void StoreAt(int64_t at_ns) {
    for (PastAnswer& part : PastAnswersOf(*service_->views().Latest())) {
      part.at_ns = at_ns;
      store_->Add(std::move(part));
    }
    ASSERT_TRUE(store_->Flush(std::chrono::seconds(20)));
  }

  // Jobs with ranks, and levels of jobs, NICs and a port.
  Snapshot Rich() const {
    const topology::Fabric& fabric = *daemon_->fabric();
    Attribution attribution;
    for (const char* id : {"nccl-1", "nccl-2"}) attribution.jobs.emplace_back().job.id = id;
    attribution.jobs[0].job.allocation = JobAllocation{.id = 4711, .name = "pretrain"};
    attribution.jobs[1].job.ranks.emplace_back().host = fabric.node(fabric.nic(0).host).name;
    Snapshot snapshot;
    snapshot.attribution = std::make_shared<const Attribution>(std::move(attribution));
    auto levels = std::make_shared<ServiceLevels>();
    for (const uint32_t job : {0U, 1U}) {
      levels->levels.push_back({.indicator = static_cast<ServiceIndicator>(0),
                                .job = job,
                                .bound = 1,
                                .within_short = 0.5,
                                .within_long = 0.25,
                                .windows = 4,
                                .state = ServiceState::kMissed});
    }
    for (const Entity& entity : {Entity{.kind = EntityKind::kNic, .index = 0},
                                 Entity{.kind = EntityKind::kNic, .index = 1},
                                 Entity{.kind = EntityKind::kPort, .index = 0}}) {
      levels->levels.push_back(
          {.indicator = entity.kind == EntityKind::kNic
                            ? ServiceIndicatorOfNic()
                            : static_cast<ServiceIndicator>(kServiceIndicatorCount - 1),
           .entity = entity,
           .bound = 1,
           .within_short = 1,
           .within_long = 1,
           .windows = 4,
           .state = ServiceState::kMet});
    }
    snapshot.service_levels = levels;
    Congestion congestion;
    congestion.hotspots.push_back({.port = 0});
    congestion.hotspots.push_back({.port = 1});
    congestion.traffic.resize(2);
    snapshot.congestion = std::make_shared<const Congestion>(std::move(congestion));
    Finding finding;
    finding.kind = FaultKind::kLinkDown;
    finding.place.index = 0;
    finding.confidence = 0.9;
    finding.affected_jobs = {1};
    snapshot.findings = std::make_shared<const Findings>(Findings{finding, finding});
    return snapshot;
  }
  static ServiceIndicator ServiceIndicatorOfNic() {
    for (size_t i = 0; i < kServiceIndicatorCount; ++i) {
      if (InfoOf(static_cast<ServiceIndicator>(i)).layer == ServiceLayer::kNic) {
        return static_cast<ServiceIndicator>(i);
      }
    }
    return ServiceIndicator::kCount;
  }

  // Expects that the past answer is the one of the snapshot.
  template <typename Request, typename Response>
  void ExpectSame(ServiceStatus (Service::*call)(const Caller&, const Request&, Response&),
                  Request request) {
    Response now;
    ASSERT_TRUE((service_.get()->*call)(LocalCaller(), request, now));
    *request.mutable_at_time() = TimestampMessage(kPastStartNs);
    Response past;
    const ServiceStatus status = (service_.get()->*call)(LocalCaller(), request, past);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(Nanoseconds(past.snapshot().data_time()), kPastStartNs);
    EXPECT_EQ(past.snapshot().version(), 0u);
    now.clear_snapshot();
    past.clear_snapshot();
    std::string difference;
    MessageDifferencer differencer;
    differencer.ReportDifferencesToString(&difference);
    EXPECT_TRUE(differencer.Compare(now, past)) << difference;
    EXPECT_GT(now.ByteSizeLong(), 0u) << "otherwise the comparison means nothing";
  }
  template <typename Request, typename Response>
  ServiceError ErrorOf(ServiceStatus (Service::*call)(const Caller&, const Request&, Response&),
                       Request request, int64_t at_ns) {
    *request.mutable_at_time() = TimestampMessage(at_ns);
    Response response;
    const ServiceStatus status = (service_.get()->*call)(LocalCaller(), request, response);
    return status ? ServiceError{.fault = ServiceFault::kCount} : status.error();
  }

  std::unique_ptr<HistoryStore> store_;
};

TEST_F(PastCalls, FailWithoutAHistory) {
  Publish(TwoJobs());
  EXPECT_EQ(ErrorOf(&Service::ListJobs, {}, kPastStartNs).fault, ServiceFault::kNoHistory);
  EXPECT_EQ(ErrorOf(&Service::GetJob, {}, kPastStartNs).fault, ServiceFault::kNoHistory);
  EXPECT_EQ(ErrorOf(&Service::ListHotspots, {}, kPastStartNs).fault, ServiceFault::kNoHistory);
  EXPECT_EQ(ErrorOf(&Service::ListFindings, {}, kPastStartNs).fault, ServiceFault::kNoHistory);
  EXPECT_EQ(ErrorOf(&Service::ListAnomalies, {}, kPastStartNs).fault, ServiceFault::kNoHistory);
  EXPECT_EQ(ErrorOf(&Service::ListServiceLevels, {}, kPastStartNs).fault, ServiceFault::kNoHistory);
  EXPECT_EQ(ErrorOf(&Service::ListLinkLoads, {}, kPastStartNs).fault, ServiceFault::kNoHistory);
}

TEST_F(PastCalls, AnswersAreThoseOfTheSnapshot) {
  OpenHistory();
  Publish(Rich());
  StoreAt(kPastStartNs);
  for (const char* job : {"", "nccl-2"}) {
    v1::ListHotspotsRequest hotspots;
    v1::ListFindingsRequest findings;
    v1::ListServiceLevelsRequest levels;
    hotspots.set_job_id(job);
    findings.set_job_id(job);
    levels.set_job_id(job);
    if (*job == '\0') ExpectSame(&Service::ListHotspots, hotspots);
    ExpectSame(&Service::ListFindings, findings);
    ExpectSame(&Service::ListServiceLevels, levels);
  }
  ExpectSame(&Service::ListJobs, v1::ListJobsRequest());
  ExpectSame(&Service::ListAnomalies, v1::ListAnomaliesRequest());
  v1::GetJobRequest job;
  for (const char* name : {"nccl-2", "4711", "pretrain"}) {
    job.set_job_id(name);
    ExpectSame(&Service::GetJob, job);
  }
  v1::ListJobsRequest filtered;
  filtered.set_filter("job_id = nccl-2");
  filtered.set_order_by("job_id desc");
  ExpectSame(&Service::ListJobs, filtered);
}

TEST_F(PastCalls, AnswerIsThatOfTheLastMinuteAtOrBefore) {
  OpenHistory();
  Publish(TwoJobs());
  StoreAt(kPastStartNs);
  Publish({});
  StoreAt(kPastStartNs + kPastMinuteNs);
  v1::ListJobsRequest request;
  *request.mutable_at_time() = TimestampMessage(kPastStartNs + kPastMinuteNs - 1);
  v1::ListJobsResponse two;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, two));
  EXPECT_THAT(two.jobs(), SizeIs(2));
  *request.mutable_at_time() = TimestampMessage(kPastStartNs + kPastMinuteNs);
  v1::ListJobsResponse none;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, none));
  EXPECT_THAT(none.jobs(), SizeIs(0));
  EXPECT_EQ(Nanoseconds(none.snapshot().data_time()), kPastStartNs + kPastMinuteNs);
}

TEST_F(PastCalls, TimeWithoutDataIsAnErrorThatNamesTheRange) {
  OpenHistory();
  EXPECT_EQ(ErrorOf(&Service::ListJobs, {}, kPastStartNs).fault, ServiceFault::kNoDataAtTime)
      << "an empty history";
  Publish(TwoJobs());
  StoreAt(kPastStartNs);
  const ServiceError before = ErrorOf(&Service::ListJobs, {}, kPastStartNs - 1);
  EXPECT_EQ(before.fault, ServiceFault::kNoDataAtTime);
  EXPECT_THAT(before.message, HasSubstr(ToText(TimestampMessage(kPastStartNs))));
  EXPECT_EQ(ErrorOf(&Service::ListJobs, {}, kPastStartNs + 15 * kPastMinuteNs).fault,
            ServiceFault::kCount);
  const ServiceError after = ErrorOf(&Service::ListJobs, {}, kPastStartNs + 15 * kPastMinuteNs + 1);
  EXPECT_EQ(after.fault, ServiceFault::kNoDataAtTime);
  EXPECT_THAT(after.message, AllOf(HasSubstr("15 minutes before"),
                                   HasSubstr(ToText(TimestampMessage(kPastStartNs)))));
  EXPECT_EQ(ErrorOf(&Service::ListJobs, {}, -1).fault, ServiceFault::kBadRequest);
  v1::GetJobRequest job;
  job.set_job_id("nobody");
  EXPECT_EQ(ErrorOf(&Service::GetJob, job, kPastStartNs).fault, ServiceFault::kUnknownJob);
}

TEST_F(PastCalls, PagesComeFromOneVersion) {
  OpenHistory();
  Publish(TwoJobs());
  StoreAt(kPastStartNs);
  v1::ListJobsRequest request;
  *request.mutable_at_time() = TimestampMessage(kPastStartNs + 5 * kPastMinuteNs);
  request.set_page_size(1);
  v1::ListJobsResponse first;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, first));
  ASSERT_THAT(first.jobs(), SizeIs(1));
  EXPECT_EQ(first.total_size(), 2);
  Publish({});
  StoreAt(kPastStartNs + kPastMinuteNs);
  request.set_page_token(first.next_page_token());
  v1::ListJobsResponse second;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, second));
  ASSERT_THAT(second.jobs(), SizeIs(1));
  EXPECT_EQ(second.jobs(0).job_id(), "nccl-2");
  EXPECT_EQ(second.next_page_token(), "");
  EXPECT_EQ(ErrorOf(&Service::ListJobs, request, kPastStartNs).fault, ServiceFault::kBadRequest)
      << "the token belongs to another at_time";
}

// A version that is later than the requested time cannot come from a token of ours.
TEST_F(PastCalls, TokenWithALaterVersionIsRefused) {
  OpenHistory();
  const auto token_at = [&](int64_t time_ns) {
    v1::ListJobsRequest request;
    *request.mutable_at_time() = TimestampMessage(time_ns);
    request.set_page_size(1);
    v1::ListJobsResponse response;
    EXPECT_TRUE(service_->ListJobs(LocalCaller(), request, response));
    return response.next_page_token();
  };
  Publish(TwoJobs());
  StoreAt(kPastStartNs);
  Publish({});
  StoreAt(kPastStartNs + kPastMinuteNs);
  Publish(TwoJobs());
  StoreAt(kPastStartNs + 2 * kPastMinuteNs);
  const std::string earlier = token_at(kPastStartNs);
  const std::string later = token_at(kPastStartNs + 2 * kPastMinuteNs);
  ASSERT_NE(earlier, "");
  ASSERT_NE(later, "");
  v1::ListJobsRequest request;
  *request.mutable_at_time() = TimestampMessage(kPastStartNs);
  request.set_page_size(1);
  request.set_page_token(later.substr(0, later.find('.')) + earlier.substr(earlier.find('.')));
  v1::ListJobsResponse response;
  const auto status = service_->ListJobs(LocalCaller(), request, response);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, ServiceFault::kPageForgotten);
}

TEST_F(PastCalls, DamagedAnswerIsAnError) {
  OpenHistory();
  for (const char* message : {"\xff\xff", "\x0a\x7f"}) {
    store_->Add(PastAnswer{
        .part = AnswerPart::kFindings, .at_ns = kPastStartNs, .content = 1, .message = message});
    ASSERT_TRUE(store_->Flush(std::chrono::seconds(20)));
    const uint64_t errors = store_->counts().errors;
    EXPECT_EQ(ErrorOf(&Service::ListFindings, {}, kPastStartNs).fault, ServiceFault::kNoDataAtTime);
    EXPECT_EQ(store_->counts().errors, errors + 1);
  }
}

TEST_F(PastCalls, LinkLoadsAreThoseOfTheMinute) {
  OpenHistory();
  const int64_t minute = kPastStartNs / kPastMinuteNs;
  store_->Add(LinkMinute{.minute = minute,
                         .port = "leaf0:Ethernet1",
                         .windows = 4,
                         .use_windows = 4,
                         .use_sum = 1,
                         .use_most = 0.7,
                         .bytes = 5,
                         .paused_ns = 9});
  store_->Add(LinkMinute{.minute = minute, .port = "leaf0:Ethernet2", .windows = 3, .marked = 9});
  store_->Add(LinkMinute{.minute = minute + 1, .port = "leaf0:Ethernet1", .bytes = 6});
  ASSERT_TRUE(store_->Flush(std::chrono::seconds(20)));
  v1::ListLinkLoadsRequest request;
  *request.mutable_at_time() = TimestampMessage(kPastStartNs + kPastMinuteNs - 1);
  request.set_page_size(1);
  v1::ListLinkLoadsResponse first;
  ASSERT_TRUE(service_->ListLinkLoads(LocalCaller(), request, first));
  EXPECT_EQ(first.total_size(), 2);
  ASSERT_THAT(first.link_loads(), SizeIs(1));
  EXPECT_EQ(first.link_loads(0).port(), "leaf0:Ethernet1");
  EXPECT_EQ(first.link_loads(0).utilization(), 0.25);
  EXPECT_EQ(first.link_loads(0).bytes(), 5u);
  EXPECT_EQ(Nanoseconds(first.link_loads(0).paused_duration()), 9);
  EXPECT_EQ(Nanoseconds(first.start_time()), kPastStartNs);
  EXPECT_EQ(Nanoseconds(first.snapshot().data_time()), kPastStartNs + kPastMinuteNs);
  request.set_page_token(first.next_page_token());
  v1::ListLinkLoadsResponse second;
  ASSERT_TRUE(service_->ListLinkLoads(LocalCaller(), request, second));
  ASSERT_THAT(second.link_loads(), SizeIs(1));
  EXPECT_FALSE(second.link_loads(0).has_utilization());
  EXPECT_EQ(second.link_loads(0).ce_marked_packets(), 9u);
  const ServiceError before = ErrorOf(&Service::ListLinkLoads, {}, kPastStartNs - 1);
  EXPECT_EQ(before.fault, ServiceFault::kNoDataAtTime);
  EXPECT_THAT(before.message, HasSubstr(ToText(TimestampMessage(kPastStartNs))));
  EXPECT_EQ(ErrorOf(&Service::ListLinkLoads, {}, kPastStartNs + 17 * kPastMinuteNs).fault,
            ServiceFault::kNoDataAtTime);
}

}  // namespace
}  // namespace rocescope
