// SPDX-License-Identifier: BSD-3-Clause
// A full table: which flows it evicts, and that no packet is lost.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>
#include <unordered_map>

#include "dataplane/flow/flow_feeder.h"

namespace rocescope::test {
namespace {

TEST(FlowCapacity, EvictsTheFlowThatWasIdleLongest) {
  FlowFeeder feeder({.capacity = 2});
  feeder.Feed(WriteOf(0, 4, {.qpn = 1}), 0)
      .Feed(WriteOf(0, 4, {.qpn = 2}), 1)
      .Feed(WriteOf(1, 4, {.qpn = 1}), 2)
      .Feed(WriteOf(0, 4, {.qpn = 3}), 3);
  ASSERT_EQ(feeder.out().flows.size(), 1u);  // emitted immediately
  EXPECT_EQ(feeder.out().flows[0].flow.destination_qpn.value, 2u);
  EXPECT_EQ(feeder.out().flows[0].packets, 1u);
  EXPECT_EQ(feeder.table().statistics().flows_evicted, 1u);
  EXPECT_EQ(feeder.table().size(), 2u);
  EXPECT_EQ(feeder.RecordOf(1).packets, 2u);
}

TEST(FlowCapacity, EmitsNoRecordForEvictedFlowWithoutNewPackets) {
  FlowFeeder feeder({.capacity = 1});
  feeder.Feed(WriteOf(0, 4, {.qpn = 1}), 0).Feed(WriteOf(0, 4, {.qpn = 2}), kSecond);
  EXPECT_EQ(feeder.Records().size(), 2u);
}

TEST(FlowCapacity, EmitsOneRecordForFlowThatReplacedAnEvictedOne) {
  FlowFeeder feeder({.capacity = 1});
  feeder.Feed(WriteOf(0, 4, {.qpn = 1}), 0).Feed(WriteOf(0, 4, {.qpn = 2}), 1);
  EXPECT_EQ(feeder.Records().size(), 2u);
}

TEST(FlowCapacity, RestartsAFlowThatReturnsAfterEviction) {
  FlowFeeder feeder({.capacity = 1});
  feeder.Feed(WriteOf(0, 4, {.qpn = 1}), 0)
      .Feed(WriteOf(0, 4, {.qpn = 2}), 1)
      .Feed(WriteOf(9, 4, {.qpn = 1}), 2);
  EXPECT_EQ(feeder.Records().back().requests.missing, 0u);
  EXPECT_EQ(feeder.table().statistics().flows_created, 3u);
}

struct Sum {
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t marked = 0;
  friend bool operator==(const Sum&, const Sum&) = default;
};

// A hundred thousand packets of forty flows at three taps with two TTLs in a table of eight
// entries. The records add up to the packets fed, including evicted and expired flows, late packets
// and retransmissions.
TEST(FlowCapacity, NeverLosesAPacket) {
  using Key = std::tuple<uint32_t, TapId, uint8_t>;
  std::mt19937 random(7);
  std::vector<Bytes> frames;
  for (uint32_t flow = 0; flow < 40; ++flow) {
    const Route route{.qpn = 100 + flow, .ip = {.ecn = static_cast<uint8_t>(flow % 4)}};
    frames.push_back(WriteOf(0, flow, route).Build());
    frames.push_back(AckOf(0, 0x60, route).Build());
    frames.push_back(ReadOf(0, 5000, route).Build());
    frames.push_back(CnpTo(route).Build());
    frames.push_back(Packet(kReadFirst, 0, route).Aeth({}).Payload(256).Build());
  }

  FlowTable table({.capacity = 8,
                   .interval = std::chrono::milliseconds(1),
                   .idle_timeout = std::chrono::milliseconds(2)});
  RecordBatch out;
  std::map<Key, Sum> fed;
  std::map<Key, Sum> told;
  int64_t now = kStart;
  for (int i = 0; i < 100'000; ++i) {
    now += static_cast<int64_t>(random() % (i % 1000 < 50 ? 3'000'000 : 5'000));  // ns
    const int64_t event = random() % 50 == 0 ? now - kMillisecond : now;
    DecodedFrame frame = Decode(frames[random() % frames.size()]);
    frame.psn = random() % 8 == 0 ? random() & k24BitMask : static_cast<uint32_t>(i % 100);
    frame.ttl = random() % 2 ? 64 : 63;
    const auto tap = static_cast<TapId>(random() % 3);
    Sum& sum = fed[{frame.bth.destination_qpn.value, tap, frame.ttl}];
    ++sum.packets;
    sum.bytes += frame.wire_length;
    sum.marked += frame.Ecn() == 3;
    FlowTable::Place place;
    table.Prepare(frame, tap, place);
    if (random() % 2) table.Approach(frame, place);
    table.Process(frame, place, FromNanoseconds(event), FromNanoseconds(now), out);
    ASSERT_LE(table.size(), 8u);
  }
  table.Flush(out);

  for (const FlowRecord& record : out.flows) {
    Sum& sum = told[{record.flow.destination_qpn.value, record.tap, record.ttl}];
    sum.packets += record.packets;
    sum.bytes += record.bytes;
    sum.marked += record.ce_marked;
    ASSERT_GT(record.packets, 0u);
    ASSERT_LE(record.first_seen, record.last_seen);
  }
  EXPECT_EQ(told, fed);
  const FlowTable::Statistics& statistics = table.statistics();
  EXPECT_GT(statistics.flows_evicted, 1000u);
  EXPECT_GT(statistics.flows_expired, 0u);
  EXPECT_GT(statistics.late_packets, 0u);
  EXPECT_EQ(statistics.flows_created,
            statistics.flows_evicted + statistics.flows_expired + table.size());
}

// Hashes that differ in only two low bits: entries collide, also around the end of the table, and a
// growing table keeps them all.
TEST(FlowIndex, AgreesWithAMapOnHashCollisions) {
  constexpr uint32_t kCapacity = 64;
  std::mt19937 random(3);
  FlowIndex index(64);
  std::unordered_map<uint32_t, uint64_t> model;
  std::vector<uint64_t> hashes;
  for (uint32_t number = 0; number < kCapacity; ++number) {
    hashes.push_back(uint64_t{random() % 3} << 32 | (61 + random() % 4));
  }
  for (int step = 0; step < 20'000; ++step) {
    const uint32_t number = random() % kCapacity;
    if (model.erase(number) != 0) {
      index.Erase(hashes[number], number, [&](uint32_t n) { return hashes[n]; });
    } else {
      index.Insert(hashes[number], number, [&](uint32_t n) { return hashes[n]; });
      model.emplace(number, hashes[number]);
    }
    const uint32_t wanted = random() % kCapacity;
    const uint32_t found = index.Find(hashes[wanted], [&](uint32_t n) { return n == wanted; });
    ASSERT_EQ(found, model.contains(wanted) ? wanted : FlowIndex::kAbsent) << "step " << step;
  }
}

}  // namespace
}  // namespace rocescope::test
