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
    "Without --vendor, the plan uses ERSPAN type III with the port in its header, which few "
    "switches support. Check your switches, or use --vendor.",
};
constexpr std::array<string_view, 5> kSonicLimits = {
    "SONiC sends ERSPAN type I (GRE 0x88be), without session, direction, port or time. A switch "
    "has one mirror session in the topology, session 0, and only one direction is distinguishable.",
    "SONiC truncates copies only in sampled sessions (--sample with --truncate), in releases and "
    "on chips that support it: `redis-cli -n 6 hgetall 'SWITCH_CAPABILITY|switch'` lists "
    "SAMPLEPACKET_TRUNCATION_CAPABLE. Otherwise, complete packets are copied.",
    "Some chips do not support mirroring of egress, or GRE type 0x88be: the same table lists "
    "PORT_EGRESS_MIRROR_CAPABLE; on NVIDIA Spectrum, use tcpdump to check that an Ethernet header "
    "follows the GRE header.",
    "The session becomes active when the switch has a route to the collector's address (`show "
    "mirror_session`).",
    "SONiC supports at most two sFlow collectors.",
};
constexpr std::array<string_view, 4> kEosLimits = {
    "EOS mirrors with plain GRE, without session, direction or time; the GRE key is ignored. A "
    "switch has one mirror session in the topology, session 0, and only one direction is "
    "distinguishable.",
    "Not all EOS platforms truncate copies, and some only to a fixed length (`truncate` without a "
    "size): check the output of `show monitor session`.",
    "The GRE type must be 0x88be (ERSPAN) or 0x6558 (Ethernet): use tcpdump on the collector to "
    "check what your platform sends.",
    "EOS has one sFlow rate for all ports, which must be at least 16384; a lower one requires "
    "`sflow sample dangerous` because the switch's CPU processes the samples.",
};
constexpr std::array<string_view, 5> kNxosLimits = {
    "NX-OS does not write the ifIndex to ERSPAN headers: a session is a set of ports. Type III "
    "(header-type 3) contains direction and time; a Nexus that supports only type II provides "
    "neither.",
    "Nexus 9300-EX, and 9500 with -EX and -FX line cards, truncate copies to at least 320 bytes: "
    "use --truncate 320. The configuration guide lists the range of `mtu` for each.",
    "At most four sessions can be up at the same time; if three of them mirror both directions, "
    "the fourth can only mirror rx.",
    "A Nexus 9000 does not bring up a mirror session in addition to an sFlow data source "
    "(configuration guide, sFlow, limitations): sFlow is planned only for switches without mirror "
    "sessions.",
    "NX-OS has one sFlow rate and one collector for each switch; it samples ingress and egress.",
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
     .port_form = "Ethernet0",
     .ports_command = "show interfaces status",
     .limits = kSonicLimits},
    {.vendor = Vendor::kEos,
     .word = "eos",
     .title = "Arista EOS",
     .erspan = 1,
     .samples_mirrors = true,
     .sflow_least = 16'384,
     .port_form = "Ethernet1/1",
     .ports_command = "show interfaces status",
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
     .port_form = "Ethernet1/1",
     .ports_command = "show interface brief",
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
