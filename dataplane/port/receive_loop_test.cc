// SPDX-License-Identifier: BSD-3-Clause
// The receive loop on virtual devices, compared with a replay without DPDK.
#include "dataplane/port/receive_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "dataplane/port/test_port.h"
#include "dataplane/source/capture.h"
#include "tests/support/frame_builder.h"
#include "tests/support/frame_mix.h"
#include "tests/support/record_text.h"

namespace rocescope::test {
namespace {

FrameProcessor::Options Processor(std::vector<std::string> taps = {"port"}) {
  return {.flow_table = {.capacity = 64, .interval = std::chrono::milliseconds(1)},
          .captures = std::move(taps)};
}

struct Outcome {
  RecordBatch records;
  SourceStatistics statistics;
  PortCounters port;
  std::vector<Tap> taps;
};

// The result of receiving a file through `port`.
Outcome Receive(Port& port) {
  ReceiveLoop loop({.queues = {{.port = &port}}, .processor = Processor(), .wait = true});
  const Status started = port.Start();
  EXPECT_TRUE(started) << started.error().message;
  Outcome outcome;
  std::atomic<bool> ended = false;
  std::thread reader([&] {
    for (bool last = false; !last;) {
      last = ended.load();
      const RecordBatch taken = TakeAll(loop);
      outcome.records.flows.insert(outcome.records.flows.end(), taken.flows.begin(),
                                   taken.flows.end());
      outcome.records.sightings.insert(outcome.records.sightings.end(), taken.sightings.begin(),
                                       taken.sightings.end());
      outcome.records.management.insert(outcome.records.management.end(), taken.management.begin(),
                                        taken.management.end());
    }
  });
  const std::atomic<bool> never = false;
  loop.Run(never);
  ended = true;
  reader.join();
  outcome.statistics = loop.Statistics();
  outcome.port = port.Counters().value();
  outcome.taps = loop.processor().taps().taps();
  port.Stop();
  return outcome;
}

// The result of the capture reader for the same file.
Outcome Replay(const std::string& path) {
  Outcome outcome;
  FrameProcessor processor(Processor());
  const auto source = OpenCapture(path);
  std::vector<RawFrame> batch(kBatchFrames);
  while (const size_t count = *(*source)->ReadBatch(batch)) {
    processor.Process(std::span(batch).first(count), outcome.records);
  }
  processor.Flush(outcome.records);
  outcome.statistics.frames = processor.counters();
  return outcome;
}

std::vector<RawFrame> AtOneTap(std::span<const RawFrame> frames) {
  std::vector<RawFrame> same(frames.begin(), frames.end());
  for (RawFrame& frame : same) frame.tap = 0;
  return same;
}

TEST(ReceiveLoop, MakesTheSameRecordsAsReplay) {
  const FrameMix mix(5000);
  const TemporaryFile file(PcapOf(AtOneTap(mix.frames())));
  const Outcome expected = Replay(file.path());
  TestPort port("net_pcap0", "rx_pcap=" + file.path());
  const Outcome received = Receive(*port);
  EXPECT_EQ(received.statistics.frames.ledger.received, 5000u);
  EXPECT_EQ(received.port.delivered, 5000u);
  EXPECT_EQ(received.statistics.frames.ledger.dropped, expected.statistics.frames.ledger.dropped);
  EXPECT_EQ(Text(received.records), Text(expected.records));
}

TEST(ReceiveLoop, SupportsMultiSegmentFrames) {
  const FrameMix mix(3000);
  const TemporaryFile file(PcapOf(AtOneTap(mix.frames())));
  const Outcome expected = Replay(file.path());
  TestPort port("net_pcap1", "rx_pcap=" + file.path(), {.data_room = 64});
  const Outcome received = Receive(*port);
  EXPECT_GT(received.statistics.linearised, 1000u);
  EXPECT_EQ(Text(received.records), Text(expected.records));
}

// Complete WRITEs of RoCE's largest MTU with a valid iCRC, which is checked.
std::vector<Bytes> LargeFrames(size_t count) {
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < count; ++i) {
    frames.push_back(
        RoceFrame().Bth({.opcode = 0x07, .destination_qpn = {17}, .psn = i}).Payload(4096).Build());
  }
  return frames;
}

std::vector<RawFrame> AsRaw(const std::vector<Bytes>& frames) {
  std::vector<RawFrame> raw;
  for (const Bytes& bytes : frames) {
    raw.push_back({.bytes = bytes,
                   .original_length = static_cast<uint32_t>(bytes.size()),
                   .timestamp = FromNanoseconds(1'700'000'000'000'000'000)});
  }
  return raw;
}

TEST(ReceiveLoop, CopiesMultiSegmentFramesOnce) {
  const std::vector<Bytes> frames = LargeFrames(200);
  const TemporaryFile file(PcapOf(AsRaw(frames)));
  TestPort port("net_pcap60", "rx_pcap=" + file.path(), {.data_room = 1024});
  FrameProcessor::Options processor = Processor();
  processor.check_icrc = true;
  ReceiveLoop loop({.queues = {{.port = &*port}}, .processor = processor});
  ASSERT_TRUE(port->Start());
  const std::atomic<bool> never = false;
  loop.Run(never);
  const SourceStatistics statistics = loop.Statistics();
  EXPECT_EQ(statistics.linearised, 200u);
  EXPECT_EQ(statistics.bytes, 200u * frames[0].size());
  EXPECT_EQ(statistics.frames.ledger.decoded, 200u);
  EXPECT_EQ(statistics.frames.icrc_valid, 200u);
  EXPECT_EQ(statistics.frames.cut_frames, 0u);
  EXPECT_EQ(port->MbufsInUse(), 0u);
}

// The data room of a port with hugepages.
TEST(ReceiveLoop, DoesNotCopyFramesThatFitIntoAnMbuf) {
  const std::vector<Bytes> frames = LargeFrames(200);
  ASSERT_GT(frames[0].size(), 4096u + 40u);
  const TemporaryFile file(PcapOf(AsRaw(frames)));
  TestPort port("net_pcap61", "rx_pcap=" + file.path(), {.data_room = 4352});
  const Outcome received = Receive(*port);
  EXPECT_EQ(received.statistics.frames.ledger.decoded, 200u);
  EXPECT_EQ(received.statistics.linearised, 0u);
}

TEST(ReceiveLoop, SupportsFramesThatExceedTheCopyBuffer) {
  std::vector<Bytes> payloads(70, Bytes(60'000));  // 64 of them exceed the copy buffer
  std::vector<RawFrame> frames;
  for (const Bytes& bytes : payloads) {
    frames.push_back({.bytes = bytes,
                      .original_length = 60'000,
                      .timestamp = FromNanoseconds(1'700'000'000'000'000'000)});
  }
  const TemporaryFile file(PcapOf(frames));
  TestPort port("net_pcap2", "rx_pcap=" + file.path());
  const Outcome received = Receive(*port);
  EXPECT_EQ(received.statistics.frames.ledger.received, 70u);
  EXPECT_EQ(received.statistics.linearised, 70u);
  EXPECT_TRUE(received.statistics.frames.ledger.Balances());
}

TEST(ReceiveLoop, EndsFileAtFrameLargerThanThePool) {
  std::vector<Bytes> payloads(200, Bytes(3000));  // three mbufs each
  std::vector<RawFrame> frames;
  for (const Bytes& bytes : payloads) {
    frames.push_back({.bytes = bytes, .original_length = 3000});
  }
  const TemporaryFile file(PcapOf(frames));
  TestPort port("net_pcap3", "rx_pcap=" + file.path(), {.mbufs = 100});
  const Outcome received = Receive(*port);
  EXPECT_LT(received.port.delivered, 200u);
  EXPECT_EQ(received.statistics.frames.ledger.received, received.port.delivered);
  EXPECT_GT(received.port.no_mbuf + received.port.failed_reads, 0u);
}

// After damage, libpcap would continue with arbitrary bytes as the next record.
TEST(ReceiveLoop, EndsFileAtDamage) {
  const FrameMix mix(300);
  const std::vector<RawFrame> frames = AtOneTap(mix.frames());
  std::vector<uint8_t> bytes = PcapOf(frames);
  const size_t good = PcapOf(std::span(frames).first(100)).size();
  // Both length fields.
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(good) + 8, 8, 0xff);
  const TemporaryFile file(bytes);
  TestPort port("net_pcap62", "rx_pcap=" + file.path());
  const Outcome received = Receive(*port);
  EXPECT_EQ(received.statistics.frames.ledger.received, 100u);
  EXPECT_EQ(received.port.failed_reads, 1u);
  EXPECT_EQ(received.port.errors, 0u) << "a failed poll is not a frame";
}

TEST(ReceiveLoop, ReportsUnfinishedFiles) {
  const FrameMix mix(1000);
  const std::vector<RawFrame> lap = AtOneTap(mix.frames());
  for (const auto& [laps, unfinished] : {std::pair{1, 0u}, {70, 1u}}) {
    std::vector<RawFrame> frames;
    for (int i = 0; i < laps; ++i) frames.insert(frames.end(), lap.begin(), lap.end());
    const TemporaryFile file(PcapOf(frames));
    TestPort port("net_pcap63", "rx_pcap=" + file.path());
    ReceiveLoop loop({.queues = {{.port = &*port}}, .processor = Processor()});
    loop.records().Abandon();
    ASSERT_TRUE(port->Start());
    const std::atomic<bool> stopped = true;  // receives at most what the port can hold
    loop.Run(stopped);
    EXPECT_EQ(loop.UnfinishedFiles().size(), unfinished) << laps;
    EXPECT_GE(loop.Statistics().frames.ledger.received, 1000u);
  }
}

TEST(ReceiveLoop, EndsWithTruncatedFile) {
  const FrameMix mix(100);
  std::vector<uint8_t> bytes = PcapOf(AtOneTap(mix.frames()));
  bytes.pop_back();
  const TemporaryFile file(bytes);
  TestPort port("net_pcap4", "rx_pcap=" + file.path());
  ReceiveLoop loop({.queues = {{.port = &*port}}, .processor = Processor()});
  ASSERT_TRUE(port->Start());
  const std::atomic<bool> never = false;
  loop.Run(never);
  EXPECT_EQ(loop.Statistics().frames.ledger.received, 99u);
  EXPECT_GT(port->Counters()->failed_reads, 0u);
}

TEST(ReceiveLoop, EndsWithEmptyFile) {
  const TemporaryFile file(PcapOf({}));
  TestPort port("net_pcap5", "rx_pcap=" + file.path());
  const Outcome received = Receive(*port);
  EXPECT_EQ(received.statistics.frames.ledger.received, 0u);
  EXPECT_TRUE(received.records.empty());
}

TEST(ReceiveLoop, StopsOnRequest) {
  TestPort port("net_null0", "size=64,copy=0");
  ReceiveLoop loop({.queues = {{.port = &*port}}, .processor = Processor()});
  loop.records().Abandon();  // no records are taken, however long the loop runs
  ASSERT_TRUE(port->Start());
  std::atomic<bool> stop = false;
  std::thread runner([&] { loop.Run(stop); });
  while (loop.Statistics().frames.ledger.received < 100'000) std::this_thread::yield();
  stop = true;
  runner.join();
  const Ledger ledger = loop.Statistics().frames.ledger;
  EXPECT_TRUE(ledger.Balances());
  EXPECT_EQ(ledger.received, port->Counters()->delivered);
}

TEST(ReceiveLoop, LosesRecordsAndNoFramesWithoutAReader) {
  const FrameMix mix(30'000);
  const TemporaryFile file(PcapOf(AtOneTap(mix.frames())));
  TestPort port("net_pcap6", "rx_pcap=" + file.path());
  ReceiveLoop loop({.queues = {{.port = &*port}}, .processor = Processor(), .batch_records = 4});
  ASSERT_TRUE(port->Start());
  loop.records().Abandon();
  const std::atomic<bool> never = false;
  loop.Run(never);
  const SourceStatistics statistics = loop.Statistics();
  EXPECT_EQ(statistics.frames.ledger.received, 30'000u);
  EXPECT_GT(statistics.records_dropped, 500u);
}

}  // namespace
}  // namespace rocescope::test
