// SPDX-License-Identifier: BSD-3-Clause
// The expected names are those of the vendors' documents in port_name.cc.
#include "appliance/cli/plan/port_name.h"

#include <gmock/gmock.h>

#include "appliance/cli/plan/plan_fixture.h"
#include "appliance/cli/plan/plan_report.h"
#include "appliance/cli/plan/switch_config.h"

namespace rocescope::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// The name in the configuration, or "invalid".
std::string Written(Vendor vendor, std::string_view given) {
  const PortName name = PortNameOf(vendor, given);
  if (name.is_valid) return name.text;
  EXPECT_EQ(name.text, given);
  return "invalid";
}

TEST(PortNameTest, NxosNeedsSlotAndPort) {
  for (const char* given : {"Ethernet1/1", "ethernet1/1", "Eth1/1", "eth1/1", "E1/1", "e1/1"}) {
    EXPECT_EQ(Written(Vendor::kNxos, given), "Ethernet1/1") << given;
  }
  EXPECT_EQ(Written(Vendor::kNxos, "Eth1/49/2"), "Ethernet1/49/2");
  EXPECT_EQ(Written(Vendor::kNxos, "port-channel7"), "port-channel7");
  for (const char* given :
       {"Ethernet1", "Ethernet0", "swp1", "Ethernet1/0", "Ethernet0/1", "Ethernet1/1/1/1", "1/1",
        "Ethernet1/", "Ethernet/1", "Ethernet1//1", "Ethernet1/01", "Ethernet1/1.100", "etp1",
        "mgmt0", "Ethernett1/1", "Ethernet1/12345", "", "/"}) {
    EXPECT_EQ(Written(Vendor::kNxos, given), "invalid") << given;
  }
}

TEST(PortNameTest, EosNumbersFromOne) {
  EXPECT_EQ(Written(Vendor::kEos, "Et1/1"), "Ethernet1/1");
  EXPECT_EQ(Written(Vendor::kEos, "eth12"), "Ethernet12");
  EXPECT_EQ(Written(Vendor::kEos, "Ethernet3/1/4"), "Ethernet3/1/4");
  EXPECT_EQ(Written(Vendor::kEos, "Port-Channel10"), "Port-Channel10");
  for (const char* given : {"Ethernet0", "swp1", "swp1s0", "Ethernet1/1/1/1", "Management1"}) {
    EXPECT_EQ(Written(Vendor::kEos, given), "invalid") << given;
  }
}

TEST(PortNameTest, SonicNamesAreNotAbbreviated) {
  for (const char* given : {"Ethernet0", "Ethernet4", "Ethernet124", "PortChannel1"}) {
    EXPECT_EQ(Written(Vendor::kSonic, given), given);
  }
  EXPECT_EQ(Written(Vendor::kSonic, "ethernet8"), "Ethernet8");
  // eth0 is the management port; the others are aliases, or names of other platforms.
  for (const char* given : {"eth0", "Eth4", "etp1", "Ethernet1/1", "Eth1/1", "swp1", "Ethernet"}) {
    EXPECT_EQ(Written(Vendor::kSonic, given), "invalid") << given;
  }
}

// Two hosts at a leaf whose ports have these names.
topology::Fabric PortsNamed(const std::string& first, const std::string& second) {
  topology::Fabric::Parts parts = TwoHosts().parts();
  for (const topology::Node& node : parts.nodes) {
    if (!node.IsSwitch()) continue;
    parts.ports[node.first_port].name = first;
    parts.ports[node.first_port + 1].name = second;
  }
  return *topology::Fabric::Make(std::move(parts));
}

Plan NxosPlan(const topology::Fabric& fabric) {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.utilisation = 0.001;
  options.vendor = Vendor::kNxos;
  return *MakePlan(fabric, options);
}

TEST(PortNameTest, ConvertedNamesAreInTheConfiguration) {
  const topology::Fabric fabric = PortsNamed("eth1/1", "e1/2");
  const Plan plan = NxosPlan(fabric);
  EXPECT_THAT(plan.warnings, IsEmpty());
  EXPECT_THAT(SwitchConfigs(fabric, plan).at(0).text,
              AllOf(HasSubstr("source interface Ethernet1/1 both\n  source interface Ethernet1/2 "),
                    Not(HasSubstr("Invalid port names"))));
}

TEST(PortNameTest, AnInvalidNameIsWrittenAsGivenWithAWarning) {
  const topology::Fabric fabric = PortsNamed("Ethernet1/1", "swp2");
  const Plan plan = NxosPlan(fabric);
  EXPECT_THAT(plan.warnings, Contains(AllOf(HasSubstr("leaf0: invalid port names for Cisco NX-OS"),
                                            HasSubstr("): swp2. The configuration"),
                                            HasSubstr("`show interface brief`"))));
  EXPECT_THAT(SwitchConfigs(fabric, plan).at(0).text,
              AllOf(StartsWith("! leaf0: Cisco NX-OS\n"
                               "! Invalid port names for Cisco NX-OS (valid: Ethernet1/1), replace "
                               "them: swp2\n"),
                    HasSubstr("source interface swp2 both\n")));
  EXPECT_THAT(*PlanText(fabric, plan, false), StartsWith("WARNINGS\n\n  - leaf0: invalid port"));
}

TEST(PortNameTest, TwoPortsDoNotGetTheSameName) {
  const topology::Fabric fabric = PortsNamed("Ethernet1/1", "eth1/1");
  const Plan plan = NxosPlan(fabric);
  EXPECT_THAT(plan.warnings, Contains(HasSubstr("Ethernet1/1): eth1/1. The")));
  EXPECT_THAT(SwitchConfigs(fabric, plan).at(0).text,
              HasSubstr("source interface Ethernet1/1 both\n  source interface eth1/1 both\n"));
}

TEST(PortNameTest, SwitchesWithTheSamePortsShareAWarning) {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.utilisation = 0.0001;
  options.vendor = Vendor::kNxos;
  const Plan plan = *MakePlan(LeafSpine(), options);
  EXPECT_THAT(plan.warnings,
              ElementsAre(AllOf(StartsWith("leaf[0-7]: "), HasSubstr(": Ethernet[1-16]. ")),
                          AllOf(StartsWith("spine[0-15]: "), HasSubstr(": Ethernet[1-8]. "))));
}

}  // namespace
}  // namespace rocescope::plan
