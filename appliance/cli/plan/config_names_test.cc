// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/plan/config_names.h"

#include <gmock/gmock.h>

#include "appliance/cli/plan/plan_fixture.h"

namespace rocescope::plan {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Plans for one switch with two hosts, of which the switch and its first port are renamed.
std::string ErrorOf(const std::string& switch_name, const std::string& port_name, Vendor vendor,
                    PlanOptions options = CollectorsOf(1'000 * kGigabit)) {
  topology::Fabric::Parts parts = TwoHosts().parts();
  for (topology::Node& node : parts.nodes) {
    if (!node.IsSwitch()) continue;
    node.name = switch_name;
    parts.ports[node.first_port].name = port_name;
  }
  const auto fabric = topology::Fabric::Make(std::move(parts));
  if (!fabric) return "not a fabric: " + fabric.error().message;
  options.vendor = vendor;
  options.collectors[0].node = switch_name;
  const auto plan = MakePlan(*fabric, options);
  return plan ? "none" : plan.error().message;
}

TEST(ConfigNamesTest, NamesOfVendorsArePlain) {
  for (const char* name :
       {"Ethernet0", "Ethernet1/1", "Eth1/1/1", "etp1a", "swp1s0", "Ethernet-1", "ethernet-1/1",
        "et-0/0/0:1", "Port-Channel10", "Ethernet1/1.100", "leaf_1.example.org", "4"}) {
    EXPECT_TRUE(IsPlainName(name)) << name;
  }
}

TEST(ConfigNamesTest, OtherNamesAreNotPlain) {
  for (const char* name : {"",     "E1;id", "E1 rx", "E1\nreload", "!E1",  "E1!",   "#E1",
                           "E1#",  "$(id)", "`id`",  "E1'",        "E1\\", "E1,E2", "E1|id",
                           "E1>x", "E1*",   "~",     "-E1",        "/E1",  "..",    "h\xc3\xa9"}) {
    EXPECT_FALSE(IsPlainName(name)) << name;
  }
}

TEST(ConfigNamesTest, AnUnusualPortIsRefusedByEveryVendor) {
  for (const Vendor vendor : {Vendor::kSonic, Vendor::kEos, Vendor::kNxos}) {
    for (const uint64_t speed : {1'000 * kGigabit, uint64_t{1'000}}) {  // mirrored; sampled only
      EXPECT_THAT(ErrorOf("leaf0", "E1;id>/tmp/x;#", vendor, CollectorsOf(speed)),
                  AllOf(HasSubstr("switch \"leaf0\", port \"E1;id>/tmp/x;#\""),
                        HasSubstr("in the topology file")));
      EXPECT_EQ(ErrorOf("leaf0", "Ethernet1/1", vendor, CollectorsOf(speed)), "none");
    }
  }
}

TEST(ConfigNamesTest, AnUnusualSwitchIsRefusedByEveryVendor) {
  for (const Vendor vendor : {Vendor::kSonic, Vendor::kEos, Vendor::kNxos}) {
    EXPECT_THAT(ErrorOf("leaf$(id)", "Ethernet1", vendor),
                AllOf(HasSubstr("switch \"leaf$(id)\""), HasSubstr("rename it")));
  }
}

TEST(ConfigNamesTest, WithoutAVendorNamesAreNotRestricted) {
  EXPECT_EQ(ErrorOf("leaf$(id)", "E1;id>/tmp/x;#", Vendor::kNone), "none");
}

}  // namespace
}  // namespace rocescope::plan
