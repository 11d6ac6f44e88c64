// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/frame_processor.h"

#include <algorithm>

#include "dataplane/decode/decode.h"
#include "dataplane/decode/plain.h"

namespace rocescope {

FrameProcessor::Counters& FrameProcessor::Counters::operator+=(const Counters& other) {
  if (other.ledger.decoded > 0) {
    first = ledger.decoded > 0 ? std::min(first, other.first) : other.first;
    last = ledger.decoded > 0 ? std::max(last, other.last) : other.last;
  }
  ledger += other.ledger;
  roce_frames += other.roce_frames;
  pause_frames += other.pause_frames;
  int_frames += other.int_frames;
  sflow_frames += other.sflow_frames;
  cut_frames += other.cut_frames;
  cut_at = std::max(cut_at, other.cut_at);
  icrc_valid += other.icrc_valid;
  icrc_invalid += other.icrc_invalid;
  wire_bytes += other.wire_bytes;
  telemetry += other.telemetry;
  return *this;
}

FrameProcessor::FrameProcessor(Options options)
    : options_(std::move(options)),
      walks_always_(options_.check_icrc || !options_.filter.hosts.empty() ||
                    !options_.filter.qpns.empty()),
      flows_(options_.flow_table),
      taps_(options_.taps ? options_.taps : std::make_shared<TapRegistry>(options_.captures)),
      telemetry_({.filter = options_.filter,
                  .ports = options_.ports,
                  .senders = options_.telemetry_senders}) {}

inline void FrameProcessor::Count(const RawFrame& raw, const RocePacket& packet, Tally& tally) {
  ++tally.decoded;
  tally.first = std::min(tally.first, raw.timestamp);
  tally.last = std::max(tally.last, raw.timestamp);
  tally.wire_bytes += packet.wire_length;
  tally.cut_frames += packet.cut;
  tally.cut_at = std::max(tally.cut_at, packet.cut ? static_cast<uint32_t>(raw.bytes.size()) : 0);
}

void FrameProcessor::Add(const Tally& tally) {
  if (tally.decoded == 0) return;
  const bool none_before = counters_.ledger.decoded == 0;
  counters_.first = none_before ? tally.first : std::min(counters_.first, tally.first);
  counters_.last = none_before ? tally.last : std::max(counters_.last, tally.last);
  counters_.ledger.decoded += tally.decoded;
  counters_.wire_bytes += tally.wire_bytes;
  counters_.cut_frames += tally.cut_frames;
  counters_.cut_at = std::max(counters_.cut_at, tally.cut_at);
}

// Returns true if the frame must be accounted.
inline bool FrameProcessor::Read(const RawFrame& raw, Slot& slot, Tally& tally) {
  slot.raw = &raw;
  if (!walks_always_ && ReadPlainRoce(raw, slot.packet, mark_)) [[likely]] {
    Count(raw, slot.packet, tally);
    slot.sighted = taps_.Resolve(raw, mark_);
  } else {
    if (!Walk(raw, slot.packet)) return false;
    Count(raw, slot.packet, tally);
    slot.sighted = taps_.Resolve(raw, frame_.mirror);
    const bool is_plain = frame_.kind == FrameKind::kRoce && frame_.int_stack.empty();
    if (!is_plain && !TakeWalked(raw, slot.sighted.tap)) return false;
  }
  flows_.Prepare(slot.packet, slot.sighted.tap, slot.place);
  return true;
}

// General path for frames that the fast path does not support, and for options that examine every
// frame. Returns false if the frame is dropped or filtered.
bool FrameProcessor::Walk(const RawFrame& raw, RocePacket& packet) {
  const DropReason reason = DecodeFrame(raw, frame_, options_.ports);
  if (reason != DropReason::kNone) {
    ++counters_.ledger.dropped[static_cast<size_t>(reason)];
    taps_.Follow(raw);
    return false;
  }
  // Filters apply to RoCE packets. For telemetry they apply to the reported packets.
  if (!IsTelemetry(frame_.kind) && !options_.filter.Keeps(frame_)) {
    ++counters_.ledger.filtered;
    taps_.Follow(raw);
    return false;
  }
  if (options_.check_icrc && frame_.kind == FrameKind::kRoce) {
    const IcrcResult verdict = CheckIcrc(frame_);
    counters_.icrc_valid += verdict == IcrcResult::kValid;
    counters_.icrc_invalid += verdict == IcrcResult::kInvalid;
  }
  packet = frame_;
  return true;
}

// Does the remaining work for a frame of the general path. Returns false if the frame needs no flow
// accounting.
bool FrameProcessor::TakeWalked(const RawFrame& raw, TapId tap) {
  switch (frame_.kind) {
    case FrameKind::kRoce:
      telemetry_.TakeStack(frame_, tap, raw.timestamp, *out_);
      counters_.telemetry = telemetry_.counters();
      return true;
    case FrameKind::kPause:
      ++counters_.pause_frames;
      return false;
    case FrameKind::kIntReport:
      ++counters_.int_frames;
      break;
    case FrameKind::kSflow:
      ++counters_.sflow_frames;
      break;
  }
  telemetry_.Take(frame_, tap, raw.timestamp, *out_);
  counters_.telemetry = telemetry_.counters();
  return false;
}

void FrameProcessor::ProcessDatagrams(FrameKind kind, std::span<const RawFrame> datagrams,
                                      std::span<const IpAddress> sources, RecordBatch& out) {
  if (datagrams.empty()) return;
  counters_.ledger.received += datagrams.size();
  (kind == FrameKind::kSflow ? counters_.sflow_frames : counters_.int_frames) += datagrams.size();
  Tally tally;
  RocePacket as_packet{};
  frame_ = {};
  frame_.kind = kind;
  for (size_t i = 0; i < datagrams.size(); ++i) {
    const RawFrame& raw = datagrams[i];
    frame_.source = sources[i];
    frame_.telemetry = raw.bytes;
    frame_.cut = as_packet.cut = raw.bytes.size() < raw.original_length;
    as_packet.wire_length = raw.original_length;
    const DropReason reason = telemetry_.Take(frame_, raw.tap, raw.timestamp, out);
    if (reason == DropReason::kNone) {
      Count(raw, as_packet, tally);
    } else {
      ++counters_.ledger.dropped[static_cast<size_t>(reason)];
    }
  }
  counters_.telemetry = telemetry_.counters();
  Add(tally);
}

// A software pipeline: while the flow entries of one group are loaded from memory, the next group
// is decoded; while the index lines of that group are loaded, the first group is accounted.
void FrameProcessor::Process(std::span<const RawFrame> frames, RecordBatch& out) {
  counters_.ledger.received += frames.size();
  out_ = &out;
  Tally tally;
  Group* coming = &groups_[0];
  Group* going = &groups_[1];
  going->count = 0;
  while (!frames.empty()) {
    const size_t taken = std::min(kGroup, frames.size());
    Slot* end = coming->slots.data();
    for (const RawFrame& raw : frames.first(taken)) end += Read(raw, *end, tally);
    coming->count = static_cast<size_t>(end - coming->slots.data());
    frames = frames.subspan(taken);
    Account(*going, out);
    for (Slot& slot : std::span(coming->slots).first(coming->count)) {
      flows_.Approach(slot.packet, slot.place);
    }
    std::swap(coming, going);
  }
  Account(*going, out);
  Add(tally);
}

inline void FrameProcessor::Account(const Group& group, RecordBatch& out) {
  for (const Slot& slot : std::span(group.slots).first(group.count)) {
    flows_.Process(slot.packet, slot.place, slot.sighted.event_time, slot.raw->timestamp, out);
    if (slot.packet.destination_qpn == kManagementQpn) [[unlikely]]
      NoteManagement(slot, out);
  }
  counters_.roce_frames += group.count;
}

void FrameProcessor::NoteManagement(const Slot& slot, RecordBatch& out) {
  // This is rare, so the frame is decoded again: later frames of the group have overwritten the
  // decoder's result.
  if (DecodeFrame(*slot.raw, frame_, options_.ports) != DropReason::kNone || !frame_.Has(kPartCm) ||
      !flows_.AdmitAlways()) {
    return;
  }
  out.management.push_back({.tap = slot.sighted.tap,
                            .segment = frame_.segment,
                            .source = frame_.source,
                            .destination = frame_.destination,
                            .event_time = slot.sighted.event_time,
                            .arrival_time = slot.raw->timestamp,
                            .message = frame_.cm});
}

}  // namespace rocescope
