// SPDX-License-Identifier: BSD-3-Clause
// The counters in a flow's record.
#include <gtest/gtest.h>

#include "dataplane/flow/emit.h"
#include "dataplane/flow/flow_feeder.h"

namespace rocescope::test {
namespace {

uint32_t PacketsOf(const FlowRecord& record, OperationClass c) {
  return record.class_packets[static_cast<size_t>(c)];
}
uint32_t NaksOf(const FlowRecord& record, NakKind kind) {
  return record.naks[static_cast<size_t>(kind)];
}

TEST(FlowCounters, CountsWireBytesWithoutFcs) {
  // Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, payload 100, iCRC 4.
  EXPECT_EQ(FlowFeeder().Feed(WriteOf(0, 100)).Record().bytes, 174u);
}

TEST(FlowCounters, ClassifiesPacketsByOperation) {
  const Route there;
  FlowFeeder feeder;
  feeder.Feed(Packet(kSendOnly, 0, there).Payload(4))
      .Feed(WriteOf(1, 4, there))
      .Feed(WriteOf(2, 4, there))
      .Feed(ReadOf(3, 4, there))
      .Feed(Packet(kReadOnly, 90, there).Aeth({}).Payload(4))
      .Feed(Packet(kFetchAdd, 4, there).AtomicEth({}))
      .Feed(AckOf(90, 0x1f, there))
      .Feed(Packet(kAtomicAcknowledge, 91, there).Aeth({}).AtomicAckEth({}))
      .Feed(CnpTo(there));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(PacketsOf(record, OperationClass::kSend), 1u);
  EXPECT_EQ(PacketsOf(record, OperationClass::kWrite), 2u);
  EXPECT_EQ(PacketsOf(record, OperationClass::kReadRequest), 1u);
  EXPECT_EQ(PacketsOf(record, OperationClass::kReadResponse), 1u);
  EXPECT_EQ(PacketsOf(record, OperationClass::kAtomic), 1u);
  EXPECT_EQ(PacketsOf(record, OperationClass::kAcknowledge), 2u);
  EXPECT_EQ(PacketsOf(record, OperationClass::kCnp), 1u);
  EXPECT_EQ(PacketsOf(record, OperationClass::kDatagram), 0u);
  EXPECT_EQ(record.packets, 9u);
  EXPECT_EQ(record.messages, 5u);  // SEND, two WRITEs, READ, atomic
}

TEST(FlowCounters, CountsDatagramsSeparately) {
  FlowFeeder feeder;
  for (int i = 0; i < 3; ++i) {
    feeder.Feed(Packet(kUdSendOnly, 7).Deth({.source_qpn = {5}}).Payload(64));
  }
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(PacketsOf(record, OperationClass::kDatagram), 3u);
  EXPECT_EQ(PacketsOf(record, OperationClass::kSend), 0u);
  EXPECT_EQ(record.messages, 3u);
  EXPECT_EQ(record.payload_bytes, 192u);
  EXPECT_EQ(record.requests.retransmitted, 0u);  // the PSN of a datagram belongs to its sender
}

TEST(FlowCounters, TakesSizeOfWriteFromReth) {
  FlowFeeder feeder;
  feeder.Feed(Packet(kWriteFirst, 0).Reth({.rkey = 0x77, .dma_length = 2500}).Payload(1024))
      .Feed(Packet(kWriteMiddle, 1).Payload(1024))
      .Feed(Packet(kWriteLast, 2).Payload(452));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.messages, 1u);
  EXPECT_EQ(record.message_sizes[MessageSizeBin(2500)], 1u);
  EXPECT_EQ(record.payload_bytes, 2500u);
  EXPECT_EQ(record.last_rkey, 0x77u);
}

TEST(FlowCounters, SumsSizeOfSendOverPackets) {
  FlowFeeder feeder;
  feeder.Feed(Packet(kSendFirst, 0).Payload(1024))
      .Feed(Packet(kSendMiddle, 1).Payload(1024))
      .Feed(Packet(kSendLast, 2).Payload(3))
      .Feed(Packet(kSendOnly, 3).Payload(10));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.messages, 2u);
  EXPECT_EQ(record.message_sizes[2], 1u);  // 2051 bytes: more than 1024, at most 4096
  EXPECT_EQ(record.message_sizes[0], 1u);  // 10 bytes: at most 256
  EXPECT_EQ(record.payload_bytes, 2061u);
}

TEST(FlowCounters, IncludesUpperBoundInMessageSizeBin) {
  EXPECT_EQ(MessageSizeBin(0), 0u);
  EXPECT_EQ(MessageSizeBin(256), 0u);
  EXPECT_EQ(MessageSizeBin(257), 1u);
  EXPECT_EQ(MessageSizeBin(1048576), 6u);
  EXPECT_EQ(MessageSizeBin(1048577), 7u);
  EXPECT_EQ(MessageSizeBin(UINT32_MAX), 7u);
}

TEST(FlowCounters, CountsPayloadOfFirstCopiesOnly) {
  FlowFeeder feeder;
  feeder.Feed(WriteOf(0, 100)).Feed(WriteOf(1, 100)).Feed(WriteOf(0, 100)).Feed(WriteOf(1, 100));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.payload_bytes, 200u);
  EXPECT_EQ(record.messages, 2u);
  EXPECT_EQ(record.packets, 4u);
  EXPECT_EQ(record.requests.retransmitted, 2u);
}

TEST(FlowCounters, TracksRequestsAndResponsesSeparately) {
  FlowFeeder feeder;
  feeder.Feed(WriteOf(10, 4))
      .Feed(Packet(kReadFirst, 500).Aeth({}).Payload(1024))
      .Feed(WriteOf(11, 4))
      .Feed(Packet(kReadMiddle, 501).Payload(1024))
      .Feed(Packet(kReadLast, 503).Aeth({}).Payload(1));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.requests.missing, 0);
  EXPECT_EQ(record.requests.last_psn, 11u);
  EXPECT_EQ(record.responses.missing, 1);  // 502
  EXPECT_EQ(record.responses.last_psn, 503u);
  EXPECT_EQ(record.payload_bytes, 4u + 4u + 2049u);
}

TEST(FlowCounters, FindsNoGapBetweenResponsesOfDifferentReads) {
  FlowFeeder feeder;
  feeder.Feed(Packet(kReadOnly, 10).Aeth({}).Payload(4))
      .Feed(Packet(kReadOnly, 40).Aeth({}).Payload(4));
  EXPECT_EQ(feeder.Record().responses.missing, 0);
}

// IBTA vol. 1, 9.7.5.2: 001 RNR NAK, 011 NAK with the code in the low five bits, 010 reserved.
TEST(FlowCounters, ClassifiesNaksBySyndrome) {
  FlowFeeder feeder;
  for (const uint8_t syndrome : {0x2e, 0x60, 0x60, 0x61, 0x62, 0x63, 0x64, 0x40}) {
    feeder.Feed(AckOf(5, syndrome));
  }
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(NaksOf(record, NakKind::kReceiverNotReady), 1u);
  EXPECT_EQ(NaksOf(record, NakKind::kSequenceError), 2u);
  EXPECT_EQ(NaksOf(record, NakKind::kInvalidRequest), 1u);
  EXPECT_EQ(NaksOf(record, NakKind::kRemoteAccess), 1u);
  EXPECT_EQ(NaksOf(record, NakKind::kRemoteOperation), 1u);
  EXPECT_EQ(NaksOf(record, NakKind::kOther), 2u);
  EXPECT_EQ(record.last_credits, 31u);  // no ACK with other credits was seen
}

TEST(FlowCounters, KeepsCreditsOfLastAck) {
  EXPECT_EQ(FlowFeeder().Feed(AckOf(1, 0x1f)).Feed(AckOf(2, 0x0d)).Record().last_credits, 13u);
}

TEST(FlowCounters, CountsCeMarks) {
  FlowFeeder feeder;
  for (const uint8_t ecn : {0, 1, 2, 3, 3}) feeder.Feed(WriteOf(ecn, 4, {.ip = {.ecn = ecn}}));
  EXPECT_EQ(feeder.Record().ce_marked, 2u);
}

TEST(FlowCounters, SeparatesTtls) {
  FlowFeeder feeder;
  feeder.Feed(WriteOf(0, 4, {.ip = {.ttl = 64}})).Feed(WriteOf(0, 4, {.ip = {.ttl = 63}}));
  ASSERT_EQ(feeder.Records().size(), 2u);
  for (const FlowRecord& record : feeder.out().flows) {
    EXPECT_EQ(record.packets, 1u);
    EXPECT_EQ(record.requests.retransmitted, 0u);
  }
}

TEST(FlowCounters, SeparatesSegments) {
  FlowFeeder feeder;
  const Bytes inner = WriteOf(0, 4).Build();
  Frame outer;
  outer.Eth().Ipv4("192.0.2.1", "192.0.2.2").Vxlan(5000).Encapsulated(inner);
  feeder.Feed(WriteOf(0, 4)).Feed(outer);
  EXPECT_EQ(feeder.Records().size(), 2u);
}

TEST(FlowCounters, TreatsCopyWithAnotherMacAsHopCopy) {
  FlowFeeder feeder;
  const Route next_hop{.macs = {.source = 0x020000000077, .destination = 0x020000000078}};
  feeder.Feed(WriteOf(0, 100)).Feed(WriteOf(0, 100, next_hop));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.hop_copies, 1u);
  EXPECT_EQ(record.requests.retransmitted, 0u);
  EXPECT_EQ(record.payload_bytes, 100u);
}

TEST(FlowCounters, TreatsResponseCopyWithAnotherMacAsHopCopy) {
  FlowFeeder feeder;
  const Route next_hop{.macs = {.source = 0x020000000077, .destination = 0x020000000078}};
  feeder.Feed(Packet(kReadOnly, 9).Aeth({}).Payload(8))
      .Feed(Packet(kReadOnly, 9, next_hop).Aeth({}).Payload(8));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.hop_copies, 1u);
  EXPECT_EQ(record.responses.retransmitted, 0u);
  EXPECT_EQ(record.payload_bytes, 8u);
}

TEST(FlowCounters, ReportsChangedDscp) {
  FlowFeeder feeder;
  feeder.Feed(WriteOf(0, 4, {.ip = {.dscp = 26}})).Feed(WriteOf(1, 4, {.ip = {.dscp = 34}}));
  const FlowRecord record = feeder.Record();
  EXPECT_TRUE(record.dscp_changed);
  EXPECT_EQ(record.dscp, 34);
  EXPECT_FALSE(FlowFeeder().Feed(WriteOf(0, 4)).Feed(WriteOf(1, 4)).Record().dscp_changed);
}

TEST(FlowCounters, CountsChangesOfTheUdpSourcePort) {
  FlowFeeder feeder;
  uint32_t psn = 0;
  for (const uint16_t port : {50000, 50000, 50001, 50000}) {
    feeder.Feed(WriteOf(psn++, 4, {.udp_source_port = port}));
  }
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.udp_source_port_changes, 2u);
  EXPECT_EQ(record.udp_source_port, 50000);
}

TEST(FlowCounters, MeasuresTheGapsBetweenMessages) {
  FlowFeeder feeder;
  feeder.Feed(Packet(kSendFirst, 0).Payload(4), 0)
      .Feed(Packet(kSendLast, 1).Payload(4), 10 * kMicrosecond)
      .Feed(WriteOf(2, 4), 17 * kMicrosecond)
      .Feed(WriteOf(3, 4), 30 * kMicrosecond);
  const DurationSummary gap = feeder.Record().message_gap;
  EXPECT_EQ(gap.count, 2u);
  EXPECT_EQ(gap.sum, std::chrono::microseconds(7 + 13));
  // Stored in units of 64 ns, rounded up: 13,000 ns are 204 units.
  EXPECT_EQ(gap.maximum, std::chrono::nanoseconds(204 * 64));
}

TEST(FlowCounters, MeasuresGapsBeyondThirtyTwoBitsOfNanoseconds) {
  FlowFeeder feeder;
  feeder.Feed(WriteOf(0, 4), 0).Feed(WriteOf(1, 4), 10'000'000 * kMicrosecond);
  const DurationSummary gap = feeder.Records().back().message_gap;
  EXPECT_GE(gap.maximum, std::chrono::seconds(10));
  EXPECT_LT(gap.maximum, std::chrono::seconds(10) + std::chrono::nanoseconds(64));
}

}  // namespace
}  // namespace rocescope::test
