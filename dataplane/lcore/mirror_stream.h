// SPDX-License-Identifier: BSD-3-Clause
// A mirror session's own numbering and clock, followed by the core that receives its packets: the
// frames inside may go to others, but only here do all of them pass, in order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "dataplane/decode/frame.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct MirrorStream {
  TapId capture = 0;
  IpAddress source;  // the switch
  uint16_t session = 0;
  MirrorKind kind = MirrorKind::kNone;
  uint64_t frames = 0;
  uint64_t lost = 0;  // gaps in its sequence numbers, less what came late
  bool has_sequence = false;
  uint32_t next_sequence = 0;
  bool has_clock = false;       // clock_offset_ns means something
  int64_t clock_offset_ns = 0;  // capture time less mirror time, to be added; 0 if they agree
};

// Adds what another core followed; a session that both name becomes one.
void MergeMirrorStreams(std::vector<MirrorStream>& into, const std::vector<MirrorStream>& from);

class MirrorFollower {
 public:
  explicit MirrorFollower(const MirrorStream& stream) : stream_(stream) {}

  // Takes the next packet's header; returns the time at which its copy was taken: the mirror's
  // timestamp where there is one, moved to the capture's clock by what they differed at the first
  // copy if that is 10 ms or more. A clock that then strays by 100 ms, or a stranger's header that
  // pretends so, is moved anew: one packet must not carry our time away.
  Timestamp Follow(const MirrorInfo& mirror, Timestamp capture_time) {
    ++stream_.frames;
    if (mirror.has_sequence) {
      if (stream_.has_sequence && mirror.sequence == stream_.next_sequence) [[likely]] {
        ++stream_.next_sequence;
      } else {
        CountGap(mirror.sequence);
      }
    }
    if (!mirror.has_timestamp) return capture_time;
    if (told_.IsNear(mirror)) [[likely]] {
      const int64_t event =
          told_.event_ns + (int64_t{mirror.timestamp} - told_.timestamp) * told_.unit;
      const int64_t behind = ToNanoseconds(capture_time) - event;
      if (behind > -kStrayedNs && behind < kStrayedNs) [[likely]]
        return FromNanoseconds(event);
    }
    return EventTime(mirror, capture_time);
  }

  const MirrorStream& stream() const { return stream_; }

 private:
  static constexpr int64_t kStrayedNs = 100'000'000;

  // A time that was told. Another of the same kind and upper half is a multiplication away from it,
  // unless the lower half wrapped: then it seems to have strayed.
  struct Told {
    int64_t unit = 0;  // nanoseconds; 0: nothing was told
    int64_t event_ns = 0;
    uint32_t timestamp = 0;
    uint32_t timestamp_upper = 0;
    uint32_t upper_mask = 0;  // 0 where there is no upper half
    wire::ErspanGranularity granularity = wire::ErspanGranularity::k100Microseconds;
    bool has_seconds = false;
    bool has_upper_timestamp = false;

    bool IsNear(const MirrorInfo& mirror) const {
      return unit != 0 && mirror.granularity == granularity && mirror.has_seconds == has_seconds &&
             mirror.has_upper_timestamp == has_upper_timestamp &&
             ((mirror.timestamp_upper ^ timestamp_upper) & upper_mask) == 0;
    }
  };

  void CountGap(uint32_t sequence);
  Timestamp EventTime(const MirrorInfo& mirror, Timestamp capture_time);

  MirrorStream stream_;
  Told told_;
};

}  // namespace rocescope
