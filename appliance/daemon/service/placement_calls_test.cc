// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <limits>

#include "analytics/placement/placement.h"
#include "appliance/api/message_value.h"
#include "appliance/daemon/history/job_file.h"
#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Two hosts on each of two leaves.
class PlacementCallsTest : public ServiceTest {
 protected:
  v1::RecommendNodesResponse Ask(const v1::RecommendNodesRequest& request) {
    v1::RecommendNodesResponse response;
    const ServiceStatus status = service_->RecommendNodes(LocalCaller(), request, response);
    EXPECT_TRUE(status) << status.error().message;
    return response;
  }
  ServiceError ErrorOf(const v1::RecommendNodesRequest& request) {
    v1::RecommendNodesResponse response;
    const ServiceStatus status = service_->RecommendNodes(LocalCaller(), request, response);
    return status ? ServiceError{.fault = ServiceFault::kCount} : status.error();
  }
  static v1::RecommendNodesRequest Nodes(uint32_t nodes) {
    v1::RecommendNodesRequest request;
    request.set_node_count(nodes);
    return request;
  }
  // Creates a snapshot in which the load of one link is known.
  Snapshot Seen() const {
    Snapshot snapshot;
    auto loads = std::make_shared<LinkLoads>();
    loads->window = std::chrono::seconds(1);
    loads->loads = {{.port = daemon_->fabric()->nic(0).port, .source = LoadSource::kCounters}};
    snapshot.link_loads = loads;
    return snapshot;
  }
  void Register(uint64_t id, const std::string& node) {
    v1::RegisterJobRequest job;
    job.set_scheduler_job_id(id);
    *job.mutable_start_time() = TimestampMessage(1'000'000'000);
    job.add_nodes()->set_node(node);
    v1::RegisterJobResponse registered;
    ASSERT_TRUE(service_->RegisterJob(LocalCaller(), job, registered));
  }
  v1::ListRegisteredJobsResponse Listed(bool ended, uint32_t page_size = 0,
                                        const std::string& token = "") {
    v1::ListRegisteredJobsRequest request;
    request.set_show_ended(ended);
    request.set_page_size(page_size);
    request.set_page_token(token);
    v1::ListRegisteredJobsResponse response;
    EXPECT_TRUE(service_->ListRegisteredJobs(LocalCaller(), request, response));
    return response;
  }
};

TEST_F(PlacementCallsTest, DistinguishesMissingTopologySnapshotAndNode) {
  OpenDaemon("");
  EXPECT_EQ(ErrorOf(Nodes(1)).fault, ServiceFault::kNoTopology);
  service_.reset();
  OpenDaemon(kFabric);
  EXPECT_EQ(ErrorOf(Nodes(1)).fault, ServiceFault::kNoAnswerYet);
  v1::RecommendNodesRequest request = Nodes(1);
  request.add_candidate_nodes("hots1");
  EXPECT_EQ(ErrorOf(request).fault, ServiceFault::kUnknownNode);
  EXPECT_THAT(ErrorOf(request).message,
              HasSubstr("\"hots1\" is not in the topology; did you mean \"host1\"?"));
  request.set_candidate_nodes(0, "leaf0");
  EXPECT_EQ(ErrorOf(request).fault, ServiceFault::kUnknownNode) << "a switch";
  request.set_candidate_nodes(0, "host[1");
  EXPECT_EQ(ErrorOf(request).fault, ServiceFault::kBadRequest);
}

TEST_F(PlacementCallsTest, UnknownLinkLoadIsAnErrorUnlessAllowed) {
  OpenDaemon(kFabric);
  Publish({});
  EXPECT_EQ(ErrorOf(Nodes(1)).fault, ServiceFault::kNoDataYet);
  v1::RecommendNodesRequest request = Nodes(1);
  request.set_allow_missing_telemetry(true);
  const v1::RecommendNodesResponse response = Ask(request);
  EXPECT_THAT(response.chosen_nodes(), ElementsAre("host0"));
  EXPECT_THAT(response.sentence(), HasSubstr("no telemetry about the load of 1 of its 1 links"));
}

TEST_F(PlacementCallsTest, RequiresExactlyOneJobSize) {
  OpenDaemon(kFabric);
  Publish(Seen());
  EXPECT_EQ(ErrorOf({}).fault, ServiceFault::kBadRequest);
  v1::RecommendNodesRequest both = Nodes(1);
  both.set_gpu_count(8);
  EXPECT_EQ(ErrorOf(both).fault, ServiceFault::kBadRequest);
  v1::RecommendNodesRequest without = Nodes(1);
  without.set_gpus_per_node(1);
  EXPECT_EQ(ErrorOf(without).fault, ServiceFault::kBadRequest);
}

TEST_F(PlacementCallsTest, RegisteredJobIsInUseImmediately) {
  OpenDaemon(kFabric);
  Publish(Seen());
  EXPECT_THAT(Ask(Nodes(1)).chosen_nodes(), ElementsAre("host0"))
      << "its link is known to be healthy";
  Register(7, "host1.rack1.example");
  const v1::RecommendNodesResponse response = Ask(Nodes(2));
  EXPECT_THAT(response.chosen_nodes(), ElementsAre("host2", "host3"));
  EXPECT_EQ(response.distance(), v1::RecommendNodesResponse::DISTANCE_LEAF);
  EXPECT_THAT(response.leaf_groups(), ElementsAre("leaf1"));
  EXPECT_EQ(response.suitable_count(), 3u);
  ASSERT_THAT(response.candidates(), SizeIs(4));
  const v1::CandidateNode& taken = response.candidates(3);
  EXPECT_EQ(taken.node(), "host1");
  EXPECT_EQ(taken.reasons(0).kind(), v1::PlacementReason::KIND_IN_USE);
  EXPECT_THAT(taken.reasons(0).scheduler_job_ids(), ElementsAre(7));
  v1::RecommendNodesRequest own = Nodes(2);
  own.set_scheduler_job_id(7);
  EXPECT_THAT(Ask(own).chosen_nodes(), ElementsAre("host0", "host1"));
}

TEST_F(PlacementCallsTest, FindingsOfTheSnapshotCount) {
  OpenDaemon(kFabric);
  Snapshot snapshot;
  const topology::Fabric& fabric = *daemon_->fabric();
  const topology::NicIndex nic = fabric.FindNicByDevice(fabric.FindNode("host0"), "mlx5_0");
  snapshot.findings = std::make_shared<const Findings>(
      Findings{{.kind = FaultKind::kNicCrash, .place = {PlaceKind::kNic, nic}, .confidence = 1}});
  Publish(std::move(snapshot));
  v1::RecommendNodesRequest request = Nodes(1);
  request.set_max_candidate_count(1);
  request.add_candidate_nodes("host[0-1]");
  request.add_excluded_nodes("host1");
  const v1::RecommendNodesResponse response = Ask(request);
  EXPECT_THAT(response.chosen_nodes(), IsEmpty());
  EXPECT_EQ(response.sentence(),
            "1 node is requested; suitable: 0 nodes of 1 candidate (excluded: 1 with faults)");
  ASSERT_THAT(response.candidates(), SizeIs(1));
  EXPECT_EQ(response.candidates(0).reasons(0).fault_kind(), "nic_crash");
  EXPECT_EQ(response.candidates(0).reasons(0).place(), "host0:mlx5_0");
}

TEST_F(PlacementCallsTest, ListsTheHealthOfAllNodes) {
  OpenDaemon(kFabric);
  v1::ListNodesResponse response;
  EXPECT_EQ(service_->ListNodes(LocalCaller(), {}, response).error().fault,
            ServiceFault::kNoAnswerYet);
  Snapshot snapshot = Seen();
  const topology::Fabric& fabric = *daemon_->fabric();
  const auto nic_of = [&](std::string_view host) {
    return fabric.FindNicByDevice(fabric.FindNode(host), "mlx5_0");
  };
  Finding active = {
      .kind = FaultKind::kNicCrash, .place = {PlaceKind::kNic, nic_of("host1")}, .confidence = 1};
  Finding ended = {
      .kind = FaultKind::kNicCrash, .place = {PlaceKind::kNic, nic_of("host2")}, .confidence = 1};
  ended.until = FromNanoseconds(1'000'000'000);
  Finding suspected = {
      .kind = FaultKind::kNicCrash, .place = {PlaceKind::kNic, nic_of("host0")}, .confidence = 0.2};
  snapshot.findings = std::make_shared<const Findings>(Findings{active, ended, suspected});
  Publish(std::move(snapshot));
  Register(7, "host1");
  ASSERT_TRUE(service_->ListNodes(LocalCaller(), {}, response));
  ASSERT_THAT(response.nodes(), SizeIs(4));
  EXPECT_EQ(response.total_size(), 4);
  const auto& nodes = response.nodes();
  EXPECT_EQ(nodes[0].node(), "host0");
  EXPECT_EQ(nodes[0].health(), v1::NodeHealth::HEALTH_OK);
  EXPECT_THAT(nodes[0].reasons(), IsEmpty());
  EXPECT_EQ(nodes[1].health(), v1::NodeHealth::HEALTH_FAULTY);
  EXPECT_EQ(nodes[1].healthy_rail_count(), 0u);
  EXPECT_EQ(nodes[1].rail_count(), 1u);
  EXPECT_THAT(nodes[1].scheduler_job_ids(), ElementsAre(7));
  EXPECT_EQ(nodes[1].reasons(0).fault_kind(), "nic_crash") << "and not that it is in use";
  EXPECT_EQ(nodes[2].health(), v1::NodeHealth::HEALTH_DEGRADED);
  EXPECT_EQ(nodes[3].health(), v1::NodeHealth::HEALTH_UNKNOWN);

  v1::ListNodesRequest request;
  request.set_filter("health = \"HEALTH_FAULTY\" OR health = \"HEALTH_DEGRADED\"");
  request.set_order_by("health desc");
  request.set_page_size(1);
  v1::ListNodesResponse first;
  ASSERT_TRUE(service_->ListNodes(LocalCaller(), request, first));
  ASSERT_THAT(first.nodes(), SizeIs(1));
  EXPECT_EQ(first.nodes(0).node(), "host1");
  EXPECT_EQ(first.total_size(), 2);
  request.set_page_token(first.next_page_token());
  v1::ListNodesResponse second;
  ASSERT_TRUE(service_->ListNodes(LocalCaller(), request, second));
  ASSERT_THAT(second.nodes(), SizeIs(1));
  EXPECT_EQ(second.nodes(0).node(), "host2");
}

TEST_F(PlacementCallsTest, RegisteredJobsAreListedWithoutAnyPacket) {
  OpenDaemon(kFabric);
  for (const uint64_t id : {7, 8, 9}) Register(id, "host1");
  v1::EndJobRequest end;
  end.set_scheduler_job_id(8);
  *end.mutable_end_time() = TimestampMessage(2'000'000'000);
  v1::EndJobResponse ended;
  ASSERT_TRUE(service_->EndJob(LocalCaller(), end, ended));
  EXPECT_THAT(Listed(false).registered_jobs(), SizeIs(2));
  const v1::ListRegisteredJobsResponse first = Listed(true, 2);
  ASSERT_THAT(first.registered_jobs(), SizeIs(2));
  EXPECT_EQ(first.registered_jobs(0).nodes(0).node(), "host1");
  EXPECT_FALSE(first.registered_jobs(0).ended());
  EXPECT_TRUE(first.registered_jobs(1).ended());
  EXPECT_EQ(Nanoseconds(first.registered_jobs(1).end_time()), 2'000'000'000);
  const v1::ListRegisteredJobsResponse second = Listed(true, 2, first.next_page_token());
  ASSERT_THAT(second.registered_jobs(), SizeIs(1));
  EXPECT_EQ(second.registered_jobs(0).scheduler_job_id(), 9u);
  EXPECT_EQ(second.next_page_token(), "");
}

TEST_F(PlacementCallsTest, RefusesJobsThatTheFileCannotStore) {
  OpenDaemon(kFabric);
  const auto fault_of = [&](const auto& change) {
    v1::RegisterJobRequest job;
    job.set_scheduler_job_id(7);
    job.add_nodes()->set_node("host1");
    change(job);
    v1::RegisterJobResponse registered;
    const ServiceStatus status = service_->RegisterJob(LocalCaller(), job, registered);
    return status ? ServiceFault::kCount : status.error().fault;
  };
  EXPECT_EQ(fault_of([](auto&) {}), ServiceFault::kCount);
  EXPECT_EQ(fault_of([](auto& job) { job.mutable_nodes(0)->set_node("host[1-2]"); }),
            ServiceFault::kBadRequest);
  EXPECT_EQ(fault_of([](auto& job) { job.mutable_nodes(0)->add_gpu_indexes(1024); }),
            ServiceFault::kBadRequest);
  EXPECT_EQ(fault_of([](auto& job) { job.set_name(std::string(4097, 'x')); }),
            ServiceFault::kBadRequest);
  EXPECT_EQ(fault_of([](auto& job) {
              for (int i = 0; i < 65'536; ++i) job.add_nodes()->set_node("host1");
            }),
            ServiceFault::kBadRequest);
}

constexpr int64_t kSecond = 1'000'000'000;

TEST(PlacementReason, EveryKindHasAnEnumerator) {
  for (size_t i = 0; i <= static_cast<size_t>(PlacementReasonKind::kBusyAbove); ++i) {
    const std::string_view name = NameOf(static_cast<PlacementReasonKind>(i));
    EXPECT_NE(EnumOf<v1::PlacementReason::Kind>(name), v1::PlacementReason::KIND_UNSPECIFIED)
        << name;
  }
}

TEST(TopologyTier, EveryTierHasAnEnumerator) {
  for (size_t i = 0; i <= static_cast<size_t>(topology::Tier::kCore); ++i) {
    const std::string_view name = NameOf(static_cast<topology::Tier>(i));
    EXPECT_NE(EnumOf<v1::TopologyNode::Tier>(name), v1::TopologyNode::TIER_UNSPECIFIED) << name;
  }
}

TEST_F(PlacementCallsTest, RetriedRegistrationKeepsTheStart) {
  OpenDaemon(kFabric);
  v1::RegisterJobRequest job;
  job.set_scheduler_job_id(7);
  job.add_nodes()->set_node("host1");
  v1::RegisterJobResponse registered;
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), job, registered));
  const auto start = Nanoseconds(Listed(false).registered_jobs(0).start_time());
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), job, registered));
  EXPECT_EQ(Nanoseconds(Listed(false).registered_jobs(0).start_time()), start);
}

TEST_F(PlacementCallsTest, InvalidTimeIsRefusedWithTheFieldName) {
  OpenDaemon(kFabric);
  const auto said = [&](int64_t start_ns, int64_t limit_ns) {
    v1::RegisterJobRequest job;
    job.set_scheduler_job_id(7);
    job.add_nodes()->set_node("host1");
    if (start_ns != 0) *job.mutable_start_time() = TimestampMessage(start_ns);
    if (limit_ns != 0) *job.mutable_limit_time() = TimestampMessage(limit_ns);
    v1::RegisterJobResponse registered;
    const ServiceStatus status = service_->RegisterJob(LocalCaller(), job, registered);
    return status ? "" : status.error().violations.at(0).field;
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(said(-1, 0), "start_time");
  EXPECT_EQ(said(kMost, 0), "start_time");
  EXPECT_EQ(said(0, -1), "limit_time");
  EXPECT_EQ(said(0, kMost), "limit_time");
  EXPECT_EQ(said(0, 1000 * kSecond), "limit_time") << "start is now";
  EXPECT_EQ(said(2000 * kSecond, 1000 * kSecond), "limit_time");
  EXPECT_EQ(said(2000 * kSecond, 3000 * kSecond), "");
  const auto ends = [&](int64_t end_ns) {
    v1::EndJobRequest end;
    end.set_scheduler_job_id(7);
    *end.mutable_end_time() = TimestampMessage(end_ns);
    v1::EndJobResponse ended;
    const ServiceStatus status = service_->EndJob(LocalCaller(), end, ended);
    return status ? "" : status.error().violations.at(0).field;
  };
  EXPECT_EQ(ends(-1), "end_time");
  EXPECT_EQ(ends(kMost), "end_time");
  EXPECT_EQ(ends(1000 * kSecond), "end_time");
  EXPECT_EQ(ends(1999 * kSecond), "") << "within the tolerance for clocks and whole seconds";
  EXPECT_EQ(Nanoseconds(Listed(true).registered_jobs(0).end_time()), 2000 * kSecond)
      << "the stored end is not before the start";
}

TEST_F(PlacementCallsTest, JobWithAStartInTheFutureCanBeEnded) {
  OpenDaemon(kFabric);
  v1::RegisterJobRequest job;
  job.set_scheduler_job_id(7);
  job.add_nodes()->set_node("host1");
  *job.mutable_start_time() = TimestampMessage(4'000'000'000 * kSecond);
  v1::RegisterJobResponse registered;
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), job, registered));
  v1::EndJobRequest end;
  end.set_scheduler_job_id(7);
  v1::EndJobResponse ended;
  EXPECT_TRUE(service_->EndJob(LocalCaller(), end, ended));
  EXPECT_EQ(Nanoseconds(Listed(true).registered_jobs(0).end_time()), 4'000'000'000 * kSecond);
}

TEST_F(PlacementCallsTest, WhatTheAnalysisCannotUseOfAJobIsLogged) {
  OpenDaemon(kFabric);
  std::vector<std::string> warnings;
  service_ = std::make_unique<Service>(
      *daemon_, "1.2.3", nullptr, nullptr,
      [&](Severity, const std::string& text) { warnings.push_back(text); });
  Register(7, "host1");
  EXPECT_THAT(warnings, IsEmpty());
  v1::RegisterJobRequest job;
  job.set_scheduler_job_id(8);
  *job.mutable_start_time() = TimestampMessage(4'000'000'000 * kSecond);
  for (const char* name : {"host1", "host2", "host8", "host9"}) {
    v1::JobNode& node = *job.add_nodes();
    node.set_node(name);
    for (const uint32_t gpu : {0, 4, 5}) node.add_gpu_indexes(gpu);
  }
  v1::RegisterJobResponse registered;
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), job, registered));
  EXPECT_THAT(registered.unknown_nodes(), ElementsAre("host8", "host9"));
  EXPECT_THAT(warnings,
              ElementsAre(HasSubstr("registered job 8: the start time 2096-10-02T07:06:40Z is in "
                                    "the future"),
                          HasSubstr("the topology does not contain the nodes host[8-9]"),
                          HasSubstr("the topology does not contain the GPUs host[1-2]:4-5")));
}

TEST_F(PlacementCallsTest, DuplicateNodeCountsOnce) {
  OpenDaemon(kFabric);
  v1::RegisterJobRequest job;
  job.set_scheduler_job_id(7);
  const auto add = [&](const char* name, std::initializer_list<uint32_t> gpus) {
    v1::JobNode& node = *job.add_nodes();
    node.set_node(name);
    for (const uint32_t gpu : gpus) node.add_gpu_indexes(gpu);
  };
  add("host1", {3, 2, 2});
  add("elsewhere", {1});
  add("host1", {0, 3});
  add("elsewhere", {});
  add("elsewhere", {2});
  v1::RegisterJobResponse registered;
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), job, registered));
  EXPECT_THAT(registered.unknown_nodes(), ElementsAre("elsewhere"));
  const v1::ListRegisteredJobsResponse listed = Listed(false);
  ASSERT_THAT(listed.registered_jobs(0).nodes(), SizeIs(2));
  EXPECT_THAT(listed.registered_jobs(0).nodes(0).gpu_indexes(), ElementsAre(0, 2, 3));
  EXPECT_EQ(listed.registered_jobs(0).nodes(1).node(), "elsewhere");
  EXPECT_THAT(listed.registered_jobs(0).nodes(1).gpu_indexes(), IsEmpty()) << "all GPUs";
}

TEST_F(PlacementCallsTest, RegisteredJobsSurviveARestart) {
  OpenDaemon(kFabric);
  const std::string path = (folder_ / "jobs.db").string();
  const auto notify = [](Severity, const std::string& text) { FAIL() << text; };
  {
    auto file = JobFile::Open(path, notify);
    ASSERT_TRUE(file) << file.error().message;
    service_ = std::make_unique<Service>(*daemon_, "1.2.3", nullptr, file->get());
    Register(7, "host1");
    Register(8, "host2");
    v1::EndJobRequest end;
    end.set_scheduler_job_id(8);
    v1::EndJobResponse ended;
    ASSERT_TRUE(service_->EndJob(LocalCaller(), end, ended));
    service_.reset();
  }
  auto file = JobFile::Open(path, notify);
  ASSERT_TRUE(file) << file.error().message;
  service_ = std::make_unique<Service>(*daemon_, "1.2.3", nullptr, file->get());
  ASSERT_THAT(Listed(false).registered_jobs(), SizeIs(1));
  EXPECT_EQ(Listed(false).registered_jobs(0).scheduler_job_id(), 7u);
  EXPECT_THAT(Listed(true).registered_jobs(), SizeIs(2));
  Publish(Seen());
  EXPECT_EQ(Ask(Nodes(1)).suitable_count(), 3u);
  service_.reset();
}

// Jobs in a file that the test makes unwritable: a folder at its path simulates a faulty disk.
class DurableJobsTest : public PlacementCallsTest {
 protected:
  ~DurableJobsTest() override { service_.reset(); }

  void Open(bool require_durable) {
    OpenDaemon(kFabric, {}, {}, {.file = path(), .require_durable = require_durable});
    auto file = JobFile::Open(path(), [](Severity, const std::string&) {});
    ASSERT_TRUE(file) << file.error().message;
    file_ = *std::move(file);
    service_ = std::make_unique<Service>(*daemon_, "1.2.3", nullptr, file_.get());
  }
  std::string path() const { return (folder_ / "jobs.db").string(); }
  void BreakFile() {
    std::filesystem::remove(path());
    std::filesystem::create_directories(path());
  }
  void RepairFile() {
    std::filesystem::remove(path());
    ASSERT_TRUE(file_->Flush(std::chrono::seconds(20)));
  }
  static v1::RegisterJobRequest Job(uint64_t id, const std::string& node = "host1") {
    v1::RegisterJobRequest job;
    job.set_scheduler_job_id(id);
    *job.mutable_start_time() = TimestampMessage(1'000'000'000);
    job.add_nodes()->set_node(node);
    return job;
  }
  static v1::EndJobRequest End(uint64_t id) {
    v1::EndJobRequest end;
    end.set_scheduler_job_id(id);
    return end;
  }

  std::unique_ptr<JobFile> file_;
  v1::RegisterJobResponse registered_;
  v1::EndJobResponse ended_;
};

TEST_F(DurableJobsTest, StoredJobIsDurable) {
  Open(true);
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), Job(7), registered_));
  EXPECT_TRUE(registered_.durable());
  EXPECT_EQ(registered_.storage_problem(), "");
  ASSERT_TRUE(service_->EndJob(LocalCaller(), End(7), ended_));
  EXPECT_TRUE(ended_.durable());
}

TEST_F(DurableJobsTest, NoJobIsDurableWithoutAFile) {
  OpenDaemon(kFabric);
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), Job(7), registered_));
  EXPECT_FALSE(registered_.durable());
  EXPECT_THAT(registered_.storage_problem(), HasSubstr("no `jobs.file`"));
}

TEST_F(DurableJobsTest, JobThatIsNotStoredIsAcceptedButNotDurable) {
  Open(false);
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), Job(7), registered_));
  BreakFile();
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), Job(8), registered_));
  EXPECT_FALSE(registered_.durable());
  EXPECT_THAT(registered_.storage_problem(), HasSubstr("jobs.db: is a folder"));
  ASSERT_TRUE(service_->EndJob(LocalCaller(), End(7), ended_));
  EXPECT_FALSE(ended_.durable());
  EXPECT_THAT(Listed(true).registered_jobs(), SizeIs(2));
  RepairFile();
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), Job(8), registered_));
  EXPECT_TRUE(registered_.durable());
}

TEST_F(DurableJobsTest, RequiredDurabilityRefusesAJobThatIsNotStored) {
  Open(true);
  ASSERT_TRUE(service_->RegisterJob(LocalCaller(), Job(7), registered_));
  BreakFile();
  for (const uint64_t id : {8, 9}) {  // the first fails to write; the second is refused at once
    const ServiceStatus status = service_->RegisterJob(LocalCaller(), Job(id), registered_);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().fault, ServiceFault::kNotStored);
    EXPECT_THAT(status.error().message, HasSubstr("jobs.db: is a folder"));
  }
  EXPECT_FALSE(service_->RegisterJob(LocalCaller(), Job(7, "host2"), registered_));
  ASSERT_THAT(Listed(true).registered_jobs(), SizeIs(1)) << "refused jobs are not kept";
  EXPECT_EQ(Listed(true).registered_jobs(0).nodes(0).node(), "host1");
  const ServiceStatus end = service_->EndJob(LocalCaller(), End(7), ended_);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().fault, ServiceFault::kNotStored);
  EXPECT_TRUE(Listed(true).registered_jobs(0).ended()) << "the job has ended nevertheless";
  RepairFile();
  EXPECT_TRUE(service_->RegisterJob(LocalCaller(), Job(8), registered_));
  EXPECT_TRUE(service_->EndJob(LocalCaller(), End(7), ended_));
  service_.reset();
  file_.reset();
  auto file = JobFile::Open(path(), [](Severity, const std::string&) {});
  ASSERT_TRUE(file);
  EXPECT_THAT((*file)->found(), SizeIs(2));
}

}  // namespace
}  // namespace rocescope
