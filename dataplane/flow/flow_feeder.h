// SPDX-License-Identifier: BSD-3-Clause
// Test helper: builds packets in one line each and feeds them through the decoder into a flow
// table.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "dataplane/flow/flow_table.h"
#include "tests/support/decode_frame.h"
#include "tests/support/frame_builder.h"

namespace rocescope::test {

// Opcodes with their codes from IBTA vol. 1, table 38.
enum Opcode : uint8_t {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kSendLast = 0x02,
  kSendOnly = 0x04,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kWriteLast = 0x08,
  kWriteOnly = 0x0a,
  kWriteOnlyImmediate = 0x0b,
  kReadRequest = 0x0c,
  kReadFirst = 0x0d,
  kReadMiddle = 0x0e,
  kReadLast = 0x0f,
  kReadOnly = 0x10,
  kAcknowledge = 0x11,
  kAtomicAcknowledge = 0x12,
  kFetchAdd = 0x14,
  kUdSendOnly = 0x64,
  kCnp = 0x81,
};

struct Route {
  std::string_view source = "10.0.0.1";
  std::string_view destination = "10.0.0.2";
  uint32_t qpn = 17;
  Ip ip = {};
  MacPair macs = {};
  uint16_t udp_source_port = 49152;
};

// The reverse direction; `qpn` is the queue pair at the first sender's host.
inline Route Back(uint32_t qpn = 33) {
  return {.source = "10.0.0.2", .destination = "10.0.0.1", .qpn = qpn};
}

// A packet up to and including its BTH.
inline Frame Packet(uint8_t opcode, uint32_t psn, const Route& route = {},
                    bool ack_request = false) {
  Frame frame;
  frame.Eth(route.macs).Ipv4(route.source, route.destination, route.ip);
  return frame.Udp(route.udp_source_port)
      .Bth({.opcode = opcode,
            .destination_qpn = {route.qpn},
            .ack_request = ack_request,
            .psn = psn});
}

// A WRITE in a single packet.
inline Frame WriteOf(uint32_t psn, uint32_t size, const Route& route = {}, uint32_t rkey = 0x1000,
                     bool ack_request = false) {
  return Packet(kWriteOnly, psn, route, ack_request)
      .Reth({.virtual_address = 0x7f0000001000, .rkey = rkey, .dma_length = size})
      .Payload(size);
}

inline Frame AckOf(uint32_t psn, uint8_t syndrome = 0x1f, const Route& route = Back()) {
  return Packet(kAcknowledge, psn, route).Aeth({.syndrome = syndrome, .msn = 1});
}

inline Frame ReadOf(uint32_t psn, uint32_t size, const Route& route = {}, uint32_t rkey = 0x1000) {
  return Packet(kReadRequest, psn, route)
      .Reth({.virtual_address = 0x7f0000001000, .rkey = rkey, .dma_length = size});
}

inline Frame CnpTo(const Route& route = Back()) {
  return Packet(kCnp, 0, route).Payload(16);  // 16 reserved bytes, Annex A17.9.3
}

constexpr int64_t kMicrosecond = 1'000;
constexpr int64_t kMillisecond = 1'000'000;
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = 1'700'000'000 * kSecond;  // start of an interval of any usual width

class FlowFeeder {
 public:
  explicit FlowFeeder(FlowTable::Options options = {.capacity = 256}) : table_(options) {}

  // `at_ns` is relative to kStart.
  FlowFeeder& Feed(const Frame& frame, int64_t at_ns = 0, TapId tap = 0) {
    const Bytes bytes = frame.Build();
    const DecodedFrame decoded = Decode(bytes);
    const Timestamp at = FromNanoseconds(kStart + at_ns);
    FlowTable::Place place;
    table_.Prepare(decoded, tap, place);
    table_.Approach(decoded, place);
    table_.Process(decoded, place, at, at, out_);
    return *this;
  }

  // All records so far, including those of the open interval.
  const std::vector<FlowRecord>& Records() {
    table_.Flush(out_);
    return out_.flows;
  }

  // The record of the only flow.
  FlowRecord Record() {
    EXPECT_EQ(Records().size(), 1u);
    return out_.flows.empty() ? FlowRecord{} : out_.flows.back();
  }

  // The only record of the flow to `qpn`.
  FlowRecord RecordOf(uint32_t qpn) {
    FlowRecord found;
    int count = 0;
    for (const FlowRecord& record : Records()) {
      if (record.flow.destination_qpn.value != qpn) continue;
      found = record;
      ++count;
    }
    EXPECT_EQ(count, 1);
    return found;
  }

  FlowTable& table() { return table_; }
  RecordBatch& out() { return out_; }

 private:
  FlowTable table_;
  RecordBatch out_;
};

}  // namespace rocescope::test
