// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/dependency/job_ports.h"

#include <gtest/gtest.h>

#include "topology/generate.h"

namespace rocescope {
namespace {

class JobPortsTest : public testing::Test {
 protected:
  // Adds a job on the NICs of hosts [first, end).
  void AddJob(uint32_t first, uint32_t end) {
    Job& job = attribution_.jobs.emplace_back().job;
    for (uint32_t host = first; host < end; ++host) {
      JobRank& rank = job.ranks.emplace_back();
      rank.host = "host" + std::to_string(host);
      rank.ports = {{.device = "mlx5_0", .port = 1}};
    }
  }
  topology::PortIndex HostPort(uint32_t host) const {
    const auto nics = fabric_.NicsOf(fabric_.FindNode("host" + std::to_string(host)));
    return fabric_.nic(nics[0]).port;
  }
  topology::PortIndex LeafPort(uint32_t host) const { return fabric_.Peer(HostPort(host)); }
  std::optional<size_t> JobOf(const std::vector<topology::PortIndex>& ports) const {
    return JobPorts(fabric_, attribution_).JobOf(ports);
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 8, .leaves = 2, .spines = 1}).value();
  Attribution attribution_;
};

TEST_F(JobPortsTest, FindsTheJobOfSwitchPortsAndNics) {
  AddJob(0, 4);
  AddJob(4, 8);
  EXPECT_EQ(JobOf({LeafPort(4), LeafPort(5), LeafPort(6), LeafPort(7)}), 1u);
  EXPECT_EQ(JobOf({HostPort(0), HostPort(1), LeafPort(2), LeafPort(1)}), 0u);
}

TEST_F(JobPortsTest, IgnoresPortsBetweenSwitches) {
  AddJob(0, 4);
  std::vector<topology::PortIndex> ports = {LeafPort(0), LeafPort(1), LeafPort(2)};
  const topology::Node& spine = fabric_.node(fabric_.FindNode("spine0"));
  for (uint32_t i = 0; i < spine.port_count; ++i) ports.push_back(spine.first_port + i);
  EXPECT_EQ(JobOf(ports), 0u);
}

TEST_F(JobPortsTest, FindsNoJobForASmallPart) {
  AddJob(0, 4);
  EXPECT_EQ(JobOf({LeafPort(0), LeafPort(1)}), std::nullopt) << "half of the job";
  EXPECT_EQ(JobOf({LeafPort(0), LeafPort(1), LeafPort(2), LeafPort(3), LeafPort(4), LeafPort(5),
                   LeafPort(6)}),
            std::nullopt)
      << "many other ports";
  EXPECT_EQ(JobOf({}), std::nullopt);
}

}  // namespace
}  // namespace rocescope
