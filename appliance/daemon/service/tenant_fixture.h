// SPDX-License-Identifier: BSD-3-Clause
// Fixture for tests of clients with the role tenant: a job of alice, and two jobs of mallory whose
// data is in all parts of the snapshot and of the history.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analytics/job/flow_of.h"
#include "appliance/api/message_value.h"
#include "appliance/common/access/caller.h"
#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/service/past_answer.h"
#include "appliance/daemon/service/service_fixture.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {

class TenantTest : public ServiceTest {
 protected:
  static constexpr int64_t kPastNs = int64_t{29'000'000} * 60'000'000'000;  // in 2025
  static constexpr uint64_t kOwnNumber = 4711;
  static constexpr uint64_t kOtherNumber = 66'006'600;

  TenantTest() { OpenDaemon(kFabric); }
  ~TenantTest() override { service_.reset(); }

  // Alice has the job nccl-aaa on host0 and host1.
  static Caller Alice() {
    return {.name = "carol", .roles = Of(CallerRole::kTenant), .users = {"alice"}};
  }
  // No response to Alice may contain one of these: ids, names, user, hosts and addresses of the
  // jobs of mallory, the names of places there, and the bytes in their history.
  std::vector<std::string> Forbidden() const {
    return {"nccl-zzz",         "nccl-yyy",        "66006600", "66006601", "secretname",
            "mallory",          "host2",           "host3",    "777777",   "other-note",
            AddressOf("host2"), AddressOf("host3")};
  }

  void OpenAll() {
    const Duration long_enough = std::chrono::hours(24 * 36'500);
    auto store = HistoryStore::Open({.file = (folder_ / "history.db").string(),
                                     .retention = {.keep_events = long_enough,
                                                   .keep_series = long_enough,
                                                   .max_bytes = uint64_t{16} << 20}},
                                    [](Severity, const std::string&) {});
    ASSERT_TRUE(store) << store.error().message;
    store_ = *std::move(store);
    service_ = std::make_unique<Service>(*daemon_, "1.2.3", store_.get());
    Register(kOwnNumber, "pretrain", "alice", {"host0", "host1"});
    Register(kOtherNumber, "secretname", "mallory", {"host2", "host3"});
    Register(kOtherNumber + 1, "pretrain", "mallory", {"host3"});
    service_->SetReloadProblem("host2.yaml: bad");
    Publish(Rich());
    const auto answer = service_->views().Latest();
    for (PastAnswer& part : PastAnswersOf(*answer)) {
      part.at_ns = kPastNs;
      store_->Add(std::move(part));
    }
    const int64_t minute = ToNanoseconds(WallClock()) / 60'000'000'000 + 10;
    store_->Add(JobMinute{.minute = minute,
                          .job = "nccl-aaa",
                          .name = "pretrain",
                          .allocation = kOwnNumber,
                          .looks = 12,
                          .bytes = 111});
    // The name is the id of Alice's job.
    store_->Add(JobMinute{.minute = minute,
                          .job = "nccl-zzz",
                          .name = "nccl-aaa",
                          .allocation = kOtherNumber,
                          .looks = 12,
                          .bytes = 777'777});
    ASSERT_TRUE(store_->Flush(std::chrono::seconds(20)));
  }

  void Store(const HistoryRow& row) {
    store_->Add(row);
    ASSERT_TRUE(store_->Flush(std::chrono::seconds(20)));
  }

  // Publishes the same snapshot again, without findings.
  void PublishWithoutFindings() {
    Snapshot snapshot = Rich();
    snapshot.findings = std::make_shared<const Findings>();
    Publish(std::move(snapshot));
  }

  // Appends events of all faults, and of a source.
  void AppendEvents() {
    const auto answer = service_->views().Latest();
    for (const v1::Finding& finding : answer->findings().findings()) {
      v1::Event event;
      *event.mutable_event_time() = TimestampMessage(WallClock());  // after the start of the jobs
      event.set_kind(v1::Event::KIND_FAULT_STARTED);
      event.set_sentence(finding.sentence());
      *event.mutable_finding() = finding;
      service_->events().Append(event);
    }
    v1::Event failed;
    failed.set_kind(v1::Event::KIND_SOURCE_FAILED);
    failed.set_sentence("exporter of host2: no answer");
    service_->events().Append(failed);
  }

 private:
  void Register(uint64_t number, const std::string& name, const std::string& user,
                const std::vector<std::string>& nodes) {
    v1::RegisterJobRequest request;
    request.set_scheduler_job_id(number);
    request.set_name(name);
    request.set_user(user);
    for (const std::string& node : nodes) request.add_nodes()->set_node(node);
    v1::RegisterJobResponse response;
    ASSERT_TRUE(service_->RegisterJob(LocalCaller(), request, response));
  }

  topology::NicIndex Nic(const std::string& host) const {
    const topology::Fabric& fabric = *daemon_->fabric();
    return *fabric.NicsOf(fabric.FindNode(host)).begin();
  }
  // The link between a host and its leaf.
  uint32_t LinkOf(const std::string& host) const {
    const topology::Fabric& fabric = *daemon_->fabric();
    for (uint32_t i = 0; i < fabric.links().size(); ++i) {
      for (const topology::PortIndex port : fabric.links()[i].ends) {
        if (fabric.port(port).node == fabric.FindNode(host)) return i;
      }
    }
    ADD_FAILURE() << "no link of " << host;
    return 0;
  }
  Connection Between(const std::string& a, const std::string& b, uint32_t qpn) const {
    const topology::Fabric& fabric = *daemon_->fabric();
    Connection connection;
    connection.state = ConnectionState::kPaired;
    connection.endpoints[0] = {.address = fabric.nic(Nic(a)).addresses.front().address,
                               .qpn = Qpn{qpn}};
    connection.endpoints[1] = {.address = fabric.nic(Nic(b)).addresses.front().address,
                               .qpn = Qpn{qpn + 1}};
    return connection;
  }

  static void AddJob(const std::string& id, uint64_t number, const std::string& name,
                     const std::string& user, const std::vector<std::string>& hosts,
                     Attribution& attribution) {
    Job& job = attribution.jobs.emplace_back().job;
    job.id = id;
    job.allocation = JobAllocation{.id = number, .name = name, .user = user};
    job.notes = {"other-note"};
    for (size_t i = 0; i < hosts.size(); ++i) {
      JobRank& rank = job.ranks.emplace_back();
      rank.rank = static_cast<int>(i);
      rank.host = hosts[i];
    }
  }

  static ServiceIndicator IndicatorOfNics() {
    for (size_t i = 0; i < kServiceIndicatorCount; ++i) {
      const auto indicator = static_cast<ServiceIndicator>(i);
      if (InfoOf(indicator).layer == ServiceLayer::kNic) return indicator;
    }
    return ServiceIndicator::kCount;
  }

  Snapshot Rich() const {
    const topology::Fabric& fabric = *daemon_->fabric();
    Snapshot snapshot;
    Attribution attribution;
    AddJob("nccl-aaa", kOwnNumber, "pretrain", "alice", {"host0", "host1"}, attribution);
    AddJob("nccl-zzz", kOtherNumber, "secretname", "mallory", {"host2", "host3"}, attribution);
    AddJob("nccl-yyy", kOtherNumber + 1, "pretrain", "mallory", {"host3"}, attribution);
    const std::vector<Connection> connections = {Between("host0", "host1", 10),
                                                 Between("host2", "host3", 20)};
    std::vector<FlowPath> paths;
    for (uint32_t i = 0; i < connections.size(); ++i) {
      attribution.endpoints.push_back(
          {RankClaim{.job = i, .rank = 0}, RankClaim{.job = i, .rank = 1}});
      for (const size_t from : {0, 1}) {
        FlowPath& path = paths.emplace_back();
        path.flow = *FlowFrom(from, connections[i]);
        path.source = Nic("host" + std::to_string(2 * i + from));
        path.destination = Nic("host" + std::to_string(2 * i + 1 - from));
        path.intervals.emplace_back();
      }
    }
    std::ranges::sort(paths, {}, &FlowPath::flow);
    snapshot.paths = std::make_shared<const FlowPaths>(paths);
    const FlowKey own_flow = *FlowFrom(0, connections[0]);
    const FlowKey other_flow = *FlowFrom(0, connections[1]);

    auto levels = std::make_shared<ServiceLevels>();
    for (const uint32_t job : {0U, 1U, 2U}) {
      levels->levels.push_back({.indicator = static_cast<ServiceIndicator>(0),
                                .job = job,
                                .state = ServiceState::kMissed});
    }
    for (const char* host : {"host0", "host2"}) {
      levels->levels.push_back({.indicator = IndicatorOfNics(),
                                .entity = {.kind = EntityKind::kNic, .index = Nic(host)},
                                .state = ServiceState::kAtRisk});
    }
    snapshot.service_levels = levels;

    Congestion congestion;
    congestion.hotspots = {{.port = 0}, {.port = 1}};
    congestion.traffic.resize(2);
    congestion.traffic[0].culprits = {{.flow = own_flow, .bytes = 5},
                                      {.flow = other_flow, .bytes = 6}};
    congestion.traffic[0].lost = {{.job = 0, .ranks = {1}}, {.job = 1, .ranks = {0}}};
    congestion.traffic[1].lost = {{.job = 1}};
    snapshot.congestion = std::make_shared<const Congestion>(std::move(congestion));

    const Place other_nic = {PlaceKind::kNic, Nic("host2")};
    Finding at_other_host = {.kind = FaultKind::kLinkDown,
                             .place = {PlaceKind::kLink, LinkOf("host2")},
                             .confidence = 0.9,
                             .alternatives = {{.kind = FaultKind::kNicCrash, .place = other_nic}},
                             .from = FromNanoseconds(kPastNs),
                             .evidence = {"host2 of mallory is down"},
                             .further = {"install an agent on host3"},
                             .culprits = {own_flow, other_flow},
                             .affected_jobs = {0, 1},
                             .symptoms = {{.kind = FaultKind::kNicCrash, .place = other_nic}}};
    Finding at_switch = {.kind = FaultKind::kSwitchCrash,
                         .place = {PlaceKind::kSwitch, fabric.FindNode("leaf0")},
                         .confidence = 0.9,
                         .from = FromNanoseconds(kPastNs),
                         .affected_jobs = {0},
                         .exposed_jobs = {1, 2}};
    Finding of_other = {
        .kind = FaultKind::kNicCrash, .place = other_nic, .confidence = 0.9, .affected_jobs = {1}};
    Finding suspected = at_other_host;
    suspected.confidence = 0.3;
    Finding suspected_of_other = of_other;
    suspected_of_other.confidence = 0.3;
    snapshot.findings = std::make_shared<const Findings>(
        Findings{at_other_host, at_switch, of_other, suspected, suspected_of_other});
    auto coverage = std::make_shared<DiagnosisCoverage>();
    coverage->windows = 7;
    coverage->silences.push_back({.node = fabric.FindNode("host3"), .windows = 3});
    snapshot.diagnosis_coverage = coverage;
    snapshot.connections = std::make_shared<const ConnectionList>(connections);
    snapshot.attribution = std::make_shared<const Attribution>(std::move(attribution));
    return snapshot;
  }

  std::unique_ptr<HistoryStore> store_;
};

}  // namespace rocescope
