// SPDX-License-Identifier: BSD-3-Clause
// Sources:
// SONiC: sonic-net/sonic-utilities doc/Command-Reference.md ("Mirroring", "sFlow"); sonic-net/SONiC
//   doc/SONiC_Port_Mirroring_HLD.md (sampled and truncated sessions, capabilities) and
//   doc/sflow/sflow_hld.md (rates 256 to 8388608, polling 0 or 5 to 300 s); sonic-swss
//   orchagent/mirrororch.cpp: SAI's L3 GRE tunnel, without a session in it.
// EOS: Arista EOS User Manual, "Port Mirroring" and "sFlow" (least rate 16384 but for "dangerous");
//   EOS Central, "Advanced Mirroring Features" (GRE, truncation, sampling by platform).
// NX-OS: Cisco Nexus 9000 Series NX-OS System Management Configuration Guide, "Configuring ERSPAN"
//   and "Configuring sFlow" (Release 10.5(x)).
#include "appliance/cli/plan/platform.h"

#include <algorithm>
#include <array>

namespace rocescope::plan {
namespace {

using std::string_view;

constexpr std::array<string_view, 1> kNoneLimits = {
    "No --vendor is given: the plan takes ERSPAN type III with the port in its header, which few "
    "switches have. See what yours can do, or give --vendor.",
};
constexpr std::array<string_view, 5> kSonicLimits = {
    "SONiC's copies are ERSPAN type I (GRE 0x88be): no session, direction, port or time in them. A "
    "switch has one mirror in the topology, session 0, and only one direction can be told.",
    "SONiC cuts copies short only in sampled sessions (--sample with --truncate), in releases and "
    "on chips that can: `redis-cli -n 6 hgetall 'SWITCH_CAPABILITY|switch'` says "
    "SAMPLEPACKET_TRUNCATION_CAPABLE. Elsewhere whole packets are copied.",
    "Some chips do not mirror egress, or to GRE type 0x88be: the same table has "
    "PORT_EGRESS_MIRROR_CAPABLE; on NVIDIA Spectrum look with tcpdump whether an Ethernet header "
    "follows GRE's.",
    "The session becomes active once the switch knows the way to the collector's address "
    "(`show mirror_session`).",
    "SONiC sends sFlow to two collectors at most.",
};
constexpr std::array<string_view, 4> kEosLimits = {
    "EOS mirrors into plain GRE: no session, direction or time; what it may put into GRE's key is "
    "not read. A switch has one mirror in the topology, session 0, and only one direction can be "
    "told.",
    "Not all EOS platforms cut copies short, and some only to one length (`truncate` without a "
    "size): look at what `show monitor session` says afterwards.",
    "GRE's type must be 0x88be (ERSPAN) or 0x6558 (Ethernet): see with tcpdump on the collector "
    "what your platform sends.",
    "EOS has one sFlow rate for all ports, which must be 16384 or more; below that it asks for "
    "`sflow sample dangerous`, for the switch's CPU makes the samples.",
};
constexpr std::array<string_view, 5> kNxosLimits = {
    "NX-OS does not put ifIndex into ERSPAN: a session is a set of ports. Type III (header-type 3) "
    "tells direction and time; a Nexus that has only type II tells neither.",
    "Nexus 9300-EX, and 9500 with -EX and -FX line cards, cut copies to no less than 320 octets: "
    "there give --truncate 320. The guide has the bounds of `mtu` for each.",
    "At most four sessions are up at a time; where three of them mirror both directions, the "
    "fourth can mirror rx alone.",
    "A Nexus 9000 does not bring up a mirror session beside an sFlow data source (configuration "
    "guide, sFlow, limitations): sFlow is planned for switches without mirrors alone.",
    "NX-OS has one sFlow rate and one collector for the switch; it samples what enters and what "
    "leaves.",
};

constexpr std::array<Platform, 4> kPlatforms = {{
    {.vendor = Vendor::kNone,
     .word = "none",
     .title = "any switch",
     .erspan = 3,
     .erspan_is_fixed = false,
     .names_port = true,
     .samples_mirrors = true,
     .sflow_rate_per_port = true,
     .limits = kNoneLimits},
    {.vendor = Vendor::kSonic,
     .word = "sonic",
     .title = "SONiC",
     .erspan = 1,
     .truncation = 0,
     .truncates_unsampled = false,
     .samples_mirrors = true,
     .sflow_rate_per_port = true,
     .sflow_least = 256,
     .sflow_most = 8'388'608,
     .polling_least = 5,
     .polling_most = 300,
     .limits = kSonicLimits},
    {.vendor = Vendor::kEos,
     .word = "eos",
     .title = "Arista EOS",
     .erspan = 1,
     .samples_mirrors = true,
     .sflow_least = 16'384,
     .limits = kEosLimits},
    {.vendor = Vendor::kNxos,
     .word = "nxos",
     .title = "Cisco NX-OS",
     .erspan = 3,
     .erspan_is_fixed = false,
     .sflow_beside_mirrors = false,
     .sflow_directions = 2,
     .sflow_least = 4096,
     .sflow_most = 1'000'000'000,
     .limits = kNxosLimits},
}};

}  // namespace

const Platform& PlatformOf(Vendor vendor) { return kPlatforms[static_cast<size_t>(vendor)]; }

std::optional<Vendor> VendorOf(string_view word) {
  const auto found = std::ranges::find(kPlatforms, word, &Platform::word);
  if (found == kPlatforms.end()) return std::nullopt;
  return found->vendor;
}

}  // namespace rocescope::plan
