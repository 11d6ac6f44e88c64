// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/lcore/frame_processor.h"

#include <algorithm>

#include "dataplane/decode/decode.h"

namespace rocescope {

FrameProcessor::FrameProcessor(Options options)
    : options_(std::move(options)),
      filters_(!options_.filter.hosts.empty() || !options_.filter.qpns.empty()),
      flows_(options_.flow_table),
      taps_(options_.captures),
      group_(kGroup) {}

void FrameProcessor::Process(std::span<const RawFrame> frames, RecordBatch& out) {
  counters_.ledger.received += frames.size();
  while (!frames.empty()) {
    const size_t taken = std::min(kGroup, frames.size());
    size_t decoded = 0;
    for (const RawFrame& raw : frames.first(taken)) {
      if (Decode(raw, group_[decoded])) ++decoded;
    }
    for (size_t i = 0; i < decoded; ++i) flows_.Approach(group_[i].place);
    for (size_t i = 0; i < decoded; ++i) Account(group_[i], out);
    frames = frames.subspan(taken);
  }
}

// True if the frame is to be accounted.
bool FrameProcessor::Decode(const RawFrame& raw, Decoded& decoded) {
  DecodedFrame& frame = decoded.frame;
  const DropReason reason = DecodeFrame(raw, frame);
  if (reason != DropReason::kNone) {
    ++counters_.ledger.dropped[static_cast<size_t>(reason)];
    return false;
  }
  if (filters_ && !options_.filter.Keeps(frame)) {
    ++counters_.ledger.filtered;
    return false;
  }
  if (counters_.ledger.decoded++ == 0) counters_.first = counters_.last = raw.timestamp;
  counters_.first = std::min(counters_.first, raw.timestamp);
  counters_.last = std::max(counters_.last, raw.timestamp);
  counters_.wire_bytes += frame.wire_length;
  if (frame.cut) {
    ++counters_.cut_frames;
    counters_.cut_at = std::max(counters_.cut_at, static_cast<uint32_t>(raw.bytes.size()));
  }
  decoded.arrival = raw.timestamp;
  decoded.sighted = taps_.Resolve(raw.tap, frame.mirror, raw.timestamp);
  if (frame.kind == FrameKind::kPause) {
    ++counters_.pause_frames;
    return false;
  }
  ++counters_.roce_frames;
  if (options_.check_icrc) {
    const IcrcVerdict verdict = CheckIcrc(frame);
    counters_.icrc_valid += verdict == IcrcVerdict::kValid;
    counters_.icrc_invalid += verdict == IcrcVerdict::kInvalid;
  }
  decoded.place = flows_.Prepare(frame, decoded.sighted.tap);
  return true;
}

void FrameProcessor::Account(const Decoded& decoded, RecordBatch& out) {
  const DecodedFrame& frame = decoded.frame;
  flows_.Process(frame, decoded.place, decoded.sighted.tap, decoded.sighted.event_time,
                 decoded.arrival, out);
  if (frame.Has(kPartCm) && flows_.AdmitAlways()) [[unlikely]] {
    out.management.push_back({.tap = decoded.sighted.tap,
                              .segment = frame.segment,
                              .source = frame.source,
                              .destination = frame.destination,
                              .event_time = decoded.sighted.event_time,
                              .arrival_time = decoded.arrival,
                              .message = frame.cm});
  }
}

}  // namespace rocescope
