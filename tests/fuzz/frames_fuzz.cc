// SPDX-License-Identifier: BSD-3-Clause
// Timestamped frames from several taps and mirrors, processed up to the flow table's records.
//
// Byte 0 contains the options: capacity of the flow table (2 bits), iCRC check, QP filter, interval
// (2 bits), frames per batch (2 bits). Then for each frame: one byte with the tap (2 bits),
// absolute time, time advance, link type (3 bits), and repeat flag; its time, as 8 bytes of
// nanoseconds or 2 bytes in units of 10 us since the last frame; and unless it repeats the last
// frame, its length in 2 bytes and its content. Big-endian.
#include <algorithm>
#include <span>
#include <vector>

#include "dataplane/pipeline/frame_processor.h"
#include "dataplane/wire/reader.h"
#include "tests/fuzz/link_types.h"
#include "tests/fuzz/require.h"

namespace rocescope {
namespace {

constexpr size_t kMaxFrames = 256;
struct Step {
  RawFrame frame;
  bool advance = false;
};

struct Input {
  FrameProcessor::Options options;
  size_t frames_at_a_time = 1;
  std::vector<Step> steps;
};

FrameProcessor::Options OptionsOf(uint8_t bits) {
  constexpr uint32_t kCapacities[] = {1, 3, 16, 64};
  constexpr int kMilliseconds[] = {1, 100, 4000, 10};
  FrameProcessor::Options options = {
      .flow_table = {.capacity = kCapacities[bits & 3],
                     .interval = std::chrono::milliseconds(kMilliseconds[bits >> 4 & 3])},
      .check_icrc = (bits & 4) != 0,
      .captures = {"a", "b", "c"}};
  if ((bits & 8) != 0) options.filter.qpns = {{17}};
  return options;
}

Input Parse(std::span<const uint8_t> data) {
  constexpr size_t kFramesAtATime[] = {2, 5, 16, kMaxFrames};
  wire::ByteReader in(data);
  const uint8_t bits = in.U8();
  Input input{
      .options = OptionsOf(bits), .frames_at_a_time = kFramesAtATime[bits >> 6], .steps = {}};
  // Sources keep times within their bounds.
  Timestamp time = FromNanoseconds(1'700'000'000'000'000'000);
  std::span<const uint8_t> bytes;
  while (in.remaining() > 0 && input.steps.size() < kMaxFrames) {
    const uint8_t what = in.U8();
    if ((what & 4) != 0) {
      time = WithinBounds(FromNanoseconds(static_cast<int64_t>(in.U64())));
    } else {
      time = WithinBounds(time + std::chrono::microseconds(10) * static_cast<int16_t>(in.U16()));
    }
    if ((what & 0x80) == 0) {
      const size_t length = in.U16();
      bytes = in.Rest().first(std::min(length, in.remaining()));
      in.Skip(bytes.size());
    }
    input.steps.push_back({.frame = {.bytes = bytes,
                                     .original_length = static_cast<uint32_t>(bytes.size()),
                                     .link_type = kLinkTypes[what >> 4 & 7],
                                     .timestamp = time,
                                     .tap = static_cast<uint16_t>((what & 3) % 3)},
                           .advance = (what & 8) != 0});
  }
  return input;
}

struct Totals {
  uint64_t records = 0;
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t sightings = 0;
  uint64_t management = 0;
  uint64_t hops = 0;
  uint64_t samples = 0;
  uint64_t counters = 0;
  uint64_t digest = 0;

  friend bool operator==(const Totals&, const Totals&) = default;
};

Totals TotalsOf(const RecordBatch& batch) {
  Totals totals{.records = batch.flows.size(),
                .sightings = batch.sightings.size(),
                .management = batch.management.size(),
                .hops = batch.hops.size(),
                .samples = batch.samples.size(),
                .counters = batch.counters.size()};
  const auto mix = [&totals](uint64_t value) { totals.digest = totals.digest * 31 + value; };
  for (const FlowRecord& record : batch.flows) {
    Require(record.packets > 0, "a record has packets");
    Require(record.first_seen <= record.last_seen, "a record's first packet is not after its last");
    totals.packets += record.packets;
    totals.bytes += record.bytes;
    mix(record.tap);
    mix(record.flow.destination_qpn.value);
    mix(record.payload_bytes);
    mix(record.messages);
    mix(static_cast<uint64_t>(record.requests.missing));
    mix(record.requests.retransmitted);
    mix(static_cast<uint64_t>(ToNanoseconds(record.last_seen)));
  }
  for (const ObservationRecord& sighting : batch.sightings) {
    mix(sighting.psn);
    mix(static_cast<uint64_t>(ToNanoseconds(sighting.event_time)));
  }
  return totals;
}

void RequireBalance(const FrameProcessor& processor, size_t frames, const Totals& totals) {
  const FrameProcessor::Counters& counters = processor.counters();
  Require(counters.ledger.received == frames, "every frame is counted as received");
  Require(counters.ledger.Balances(), "the ledger balances");
  Require(
      counters.roce_frames + counters.pause_frames + counters.int_frames + counters.sflow_frames ==
          counters.ledger.decoded,
      "a decoded frame is RoCE, pause or telemetry");
  const TelemetryCounters& telemetry = counters.telemetry;
  Require(telemetry.int_reports.Balances() && telemetry.samples.Balances() &&
              telemetry.sflow_datagrams.Balances(),
          "the telemetry ledgers balance");
  Require(telemetry.sflow_datagrams.received == counters.sflow_frames,
          "there is one datagram per frame");
  Require(counters.icrc_valid + counters.icrc_invalid <= counters.roce_frames,
          "iCRC counts do not exceed the frames");
  Require(totals.packets == counters.roce_frames, "the records contain every RoCE frame");
  Require(totals.hops == telemetry.hop_records && totals.samples == telemetry.sample_records &&
              totals.counters == telemetry.counter_records,
          "telemetry records are counted");
  Require(totals.bytes <= counters.wire_bytes, "the records do not exceed the received bytes");
  uint64_t frames_of_taps = 0;
  for (const Tap& tap : processor.taps().taps()) frames_of_taps += tap.frames;
  Require(frames_of_taps == counters.ledger.decoded, "a decoded frame has one tap");
  uint64_t frames_of_mirrors = 0;
  for (const MirrorStream& mirror : processor.taps().MirrorStreams()) {
    frames_of_mirrors += mirror.frames;
  }
  Require(frames_of_mirrors <= counters.ledger.received, "mirrored frames were received");
}

Totals Run(const Input& input, size_t frames_at_a_time) {
  FrameProcessor processor(input.options);
  RecordBatch out;
  std::vector<RawFrame> batch;
  for (const Step& step : input.steps) {
    if (step.advance || batch.size() == frames_at_a_time) {
      processor.Process(batch, out);
      batch.clear();
    }
    if (step.advance) processor.Advance(step.frame.timestamp, out);
    batch.push_back(step.frame);
  }
  processor.Process(batch, out);
  processor.Flush(out);
  Require(processor.flows().size() <= input.options.flow_table.capacity,
          "the flow table is bounded");
  const Totals totals = TotalsOf(out);
  RequireBalance(processor, input.steps.size(), totals);
  return totals;
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const Input input = Parse({data, size});
  Require(Run(input, input.frames_at_a_time) == Run(input, 1),
          "the result does not depend on the batch size");
  return 0;
}
