// SPDX-License-Identifier: BSD-3-Clause
// A packet of the workload, before it is encoded.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "base/qpn.h"
#include "dataplane/wire/roce.h"

namespace rocescope::perf {

// One end of a connection: a queue pair on a host.
struct Endpoint {
  IpAddress address;
  uint64_t mac = 0;
  Qpn qpn;
  uint16_t udp_source_port = 0;
  uint8_t ttl = 64;  // TTL of its packets at the tap
};

struct Packet {
  int64_t time_ns = 0;
  uint32_t flow = 0;  // connection * 2 + the sending end
  const Endpoint* from = nullptr;
  const Endpoint* to = nullptr;
  wire::Bth bth;
  wire::Reth reth;  // each of these is written if the opcode has it
  wire::Aeth aeth;
  wire::ImmDt immediate;
  uint32_t payload_length = 0;   // bytes, without padding
  uint64_t granted_address = 0;  // of a clear-to-send; 0: none
  uint32_t granted_rkey = 0;
  bool congestion_experienced = false;
  uint32_t skipped_before = 0;  // missing PSNs of this packet's PSN space directly before it
};

}  // namespace rocescope::perf
