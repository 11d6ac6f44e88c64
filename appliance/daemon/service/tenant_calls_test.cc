// SPDX-License-Identifier: BSD-3-Clause
// Makes each call as a client with the role tenant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/common/access/role.h"
#include "appliance/daemon/service/event_reader.h"
#include "appliance/daemon/service/event_watch.h"
#include "appliance/daemon/service/tenant_fixture.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

template <typename Request, typename Response>
using TenantCall = ServiceStatus (Service::*)(const Caller&, const Request&, Response&);

class TenantCalls : public TenantTest {
 protected:
  using Texts = std::vector<std::string>;

  // Returns the response, or the error, as text.
  template <typename Request, typename Response>
  std::string Ask(const Caller& caller, TenantCall<Request, Response> call,
                  const Request& request) {
    Response response;
    const ServiceStatus status = (service_.get()->*call)(caller, request, response);
    return status
               ? response.DebugString()
               : std::string(InfoOf(status.error().fault).reason) + ": " + status.error().message;
  }
  // The response now, and the past one.
  template <typename Request, typename Response>
  Texts AskBoth(const Caller& caller, TenantCall<Request, Response> call, Request request) {
    Texts texts = {Ask(caller, call, request)};
    *request.mutable_at_time() = TimestampMessage(kPastNs);
    texts.push_back(Ask(caller, call, request));
    return texts;
  }
  template <typename Request>
  static Request OfJob(const std::string& job) {
    Request request;
    request.set_job_id(job);
    return request;
  }
  Texts Events(const Caller& caller, uint64_t cursor) {
    EventReader reader(*service_, caller, cursor);
    Texts texts;
    for (const auto& event : reader.Next()) texts.push_back(event->DebugString());
    return texts;
  }

  // What each call does for a tenant. `answers` makes requests that succeed.
  struct Decision {
    std::string_view call;
    std::function<Texts(const Caller&)> answers;  // null: the role is refused
  };
  std::vector<Decision> Decisions();
};

std::vector<TenantCalls::Decision> TenantCalls::Decisions() {
  return {
      {"/rocescope.v1.Appliance/GetHealth",
       [this](const Caller& caller) {
         return Texts{Ask(caller, &Service::GetHealth, v1::GetHealthRequest())};
       }},
      {"/rocescope.v1.Appliance/ListSources", nullptr},
      {"/rocescope.v1.Appliance/ListProblems", nullptr},
      {"/rocescope.v1.Appliance/WatchEvents",
       [this](const Caller& caller) {
         Texts texts = Events(caller, 0);  // the active faults
         const Texts all = Events(caller, 1);
         texts.insert(texts.end(), all.begin(), all.end());
         return texts;
       }},
      {"/rocescope.v1.Jobs/ListJobs",
       [this](const Caller& caller) {
         return AskBoth(caller, &Service::ListJobs, v1::ListJobsRequest());
       }},
      {"/rocescope.v1.Jobs/GetJob",
       [this](const Caller& caller) {
         const std::string job = caller.MayReadAll() ? "nccl-zzz" : "nccl-aaa";
         return AskBoth(caller, &Service::GetJob, OfJob<v1::GetJobRequest>(job));
       }},
      {"/rocescope.v1.Jobs/RegisterJob", nullptr},
      {"/rocescope.v1.Jobs/EndJob", nullptr},
      {"/rocescope.v1.Jobs/GetRegisteredJob",
       [this](const Caller& caller) {
         v1::GetRegisteredJobRequest request;
         request.set_scheduler_job_id(caller.MayReadAll() ? kOtherNumber : kOwnNumber);
         return Texts{Ask(caller, &Service::GetRegisteredJob, request)};
       }},
      {"/rocescope.v1.Jobs/ListRegisteredJobs",
       [this](const Caller& caller) {
         v1::ListRegisteredJobsRequest request;
         Texts texts = {Ask(caller, &Service::ListRegisteredJobs, request)};
         request.set_order_by("name");
         texts.push_back(Ask(caller, &Service::ListRegisteredJobs, request));
         return texts;
       }},
      {"/rocescope.v1.Fabric/GetTopology", nullptr},
      {"/rocescope.v1.Fabric/ListLinkLoads", nullptr},
      {"/rocescope.v1.Fabric/FindPaths",
       [this](const Caller& caller) {
         const std::string job = caller.MayReadAll() ? "nccl-zzz" : "4711";
         return Texts{Ask(caller, &Service::FindPaths, OfJob<v1::FindPathsRequest>(job))};
       }},
      {"/rocescope.v1.Fabric/BatchFindPaths",
       [this](const Caller& caller) {
         auto request =
             OfJob<v1::BatchFindPathsRequest>(caller.MayReadAll() ? "nccl-zzz" : "nccl-aaa");
         auto& pair = *request.add_pairs();
         pair.set_source("0");
         pair.set_destination("1");
         return Texts{Ask(caller, &Service::BatchFindPaths, request)};
       }},
      {"/rocescope.v1.Fabric/ListHotspots",
       [this](const Caller& caller) {
         return AskBoth(caller, &Service::ListHotspots, OfJob<v1::ListHotspotsRequest>("nccl-aaa"));
       }},
      {"/rocescope.v1.Fabric/ListNodeSwitches", nullptr},
      {"/rocescope.v1.Fabric/ListNodes", nullptr},
      {"/rocescope.v1.Fabric/RecommendNodes", nullptr},
      {"/rocescope.v1.Diagnosis/ListFindings",
       [this](const Caller& caller) {
         Texts texts = AskBoth(caller, &Service::ListFindings, v1::ListFindingsRequest());
         const Texts of_job =
             AskBoth(caller, &Service::ListFindings, OfJob<v1::ListFindingsRequest>("nccl-aaa"));
         texts.insert(texts.end(), of_job.begin(), of_job.end());
         return texts;
       }},
      {"/rocescope.v1.Diagnosis/AcknowledgeFinding", nullptr},
      {"/rocescope.v1.Diagnosis/UnacknowledgeFinding", nullptr},
      {"/rocescope.v1.Diagnosis/ListAcknowledgements", nullptr},
      {"/rocescope.v1.Diagnosis/MuteFindings", nullptr},
      {"/rocescope.v1.Diagnosis/UnmuteFindings", nullptr},
      {"/rocescope.v1.Diagnosis/ListMutes", nullptr},
      {"/rocescope.v1.Diagnosis/ListAnomalies", nullptr},
      {"/rocescope.v1.Diagnosis/ListServiceLevels",
       [this](const Caller& caller) {
         Texts texts = AskBoth(caller, &Service::ListServiceLevels, v1::ListServiceLevelsRequest());
         const Texts of_job = AskBoth(caller, &Service::ListServiceLevels,
                                      OfJob<v1::ListServiceLevelsRequest>("nccl-aaa"));
         texts.insert(texts.end(), of_job.begin(), of_job.end());
         return texts;
       }},
      {"/rocescope.v1.Diagnosis/GetDependencies", nullptr},
      {"/rocescope.v1.History/ListPastEvents", nullptr},
      {"/rocescope.v1.History/GetLinkHistory", nullptr},
      {"/rocescope.v1.History/GetJobHistory",
       [this](const Caller& caller) {
         Texts texts;
         for (const char* job : {"nccl-aaa", "4711"}) {
           texts.push_back(
               Ask(caller, &Service::GetJobHistory, OfJob<v1::GetJobHistoryRequest>(job)));
         }
         return texts;
       }},
      {"/rocescope.v1.Agents/Report", nullptr},
  };
}

TEST_F(TenantCalls, EachCallIsRestrictedOrRefused) {
  OpenAll();
  AppendEvents();
  std::set<std::string_view> decided;
  for (const Decision& decision : Decisions()) {
    SCOPED_TRACE(decision.call);
    decided.insert(decision.call);
    const Roles roles = RolesOf(decision.call).value_or(0);
    EXPECT_EQ((roles & Of(CallerRole::kTenant)) != 0, decision.answers != nullptr);
    if (!decision.answers) continue;
    std::string of_alice;
    for (const std::string& text : decision.answers(Alice())) {
      EXPECT_THAT(text, Not(AnyOf(StartsWith("UNKNOWN"), StartsWith("NO"), StartsWith("BAD"))));
      of_alice += text;
    }
    std::string of_all;
    for (const std::string& text : decision.answers(LocalCaller())) of_all += text;
    bool has_any = false;
    for (const std::string& word : Forbidden()) {
      EXPECT_THAT(of_alice, Not(HasSubstr(word)));
      has_any = has_any || of_all.find(word) != std::string::npos;
    }
    // Otherwise the test proves nothing. A sum of bytes is not text.
    EXPECT_TRUE(has_any || of_all.find("777888") != std::string::npos)
        << "no data of others in: " << of_all;
  }
  for (const CallRoles& row : kCallRoles) {
    EXPECT_TRUE(decided.contains(row.method)) << row.method << ": a new call needs a decision";
  }
}

TEST_F(TenantCalls, JobsOfOthersAreUnknown) {
  OpenAll();
  // Returns the answers to requests for a job, with its name removed.
  const auto answers = [this](const std::string& job) {
    Texts texts;
    const auto add = [&](const Texts& more) {
      for (std::string text : more) {
        const size_t at = text.find('"' + job + '"');
        if (at != std::string::npos) text.replace(at, job.size() + 2, "JOB");
        texts.push_back(text);
      }
    };
    const Caller alice = Alice();
    add(AskBoth(alice, &Service::GetJob, OfJob<v1::GetJobRequest>(job)));
    add(AskBoth(alice, &Service::ListHotspots, OfJob<v1::ListHotspotsRequest>(job)));
    add(AskBoth(alice, &Service::ListFindings, OfJob<v1::ListFindingsRequest>(job)));
    add(AskBoth(alice, &Service::ListServiceLevels, OfJob<v1::ListServiceLevelsRequest>(job)));
    add({Ask(alice, &Service::FindPaths, OfJob<v1::FindPathsRequest>(job))});
    auto batch = OfJob<v1::BatchFindPathsRequest>(job);
    batch.add_pairs()->set_source("0");
    add({Ask(alice, &Service::BatchFindPaths, batch)});
    add({Ask(alice, &Service::GetJobHistory, OfJob<v1::GetJobHistoryRequest>(job))});
    return texts;
  };
  const Texts unknown = answers("nccl-nobody");
  EXPECT_THAT(unknown, Each(StartsWith("UNKNOWN_JOB: ")));
  for (const char* job : {"nccl-zzz", "nccl-yyy", "secretname", "66006600"}) {
    EXPECT_EQ(answers(job), unknown) << job;
  }
  v1::GetRegisteredJobRequest registered;
  registered.set_scheduler_job_id(kOtherNumber);
  EXPECT_EQ(Ask(Alice(), &Service::GetRegisteredJob, registered),
            "UNKNOWN_JOB: job 66006600 is not registered");
  EXPECT_EQ(
      Ask(Alice(), &Service::FindPaths, v1::FindPathsRequest()),
      "NOT_ALLOWED: job_id: clients with the role tenant must set it to one of their own jobs");
  EXPECT_THAT(Ask(Alice(), &Service::ListHotspots, v1::ListHotspotsRequest()),
              StartsWith("NOT_ALLOWED: "));
}

// Mallory has a job of the same name.
TEST_F(TenantCalls, NamesOfOwnJobsAreUnique) {
  OpenAll();
  EXPECT_THAT(AskBoth(Alice(), &Service::GetJob, OfJob<v1::GetJobRequest>("pretrain")),
              Each(HasSubstr("job_id: \"nccl-aaa\"")));
  EXPECT_THAT(AskBoth(LocalCaller(), &Service::GetJob, OfJob<v1::GetJobRequest>("pretrain")),
              Each(AnyOf(StartsWith("UNKNOWN_JOB"), StartsWith("NO_DATA_YET"))));
  v1::RegisterJobRequest waiting;
  waiting.set_scheduler_job_id(9);
  waiting.set_user("alice");
  waiting.add_nodes()->set_node("host0");
  v1::RegisterJobResponse registered;
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), waiting, registered));
  EXPECT_THAT(Ask(Alice(), &Service::GetJob, OfJob<v1::GetJobRequest>("9")),
              StartsWith("NO_DATA_YET: job \"9\" is registered"));
}

TEST_F(TenantCalls, CountsFiltersAndPagesConcernOwnJobsOnly) {
  OpenAll();
  v1::ListJobsRequest jobs;
  v1::ListJobsResponse listed;
  ASSERT_TRUE(service_->ListJobs(Alice(), jobs, listed));
  EXPECT_EQ(listed.total_size(), 1);
  EXPECT_EQ(listed.next_page_token(), "");
  jobs.set_filter("job_id = \"nccl-z*\"");
  v1::ListJobsResponse filtered;
  ASSERT_TRUE(service_->ListJobs(Alice(), jobs, filtered));
  EXPECT_EQ(filtered.total_size(), 0);
  v1::ListRegisteredJobsResponse registered;
  ASSERT_TRUE(service_->ListRegisteredJobs(Alice(), {}, registered));
  EXPECT_EQ(registered.total_size(), 1);
  v1::ListFindingsRequest findings;
  findings.set_filter("evidence:mallory OR place:host2");
  v1::ListFindingsResponse found;
  ASSERT_TRUE(service_->ListFindings(Alice(), findings, found));
  EXPECT_EQ(found.total_size(), 0) << "filters do not see what the response does not contain";
  // The token of somebody else's page.
  v1::ListJobsRequest first;
  first.set_page_size(1);
  v1::ListJobsResponse of_all;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), first, of_all));
  ASSERT_NE(of_all.next_page_token(), "");
  first.set_page_token(of_all.next_page_token());
  v1::ListJobsResponse next;
  ASSERT_TRUE(service_->ListJobs(Alice(), first, next));
  EXPECT_THAT(next.jobs(), IsEmpty());
}

// Its hosts may run jobs of others.
TEST_F(TenantCalls, LevelsOfHostsAreNotShownAfterTheEndOfTheJob) {
  OpenAll();
  const auto count = [&](const std::string& job_id) {
    v1::ListServiceLevelsRequest request;
    request.set_job_id(job_id);
    v1::ListServiceLevelsResponse response;
    EXPECT_TRUE(service_->ListServiceLevels(Alice(), request, response));
    return response.total_size();
  };
  EXPECT_EQ(count(""), 2) << "of the job, and of the NIC of host0";
  EXPECT_EQ(count("nccl-aaa"), 2);
  v1::EndJobRequest request;
  request.set_scheduler_job_id(kOwnNumber);
  v1::EndJobResponse ended;
  ASSERT_TRUE(service_->EndJob(LocalCaller(), request, ended));
  EXPECT_EQ(count(""), 1);
  EXPECT_EQ(count("nccl-aaa"), 1);
}

TEST_F(TenantCalls, FindingsThatAffectOwnJobsKeepWhatConcernsThem) {
  OpenAll();
  v1::ListFindingsRequest request;
  request.set_order_by("kind");
  v1::ListFindingsResponse response;
  ASSERT_TRUE(service_->ListFindings(Alice(), request, response));
  ASSERT_THAT(response.findings(), SizeIs(2));
  const v1::Finding& at_host = response.findings(0);
  EXPECT_EQ(at_host.kind(), "link_down");
  EXPECT_EQ(at_host.place(), "");
  EXPECT_THAT(at_host.sentence(),
              AllOf(StartsWith("Link at a host of other jobs: down, carries no traffic; since "),
                    HasSubstr("; it affects nccl-aaa ")));
  EXPECT_THAT(at_host.affected_job_ids(), ElementsAre("nccl-aaa"));
  ASSERT_THAT(at_host.culprits(), SizeIs(1));
  EXPECT_EQ(at_host.culprits(0).source(), AddressOf("host0"));
  EXPECT_THAT(at_host.alternatives(), IsEmpty());
  EXPECT_THAT(at_host.symptoms(), IsEmpty());
  EXPECT_NE(at_host.recommended_action(), "");
  const v1::Finding& at_switch = response.findings(1);
  EXPECT_EQ(at_switch.place(), "leaf0");
  EXPECT_THAT(at_switch.sentence(), StartsWith("leaf0: "));
  EXPECT_THAT(at_switch.exposed_job_ids(), IsEmpty());
  EXPECT_THAT(response.suspected_findings(), SizeIs(1));
  EXPECT_EQ(response.coverage().window_count(), 7u);
  // An operator reads the same sentence about a fault that affects only this job.
  v1::ListFindingsResponse all;
  ASSERT_TRUE(service_->ListFindings(LocalCaller(), request, all));
  const auto same = std::ranges::find(all.findings(), std::string("leaf0"), &v1::Finding::place);
  ASSERT_NE(same, all.findings().end());
  EXPECT_EQ(at_switch.sentence(), same->sentence());
}

TEST_F(TenantCalls, EventsAreThoseOfOwnJobsAndSnapshots) {
  OpenAll();
  AppendEvents();
  const Texts events = Events(Alice(), 1);
  EXPECT_THAT(events, Contains(HasSubstr("KIND_GAP")));
  EXPECT_THAT(events, Contains(HasSubstr("KIND_SNAPSHOT")));
  EXPECT_THAT(events, Contains(AllOf(HasSubstr("KIND_FAULT_STARTED"), HasSubstr("link_down"))));
  EXPECT_THAT(events, Not(Contains(HasSubstr("KIND_SOURCE_FAILED"))));
  EXPECT_EQ(std::ranges::count_if(events,
                                  [](const std::string& event) {
                                    return event.find("KIND_FAULT_STARTED") != std::string::npos;
                                  }),
            2);
}

TEST_F(TenantCalls, FindingsThatWereShownAreWithdrawn) {
  OpenAll();
  EventWatch watch;
  watch.LookAt(*service_->views().Latest());
  PublishWithoutFindings();
  for (v1::Event& event : watch.LookAt(*service_->views().Latest())) {
    *event.mutable_event_time() = TimestampMessage(WallClock());
    service_->events().Append(event);
  }
  const auto withdrawn = [this](const Caller& caller) {
    EventReader reader(*service_, caller, 1);
    Texts sentences;
    for (const auto& event : reader.Next()) {
      if (event->kind() != v1::Event::KIND_FAULT_WITHDRAWN) continue;
      sentences.push_back(event->sentence());
      if (caller.MayReadAll()) continue;
      for (const std::string& word : Forbidden()) {
        EXPECT_THAT(event->DebugString(), Not(HasSubstr(word)));
      }
    }
    return sentences;
  };
  EXPECT_THAT(withdrawn(LocalCaller()), SizeIs(3));
  EXPECT_THAT(
      withdrawn(Alice()),
      ElementsAre(StartsWith("Link at a host of other jobs: down, carries no traffic; it affects "
                             "nccl-aaa "),
                  StartsWith("leaf0: switch down, with all of its links; it affects nccl-aaa ")));
}

// Another job had the id then.
TEST_F(TenantCalls, EventsBeforeTheStartOfTheJobAreNotShown) {
  OpenAll();
  v1::Event event;
  event.set_kind(v1::Event::KIND_FAULT_STARTED);
  event.mutable_finding()->set_kind("nic_crash");
  event.mutable_finding()->add_affected_job_ids("nccl-aaa");
  const auto is_shown = [&](int64_t time_ns) {
    *event.mutable_event_time() = TimestampMessage(time_ns);
    const uint64_t before = service_->events().last();
    service_->events().Append(event);
    const Texts events = Events(Alice(), before);
    return std::ranges::any_of(events, [](const std::string& text) {
      return text.find("KIND_FAULT_STARTED") != std::string::npos;
    });
  };
  EXPECT_FALSE(is_shown(kPastNs));
  EXPECT_TRUE(is_shown(ToNanoseconds(WallClock())));
}

TEST_F(TenantCalls, FindingsThatEndedBeforeTheStartOfTheJobAreNotShown) {
  OpenAll();
  const OwnJobs own = service_->OwnJobsOf(Alice(), *service_->views().Latest());
  v1::Finding finding;
  finding.add_affected_job_ids("nccl-aaa");
  EXPECT_TRUE(own.IsAffectedBy(finding));
  *finding.mutable_end_time() = TimestampMessage(WallClock());
  EXPECT_TRUE(own.IsAffectedBy(finding));
  *finding.mutable_end_time() = TimestampMessage(kPastNs);
  EXPECT_FALSE(own.IsAffectedBy(finding));
}

// Earlier jobs of others had the same id and the same number.
TEST_F(TenantCalls, TheHistoryOfAJobBeginsWithItsStart) {
  OpenAll();
  v1::RegisterJobRequest waiting;
  waiting.set_scheduler_job_id(9);
  waiting.set_user("alice");
  waiting.add_nodes()->set_node("host0");
  v1::RegisterJobResponse registered;
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), waiting, registered));
  const auto start_of = [this](uint64_t number) {
    v1::GetRegisteredJobRequest request;
    request.set_scheduler_job_id(number);
    v1::RegisteredJob job;
    EXPECT_TRUE(service_->GetRegisteredJob(LocalCaller(), request, job));
    return Nanoseconds(job.start_time()) / kMinute.count();
  };
  for (const int64_t minutes_before : {0, 1, 100'000}) {
    Store(JobMinute{.minute = start_of(kOwnNumber) - minutes_before,
                    .job = "nccl-aaa",
                    .name = "secretname",
                    .allocation = kOtherNumber,
                    .looks = 1,
                    .bytes = 777'777});
    Store(JobMinute{.minute = start_of(9) - minutes_before,
                    .job = "slurm-9",
                    .allocation = 9,
                    .looks = 1,
                    .bytes = 777'777});
  }
  Store(JobMinute{
      .minute = start_of(9) + 10, .job = "slurm-9", .allocation = 9, .looks = 1, .bytes = 222});
  for (const auto& [job, bytes] : {std::pair("nccl-aaa", 111u), std::pair("9", 222u)}) {
    auto request = OfJob<v1::GetJobHistoryRequest>(job);
    v1::GetJobHistoryResponse response;
    ASSERT_TRUE(service_->GetJobHistory(Alice(), request, response));
    ASSERT_THAT(response.points(), SizeIs(1)) << job;
    EXPECT_EQ(response.points(0).bytes(), bytes) << job;
    *request.mutable_end_time() = TimestampMessage(kPastNs);
    v1::GetJobHistoryResponse before;
    ASSERT_TRUE(service_->GetJobHistory(Alice(), request, before));
    EXPECT_THAT(before.points(), IsEmpty()) << job;
  }
}

// The parts of a past answer are stored at different times. The id belonged to a job of mallory in
// between.
TEST_F(TenantCalls, PastAnswersAreThoseOfATimeWhenTheJobWasTheirOwn) {
  OpenAll();
  const int64_t of_other = kPastNs + 5 * kMinute.count();
  const int64_t of_alice = kPastNs + 7 * kMinute.count();
  const int64_t later = kPastNs + 8 * kMinute.count();
  const auto store = [&](AnswerPart part, int64_t at_ns, const auto& message,
                         const std::string& name) {
    Store(PastAnswer{.part = part,
                     .name = name,
                     .at_ns = at_ns,
                     .content = static_cast<uint64_t>(at_ns),
                     .message = message.SerializeAsString()});
  };
  const auto store_list = [&](int64_t at_ns, const std::string& user, uint64_t number) {
    v1::ListJobsResponse jobs;
    v1::JobSummary& job = *jobs.add_jobs();
    job.set_job_id("nccl-aaa");
    job.mutable_allocation()->set_user(user);
    job.mutable_allocation()->set_scheduler_job_id(number);
    store(AnswerPart::kJobs, at_ns, jobs, "");
  };
  const auto store_finding = [&](int64_t at_ns, const std::string& kind) {
    v1::ListFindingsResponse findings;
    findings.add_findings()->set_kind(kind);
    findings.mutable_findings(0)->add_affected_job_ids("nccl-aaa");
    store(AnswerPart::kFindings, at_ns, findings, "");
  };
  store_list(of_other, "mallory", kOtherNumber);
  store_list(of_alice, "alice", kOwnNumber);
  store_finding(of_other, "pfc_storm");
  store_finding(later, "pfc_deadlock");
  v1::GetJobResponse job_of_other;
  job_of_other.mutable_job()->set_job_id("nccl-aaa");
  job_of_other.mutable_job()->mutable_allocation()->set_user("mallory");
  store(AnswerPart::kJob, of_other, job_of_other, "nccl-aaa");

  const auto findings_at = [this](const Caller& caller, int64_t at_ns) {
    v1::ListFindingsRequest request;
    *request.mutable_at_time() = TimestampMessage(at_ns);
    return Ask(caller, &Service::ListFindings, request);
  };
  const auto job_at = [this](const Caller& caller, int64_t at_ns) {
    auto request = OfJob<v1::GetJobRequest>("nccl-aaa");
    *request.mutable_at_time() = TimestampMessage(at_ns);
    return Ask(caller, &Service::GetJob, request);
  };
  EXPECT_THAT(findings_at(Alice(), kPastNs), HasSubstr("switch_crash"));
  EXPECT_THAT(findings_at(Alice(), of_alice), Not(HasSubstr("pfc_storm")));
  EXPECT_THAT(findings_at(LocalCaller(), of_alice), HasSubstr("pfc_storm"));
  // No later list of jobs shows whose the job is.
  EXPECT_THAT(findings_at(Alice(), later), Not(HasSubstr("pfc_deadlock")));
  EXPECT_THAT(findings_at(LocalCaller(), later), HasSubstr("pfc_deadlock"));
  EXPECT_THAT(job_at(Alice(), of_alice), StartsWith("NO_DATA_AT_TIME: "));
  EXPECT_THAT(job_at(LocalCaller(), of_alice), HasSubstr("mallory"));
  store_list(later, "alice", kOwnNumber);
  EXPECT_THAT(findings_at(Alice(), later), HasSubstr("pfc_deadlock"));
}

TEST_F(TenantCalls, TheHistoryOfAJobHasItsOwnBytesOnly) {
  OpenAll();
  for (const char* job : {"nccl-aaa", "4711", "pretrain"}) {
    v1::GetJobHistoryResponse response;
    ASSERT_TRUE(service_->GetJobHistory(Alice(), OfJob<v1::GetJobHistoryRequest>(job), response));
    ASSERT_THAT(response.points(), SizeIs(1)) << job;
    EXPECT_EQ(response.points(0).bytes(), 111u) << job;
  }
  v1::GetJobHistoryResponse all;
  ASSERT_TRUE(
      service_->GetJobHistory(LocalCaller(), OfJob<v1::GetJobHistoryRequest>("nccl-aaa"), all));
  EXPECT_EQ(all.points(0).bytes(), 777'888u) << "the id of one job is the name of the other";
}

TEST_F(TenantCalls, AClientWithoutARoleSeesNothing) {
  OpenAll();
  v1::ListJobsResponse jobs;
  ASSERT_TRUE(service_->ListJobs(Caller(), {}, jobs));
  EXPECT_EQ(jobs.total_size(), 0);
  v1::ListFindingsResponse findings;
  ASSERT_TRUE(service_->ListFindings(Caller(), {}, findings));
  EXPECT_EQ(findings.total_size(), 0);
}

}  // namespace
}  // namespace rocescope
