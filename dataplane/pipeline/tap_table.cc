// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/tap_table.h"

#include <algorithm>

namespace rocescope {

TapTable::TapTable(std::shared_ptr<TapRegistry> registry)
    : registry_(std::move(registry)), frames_(std::max(kMaximumTaps, registry_->Taps().size())) {}

TapTable::Resolution TapTable::LocateMirror(TapId capture, const MirrorInfo& mirror,
                                            Timestamp capture_time) {
  const TapCache::Slot* known = cache_.Find(capture, mirror);
  if (known == nullptr) [[unlikely]]
    return LocateNew(capture, mirror, capture_time);
  return {.tap = known->tap, .event_time = streams_[known->stream].Follow(mirror, capture_time)};
}

// Slow path: the header must be parsed, because the mark is not cached or its time is not near the
// last one.
TapTable::Resolution TapTable::LocateMark(const RawFrame& raw, const ErspanMark& mark) {
  const MirrorInfo mirror = FindMirror(raw);
  const Resolution sighted = Locate(raw, mirror);
  if (const TapCache::Slot* known = cache_.Find(raw.tap, mirror)) {
    marks_.Remember(
        raw.tap, mark,
        {.stream = &streams_[known->stream], .tap = known->tap, .clock = ClockKindOf(mirror)});
  }
  return sighted;
}

// The first copy of a place, or any copy of a place without a number.
TapTable::Resolution TapTable::LocateNew(TapId capture, const MirrorInfo& mirror,
                                         Timestamp capture_time) {
  const StreamKey key{capture, mirror.source, mirror.session, mirror.kind};
  auto stream = stream_numbers_.find(key);
  if (stream == stream_numbers_.end()) {
    if (streams_.size() >= kMaximumTaps) {
      ++overflow_;
      return {.tap = capture, .event_time = capture_time};
    }
    stream = stream_numbers_.emplace(key, static_cast<uint16_t>(streams_.size())).first;
    using Scope = MirrorCounter::Scope;
    const CounterKey counter(capture, mirror.source);
    streams_.emplace_back(
        MirrorStream{.capture = capture,
                     .source = mirror.source,
                     .session = mirror.session,
                     .kind = mirror.kind},
        MirrorFollower::Counters{
            &switch_counters_.try_emplace(counter, Scope::kSwitch).first->second,
            &capture_counters_.try_emplace(capture, Scope::kCapture).first->second});
  }
  const std::optional<TapId> tap = NumberOf({.capture = capture,
                                             .source = mirror.source,
                                             .session = mirror.session,
                                             .kind = mirror.kind,
                                             .direction = mirror.direction,
                                             .has_port_index = mirror.has_port_index,
                                             .port_index = mirror.port_index});
  if (tap) {
    cache_.Insert(capture, mirror, *tap, stream->second);
  } else {
    ++overflow_;
  }
  return {.tap = tap.value_or(capture),
          .event_time = streams_[stream->second].Follow(mirror, capture_time)};
}

// A full registry no longer changes, so it is copied to avoid its lock for every packet.
std::optional<TapId> TapTable::NumberOf(const MirrorLocation& place) {
  if (!registry_full_) {
    const std::optional<TapId> number = registry_->NumberOf(place);
    if (number) return number;
    registry_full_ = true;
    all_places_ = registry_->Places();
  }
  const auto known = all_places_.find(place);
  return known != all_places_.end() ? std::optional(known->second) : std::nullopt;
}

std::vector<Tap> TapTable::taps() const {
  std::vector<Tap> taps = registry_->Taps();
  for (size_t i = 0; i < taps.size(); ++i) taps[i].frames = frames_[i];
  return taps;
}

std::vector<MirrorStream> TapTable::MirrorStreams() const {
  std::vector<MirrorStream> streams;
  streams.reserve(streams_.size());
  for (const auto& [key, number] : stream_numbers_) streams.push_back(streams_[number].stream());
  return streams;
}

}  // namespace rocescope
