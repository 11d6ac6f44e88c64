// SPDX-License-Identifier: BSD-3-Clause
// Fixture for tests of servers: an appliance without telemetry, and snapshots that the test
// creates.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>

#include "appliance/daemon/core/daemon.h"
#include "appliance/daemon/service/service.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"
#include "topology/generate.h"
#include "topology/yaml.h"

namespace rocescope {

class ServiceTest : public testing::Test {
 protected:
  // Four hosts with one NIC and GPU each on two leaves; two spines.
  static constexpr const char* kFabric = "fabric.yaml";

  ServiceTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("rocescope-service-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    const auto fabric = topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value();
    std::ofstream(folder_ / kFabric) << topology::WriteFabric(fabric);
  }
  ~ServiceTest() override {
    service_.reset();
    daemon_.reset();
    std::filesystem::remove_all(folder_);
  }

  // `topology` is a file in folder_; empty: no topology.
  void OpenDaemon(const std::string& topology, const MetricsConfig& metrics = {},
                  const AgentsConfig& agents = {}, const JobsConfig& jobs = {}) {
    ApplianceConfig config;
    config.jobs = jobs;
    config.metrics = metrics;
    config.agents = agents;
    if (!topology.empty()) config.topology = (folder_ / topology).string();
    config.udp.sflow = {{.address = IpAddress::FromV4(0x7f000001)}};
    auto daemon = Daemon::Open(config, [](Severity, const std::string&) {});
    ASSERT_TRUE(daemon) << daemon.error().message;
    daemon_ = *std::move(daemon);
    service_ = std::make_unique<Service>(*daemon_, "1.2.3");
  }

  // A job with 500 nodes of 1,024 GPUs each: about 1 MB, and three times as much in memory.
  void RegisterLargeJob(uint64_t id = 1) {
    v1::RegisterJobRequest request;
    request.set_scheduler_job_id(id);
    for (int node = 0; node < 500; ++node) {
      v1::JobNode& one = *request.add_nodes();
      one.set_node("gpu-" + std::to_string(node));
      for (uint32_t gpu = 0; gpu < 1024; ++gpu) one.add_gpu_indexes(gpu);
    }
    v1::RegisterJobResponse response;
    ASSERT_TRUE(service_->RegisterJob(LocalCaller(), request, response));
  }

  // Publishes a snapshot with the topology, with this number of analysis restarts and dropped
  // records.
  void Publish(Snapshot snapshot, uint32_t restarted = 0, const RecordLoss& loss = {}) {
    if (!snapshot.host_facts) snapshot.host_facts = std::make_shared<const HostFacts>();
    if (!snapshot.flows) snapshot.flows = std::make_shared<const FlowSummaries>();
    if (!snapshot.connections) snapshot.connections = std::make_shared<const ConnectionList>();
    if (!snapshot.attribution) snapshot.attribution = std::make_shared<const Attribution>();
    if (!snapshot.paths) snapshot.paths = std::make_shared<const FlowPaths>();
    snapshot.fabric = daemon_->fabric();
    daemon_->answers().Publish({.snapshot = std::make_shared<const Snapshot>(std::move(snapshot)),
                                .reached = FromNanoseconds(5'000'000'000),
                                .restarted = restarted,
                                .loss = loss});
  }

  // Two jobs: nccl-1, which is job 4711 "pretrain" of the scheduler, and nccl-2.
  static Snapshot TwoJobs() {
    Attribution attribution;
    for (const char* id : {"nccl-1", "nccl-2"}) {
      attribution.jobs.emplace_back().job.id = id;
    }
    attribution.jobs[0].job.allocation = JobAllocation{.id = 4711, .name = "pretrain"};
    Snapshot snapshot;
    snapshot.attribution = std::make_shared<const Attribution>(std::move(attribution));
    return snapshot;
  }

  std::string AddressOf(const std::string& host) const {
    return ToString(NicOf(host).addresses.front().address);
  }

  Snapshot OneFlow(const std::string& from, const std::string& to) const {
    FlowPath path;
    path.flow = {.source = NicOf(from).addresses.front().address,
                 .destination = NicOf(to).addresses.front().address,
                 .destination_qpn = {7}};
    path.intervals.emplace_back();
    Snapshot snapshot;
    snapshot.paths = std::make_shared<const FlowPaths>(std::vector<FlowPath>{path});
    return snapshot;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<Service> service_;

 private:
  const topology::Nic& NicOf(const std::string& host) const {
    const topology::Fabric& fabric = *daemon_->fabric();
    return fabric.nic(fabric.NicsOf(fabric.FindNode(host)).front());
  }
};

}  // namespace rocescope
