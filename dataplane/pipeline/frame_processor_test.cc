// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/frame_processor.h"

#include <gtest/gtest.h>

#include "dataplane/pipeline/totals.h"
#include "tests/support/frame_builder.h"
#include "tests/support/frame_mix.h"
#include "tests/support/record_text.h"

namespace rocescope::test {
namespace {

FrameProcessor::Options Options() {
  return {.flow_table = {.capacity = 64, .interval = std::chrono::milliseconds(1)},
          .captures = {"leaf1", "leaf2"}};
}

RecordBatch RecordsIn(std::span<const RawFrame> frames, size_t batch,
                      const FrameProcessor::Options& options = Options()) {
  FrameProcessor processor(options);
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

TEST(FrameProcessor, AccountsForRandomAndEmptyFrames) {
  const FrameMix mix(2000, true);
  FrameProcessor processor(Options());
  RecordBatch out;
  processor.Process(mix.frames(), out);
  EXPECT_TRUE(processor.counters().ledger.Balances());
  EXPECT_EQ(processor.counters().ledger.received, 2000u);
}

// An empty sFlow datagram: version 5, agent 0.0.0.1, no samples.
Bytes SflowFrame() {
  const Bytes datagram = {0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0,
                          0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0};
  return Frame().Eth().Ipv4("192.0.2.1", "192.0.2.9").Udp(50000, 6343).Payload(datagram).Build();
}

// A report of node 7 without metadata and packet: group header, one word, main contents.
Bytes ReportFrame(uint16_t port) {
  const Bytes datagram = {0x20, 0, 0, 1, 0, 0, 0, 7, 0x10, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  return Frame().Eth().Ipv4("192.0.2.1", "192.0.2.9").Udp(50000, port).Payload(datagram).Build();
}

TEST(FrameProcessor, RecognisesTelemetryByPortAndCountsContent) {
  FrameProcessor::Options options = Options();
  options.ports.int_reports = 9555;
  options.filter.qpns = {Qpn{17}};  // filters apply to packets, so a report without one is filtered
  FrameProcessor processor(options);
  const Bytes sflow = SflowFrame();
  const Bytes report = ReportFrame(9555);
  const Bytes elsewhere = ReportFrame(32766);
  const std::array<RawFrame, 3> frames = {
      RawFrame{.bytes = sflow}, RawFrame{.bytes = report, .tap = 1}, RawFrame{.bytes = elsewhere}};
  RecordBatch out;
  processor.Process(frames, out);
  const FrameProcessor::Counters& counters = processor.counters();
  EXPECT_EQ(counters.ledger.decoded, 2u);
  EXPECT_EQ(counters.ledger.dropped[static_cast<size_t>(DropReason::kNotRoce)], 1u);
  EXPECT_TRUE(counters.ledger.Balances());
  EXPECT_EQ(counters.sflow_frames, 1u);
  EXPECT_EQ(counters.int_frames, 1u);
  EXPECT_EQ(counters.telemetry.sflow_datagrams.decoded, 1u);
  EXPECT_EQ(counters.telemetry.int_reports.filtered, 1u);
  EXPECT_TRUE(out.empty());
  DataplaneTotals totals;
  totals.Add(processor);
  ASSERT_EQ(totals.telemetry.size(), 2u);
  EXPECT_EQ(totals.telemetry[0].node_id, 7u);
  EXPECT_EQ(totals.telemetry[0].tap, 1u);
  EXPECT_TRUE(totals.telemetry[1].is_sflow);
}

TEST(FrameProcessor, MakesARecordFromAReport) {
  FrameProcessor processor(Options());
  const Bytes report = ReportFrame(32766);
  const std::array<RawFrame, 1> frames = {RawFrame{.bytes = report, .tap = 1}};
  RecordBatch out;
  processor.Process(frames, out);
  ASSERT_EQ(out.hops.size(), 1u);
  EXPECT_EQ(out.hops[0].node_id, 7u);
  EXPECT_EQ(out.hops[0].tap, 1u);
}

TEST(FrameProcessor, AccountsEveryDecodedRoceFrameInRecords) {
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

// Flows are evicted and expire while packets of their group are being prefetched.
TEST_P(BatchesOf, AnySizeGiveTheSameRecordsWithEvictions) {
  const FrameMix mix(3000);
  FrameProcessor::Options options = Options();
  options.flow_table.capacity = 5;
  options.flow_table.idle_timeout = std::chrono::microseconds(20);
  FrameProcessor processor(options);
  RecordBatch whole;
  processor.Process(mix.frames(), whole);
  processor.Flush(whole);
  EXPECT_GT(processor.flows().statistics().flows_evicted, 500u);
  EXPECT_GT(processor.flows().statistics().flows_expired, 0u);
  EXPECT_EQ(Text(RecordsIn(mix.frames(), GetParam(), options)), Text(whole));
}

INSTANTIATE_TEST_SUITE_P(Sizes, BatchesOf, testing::Values(1, 2, 7, 16, 17, 256));

TEST(FrameProcessor, IsDeterministic) {
  const FrameMix mix(1000);
  EXPECT_EQ(Text(RecordsIn(mix.frames(), 64)), Text(RecordsIn(mix.frames(), 64)));
}

TEST(FrameProcessor, ReportsFirstAndLastCaptureTime) {
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

// A mirror's sequence numbers cover all its copies, including those without a record.
TEST(FrameProcessor, CountsFilteredAndDroppedCopiesInMirrorSequence) {
  const Bytes wanted = RoceFrame().Bth({.opcode = 0x04}).Payload(8).Build();
  const Bytes filtered = RoceFrame("10.0.0.8", "10.0.0.9").Bth({.opcode = 0x04}).Payload(8).Build();
  const Bytes dropped =
      Frame().Eth().Ipv4("10.0.0.8", "10.0.0.9").Udp(1000, 53).Payload(40).Build();
  std::vector<Bytes> copies;
  for (const Bytes* inner : {&wanted, &filtered, &dropped, &wanted}) {
    copies.push_back(InErspan3(*inner, {.session = 3}, static_cast<uint32_t>(copies.size())));
  }
  std::vector<RawFrame> frames;
  for (const Bytes& copy : copies) {
    frames.push_back({.bytes = copy, .original_length = static_cast<uint32_t>(copy.size())});
  }
  FrameProcessor::Options options = Options();
  options.filter.hosts = {IpAddress::FromV4(0x0a000001)};
  FrameProcessor processor(options);
  RecordBatch out;
  processor.Process(frames, out);
  const std::vector<MirrorStream> mirrors = processor.taps().MirrorStreams();
  ASSERT_EQ(mirrors.size(), 1u);
  EXPECT_EQ(mirrors[0].frames, 4u);
  EXPECT_EQ(mirrors[0].lost, 0u);
  EXPECT_EQ(processor.taps().taps().back().frames, 2u);
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
