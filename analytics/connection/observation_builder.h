// SPDX-License-Identifier: BSD-3-Clause
// Builds records for tests. Test code only.
#pragma once

#include <cstdint>
#include <utility>

#include "analytics/connection/connection_tracker.h"
#include "analytics/flow/with_own_flows.h"
#include "dataplane/record/record.h"

namespace rocescope {

using TestTracker = WithOwnFlows<ConnectionTracker>;

inline constexpr uint8_t kSendOnly = 0x04;  // IBTA vol. 1, table 38
inline constexpr uint8_t kWriteFirst = 0x06;
inline constexpr uint8_t kWriteMiddle = 0x07;
inline constexpr uint8_t kWriteLastImmediate = 0x09;
inline constexpr uint8_t kWriteOnly = 0x0a;
inline constexpr uint8_t kWriteOnlyImmediate = 0x0b;
inline constexpr uint8_t kReadRequestOpcode = 0x0c;
inline constexpr uint8_t kReadResponseFirst = 0x0d;
inline constexpr uint8_t kReadResponseMiddle = 0x0e;
inline constexpr uint8_t kReadResponseLast = 0x0f;
inline constexpr uint8_t kAcknowledgeOpcode = 0x11;
inline constexpr uint8_t kUcWriteOnly = 0x2a;

inline IpAddress Host(uint32_t number) { return IpAddress::FromV4(0x0a000000u + number); }
inline Timestamp At(int64_t microseconds) {
  return FromNanoseconds(1'700'000'000'000'000'000 + microseconds * 1000);
}

// A true queue pair connection: packets from host a to b go to QP b_qpn, and the reverse to a_qpn.
struct TrueConnection {
  IpAddress a;
  IpAddress b;
  uint32_t a_qpn = 0;
  uint32_t b_qpn = 0;
  Segment segment = 0;

  FlowKey ToB() const {
    return {.source = a, .destination = b, .destination_qpn = {b_qpn}, .segment = segment};
  }
  FlowKey ToA() const {
    return {.source = b, .destination = a, .destination_qpn = {a_qpn}, .segment = segment};
  }
  TrueConnection Reversed() const {
    return {.a = b, .b = a, .a_qpn = b_qpn, .b_qpn = a_qpn, .segment = segment};
  }
};

class Observation {
 public:
  Observation(const FlowKey& flow, int64_t microseconds) {
    record_.flow = flow;
    record_.event_time = At(microseconds);
    record_.arrival_time = record_.event_time;
  }
  Observation& AtTap(TapId tap) {
    record_.tap = tap;
    return *this;
  }
  Observation& Request(uint8_t opcode, uint32_t psn, bool ack_request = true) {
    record_.kind = ObservationKind::kRequest;
    record_.opcode = opcode;
    record_.psn = psn;
    record_.ack_request = ack_request;
    return *this;
  }
  Observation& Ack(uint32_t psn) {
    record_.kind = ObservationKind::kAcknowledge;
    record_.opcode = kAcknowledgeOpcode;
    record_.psn = psn;
    return *this;
  }
  Observation& Response(uint8_t opcode, uint32_t psn) {
    record_.kind = ObservationKind::kResponse;
    record_.opcode = opcode;
    record_.psn = psn;
    return *this;
  }
  Observation& Reth(uint64_t address, uint32_t rkey, uint32_t length) {
    record_.has_reth = true;
    record_.reth_address = address;
    record_.reth_rkey = rkey;
    record_.reth_length = length;
    return *this;
  }
  // The layout of NCCL 2.18 to 2.26: address, size, rkey, ...
  Observation& Grants(uint64_t address, uint32_t size, uint32_t rkey) {
    record_.has_clear_to_send = true;
    record_.granted_address = address;
    record_.granted_words = {size, rkey, 0, 0, 1, 0};
    record_.payload_length = 64;
    return *this;
  }
  operator ObservationRecord() const { return record_; }  // NOLINT(google-explicit-constructor)

 private:
  ObservationRecord record_;
};

inline KnownPair KnownTo(const TrueConnection& c, KnownPairSource source) {
  return {.a = {.address = c.a, .qpn = {c.a_qpn}},
          .b = {.address = c.b, .qpn = {c.b_qpn}},
          .source = source,
          .valid_from = {}};
}

inline ManagementRecord Management(wire::CmAttribute attribute, IpAddress source,
                                   IpAddress destination, int64_t microseconds) {
  ManagementRecord record;
  record.source = source;
  record.destination = destination;
  record.event_time = At(microseconds);
  record.message.attribute = attribute;
  return record;
}

}  // namespace rocescope
