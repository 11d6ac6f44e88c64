// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/traffic/packed_counts.h"

#include <gtest/gtest.h>

#include <random>

namespace rocescope {
namespace {

FlowRecord Writes(uint32_t packets) {
  FlowRecord record;
  record.ttl = 64;
  record.first_seen = FromNanoseconds(1000);
  record.last_seen = FromNanoseconds(2000);
  record.packets = packets;
  record.class_packets[static_cast<size_t>(OperationClass::kWrite)] = packets;
  return record;
}

// A few of the fields are non-zero.
FlowRecord RecordOf(std::mt19937& random) {
  FlowRecord record = Writes(1 + random() % 9);
  const auto sometimes = [&] { return random() % 4 == 0 ? random() % 1000 : 0; };
  record.udp_source_port = static_cast<uint16_t>(random());
  record.last_rkey = sometimes();
  record.last_credits = static_cast<uint8_t>(random() % 32);
  record.messages = sometimes();
  record.control_messages = sometimes();
  record.control_bytes = sometimes();
  record.hop_copies = sometimes();
  record.requests.missing = static_cast<int32_t>(sometimes()) - 100;
  record.requests.reordered = sometimes();
  record.responses.retransmitted = sometimes();
  record.responses.restarts = sometimes();
  record.ce_marked = sometimes();
  for (uint32_t& packets : record.class_packets) packets += sometimes();
  for (uint32_t& messages : record.message_sizes) messages = sometimes();
  for (uint32_t& naks : record.naks) naks = sometimes();
  for (DurationSummary* summary : {&record.ack_round_trip, &record.message_gap}) {
    summary->count = sometimes();
    if (summary->count == 0) continue;
    summary->sum = Duration(random());
    summary->minimum = Duration(random() % 100);
    summary->maximum = Duration(100 + random() % 100);
  }
  return record;
}

TEST(PackedCounts, AreZeroAtFirst) { EXPECT_EQ(PackedCounts().Unpacked(), FlowCounts()); }

TEST(PackedCounts, AddUpOneSum) {
  PackedCounts packed;
  packed += CountsOf(Writes(3));
  packed += CountsOf(Writes(4));
  EXPECT_EQ(packed.Unpacked().ClassPackets(OperationClass::kWrite), 7u);
  EXPECT_EQ(packed.Unpacked().packets, 7u);
}

TEST(PackedCounts, MatchFlowCounts) {
  std::mt19937 random(1);
  for (int flow = 0; flow < 100; ++flow) {
    PackedCounts packed;
    FlowCounts counts;
    for (int interval = 0; interval < 20; ++interval) {
      const FlowCounts later = CountsOf(RecordOf(random));
      packed += later;
      counts += later;
      ASSERT_EQ(packed.Unpacked(), counts);
    }
  }
}

TEST(PackedCounts, IgnoreRecordsWithoutPackets) {
  PackedCounts packed;
  packed += CountsOf(Writes(3));
  const FlowCounts before = packed.Unpacked();
  FlowRecord nothing = Writes(0);
  nothing.ttl = 7;
  packed += CountsOf(nothing);
  EXPECT_EQ(packed.Unpacked(), before);
}

}  // namespace
}  // namespace rocescope
