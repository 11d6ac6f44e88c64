// SPDX-License-Identifier: BSD-3-Clause
// The input of a plan for mirror sessions and sFlow, in addition to the fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "appliance/cli/plan/platform.h"
#include "base/address.h"

namespace rocescope::plan {

// A port of the appliance and the switch port that it is connected to.
struct Collector {
  std::string interface;         // "ens1f0", or a PCI address for DPDK
  uint64_t bits_per_second = 0;  // speed of the link
  std::string node;              // name of the switch
  std::string port;              // port of the switch; the fabric does not need to contain it
  IpAddress address;             // address of the appliance's port, the destination of copies

  // Returns whether the name is a PCI address ("0000:3b:00.0").
  bool IsPci() const { return interface.find(':') != std::string::npos; }
};

// Which ports are mirrored. Ordered by coverage, except for the last two.
enum class MirrorChoice : uint8_t {
  kNicsBoth,      // ports to NICs, ingress and egress
  kNics,          // ports to NICs, ingress
  kSecondLeaves,  // ports to NICs of every second leaf, ingress
  kSomeNics,      // as many ports to NICs of each leaf as fit, ingress
  kUplinks,       // ports of leaves to spines, ingress
};
inline constexpr size_t kChoiceCount = 5;

struct PlanOptions {
  std::vector<Collector> collectors;
  Vendor vendor = Vendor::kNone;
  std::optional<MirrorChoice> choice;  // default: the first one that fits
  double utilisation = 0.5;            // of each link and direction, 0 to 1
  uint32_t path_mtu = 4096;            // payload of a full RoCE packet
  uint32_t packets_per_ack = 4;        // full packets that one ACK acknowledges
  std::optional<uint32_t> truncation;  // bytes to keep of a packet, 0: all; default: the platform's
  uint32_t one_in = 1;                 // mirror one of this many packets
  uint32_t sessions = 4;               // number of sessions that a switch supports
  std::optional<uint8_t> erspan;       // 1, 2 or 3; default: the platform's
  std::optional<bool> names_port;  // whether its header contains the port; default: the platform's
  double samples_per_second = 10'000;  // sFlow samples per second from all switches; 0: no sFlow
  uint32_t polling_seconds = 20;       // counter polling interval
  uint32_t queue_pairs = 64;           // of each NIC that are in use at the same time
  std::optional<uint32_t> cores;       // of the appliance; default: not compared
  std::optional<uint64_t> memory;      // of the appliance in bytes; default: not compared
  IpAddress telemetry;  // destination of sFlow and INT; unspecified: the first collector
};

}  // namespace rocescope::plan
