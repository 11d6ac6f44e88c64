// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/int_postcards.h"

#include <gtest/gtest.h>

#include <set>

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/int_report.h"
#include "dataplane/wire/ip.h"
#include "sim/emit/fan_out.h"
#include "sim/emit/star_network.h"
#include "tests/support/decode_frame.h"

namespace rocescope::sim {
namespace {

struct Postcard {
  wire::Ipv4Header ip;
  wire::UdpHeader udp;
  wire::IntReportGroupHeader group;
  wire::IntReport report;
};

Postcard ReadPostcard(std::span<const uint8_t> bytes) {
  wire::ByteReader in(bytes);
  wire::EthernetHeader ethernet;
  Postcard card;
  Read(in, ethernet);
  Read(in, card.ip);
  Read(in, card.udp);
  Read(in, card.group);
  EXPECT_EQ(ReadIntReport(in, card.report), wire::IntReportFault::kNone);
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
  return card;
}

class IntPostcardsTest : public ::testing::Test {
 protected:
  std::vector<Postcard> Run(const IntOptions& options) {
    postcards_ =
        std::make_unique<IntPostcards>(star_.network(), star_.packets(), star_.port(), options);
    star_.switch_at().SetObserver(postcards_.get());
    std::vector<Postcard> cards;
    for (const MemorySink::Kept& kept : star_.Run()) cards.push_back(ReadPostcard(kept.bytes));
    return cards;
  }

  StarNetwork star_;
  std::unique_ptr<IntPostcards> postcards_;
};

// The frame of 1066 octets, 1090 on the wire, is at the switch after 1087.2 ns and leaves at once.
TEST_F(IntPostcardsTest, TellsPortsTimesAndThePacket) {
  star_.Write(0, 2);
  const auto cards = Run({.shift = 0});
  ASSERT_EQ(cards.size(), 2u);  // and the ACK
  const Postcard& card = cards[0];
  const topology::Node& node = star_.fabric().node(star_.switch_node());
  EXPECT_EQ(card.group.node_id, node.int_switch_id);
  EXPECT_EQ(card.udp.destination_port, 32766);
  EXPECT_EQ(IpAddress::FromV4(card.ip.source), node.erspan_source);
  EXPECT_EQ(Ipv4Checksum(card.ip), card.ip.checksum);
  const wire::IntMetadata& hop = card.report.metadata;
  EXPECT_TRUE(hop.Has(wire::kIntPorts | wire::kIntHopLatency | wire::kIntQueue |
                      wire::kIntIngressTimestamp | wire::kIntEgressTimestamp));
  EXPECT_EQ(hop.ingress_port, 1);
  EXPECT_EQ(hop.egress_port, 3);
  EXPECT_EQ(hop.hop_latency, 0u);
  EXPECT_EQ(hop.queue_id, 3);
  EXPECT_EQ(hop.queue_occupancy, 0u);
  EXPECT_EQ(hop.ingress_timestamp, static_cast<uint64_t>(kTestEpochNs) + 1'087);
  EXPECT_EQ(hop.egress_timestamp, hop.ingress_timestamp);
  EXPECT_FALSE(card.report.header.congested);
  ASSERT_EQ(card.report.header.inner_type, wire::kIntInnerEthernet);
  EXPECT_EQ(card.report.inner.size(), 128u);
}

// Two hosts send to one: what is sent first waits not, and the frames behind wait ever longer.
TEST_F(IntPostcardsTest, TellsHowLongAFrameStayedAndWhatItLeftBehind) {
  star_.Write(0, 2, 400'000);
  star_.Write(1, 2, 400'000);
  uint32_t latency = 0;
  uint32_t bytes = 0;
  bool congested = false;
  for (const Postcard& card : Run({.shift = 0, .congested_bytes = 50'000})) {
    latency = std::max(latency, card.report.metadata.hop_latency);
    bytes = std::max(bytes, card.report.metadata.queue_occupancy);
    EXPECT_EQ(card.report.header.congested, card.report.metadata.queue_occupancy > 50'000);
    congested |= card.report.header.congested;
  }
  EXPECT_TRUE(congested);
  EXPECT_EQ(bytes,
            star_.switch_at().port(2).counters().watermark[3] - 4154);  // less the one that leaves
  // The deepest queue drains at 12.5 octets a nanosecond, and frames have gaps between them.
  EXPECT_NEAR(latency, bytes * (4178.0 / 4154) / 12.5, 4178 / 12.5);
}

TEST_F(IntPostcardsTest, ChoosesOneInTwoToTheShift) {
  star_.Write(0, 2, 4096 * 4000);
  const auto cards = Run({.shift = 4});
  EXPECT_NEAR(static_cast<double>(cards.size()), 4250 / 16.0, 60);  // 4000 and 250 ACKs
  EXPECT_EQ(postcards_->reports(), cards.size());
  for (uint32_t i = 0; i < cards.size(); ++i) EXPECT_EQ(cards[i].group.sequence, i);
}

TEST(IntPostcards, AllHopsOfAPacketChooseAlike) {
  const topology::Fabric fabric =
      topology::Generate({.hosts = 2, .leaves = 2, .spines = 1}).value();
  Network network(fabric, {});
  PacketWriter packets(network);
  MemorySink sink;
  CollectorPort port({}, sink);
  IntPostcards postcards(network, packets, port, {.shift = 3, .inner_bytes = 64});
  for (topology::NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    if (fabric.node(node).IsSwitch()) network.switch_at(node).SetObserver(&postcards);
  }
  network.Connect(0, 1, nullptr).first->Post({.length = 4096 * 400});
  network.engine().Run(kSecond);
  std::map<std::pair<uint8_t, uint32_t>, std::set<uint32_t>> nodes_of;  // by opcode and PSN
  for (const MemorySink::Kept& kept : sink.frames()) {
    const Postcard card = ReadPostcard(kept.bytes);
    const DecodedFrame packet = test::Decode(card.report.inner);
    nodes_of[{packet.opcode, packet.psn}].insert(card.group.node_id);
  }
  EXPECT_GT(nodes_of.size(), 20u);
  for (const auto& [packet, nodes] : nodes_of) EXPECT_EQ(nodes.size(), 3u);
}

}  // namespace
}  // namespace rocescope::sim
