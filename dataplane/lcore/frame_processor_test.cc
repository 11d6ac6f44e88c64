// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/lcore/frame_processor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/support/frame_mix.h"

namespace rocescope::test {
namespace {

std::string Text(const PsnCounts& counts) {
  return fmt::format("{}/{}/{}/{}/{}/{}", counts.unseen, counts.reordered, counts.resent,
                     counts.restarts, counts.valid, counts.last_psn);
}
std::string Text(const DurationSummary& summary) {
  return fmt::format("{}/{}/{}/{}", summary.count, summary.sum.count(), summary.minimum.count(),
                     summary.maximum.count());
}
std::string Text(const FlowKey& flow) {
  return fmt::format("{}>{}:{}@{}", ToString(flow.source), ToString(flow.destination),
                     flow.destination_qpn.value, flow.segment);
}

// Every field of every record, a line each.
std::string Text(const RecordBatch& batch) {
  std::string text;
  for (const FlowRecord& r : batch.flows) {
    text += fmt::format("flow {} {} {} {} {} {} {}", Text(r.flow), r.tap, r.ttl, r.dscp,
                        r.dscp_changed, r.udp_source_port, r.udp_source_port_changes);
    text += fmt::format(" {} {} {}", ToNanoseconds(r.interval_start), ToNanoseconds(r.first_seen),
                        ToNanoseconds(r.last_seen));
    text += fmt::format(" {} {} {} {} {} {} {} {} {}", r.packets, r.bytes, r.payload_bytes,
                        r.class_packets, r.hop_copies, r.messages, r.control_messages,
                        r.control_bytes, r.message_sizes);
    text += fmt::format(" {} {} {} {} {} {} {} {} {} {}\n", Text(r.requests), Text(r.responses),
                        r.naks, r.last_credits, r.ce_marked, r.last_rkey, r.first_request_psn,
                        r.began, Text(r.ack_round_trip), Text(r.message_gap));
  }
  for (const SightingRecord& s : batch.sightings) {
    text += fmt::format("sighting {} {} {} {} {} {} {} {} {} {} {} {} {} {}", Text(s.flow), s.tap,
                        static_cast<int>(s.kind), s.opcode, s.ttl, s.rate_exponent,
                        s.congestion_experienced, s.ack_request, s.has_reth, s.has_clear_to_send,
                        s.syndrome, s.psn, s.msn, s.payload_length);
    text += fmt::format(" {} {} {} {} {} {} {}\n", ToNanoseconds(s.event_time),
                        ToNanoseconds(s.arrival_time), s.reth_address, s.reth_rkey, s.reth_length,
                        s.granted_address, s.granted_words);
  }
  for (const ManagementRecord& m : batch.management) {
    text += fmt::format("cm {} {} {} {} {}\n", m.tap, m.segment, ToString(m.source),
                        ToNanoseconds(m.event_time), m.message.transaction_id);
  }
  return text;
}

FrameProcessor::Options Options() {
  return {.flow_table = {.capacity = 64, .interval = std::chrono::milliseconds(1)},
          .captures = {"leaf1", "leaf2"}};
}

RecordBatch RecordsIn(std::span<const RawFrame> frames, size_t batch) {
  FrameProcessor processor(Options());
  RecordBatch out;
  for (size_t at = 0; at < frames.size(); at += batch) {
    processor.Process(frames.subspan(at, std::min(batch, frames.size() - at)), out);
  }
  processor.Flush(out);
  return out;
}

TEST(FrameProcessor, AccountsForEveryFrameOfAMix) {
  const FrameMix mix(3000);
  FrameProcessor::Options options = Options();
  options.filter.hosts = {IpAddress::FromV4(0x0a000001)};
  FrameProcessor processor(options);
  RecordBatch out;
  processor.Process(mix.frames(), out);
  processor.CountFiltered(17);
  const FrameProcessor::Counters& counters = processor.counters();
  EXPECT_TRUE(counters.ledger.Balances());
  EXPECT_EQ(counters.ledger.received, 3017u);
  EXPECT_GT(counters.ledger.decoded, 0u);
  EXPECT_GT(counters.ledger.filtered, 17u);
  EXPECT_GT(counters.ledger.DroppedTotal(), 0u);
  EXPECT_EQ(counters.roce_frames + counters.pause_frames, counters.ledger.decoded);
}

TEST(FrameProcessor, AccountsForFramesOfNoiseAndOfNothing) {
  const FrameMix mix(2000, true);
  FrameProcessor processor(Options());
  RecordBatch out;
  processor.Process(mix.frames(), out);
  EXPECT_TRUE(processor.counters().ledger.Balances());
  EXPECT_EQ(processor.counters().ledger.received, 2000u);
}

TEST(FrameProcessor, TellsEveryDecodedRoceFrameInItsRecords) {
  const FrameMix mix(3000);
  FrameProcessor processor(Options());
  RecordBatch out;
  processor.Process(mix.frames(), out);
  processor.Flush(out);
  uint64_t packets = 0;
  for (const FlowRecord& record : out.flows) packets += record.packets;
  EXPECT_EQ(packets, processor.counters().roce_frames);
  uint64_t frames_of_taps = 0;
  for (const Tap& tap : processor.taps().taps()) frames_of_taps += tap.frames;
  EXPECT_EQ(frames_of_taps, processor.counters().ledger.decoded);
}

class BatchesOf : public testing::TestWithParam<size_t> {};

TEST_P(BatchesOf, AnySizeGiveTheSameRecords) {
  const FrameMix mix(3000);
  const RecordBatch whole = RecordsIn(mix.frames(), mix.frames().size());
  ASSERT_FALSE(whole.management.empty());
  ASSERT_GT(whole.flows.size(), 20u);
  EXPECT_EQ(Text(RecordsIn(mix.frames(), GetParam())), Text(whole));
}

INSTANTIATE_TEST_SUITE_P(Sizes, BatchesOf, testing::Values(1, 2, 7, 16, 17, 256));

TEST(FrameProcessor, GivesTheSameRecordsTwice) {
  const FrameMix mix(1000);
  EXPECT_EQ(Text(RecordsIn(mix.frames(), 64)), Text(RecordsIn(mix.frames(), 64)));
}

TEST(FrameProcessor, KnowsTheFirstAndTheLastCaptureTime) {
  Bytes bytes = RoceFrame().Bth({.opcode = 0x04}).Payload(8).Build();
  std::vector<RawFrame> frames;
  for (const int64_t ns : {500, 300, 900, 700}) {
    frames.push_back({.bytes = bytes,
                      .original_length = static_cast<uint32_t>(bytes.size()),
                      .timestamp = FromNanoseconds(ns)});
  }
  FrameProcessor processor(Options());
  RecordBatch out;
  processor.Process(frames, out);
  EXPECT_EQ(processor.counters().first, FromNanoseconds(300));
  EXPECT_EQ(processor.counters().last, FromNanoseconds(900));
  EXPECT_EQ(processor.counters().wire_bytes, 4 * bytes.size());
}

TEST(FrameProcessor, ChecksTheInvariantCrcOnRequest) {
  const Bytes good = RoceFrame().Bth({.opcode = 0x04}).Payload(8).Build();
  Bytes bad = good;
  bad.back() ^= 1;
  const std::vector<RawFrame> frames = {
      {.bytes = good, .original_length = static_cast<uint32_t>(good.size())},
      {.bytes = bad, .original_length = static_cast<uint32_t>(bad.size())}};
  FrameProcessor::Options options = Options();
  options.check_icrc = true;
  FrameProcessor processor(options);
  RecordBatch out;
  processor.Process(frames, out);
  EXPECT_EQ(processor.counters().icrc_valid, 1u);
  EXPECT_EQ(processor.counters().icrc_invalid, 1u);
  EXPECT_EQ(processor.counters().roce_frames, 2u);
}

}  // namespace
}  // namespace rocescope::test
