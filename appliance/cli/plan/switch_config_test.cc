// SPDX-License-Identifier: BSD-3-Clause
// The expected values follow the vendors' examples.
#include "appliance/cli/plan/switch_config.h"

#include "appliance/cli/plan/plan_fixture.h"

namespace rocescope::plan {
namespace {

std::string ConfigOf(Vendor vendor, PlanOptions options = CollectorsOf(1'000 * kGigabit)) {
  options.vendor = vendor;
  const topology::Fabric fabric = vendor == Vendor::kNxos ? WithSlots(TwoHosts()) : TwoHosts();
  const auto plan = MakePlan(fabric, options);
  if (!plan) return plan.error().message;
  const auto configs = SwitchConfigs(fabric, *plan);
  return configs.size() == 1 ? configs[0].text : "not one switch";
}

TEST(SwitchConfigTest, Sonic) {
  EXPECT_EQ(ConfigOf(Vendor::kSonic),
            R"(# leaf0: SONiC
# Packets are mirrored in full: SONiC can truncate only sampled copies.
sudo config mirror_session erspan add rocescope 172.16.0.1 172.31.0.1 0 64 0x88be 0 'Ethernet1,Ethernet2' rx
sudo config feature state sflow enabled
sudo config sflow collector add rocescope 172.31.0.1 --port 6343
sudo config sflow polling-interval 20
# The interface with the address 172.16.0.1; Loopback0 on most switches.
sudo config sflow agent-id add Loopback0
sudo config sflow enable
sudo config sflow interface sample-rate 'Ethernet1' 512
sudo config sflow interface sample-rate 'Ethernet2' 512
# After checking `show mirror_session` and `show sflow`:
sudo config save -y
)");
}

TEST(SwitchConfigTest, SonicCutsWhatItSamples) {
  PlanOptions options = CollectorsOf(1'000 * kGigabit);
  options.one_in = 64;
  EXPECT_NE(ConfigOf(Vendor::kSonic, options)
                .find("'Ethernet1,Ethernet2' rx --sample_rate 64 --truncate_size 128\n"),
            std::string::npos);
}

TEST(SwitchConfigTest, Eos) {
  EXPECT_EQ(ConfigOf(Vendor::kEos),
            R"(! leaf0: Arista EOS
monitor session rocescope source Ethernet1 rx
monitor session rocescope source Ethernet2 rx
! If this is rejected, use `truncate` without a size, and run `rocescope plan` again with --truncate set to the length to which the platform truncates.
monitor session rocescope truncate size 128
monitor session rocescope destination tunnel mode gre source 172.16.0.1 destination 172.31.0.1
sflow sample 16384
sflow polling-interval 20
sflow destination 172.31.0.1 6343
sflow source 172.16.0.1
sflow run
)");
}

TEST(SwitchConfigTest, NxosMirrors) {
  EXPECT_EQ(ConfigOf(Vendor::kNxos),
            R"(! leaf0: Cisco NX-OS
monitor erspan origin ip-address 172.16.0.1 global
monitor session 1 type erspan-source
  description rocescope
  header-type 3
  erspan-id 1
  vrf default
  destination ip 172.31.0.1
  ip ttl 64
  ip dscp 0
  source interface Ethernet1/1 both
  source interface Ethernet1/2 both
  mtu 128
  no shut
)");
}

TEST(SwitchConfigTest, NxosSamples) {
  PlanOptions options = CollectorsOf(1'000);  // nothing fits
  EXPECT_EQ(ConfigOf(Vendor::kNxos, options),
            R"(! leaf0: Cisco NX-OS
feature sflow
sflow sampling-rate 4096
sflow max-sampled-size 128
sflow counter-poll-interval 20
sflow collector-ip 172.31.0.1 vrf default
sflow collector-port 6343
sflow agent-ip 172.16.0.1
sflow data-source interface Ethernet1/1
sflow data-source interface Ethernet1/2
)");
}

TEST(SwitchConfigTest, NoVendorNoWords) {
  EXPECT_TRUE(SwitchConfigs(TwoHosts(), *MakePlan(TwoHosts(), CollectorsOf(kGigabit))).empty());
}

}  // namespace
}  // namespace rocescope::plan
