// SPDX-License-Identifier: BSD-3-Clause
// A mirror session's own numbering and clock, followed by the core that receives its packets: the
// frames inside may go to others, but only here do all of them pass, in order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "dataplane/decode/erspan_mark.h"
#include "dataplane/decode/frame.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct MirrorStream {
  TapId capture = 0;
  IpAddress source;  // the switch
  uint16_t session = 0;
  MirrorKind kind = MirrorKind::kNone;
  uint64_t frames = 0;
  uint64_t lost = 0;     // gaps in its sequence numbers, less what came late
  uint64_t repeats = 0;  // copies with the same number as the one before
  bool has_sequence = false;
  uint32_t next_sequence = 0;
  bool has_clock = false;       // clock_offset_ns means something
  int64_t clock_offset_ns = 0;  // capture time less mirror time, to be added; 0 if they agree
  // In steps of about a second, by the clock of who receives (FrameWorker::LastSenders).
  Timestamp last_received{};
};

// Adds what another core followed; a session that both name becomes one.
void MergeMirrorStreams(std::vector<MirrorStream>& into, const std::vector<MirrorStream>& from);

// What a timestamp is counted in, and what stands beside it: times of one kind and one upper half
// lie on a line. 0: it tells no time.
using ClockKind = uint8_t;
constexpr ClockKind ClockKindOf(const MirrorInfo& mirror) {
  if (!mirror.has_timestamp || wire::NanosecondsOf(mirror.granularity) == 0) return 0;
  return static_cast<ClockKind>(1 | (mirror.has_seconds ? 2 : 0) |
                                (mirror.has_upper_timestamp ? 4 : 0) |
                                static_cast<int>(mirror.granularity) << 3);
}

class MirrorFollower {
 public:
  explicit MirrorFollower(const MirrorStream& stream) : stream_(stream) {}

  // Takes the next packet's header; returns the time at which its copy was taken: the mirror's
  // timestamp where there is one, moved to the capture's clock by what they differed at the first
  // copy if that is 10 ms or more. A clock that then strays by 100 ms, or a stranger's header that
  // pretends so, is moved anew: one packet must not carry our time away.
  Timestamp Follow(const MirrorInfo& mirror, Timestamp capture_time) {
    Count(mirror.has_sequence, mirror.sequence);
    if (!mirror.has_timestamp) return capture_time;
    Timestamp event;
    const bool near =
        IsNear(ClockKindOf(mirror), mirror.timestamp_upper, mirror.timestamp, capture_time, event);
    return near ? event : EventTime(mirror, capture_time);
  }

  // The same for a header that was not read whole: false, and nothing is taken, if it must be.
  bool Follow(const ErspanMark& mark, ClockKind clock, Timestamp capture_time, Timestamp& event) {
    if (!IsNear(clock, mark.timestamp_upper, mark.timestamp, capture_time, event)) [[unlikely]] {
      if (clock != 0) return false;
      event = capture_time;
    }
    Count(true, mark.sequence);
    return true;
  }

  const MirrorStream& stream() const { return stream_; }

 private:
  static constexpr int64_t kStrayedNs = 100'000'000;

  // A time that was told. Another of the same kind and upper half is a multiplication away from it,
  // unless the lower half wrapped: then it seems to have strayed.
  struct Told {
    static constexpr ClockKind kNever = UINT8_MAX;

    int64_t unit = 0;  // nanoseconds
    int64_t event_ns = 0;
    uint32_t timestamp = 0;
    uint32_t timestamp_upper = 0;
    uint32_t upper_mask = 0;  // 0 where there is no upper half
    ClockKind clock = kNever;
  };

  void Count(bool has_sequence, uint32_t sequence) {
    ++stream_.frames;
    if (!has_sequence) return;
    if (stream_.has_sequence && sequence == stream_.next_sequence) [[likely]] {
      ++stream_.next_sequence;
    } else {
      CountGap(sequence);
    }
  }
  void CountGap(uint32_t sequence);

  bool IsNear(ClockKind clock, uint32_t upper, uint32_t timestamp, Timestamp capture_time,
              Timestamp& event) const {
    const int64_t event_ns = told_.event_ns + (int64_t{timestamp} - told_.timestamp) * told_.unit;
    const int64_t behind = ToNanoseconds(capture_time) - event_ns;
    event = FromNanoseconds(event_ns);
    return clock == told_.clock && ((upper ^ told_.timestamp_upper) & told_.upper_mask) == 0 &&
           behind > -kStrayedNs && behind < kStrayedNs;
  }
  Timestamp EventTime(const MirrorInfo& mirror, Timestamp capture_time);

  Told told_;
  MirrorStream stream_;
};

}  // namespace rocescope
