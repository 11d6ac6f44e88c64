// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/collector.h"

#include "appliance/cli/plan/plan_fixture.h"

namespace rocescope::plan {
namespace {

TEST(CollectorTest, ParsesInterfaceSpeedPortAndAddress) {
  const auto collector = ParseCollector("ens1f0=1.6T@leaf-3:Ethernet1/9,172.31.0.1");

  ASSERT_TRUE(collector.has_value()) << collector.error().message;
  EXPECT_EQ(collector->interface, "ens1f0");
  EXPECT_EQ(collector->bits_per_second, 1'600 * kGigabit);
  EXPECT_EQ(collector->node, "leaf-3");
  EXPECT_EQ(collector->port, "Ethernet1/9");
  EXPECT_EQ(ToString(collector->address), "172.31.0.1");
  EXPECT_FALSE(collector->IsPci());
}

TEST(CollectorTest, MayBeAPciAddressAndHaveAnIpv6One) {
  const auto collector = ParseCollector("0000:3b:00.0=100G@leaf0:Ethernet9,2001:db8::1");

  ASSERT_TRUE(collector.has_value()) << collector.error().message;
  EXPECT_TRUE(collector->IsPci());
  EXPECT_EQ(collector->port, "Ethernet9");
  EXPECT_EQ(ToString(collector->address), "2001:db8::1");
}

class BadCollector : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(BadCollector, NamesTheMissingPart) {
  const auto collector = ParseCollector(GetParam().first);

  ASSERT_FALSE(collector.has_value());
  EXPECT_NE(collector.error().message.find(GetParam().second), std::string::npos)
      << collector.error().message;
  EXPECT_NE(collector.error().message.find("NAME=SPEED@SWITCH:PORT,ADDRESS"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(All, BadCollector,
                         testing::Values(std::pair("eth0", "expected ="),
                                         std::pair("eth0=1G", "expected @"),
                                         std::pair("eth0=1G@leaf0", "expected SWITCH:PORT"),
                                         std::pair("eth0=1G@leaf0:Ethernet1", "address"),
                                         std::pair("eth0=fast@leaf0:Ethernet1,10.0.0.1", "fast"),
                                         std::pair("a b=1G@leaf0:Ethernet1,10.0.0.1", "NAME"),
                                         std::pair("eth0=1G@leaf0:Ethernet1,10.0.0", "10.0.0")));

std::string MistakeOf(const PlanOptions& options) {
  const Status status = CheckCollectors(TwoHosts(), options.collectors);
  return status ? "" : status.error().message;
}

TEST(CollectorTest, IsConnectedToAFreeSwitchPort) {
  PlanOptions options = CollectorsOf(kGigabit);
  EXPECT_EQ(MistakeOf(options), "");
  options.collectors[0].port = "Ethernet1";
  EXPECT_EQ(MistakeOf(options),
            "collector eth0: leaf0:Ethernet1 is connected to host0:mlx5_0; use a free port");
  options.collectors[0].node = "host0";
  EXPECT_NE(MistakeOf(options).find("host0 is a host"), std::string::npos);
  options.collectors[0].node = "laef0";
  EXPECT_EQ(MistakeOf(options), "collector eth0: unknown node \"laef0\"; did you mean \"leaf0\"?");
}

TEST(CollectorTest, SharesNothingWithAnother) {
  PlanOptions options = CollectorsOf(kGigabit, 2);
  EXPECT_EQ(MistakeOf(options), "");
  options.collectors[1].address = options.collectors[0].address;
  EXPECT_NE(MistakeOf(options).find("eth0 and eth1"), std::string::npos);
}

}  // namespace
}  // namespace rocescope::plan
