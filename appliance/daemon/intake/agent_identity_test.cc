// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/intake/agent_identity.h"

#include <gtest/gtest.h>

namespace rocescope {
namespace {

using Names = std::vector<std::string>;

bool MayReport(std::string_view host, const Names& names, const AgentsConfig& config = {}) {
  return IdentifyAgent(host, names, config).has_value();
}

TEST(AgentIdentity, ReportsForTheHostThatItsCertificateNames) {
  EXPECT_TRUE(MayReport("gpu-7.gpu.example", {"gpu-7.gpu.example"}));
  EXPECT_TRUE(MayReport("GPU-7.gpu.example.", {"agent", "gpu-7.GPU.example"}));
  EXPECT_FALSE(MayReport("gpu-7", {"gpu-70", "gpu-8.example"}));
  EXPECT_FALSE(MayReport("gpu-7.rack1.example", {"gpu-7.rack2.example"}));
  EXPECT_FALSE(MayReport("gpu-7", {}));
  EXPECT_FALSE(MayReport("", {""}));
}

TEST(AgentIdentity, RejectsLongerAndUndeclaredShorterNames) {
  EXPECT_FALSE(MayReport("host0.gpu.example.x0", {"host0.gpu.example"}));
  EXPECT_FALSE(MayReport("host0.gpu.example", {"host0"}));
  EXPECT_FALSE(MayReport("host0", {"host0.gpu.example"}));
  EXPECT_FALSE(MayReport("host0.gpu", {"host0.gpu.example"}));
}

TEST(AgentIdentity, AcceptsNamesWithoutADeclaredDomain) {
  const AgentsConfig config = {.domains = {"GPU.example"}};
  EXPECT_TRUE(MayReport("host0", {"host0.gpu.example"}, config));
  EXPECT_TRUE(MayReport("host0.rack2", {"host0.rack2.gpu.example"}, config));
  EXPECT_FALSE(MayReport("host0", {"host0.rack2.gpu.example"}, config));
  EXPECT_FALSE(MayReport("host0.gpu.example", {"host0"}, config));
}

TEST(AgentIdentity, ComparesNamesWithTheTopology) {
  const AgentsConfig config = {.domains = {"gpu.example"}};
  EXPECT_TRUE(IsSameName("host0.gpu.example", "host0", config));
  EXPECT_TRUE(IsSameName("host0", "Host0.gpu.example", config));
  EXPECT_FALSE(IsSameName("host0.other.example", "host0", config));
}

TEST(AgentIdentity, AllNamesOfAHostHaveTheSameKeyAndAccount) {
  const AgentsConfig config = {.domains = {"gpu.example"}};
  const auto full = IdentifyAgent("Host0.gpu.example", {"host0.gpu.example"}, config);
  const auto brief = IdentifyAgent("host0", {"host0.gpu.example"}, config);
  ASSERT_TRUE(full && brief);
  EXPECT_EQ(full->host, brief->host);
  EXPECT_EQ(full->account, brief->account);
}

TEST(AgentIdentity, ChargesACertificateForAllOfItsHosts) {
  const Names names = {"a.example", "b.example"};
  EXPECT_EQ(IdentifyAgent("a.example", names, {})->account,
            IdentifyAgent("b.example", names, {})->account);
  EXPECT_NE(IdentifyAgent("a.example", names, {})->host,
            IdentifyAgent("b.example", names, {})->host);
}

TEST(AgentIdentity, ChargesEachHostOfACertificateForAnyHost) {
  const AgentsConfig config = {.any_host = {"fleet"}};
  EXPECT_FALSE(MayReport("gpu-7", {"eve"}, config));
  const auto seven = IdentifyAgent("gpu-7", {"fleet"}, config);
  const auto eight = IdentifyAgent("gpu-8", {"fleet"}, config);
  ASSERT_TRUE(seven && eight);
  EXPECT_NE(seven->account, eight->account);
}

}  // namespace
}  // namespace rocescope
