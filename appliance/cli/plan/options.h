// SPDX-License-Identifier: BSD-3-Clause
// What a plan for mirrors and sFlow starts from, beside the fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "appliance/cli/plan/platform.h"
#include "base/address.h"

namespace rocescope::plan {

// A port of the appliance: what it is called there, and where it is plugged in.
struct Collector {
  std::string interface;         // "ens1f0", or a PCI address for DPDK
  uint64_t bits_per_second = 0;  // of the cable
  std::string node;              // the switch
  std::string port;              // of the switch; the fabric need not know it
  IpAddress address;             // of the appliance's port: where copies are sent to

  // "0000:3b:00.0" in place of an interface's name.
  bool IsPci() const { return interface.find(':') != std::string::npos; }
};

// Which ports are mirrored. The order is that of how much is seen, but for the last two.
enum class MirrorChoice : uint8_t {
  kNicsBoth,      // ports to NICs, what enters and what leaves
  kNics,          // ports to NICs, what enters
  kSecondLeaves,  // the same of every second leaf
  kSomeNics,      // the same of as many ports of each leaf as fit
  kUplinks,       // ports of leaves to spines, what comes down
};
inline constexpr size_t kChoiceCount = 5;

struct PlanOptions {
  std::vector<Collector> collectors;
  Vendor vendor = Vendor::kNone;
  std::optional<MirrorChoice> choice;  // if not said, the first that fits
  double utilisation = 0.5;            // of each link and direction, 0 to 1
  uint32_t path_mtu = 4096;            // payload of a full RoCE packet
  uint32_t packets_per_ack = 4;        // full packets that one ACK answers
  std::optional<uint32_t>
      truncation;                  // octets kept of a packet, 0: all; if not said, the platform's
  uint32_t one_in = 1;             // packets of which one is mirrored
  uint32_t sessions = 4;           // that a switch has
  std::optional<uint8_t> erspan;   // 1, 2 or 3; if not said, the platform's
  std::optional<bool> names_port;  // whether its header has the port; likewise
  double samples_per_second = 10'000;  // of sFlow, from all switches; 0: no sFlow
  uint32_t polling_seconds = 20;       // between two readings of a port's counters
  IpAddress telemetry;                 // where sFlow and INT go; unspecified: the first collector
};

}  // namespace rocescope::plan
