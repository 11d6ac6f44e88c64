// SPDX-License-Identifier: BSD-3-Clause
// Frames distributed over several cores by address pair give the same ledger, taps and records as a
// single core.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/decode/address_pair.h"
#include "dataplane/decode/decode.h"
#include "dataplane/pipeline/frame_processor.h"
#include "tests/support/frame_mix.h"
#include "tests/support/record_text.h"

namespace rocescope::test {
namespace {

constexpr Duration kMillisecond = std::chrono::milliseconds(1);

// The combined results of all cores.
struct Outcome {
  FrameProcessor::Counters counters;
  FlowTable::Statistics flows;
  std::map<std::string, uint64_t> frames_of_taps;
  std::vector<std::string> records;  // sorted, with names of taps
  std::vector<std::string> mirrors;
  size_t busy_cores = 0;
};

using Processors = std::vector<std::unique_ptr<FrameProcessor>>;

FrameProcessor::Options Options(Duration interval) {
  return {.flow_table = {.capacity = 1024, .interval = interval}, .captures = {"leaf1", "leaf2"}};
}

// `receiver` tracked the mirrors.
Outcome Collect(const Processors& cores, const TapTable& receiver, RecordBatch& records) {
  Outcome outcome;
  for (const auto& core : cores) {
    core->Flush(records);
    outcome.counters += core->counters();
    outcome.flows += core->flows().statistics();
    outcome.busy_cores += core->counters().ledger.decoded > 0;
    for (const Tap& tap : core->taps().taps()) outcome.frames_of_taps[tap.name] += tap.frames;
  }
  const std::vector<Tap> taps = receiver.taps();
  outcome.records = Lines(records, [&taps](TapId tap) { return taps.at(tap).name; });
  std::sort(outcome.records.begin(), outcome.records.end());
  for (const MirrorStream& mirror : receiver.MirrorStreams()) {
    outcome.mirrors.push_back(fmt::format("{} {}: {} of them, {} lost, {} ns apart",
                                          ToString(mirror.source), mirror.session, mirror.frames,
                                          mirror.lost, mirror.clock_offset_ns));
  }
  return outcome;
}

// A single core processes all frames.
Outcome Alone(std::span<const RawFrame> frames, Duration interval) {
  Processors core;
  core.push_back(std::make_unique<FrameProcessor>(Options(interval)));
  RecordBatch records;
  core[0]->Process(frames, records);
  return Collect(core, core[0]->taps(), records);
}

// One core receives and distributes, and `count` others process the frames.
Outcome Spread(std::span<const RawFrame> frames, Duration interval, uint32_t count) {
  FrameProcessor::Options options = Options(interval);
  options.taps = std::make_shared<TapRegistry>(options.captures);
  TapTable receiver(options.taps);
  std::vector<std::vector<RawFrame>> shares(count);
  for (RawFrame raw : frames) {
    const uint64_t hash = receiver.Settle(raw);
    shares[ShareOf(hash, count)].push_back(raw);
  }
  Processors cores;
  RecordBatch records;
  for (const std::vector<RawFrame>& share : shares) {
    cores.push_back(std::make_unique<FrameProcessor>(options));
    cores.back()->Process(share, records);
  }
  return Collect(cores, receiver, records);
}

class SpreadOver : public testing::TestWithParam<uint32_t> {
 protected:
  static void CompareWithOneCore(std::span<const RawFrame> frames, Duration interval) {
    const Outcome one = Alone(frames, interval);
    const Outcome many = Spread(frames, interval, GetParam());
    ASSERT_GE(many.busy_cores, 2u);
    EXPECT_EQ(many.counters.ledger, one.counters.ledger);
    EXPECT_TRUE(many.counters.ledger.Balances());
    EXPECT_EQ(many.counters.roce_frames, one.counters.roce_frames);
    EXPECT_EQ(many.counters.pause_frames, one.counters.pause_frames);
    EXPECT_EQ(many.counters.cut_frames, one.counters.cut_frames);
    EXPECT_EQ(many.counters.cut_at, one.counters.cut_at);
    EXPECT_EQ(many.counters.wire_bytes, one.counters.wire_bytes);
    EXPECT_EQ(many.counters.first, one.counters.first);
    EXPECT_EQ(many.counters.last, one.counters.last);
    EXPECT_EQ(many.flows.flows_created, one.flows.flows_created);
    EXPECT_EQ(many.frames_of_taps, one.frames_of_taps);
    EXPECT_EQ(many.mirrors, one.mirrors);
    EXPECT_THAT(many.records, testing::ContainerEq(one.records));
  }
};

TEST_P(SpreadOver, CoresGiveTheRecordsOfOneCore) {
  CompareWithOneCore(FrameMix(4000).frames(), 100 * kMillisecond);
}

TEST_P(SpreadOver, CoresGiveTheRecordsOfOneCoreOnRandomBytes) {
  CompareWithOneCore(FrameMix(4000, true).frames(), 100 * kMillisecond);
}

// Without mirrors that carry timestamps, because each core judges lateness by the frames that it
// has seen.
TEST_P(SpreadOver, CoresGiveTheRecordsOfOneCoreOverManyIntervals) {
  const FrameMix mix(4000);
  std::vector<RawFrame> frames;
  for (const RawFrame& raw : mix.frames()) {
    DecodedFrame decoded{};
    DecodeFrame(raw, decoded);
    if (decoded.mirror.kind != MirrorKind::kErspan3) frames.push_back(raw);
  }
  CompareWithOneCore(frames, kMillisecond);
}

INSTANTIATE_TEST_SUITE_P(Cores, SpreadOver, testing::Values(2, 3, 4));

}  // namespace
}  // namespace rocescope::test
