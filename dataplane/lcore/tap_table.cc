// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/lcore/tap_table.h"

#include <fmt/format.h>

#include <cstdlib>

namespace rocescope {
namespace {

std::string NameOf(const std::string& capture, const MirrorInfo& mirror) {
  std::string name =
      fmt::format("{}/{} session {}", capture, ToString(mirror.source), mirror.session);
  if (mirror.direction == MirrorDirection::kIngress) name += " ingress";
  if (mirror.direction == MirrorDirection::kEgress) name += " egress";
  if (mirror.has_port_index) name += fmt::format(" port {}", mirror.port_index);
  return name;
}

void CountSequence(MirrorStream& stream, uint32_t sequence) {
  if (!stream.has_sequence) {
    stream.has_sequence = true;
    stream.next_sequence = sequence + 1;
    return;
  }
  const auto ahead = static_cast<int32_t>(sequence - stream.next_sequence);
  // Farther than this the switch began anew.
  constexpr int32_t kPlausible = 1 << 20;
  if (std::abs(int64_t{ahead}) > kPlausible) {
    stream.next_sequence = sequence + 1;
  } else if (ahead >= 0) {
    stream.lost += static_cast<uint32_t>(ahead);
    stream.next_sequence = sequence + 1;
  } else if (stream.lost > 0) {
    --stream.lost;
  }
}

Timestamp EventTime(MirrorStream& stream, const MirrorInfo& mirror, Timestamp capture_time) {
  const std::optional<MirrorTime> time = TimeOf(mirror);
  if (!time.has_value()) return capture_time;
  // Clocks that agree as closely as this are one; two that differ by more of a record's interval
  // would make half of the packets late.
  constexpr int64_t kSameClock = 10'000'000;
  constexpr int64_t kStrayed = 100'000'000;
  // Unwrapped against where the switch's clock must stand now, then moved to ours. With both times
  // within their bounds no difference below overflows, whatever a header pretends.
  const Timestamp told =
      WithinBounds(Unwrap(*time, WithinBounds(capture_time - Duration(stream.clock_offset_ns))));
  const int64_t behind = (capture_time - told).count();
  if (!stream.has_clock || std::abs(behind - stream.clock_offset_ns) >= kStrayed) {
    stream.has_clock = true;
    stream.clock_offset_ns = std::abs(behind) < kSameClock ? 0 : behind;
  }
  return told + Duration(stream.clock_offset_ns);
}

}  // namespace

TapTable::TapTable(const std::vector<std::string>& capture_names) {
  for (size_t i = 0; i < capture_names.size(); ++i) {
    taps_.push_back({.name = capture_names[i], .capture = static_cast<TapId>(i)});
  }
}

TapTable::Sighted TapTable::ResolveMirror(TapId capture, const MirrorInfo& mirror,
                                          Timestamp capture_time) {
  const StreamKey stream_key{capture, mirror.source, mirror.session, mirror.kind};
  auto stream_at = streams_.find(stream_key);
  if (stream_at == streams_.end()) {
    if (streams_.size() >= kMaximumTaps) {
      ++overflow_;
      ++taps_[capture].frames;
      return {.tap = capture, .event_time = capture_time};
    }
    stream_at = streams_
                    .emplace(stream_key, MirrorStream{.capture = capture,
                                                      .source = mirror.source,
                                                      .session = mirror.session})
                    .first;
  }
  MirrorStream& stream = stream_at->second;
  ++stream.frames;
  if (mirror.has_sequence) CountSequence(stream, mirror.sequence);

  const TapKey tap_key{stream_key, mirror.direction, mirror.has_port_index, mirror.port_index};
  auto tap_at = by_mirror_.find(tap_key);
  TapId tap = capture;
  if (tap_at != by_mirror_.end()) {
    tap = tap_at->second;
  } else if (taps_.size() < kMaximumTaps) {
    tap = static_cast<TapId>(taps_.size());
    taps_.push_back({.name = NameOf(taps_[capture].name, mirror), .capture = capture});
    by_mirror_.emplace(tap_key, tap);
  } else {
    ++overflow_;
  }
  ++taps_[tap].frames;
  return {.tap = tap, .event_time = EventTime(stream, mirror, capture_time)};
}

std::vector<MirrorStream> TapTable::MirrorStreams() const {
  std::vector<MirrorStream> streams;
  streams.reserve(streams_.size());
  for (const auto& [key, stream] : streams_) streams.push_back(stream);
  return streams;
}

}  // namespace rocescope
