// SPDX-License-Identifier: BSD-3-Clause
// Makes each call as a client with the role tenant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/common/access/role.h"
#include "appliance/daemon/service/event_reader.h"
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
