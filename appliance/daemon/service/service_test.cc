// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "appliance/api/message_value.h"
#include "appliance/daemon/service/service_fixture.h"
#include "dataplane/source/wall_clock.h"
#include "rocescope/v1/agent.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Property;
using testing::SizeIs;

template <typename Request, typename Response>
ServiceFault FaultOf(Service& service,
                     ServiceStatus (Service::*call)(const Caller&, const Request&, Response&),
                     const Request& request) {
  Response response;
  const ServiceStatus status = (service.*call)(LocalCaller(), request, response);
  return status ? ServiceFault::kCount : status.error().fault;
}

TEST_F(ServiceTest, MissingSnapshotIsAnError) {
  OpenDaemon(kFabric);
  EXPECT_EQ(FaultOf(*service_, &Service::ListJobs, v1::ListJobsRequest()),
            ServiceFault::kNoAnswerYet);
  EXPECT_EQ(FaultOf(*service_, &Service::ListFindings, v1::ListFindingsRequest()),
            ServiceFault::kNoAnswerYet);
  v1::Health health;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
  EXPECT_EQ(health.state(), v1::Health::STATE_WAITING);
  EXPECT_FALSE(health.has_snapshot());
  EXPECT_TRUE(health.has_topology());
}

TEST_F(ServiceTest, IsWaitingUntilTelemetryArrives) {
  OpenDaemon(kFabric);
  Publish({});
  v1::Health health;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
  EXPECT_EQ(health.state(), v1::Health::STATE_WAITING);
  EXPECT_TRUE(health.has_snapshot());
}

// If half of the records were dropped, the absence of findings proves nothing.
TEST_F(ServiceTest, DroppedRecordsAreAProblemAndPartOfTheCoverage) {
  OpenDaemon(kFabric);
  const auto snapshot = [] {
    Snapshot one;
    one.findings = std::make_shared<const Findings>();
    one.diagnosis_coverage = std::make_shared<const DiagnosisCoverage>();
    return one;
  };
  Publish(snapshot(), 0,
          {.records = {.taken = 5'000, .given_up = 5'000}, .over = std::chrono::seconds(60)});
  v1::Health health;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
  EXPECT_EQ(health.state(), v1::Health::STATE_DEGRADED);
  EXPECT_THAT(health.problems(), ElementsAre(HasSubstr("dropped 5,000 of 10,000 records")));
  v1::ListFindingsResponse findings;
  ASSERT_TRUE(service_->ListFindings(LocalCaller(), {}, findings));
  EXPECT_THAT(findings.findings(), IsEmpty());
  EXPECT_EQ(findings.coverage().dropped_records_note(), health.problems(0));
  Publish(snapshot());
  v1::Health after;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, after));
  EXPECT_THAT(after.problems(), IsEmpty());
  v1::ListFindingsResponse whole;
  ASSERT_TRUE(service_->ListFindings(LocalCaller(), {}, whole));
  EXPECT_EQ(whole.coverage().dropped_records_note(), "");
}

// Protobuf libraries reject a whole response with such text.
TEST_F(ServiceTest, ProblemsAreValidUtf8) {
  OpenDaemon(kFabric);
  CablingAnswer cabling;
  cabling.counters = {.records = 1, .examples = {"leaf\xff"}};
  Snapshot snapshot;
  snapshot.cabling = std::make_shared<const CablingAnswer>(std::move(cabling));
  Publish(std::move(snapshot));
  v1::ListProblemsResponse problems;
  ASSERT_TRUE(service_->ListProblems(LocalCaller(), {}, problems));
  EXPECT_THAT(problems.problems(), Contains(AllOf(Property(&v1::Problem::kind, "unknown_node"),
                                                  Property(&v1::Problem::place, "leaf?"))));
}

TEST_F(ServiceTest, CertificatesThatExpireSoonAreAProblem) {
  OpenDaemon(kFabric);
  const auto problems = [this](const CertificateState& state) {
    service_->SetCertificates({state});
    v1::Health health;
    EXPECT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
    return std::vector<std::string>(health.problems().begin(), health.problems().end());
  };
  const Timestamp now = WallClock();
  const auto days = [](int count) { return std::chrono::hours(24 * count + 1); };
  EXPECT_THAT(problems({.server = "http", .expires_at = now + days(15), .renew_by = now + days(1)}),
              IsEmpty());
  EXPECT_THAT(problems({.server = "http", .expires_at = now + days(3), .renew_by = now - days(1)}),
              ElementsAre(HasSubstr("`http` (certificate or client_ca) expires in 3 days")));
  EXPECT_THAT(problems({.server = "grpc", .expires_at = now - days(1)}),
              ElementsAre(HasSubstr("`grpc` (certificate or client_ca) has expired")));
  EXPECT_THAT(problems({.server = "grpc",
                        .expires_at = now + days(99),
                        .renew_by = now + days(85),
                        .crl_due = now - days(1)}),
              ElementsAre(HasSubstr("revocation lists of `grpc` are out of date")));
  EXPECT_THAT(problems({.server = "grpc",
                        .expires_at = now + days(99),
                        .renew_by = now + days(85),
                        .problem = "a.pem: no key"}),
              ElementsAre("the changed certificates of `grpc` are not in effect: a.pem: no key"));
}

TEST_F(ServiceTest, AUsedMemoryBudgetIsAProblem) {
  OpenDaemon(kFabric);
  Snapshot snapshot;
  snapshot.host_facts = std::make_shared<const HostFacts>();
  snapshot.refused.flows = 12'345;
  daemon_->answers().Publish(
      {.snapshot = std::make_shared<const Snapshot>(std::move(snapshot)), .is_memory_full = true});
  v1::Health health;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
  EXPECT_THAT(health.problems(),
              ElementsAre(HasSubstr("memory budget of 8G are used: 12,345 records of further flows "
                                    "were not analysed")));
}

TEST_F(ServiceTest, RefusedCounterSeriesAreAProblem) {
  OpenDaemon(kFabric);
  const Timestamp now = WallClock();
  Snapshot snapshot;
  snapshot.host_facts = std::make_shared<const HostFacts>();
  snapshot.flows = std::make_shared<const FlowSummaries>();
  snapshot.refused.metrics = {.series = 7, .series_refused = 12'345, .series_refused_at = now};
  daemon_->answers().Publish(
      {.snapshot = std::make_shared<const Snapshot>(std::move(snapshot)), .reached = now});
  const auto sentence = AllOf(HasSubstr("12,345 readings of series beyond the present 7"),
                              HasSubstr("increase the key `memory`"));
  v1::Health health;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
  EXPECT_THAT(health.problems(), ElementsAre(sentence));
  v1::ListProblemsResponse doctor;
  ASSERT_TRUE(service_->ListProblems(LocalCaller(), {}, doctor));
  EXPECT_THAT(doctor.problems(), Contains(AllOf(Property(&v1::Problem::kind, "memory_budget"),
                                                Property(&v1::Problem::sentence, sentence))));
}

TEST_F(ServiceTest, FailedReloadIsAProblemUntilOneSucceeds) {
  OpenDaemon(kFabric);
  service_->SetReloadProblem("appliance.yaml:1:1: wrong\nappliance.yaml:2:1: wrong too");
  v1::Health health;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
  EXPECT_EQ(health.state(), v1::Health::STATE_DEGRADED);
  EXPECT_THAT(health.problems(), ElementsAre("the last reload failed: appliance.yaml:1:1: wrong "
                                             "appliance.yaml:2:1: wrong too"));
  service_->SetReloadProblem("");
  v1::Health after;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, after));
  EXPECT_THAT(after.problems(), IsEmpty());
}

TEST_F(ServiceTest, RestrictionsThatTheKernelLacksAreAnExternalProblem) {
  OpenDaemon(kFabric);
  service_->SetMissingRestrictions({"the kernel does not support Landlock"});
  v1::Health health;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
  EXPECT_NE(health.state(), v1::Health::STATE_DEGRADED);
  EXPECT_THAT(health.external_problems(),
              ElementsAre("the appliance is not fully sandboxed: the kernel does not support "
                          "Landlock"));
}

TEST_F(ServiceTest, AgentsThatLoseBatchesAreAnExternalProblem) {
  OpenDaemon(kFabric);
  v1::AgentHello hello;
  hello.set_host("host0");
  hello.set_session_id(1);
  const auto host =
      daemon_->agents().Begin(hello, {.host = "host0"}, "127.0.0.1:1", WallClock()).value();
  v1::AgentHeartbeat heartbeat;
  daemon_->agents().Hear(host.connection, heartbeat, WallClock());
  heartbeat.set_lost_batches(3);
  daemon_->agents().Hear(host.connection, heartbeat, WallClock());
  v1::Health health;
  ASSERT_TRUE(service_->GetHealth(LocalCaller(), {}, health));
  EXPECT_THAT(health.external_problems(),
              ElementsAre(HasSubstr("agent of host0: batches were dropped")));
}

TEST_F(ServiceTest, MissingTopologyIsAnError) {
  OpenDaemon("");
  Publish({});
  EXPECT_EQ(FaultOf(*service_, &Service::ListFindings, v1::ListFindingsRequest()),
            ServiceFault::kNoTopology);
  EXPECT_EQ(FaultOf(*service_, &Service::GetTopology, v1::GetTopologyRequest()),
            ServiceFault::kNoTopology);
  EXPECT_EQ(FaultOf(*service_, &Service::ListJobs, v1::ListJobsRequest()), ServiceFault::kCount);
}

TEST_F(ServiceTest, UnknownJobIsAnError) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  v1::GetJobRequest request;
  request.set_job_id("nobody");
  EXPECT_EQ(FaultOf(*service_, &Service::GetJob, request), ServiceFault::kUnknownJob);
  v1::ListFindingsRequest findings;
  findings.set_job_id("nobody");
  EXPECT_EQ(FaultOf(*service_, &Service::ListFindings, findings), ServiceFault::kUnknownJob);
}

TEST_F(ServiceTest, FindsAJobByIdNumberAndName) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  for (const char* name : {"nccl-1", "4711", "pretrain"}) {
    v1::GetJobRequest request;
    request.set_job_id(name);
    v1::GetJobResponse response;
    ASSERT_TRUE(service_->GetJob(LocalCaller(), request, response)) << name;
    EXPECT_EQ(response.job().job_id(), "nccl-1");
    EXPECT_EQ(response.summary().allocation().name(), "pretrain");
    EXPECT_EQ(response.snapshot().version(), 1u);
  }
}

TEST_F(ServiceTest, RegisteredJobWithoutPacketsHasNoDataYet) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  v1::RegisterJobRequest job;
  EXPECT_EQ(FaultOf(*service_, &Service::RegisterJob, job), ServiceFault::kBadRequest);
  job.set_scheduler_job_id(99);
  job.set_name("eval");
  job.add_nodes()->set_node("host1.rack2.example");
  job.add_nodes()->set_node("elsewhere");
  v1::RegisterJobResponse registered;
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), job, registered));
  EXPECT_THAT(registered.unknown_nodes(), ElementsAre("elsewhere"));
  v1::GetJobRequest request;
  request.set_job_id("eval");
  EXPECT_EQ(FaultOf(*service_, &Service::GetJob, request), ServiceFault::kNoDataYet);
  v1::EndJobRequest end;
  end.set_scheduler_job_id(98);
  EXPECT_EQ(FaultOf(*service_, &Service::EndJob, end), ServiceFault::kUnknownJob);
  end.set_scheduler_job_id(99);
  EXPECT_EQ(FaultOf(*service_, &Service::EndJob, end), ServiceFault::kCount);
}

TEST_F(ServiceTest, AllPagesComeFromTheSnapshotOfTheFirst) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  v1::ListJobsRequest request;
  request.set_page_size(1);
  v1::ListJobsResponse first;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, first));
  ASSERT_THAT(first.jobs(), SizeIs(1));
  EXPECT_EQ(first.jobs(0).job_id(), "nccl-1");
  Publish({});
  request.set_page_token(first.next_page_token());
  v1::ListJobsResponse second;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, second));
  ASSERT_THAT(second.jobs(), SizeIs(1));
  EXPECT_EQ(second.jobs(0).job_id(), "nccl-2");
  EXPECT_EQ(second.next_page_token(), "");
  EXPECT_EQ(second.snapshot().version(), first.snapshot().version());
}

TEST_F(ServiceTest, PageOfADroppedSnapshotIsAnError) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  v1::ListJobsRequest request;
  request.set_page_size(1);
  v1::ListJobsResponse first;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, first));
  for (size_t i = 0; i < AnswerViews::kKept; ++i) {
    Publish(TwoJobs());
    v1::ListJobsResponse other;
    ASSERT_TRUE(service_->ListJobs(LocalCaller(), {}, other));
  }
  request.set_page_token(first.next_page_token());
  EXPECT_EQ(FaultOf(*service_, &Service::ListJobs, request), ServiceFault::kPageForgotten);
  PageToken other = ParsePageToken(first.next_page_token()).value();
  other.version = 1;  // as if it came from another process
  request.set_page_token(ToText(other));
  EXPECT_EQ(FaultOf(*service_, &Service::ListJobs, request), ServiceFault::kPageForgotten);
  request.set_page_token("next, please");
  EXPECT_EQ(FaultOf(*service_, &Service::ListJobs, request), ServiceFault::kBadRequest);
}

TEST_F(ServiceTest, ListsAreFilteredAndSorted) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  v1::ListJobsRequest request;
  request.set_order_by("job_id desc");
  request.set_page_size(1);
  v1::ListJobsResponse sorted;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, sorted));
  EXPECT_EQ(sorted.jobs(0).job_id(), "nccl-2");
  EXPECT_EQ(sorted.total_size(), 2);
  request.set_page_token(sorted.next_page_token());
  v1::ListJobsResponse rest;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, rest));
  EXPECT_EQ(rest.jobs(0).job_id(), "nccl-1");
  EXPECT_EQ(rest.next_page_token(), "");

  v1::ListJobsRequest one;
  one.set_filter("job_id = nccl-2");
  v1::ListJobsResponse filtered;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), one, filtered));
  EXPECT_EQ(filtered.total_size(), 1);
  one.set_filter("no_such_field = 1");
  EXPECT_EQ(FaultOf(*service_, &Service::ListJobs, one), ServiceFault::kBadRequest);
}

TEST_F(ServiceTest, NegativePageSizeIsAnError) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  v1::ListJobsRequest request;
  request.set_page_size(-1);
  EXPECT_EQ(FaultOf(*service_, &Service::ListJobs, request), ServiceFault::kBadRequest);
}

TEST_F(ServiceTest, ServiceLevelsArePagedWithTheViolatedOnesFirst) {
  OpenDaemon(kFabric);
  Snapshot snapshot = TwoJobs();
  auto levels = std::make_shared<ServiceLevels>();
  for (const ServiceState state :
       {ServiceState::kMet, ServiceState::kAtRisk, ServiceState::kNoData, ServiceState::kMissed}) {
    ServiceLevel& level = levels->levels.emplace_back();
    level.indicator = static_cast<ServiceIndicator>(0);
    level.job = 0;
    level.state = state;
  }
  snapshot.service_levels = levels;
  Publish(std::move(snapshot));
  std::vector<v1::ServiceLevel::State> states;
  v1::ListServiceLevelsRequest request;
  request.set_page_size(3);
  while (true) {
    v1::ListServiceLevelsResponse page;
    ASSERT_TRUE(service_->ListServiceLevels(LocalCaller(), request, page));
    EXPECT_EQ(page.total_size(), 4);
    EXPECT_THAT(page.indicators(), SizeIs(1));
    for (const v1::ServiceLevel& level : page.service_levels()) states.push_back(level.state());
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  EXPECT_THAT(states, ElementsAre(v1::ServiceLevel::STATE_MISSED, v1::ServiceLevel::STATE_AT_RISK,
                                  v1::ServiceLevel::STATE_MET, v1::ServiceLevel::STATE_NO_DATA));
  v1::ListServiceLevelsRequest missed;
  missed.set_filter("state = STATE_MISSED");
  v1::ListServiceLevelsResponse filtered;
  ASSERT_TRUE(service_->ListServiceLevels(LocalCaller(), missed, filtered));
  EXPECT_EQ(filtered.total_size(), 1);
}

TEST_F(ServiceTest, ServiceLevelsOfAJobAreThoseOfItsHosts) {
  OpenDaemon(kFabric);
  const topology::Fabric& fabric = *daemon_->fabric();
  Attribution attribution;
  for (const char* id : {"nccl-1", "nccl-2"}) attribution.jobs.emplace_back().job.id = id;
  attribution.jobs[1].job.ranks.emplace_back().host = fabric.node(fabric.nic(0).host).name;
  Snapshot snapshot;
  snapshot.attribution = std::make_shared<const Attribution>(std::move(attribution));
  auto levels = std::make_shared<ServiceLevels>();
  for (uint32_t job : {0U, 1U}) {
    levels->levels.push_back({.indicator = static_cast<ServiceIndicator>(0),
                              .job = job,
                              .state = ServiceState::kMissed});
  }
  for (const Entity& entity :
       {Entity{.kind = EntityKind::kNic, .index = 0}, Entity{.kind = EntityKind::kNic, .index = 1},
        Entity{.kind = EntityKind::kPort, .index = 0}}) {
    levels->levels.push_back({.indicator = static_cast<ServiceIndicator>(1), .entity = entity});
  }
  snapshot.service_levels = levels;
  Publish(std::move(snapshot));
  v1::ListServiceLevelsRequest request;
  request.set_job_id("nccl-2");
  v1::ListServiceLevelsResponse response;
  ASSERT_TRUE(service_->ListServiceLevels(LocalCaller(), request, response));
  std::vector<std::string> entities;
  for (const v1::ServiceLevel& level : response.service_levels()) {
    entities.push_back(level.entity());
  }
  const std::string nic = fabric.node(fabric.nic(0).host).name + ":" + fabric.nic(0).device;
  EXPECT_THAT(entities, ElementsAre("nccl-2", nic));
  ASSERT_THAT(response.indicators(), SizeIs(2));
  EXPECT_EQ(response.indicators(0).missed_count(), 1u);
  EXPECT_EQ(response.indicators(1).no_data_count(), 1u);
  request.set_job_id("nccl-3");
  EXPECT_EQ(FaultOf(*service_, &Service::ListServiceLevels, request), ServiceFault::kUnknownJob);
}

TEST_F(ServiceTest, ProblemsArePagedAndFiltered) {
  OpenDaemon("");
  v1::ListProblemsResponse all;
  ASSERT_TRUE(service_->ListProblems(LocalCaller(), {}, all));
  ASSERT_GT(all.total_size(), 0) << "without a topology there is at least one problem";
  EXPECT_EQ(all.problems_size(), all.total_size());
  v1::ListProblemsRequest none;
  none.set_filter("kind = no_such_kind");
  v1::ListProblemsResponse filtered;
  ASSERT_TRUE(service_->ListProblems(LocalCaller(), none, filtered));
  EXPECT_EQ(filtered.total_size(), 0);
}

TEST_F(ServiceTest, PagesOfOneListComeFromOneRequest) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  v1::ListJobsRequest request;
  request.set_page_size(1);
  v1::ListJobsResponse first;
  ASSERT_TRUE(service_->ListJobs(LocalCaller(), request, first));
  request.set_page_token(first.next_page_token());
  request.set_filter("id != nccl-1");
  EXPECT_EQ(FaultOf(*service_, &Service::ListJobs, request), ServiceFault::kBadRequest);
}

TEST_F(ServiceTest, ListsSwitchesAboveEachNodeInPages) {
  OpenDaemon(kFabric);
  v1::ListNodeSwitchesRequest request;
  request.set_page_size(3);
  std::vector<std::string> names;
  do {
    v1::ListNodeSwitchesResponse page;
    ASSERT_TRUE(service_->ListNodeSwitches(LocalCaller(), request, page));
    for (const v1::NodeSwitches& node : page.node_switches()) {
      names.push_back(node.node());
      EXPECT_THAT(node.leaf_switches(), SizeIs(1));
      EXPECT_THAT(node.spine_switches(), ElementsAre("spine0", "spine1"));
      EXPECT_THAT(node.core_switches(), IsEmpty());
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(names, ElementsAre("host0", "host1", "host2", "host3"));
}

TEST_F(ServiceTest, FindsPathsBetweenEndpoints) {
  OpenDaemon(kFabric);
  Publish(OneFlow("host0", "host2"));
  const auto count = [&](const char* source, const char* destination) {
    v1::FindPathsRequest request;
    request.set_source(source);
    request.set_destination(destination);
    v1::FindPathsResponse response;
    EXPECT_TRUE(service_->FindPaths(LocalCaller(), request, response)) << source;
    return response.total_size();
  };
  EXPECT_EQ(count("host0", "host2"), 1u);
  EXPECT_EQ(count("host0:mlx5_0", "host2:gpu:0"), 1u);
  EXPECT_EQ(count(AddressOf("host0").c_str(), AddressOf("host2").c_str()), 1u);
  EXPECT_EQ(count("host2", "host0"), 0u) << "the other way";
  EXPECT_EQ(count("host0", "host1"), 0u);
}

TEST_F(ServiceTest, UnknownEndpointIsAnError) {
  OpenDaemon(kFabric);
  Publish({});
  v1::FindPathsRequest request;
  EXPECT_EQ(FaultOf(*service_, &Service::FindPaths, request), ServiceFault::kBadRequest);
  request.set_source("host0");
  for (const char* nowhere :
       {"host9", "host0:mlx9", "host0:gpu:9", "host0:gpu:", "203.0.113.9", "leaf0:Ethernet0"}) {
    request.set_destination(nowhere);
    EXPECT_EQ(FaultOf(*service_, &Service::FindPaths, request), ServiceFault::kUnknownElement)
        << nowhere;
  }
}

TEST_F(ServiceTest, LinkLoadsAreUtilisations) {
  OpenDaemon(kFabric);
  Snapshot snapshot;
  auto loads = std::make_shared<LinkLoads>();
  loads->from = FromNanoseconds(1'000'000'000);
  loads->window = std::chrono::seconds(1);
  const topology::Fabric& fabric = *daemon_->fabric();
  const topology::PortIndex port = fabric.nic(0).port;
  const uint64_t quarter = fabric.SpeedOf(port) / 8 / 4;
  loads->loads = {{.port = port, .source = LoadSource::kCounters, .bytes = quarter},
                  {.port = fabric.Peer(port), .marked = 7}};
  snapshot.link_loads = loads;
  Publish(std::move(snapshot));
  v1::ListLinkLoadsResponse response;
  ASSERT_TRUE(service_->ListLinkLoads(LocalCaller(), {}, response));
  ASSERT_THAT(response.link_loads(), SizeIs(2));
  EXPECT_DOUBLE_EQ(response.link_loads(0).utilization(), 0.25);
  EXPECT_EQ(response.link_loads(0).source(), v1::LinkLoad::SOURCE_COUNTERS);
  EXPECT_FALSE(response.link_loads(1).has_utilization());
  v1::ListLinkLoadsRequest idle;
  idle.set_filter("utilization < 0.1");
  v1::ListLinkLoadsResponse filtered;
  ASSERT_TRUE(service_->ListLinkLoads(LocalCaller(), idle, filtered));
  EXPECT_EQ(filtered.total_size(), 0) << "an unknown load is not a small load";
  EXPECT_EQ(Nanoseconds(response.end_time()), 2'000'000'000);
}

TEST_F(ServiceTest, BlastRadiusOfASwitchIsItsSenders) {
  OpenDaemon(kFabric);
  Publish(TwoJobs());
  v1::GetDependenciesRequest request;
  request.set_element("spine0");
  EXPECT_EQ(FaultOf(*service_, &Service::GetDependencies, request), ServiceFault::kBadRequest);
  request.set_question(static_cast<v1::Dependency::Question>(77));
  EXPECT_EQ(FaultOf(*service_, &Service::GetDependencies, request), ServiceFault::kBadRequest);
  request.set_question(v1::Dependency::QUESTION_BLAST_RADIUS);
  v1::GetDependenciesResponse response;
  ASSERT_TRUE(service_->GetDependencies(LocalCaller(), request, response));
  EXPECT_EQ(response.dependency().name(), "spine0");
  request.set_element("spine7");
  const ServiceStatus missing = service_->GetDependencies(LocalCaller(), request, response);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("did you mean \"spine0\"?"));
}

TEST_F(ServiceTest, PagesAreLimitedByBytes) {
  OpenDaemon("");
  for (uint64_t id = 1; id <= 7; ++id) RegisterLargeJob(id);
  for (const char* const order_by : {"", "scheduler_job_id"}) {
    v1::ListRegisteredJobsRequest request;
    request.set_page_size(1000);
    request.set_order_by(order_by);
    std::vector<uint64_t> ids;
    do {
      v1::ListRegisteredJobsResponse page;
      ASSERT_TRUE(service_->ListRegisteredJobs(LocalCaller(), request, page));
      EXPECT_LT(page.ByteSizeLong(), 4u << 20) << "the most that gRPC clients accept by default";
      EXPECT_EQ(page.total_size(), 7);
      ASSERT_GT(page.registered_jobs_size(), 0);
      for (const auto& job : page.registered_jobs()) ids.push_back(job.scheduler_job_id());
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    EXPECT_THAT(ids, ElementsAre(1, 2, 3, 4, 5, 6, 7)) << order_by;
  }
}

TEST_F(ServiceTest, AFilterThatTakesTooManyComparisonsIsRefused) {
  OpenDaemon("");
  RegisterLargeJob();
  v1::ListRegisteredJobsRequest request;
  request.set_filter("nodes.gpu_indexes = 5000");
  v1::ListRegisteredJobsResponse response;
  EXPECT_TRUE(service_->ListRegisteredJobs(LocalCaller(), request, response));
  for (int gpu = 5001; gpu < 5012; ++gpu) {
    *request.mutable_filter() += " OR nodes.gpu_indexes = " + std::to_string(gpu);
  }
  const ServiceStatus status = service_->ListRegisteredJobs(LocalCaller(), request, response);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, ServiceFault::kTooLong);
  EXPECT_THAT(status.error().message, HasSubstr("most of them with values of nodes.gpu_indexes"));
}

TEST_F(ServiceTest, ProblemsOfAgentsInTheListOfSourcesAreLimited) {
  OpenDaemon("");
  v1::AgentHeartbeat heartbeat;
  for (int i = 0; i < 20; ++i) heartbeat.add_problems(std::string(250, 'x'));
  for (uint64_t host = 1; host <= 1000; ++host) {
    v1::AgentHello hello;
    hello.set_host("host" + std::to_string(host));
    hello.set_session_id(host);
    const auto begun =
        daemon_->agents().Begin(hello, {.host = hello.host()}, "127.0.0.1:1", WallClock());
    ASSERT_TRUE(begun) << host;
    daemon_->agents().Hear(begun->connection, heartbeat, WallClock());
  }
  v1::ListSourcesResponse response;
  ASSERT_TRUE(service_->ListSources(LocalCaller(), {}, response));
  EXPECT_LT(response.ByteSizeLong(), 2u << 20);
  const auto source =
      std::ranges::find(response.sources(), v1::Source::KIND_AGENTS, &v1::Source::kind);
  ASSERT_NE(source, response.sources().end());
  ASSERT_THAT(source->agents(), SizeIs(1000));
  EXPECT_THAT(source->agents(0).problems(), SizeIs(20));
  EXPECT_THAT(
      source->agents(999).problems(),
      ElementsAre(
          "20 problems omitted, because the response is too large: see the log of the agent"));
}

}  // namespace
}  // namespace rocescope
