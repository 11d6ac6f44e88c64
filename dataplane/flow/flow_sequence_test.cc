// SPDX-License-Identifier: BSD-3-Clause
// Start of a queue pair's sequence, PSNs reserved for the response to a READ, and restarts.
#include <gtest/gtest.h>

#include "dataplane/flow/emit.h"
#include "dataplane/flow/flow_feeder.h"

namespace rocescope::test {
namespace {

Frame FirstOf(uint32_t psn, uint32_t rkey = 0x1000) {
  return Packet(kWriteFirst, psn).Reth({.rkey = rkey, .dma_length = 4096}).Payload(1024);
}
Frame MiddleOf(uint32_t psn) { return Packet(kWriteMiddle, psn).Payload(1024); }

class ReadReserves : public testing::TestWithParam<uint32_t> {};

// IBTA vol. 1, 9.7.3.1: a READ consumes as many PSNs as its response has packets.
TEST_P(ReadReserves, OnePsnPerResponsePacket) {
  const uint32_t mtu = GetParam();
  const uint32_t packets = 7;
  FlowFeeder feeder;
  feeder.Feed(ReadOf(100, packets * mtu - 1)).Feed(WriteOf(100 + packets, 4));
  EXPECT_EQ(feeder.Record().requests.missing, 0);
}

TEST_P(ReadReserves, PsnsOfManyReads) {
  const uint32_t mtu = GetParam();
  FlowFeeder feeder;
  uint32_t psn = 0xfffff0;
  for (int i = 0; i < 10; ++i) {
    feeder.Feed(ReadOf(psn, 3 * mtu));
    psn = (psn + 3) & k24BitMask;
  }
  EXPECT_EQ(feeder.Record().requests.missing, 0);
  EXPECT_EQ(feeder.Record().requests.restarts, 0u);
}

INSTANTIATE_TEST_SUITE_P(EachMtu, ReadReserves, testing::Values(256, 512, 1024, 2048, 4096));

TEST(FlowSequence, CountsRequestMissingAfterARead) {
  FlowFeeder feeder;
  // MTU 4096: PSNs 100 and 101; MTU 2048 would need four.
  feeder.Feed(ReadOf(100, 8192)).Feed(WriteOf(103, 4));
  EXPECT_EQ(feeder.Record().requests.missing, 1);
}

TEST(FlowSequence, CountsSecondRequestMissingAfterARead) {
  FlowFeeder feeder;
  feeder.Feed(ReadOf(100, 8192)).Feed(WriteOf(102, 4)).Feed(WriteOf(104, 4));
  EXPECT_EQ(feeder.Record().requests.missing, 1);
}

TEST(FlowSequence, ReservesPsnsOfAOneGibibyteRead) {
  FlowFeeder feeder;
  feeder.Feed(ReadOf(100, 1u << 30)).Feed(WriteOf(100 + (1u << 30) / 4096, 4));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.requests.missing, 0);
  EXPECT_EQ(record.requests.restarts, 0u);
  EXPECT_FALSE(record.began);
}

TEST(FlowSequence, DoesNotCompareResponsesOfDistantReads) {
  const auto response = [](uint8_t opcode, uint32_t psn) {
    return Packet(opcode, psn, Back()).Aeth({.syndrome = 0x1f}).Payload(1024);
  };
  for (const uint32_t second : {100u + 100'000, (100u - 100'000) & k24BitMask}) {
    FlowFeeder feeder;
    feeder.Feed(response(kReadOnly, 100)).Feed(response(kReadOnly, second));
    const FlowRecord record = feeder.Record();
    EXPECT_EQ(record.responses.restarts, 0u) << second;
    EXPECT_EQ(record.responses.retransmitted, 0u) << second;
    EXPECT_EQ(record.payload_bytes, 2048u) << second;
  }
}

TEST(FlowSequence, CountsMissingMiddleOfAResponse) {
  FlowFeeder feeder;
  feeder.Feed(Packet(kReadFirst, 10, Back()).Aeth({.syndrome = 0x1f}).Payload(1024))
      .Feed(Packet(kReadLast, 13, Back()).Aeth({.syndrome = 0x1f}).Payload(1024));
  EXPECT_EQ(feeder.Record().responses.missing, 2);
}

TEST(FlowSequence, ReservesOnePsnForAnEmptyRead) { EXPECT_EQ(ReservedByRead(0, 1), 0u); }

TEST(FlowSequence, BeginsAtPsnZero) {
  EXPECT_TRUE(FlowFeeder().Feed(WriteOf(0, 4)).Record().began);
  EXPECT_FALSE(FlowFeeder().Feed(WriteOf(1, 4)).Record().began);
}

TEST(FlowSequence, DoesNotBeginInTheMiddleOfAMessage) {
  EXPECT_FALSE(FlowFeeder().Feed(MiddleOf(0)).Record().began);
}

TEST(FlowSequence, DoesNotBeginWithAJump) {
  FlowFeeder feeder;
  feeder.Feed(WriteOf(5, 4)).Feed(WriteOf(5 + 100'000, 4));
  EXPECT_EQ(feeder.Record().requests.restarts, 1u);
  EXPECT_FALSE(feeder.out().flows[0].began);
}

TEST(FlowSequence, ReportsFirstRequestPsnOfInterval) {
  const FlowRecord record = FlowFeeder().Feed(AckOf(7)).Feed(WriteOf(41, 4, Back())).Record();
  EXPECT_TRUE(record.requests.valid);
  EXPECT_EQ(record.first_request_psn, 41u);
  EXPECT_FALSE(FlowFeeder().Feed(AckOf(7)).Record().requests.valid);
}

TEST(FlowSequence, TreatsPsnZeroWithOtherAddressAsNewQueuePair) {
  FlowFeeder feeder;
  feeder.Feed(WriteOf(0, 100, {}, 0x1000))
      .Feed(WriteOf(1, 100, {}, 0x1000))
      .Feed(WriteOf(0, 100, {}, 0x2000));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.requests.restarts, 1u);
  EXPECT_EQ(record.requests.retransmitted, 0u);
  EXPECT_EQ(record.payload_bytes, 300u);
  EXPECT_EQ(record.requests.last_psn, 0u);
}

TEST(FlowSequence, TreatsPsnZeroWithSameAddressAsRetransmission) {
  FlowFeeder feeder;
  feeder.Feed(WriteOf(0, 100)).Feed(WriteOf(1, 100)).Feed(WriteOf(0, 100));
  EXPECT_EQ(feeder.Record().requests.restarts, 0u);
  EXPECT_EQ(feeder.Record().requests.retransmitted, 1u);
}

// Each of NCCL's messages uses another buffer; only the address at PSN 0 matters.
TEST(FlowSequence, TreatsPsnZeroAsRetransmissionDespiteLaterMessages) {
  FlowFeeder feeder;
  for (int turn = 0; turn < 2; ++turn) {
    feeder.Feed(WriteOf(0, 100, {}, 0xa00)).Feed(WriteOf(1, 100, {}, 0xb00));
  }
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.requests.restarts, 0u);
  EXPECT_EQ(record.requests.retransmitted, 2u);
  EXPECT_EQ(record.payload_bytes, 200u);
}

TEST(FlowSequence, TreatsPsnZeroAsRetransmissionBeforeAnyMessageEnded) {
  FlowFeeder feeder;
  feeder.Feed(FirstOf(0)).Feed(MiddleOf(1)).Feed(FirstOf(0)).Feed(MiddleOf(1));
  const FlowRecord record = feeder.Record();
  EXPECT_EQ(record.requests.restarts, 0u);
  EXPECT_EQ(record.requests.retransmitted, 2u);
  EXPECT_EQ(record.payload_bytes, 2048u);
}

TEST(FlowSequence, TreatsPsnZeroAfterALongPauseAsNewQueuePair) {
  FlowFeeder feeder({.capacity = 16, .idle_timeout = std::chrono::hours(1)});
  feeder.Feed(WriteOf(0, 4), 0).Feed(WriteOf(1, 4), 1).Feed(WriteOf(0, 4), 61 * kSecond);
  EXPECT_EQ(feeder.Records().back().requests.restarts, 1u);
}

TEST(FlowSequence, TreatsPsnZeroAfterTheLastPsnAsWrap) {
  FlowFeeder other_memory;
  other_memory.Feed(WriteOf(0xffffff, 4, {}, 0x1000)).Feed(WriteOf(0, 4, {}, 0x2000));
  EXPECT_EQ(other_memory.Record().requests.restarts, 0u);
  FlowFeeder long_pause({.capacity = 16, .idle_timeout = std::chrono::hours(1)});
  long_pause.Feed(WriteOf(0xffffff, 4), 0).Feed(WriteOf(0, 4), 61 * kSecond);
  EXPECT_EQ(long_pause.Records().back().requests.restarts, 0u);
}

TEST(FlowSequence, TreatsPsnZeroAfterAReadAtTheWrapAsWrap) {
  FlowFeeder feeder;
  feeder.Feed(ReadOf(0xfffffe, 8192, {}, 0x1000)).Feed(WriteOf(0, 4, {}, 0x2000));
  EXPECT_EQ(feeder.Record().requests.restarts, 0u);
  EXPECT_EQ(feeder.Record().requests.missing, 0);
}

}  // namespace
}  // namespace rocescope::test
