// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/pipeline/mirror_stream.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace rocescope {
namespace {

constexpr int32_t kPlausibleGap = 1 << 20;  // a larger one means that the switch restarted

auto KeyOf(const MirrorStream& stream) {
  return std::tuple(stream.capture, stream.source, stream.session, stream.kind);
}

// A mean of both offsets would fit neither, so the offset of the stream with more frames is used.
void Add(MirrorStream& into, const MirrorStream& from) {
  if (from.frames > into.frames) {
    into.has_sequence = from.has_sequence;
    into.next_sequence = from.next_sequence;
    into.has_clock = from.has_clock;
    into.clock_offset_ns = from.clock_offset_ns;
  }
  into.frames += from.frames;
  into.lost += from.lost;
  into.repeats += from.repeats;
  into.last_received = std::max(into.last_received, from.last_received);
}

}  // namespace

void MergeMirrorStreams(std::vector<MirrorStream>& into, const std::vector<MirrorStream>& from) {
  for (const MirrorStream& stream : from) {
    const auto at = std::lower_bound(
        into.begin(), into.end(), stream,
        [](const MirrorStream& a, const MirrorStream& b) { return KeyOf(a) < KeyOf(b); });
    if (at != into.end() && KeyOf(*at) == KeyOf(stream)) {
      Add(*at, stream);
    } else {
      into.insert(at, stream);
    }
  }
}

void MirrorCounter::CountGap(MirrorFollower& session, uint32_t sequence) {
  if (last_ == nullptr) {
    last_ = &session;
    return;
  }
  const auto ahead = static_cast<int32_t>(sequence - last_->stream_.next_sequence);
  const bool is_restart = std::abs(int64_t{ahead}) > kPlausibleGap;
  // A late copy says nothing about the counter.
  if (&session != last_ && (ahead >= 0 || is_restart)) {
    ++switches_;
    if (ahead == 0) ++filled_;
  }
  if (ahead < 0 && !is_restart) {
    if (loser_ != nullptr && loser_->shared_lost_[scope_] > 0) --loser_->shared_lost_[scope_];
    return;
  }
  last_ = &session;
  if (ahead <= 0 || is_restart) return;
  loser_ = &session;
  session.shared_lost_[scope_] += static_cast<uint64_t>(ahead);
}

void MirrorFollower::CountGap(uint32_t sequence) {
  for (MirrorCounter* const counter : counters_) {
    if (counter != nullptr) counter->CountGap(*this, sequence);
  }
  if (!stream_.has_sequence) {
    stream_.has_sequence = true;
    stream_.next_sequence = sequence + 1;
    return;
  }
  const auto ahead = static_cast<int32_t>(sequence - stream_.next_sequence);
  if (std::abs(int64_t{ahead}) > kPlausibleGap) {
    stream_.next_sequence = sequence + 1;
  } else if (ahead >= 0) {
    stream_.lost += static_cast<uint32_t>(ahead);
    stream_.next_sequence = sequence + 1;
  } else {
    if (ahead == -1) ++stream_.repeats;
    if (stream_.lost > 0) --stream_.lost;
  }
}

Timestamp MirrorFollower::EventTime(const MirrorInfo& mirror, Timestamp capture_time) {
  const std::optional<MirrorTime> time = TimeOf(mirror);
  if (!time.has_value()) return capture_time;
  // Clocks that agree this closely are treated as one. A larger fraction of a record's interval
  // would make half of the packets late.
  constexpr int64_t kSameClockNs = 10'000'000;
  // The timestamp is unwrapped relative to the expected time of the switch's clock and then
  // converted. Both times are within their bounds, so no difference overflows, whatever a header
  // contains.
  const Timestamp told =
      WithinBounds(Unwrap(*time, WithinBounds(capture_time - Duration(stream_.clock_offset_ns))));
  const int64_t behind = (capture_time - told).count();
  if (!stream_.has_clock || std::abs(behind - stream_.clock_offset_ns) >= kStrayedNs) {
    stream_.has_clock = true;
    stream_.clock_offset_ns = std::abs(behind) < kSameClockNs ? 0 : behind;
  }
  const Timestamp event = told + Duration(stream_.clock_offset_ns);
  // A clamped time must not be used to convert other times.
  const bool whole = told > kEarliestTime && told < kLatestTime;
  const bool has_upper = mirror.has_seconds || mirror.has_upper_timestamp;
  told_ = {.unit = wire::NanosecondsOf(mirror.granularity),
           .event_ns = ToNanoseconds(event),
           .timestamp = mirror.timestamp,
           .timestamp_upper = mirror.timestamp_upper,
           .upper_mask = has_upper ? UINT32_MAX : 0,
           .clock = whole ? ClockKindOf(mirror) : Told::kNever};
  return event;
}

}  // namespace rocescope
