// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/spreader.h"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include <algorithm>
#include <utility>

#include "dataplane/decode/address_pair.h"

namespace rocescope {
namespace {

// The fields of RawFrame that the receiver passes on, apart from the bytes.
struct Note {
  int64_t timestamp_ns;
  uint16_t tap;
  uint16_t settled_tap;
  int32_t event_offset_ns;
};

constexpr rte_mbuf_dynfield kNoteField = {
    .name = "rocescope_note", .size = sizeof(Note), .align = alignof(Note), .flags = 0};

}  // namespace

Result<std::shared_ptr<SpreadRings>> SpreadRings::Make(uint32_t lcores) {
  if (lcores > kMaxLcores) {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("--spread software supports at most {} lcores, not {}: reduce "
                                 "--lcores or pass --spread rss",
                                 kMaxLcores, lcores));
  }
  std::shared_ptr<SpreadRings> rings(new SpreadRings(lcores));
  rings->note_offset_ = rte_mbuf_dynfield_register(&kNoteField);
  if (rings->note_offset_ < 0) {
    return MakeError(ErrorCode::kResourceExhausted,
                     fmt::format("mbufs have no space for a dynamic field of {} bytes: {}; disable "
                                 "other users of dynamic fields or pass --spread rss",
                                 sizeof(Note), rte_strerror(rte_errno)));
  }
  return rings;
}

Spreader::Spreader(std::shared_ptr<SpreadRings> rings, uint32_t lcore,
                   std::shared_ptr<TapRegistry> taps)
    : rings_(std::move(rings)), lcore_(lcore), taps_(std::move(taps)), waiting_(rings_->lcores()) {}

size_t Spreader::KeepOwn(std::span<rte_mbuf*> mbufs, std::span<RawFrame> frames) {
  const uint32_t lcores = rings_->lcores();
  size_t own = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    RawFrame& frame = frames[i];
    const uint32_t owner = ShareOf(taps_.Settle(frame), lcores);
    if (owner == lcore_) {
      std::swap(mbufs[own], mbufs[i]);
      frames[own++] = frame;
      continue;
    }
    *RTE_MBUF_DYNFIELD(mbufs[i], rings_->note_offset(), Note*) = {
        .timestamp_ns = ToNanoseconds(frame.timestamp),
        .tap = frame.tap,
        .settled_tap = frame.settled_tap,
        .event_offset_ns = frame.event_offset_ns};
    waiting_[owner].mbufs[waiting_[owner].count++] = mbufs[i];
  }
  return own;
}

bool Spreader::PassOn() {
  bool all = true;
  for (uint32_t to = 0; to < rings_->lcores(); ++to) {
    Waiting& waiting = waiting_[to];
    if (waiting.count == 0) continue;
    const auto put = static_cast<uint32_t>(
        rings_->ring(lcore_, to).Push(std::span(waiting.mbufs).first(waiting.count)));
    passed_on_ += put;
    waiting.count -= put;
    std::copy_n(waiting.mbufs.begin() + put, waiting.count, waiting.mbufs.begin());
    all = all && waiting.count == 0;
  }
  return all;
}

uint64_t Spreader::DropWaiting() {
  uint64_t dropped = 0;
  for (Waiting& waiting : waiting_) {
    rte_pktmbuf_free_bulk(waiting.mbufs.data(), waiting.count);
    dropped += std::exchange(waiting.count, 0);
  }
  return dropped;
}

size_t Spreader::Take(std::span<rte_mbuf*> mbufs) {
  const uint32_t lcores = rings_->lcores();
  for (uint32_t tries = 0; tries < lcores; ++tries) {
    next_source_ = next_source_ + 1 < lcores ? next_source_ + 1 : 0;
    if (next_source_ == lcore_) continue;
    const size_t taken = rings_->ring(next_source_, lcore_).Pop(mbufs);
    if (taken > 0) return taken;
  }
  return 0;
}

void Spreader::Recall(const rte_mbuf& mbuf, RawFrame& frame) const {
  const Note& note = *RTE_MBUF_DYNFIELD(&mbuf, rings_->note_offset(), const Note*);
  frame.timestamp = FromNanoseconds(note.timestamp_ns);
  frame.tap = note.tap;
  frame.settled_tap = note.settled_tap;
  frame.event_offset_ns = note.event_offset_ns;
}

}  // namespace rocescope
