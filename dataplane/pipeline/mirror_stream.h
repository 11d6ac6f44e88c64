// SPDX-License-Identifier: BSD-3-Clause
// Sequence numbers and clock of a mirror session. The core that receives its packets tracks them:
// other cores may process the packets, but only the receiving core gets all of them in order.
#pragma once

#include <array>
#include <cstddef>
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
  IpAddress source;  // source address of the mirror session
  uint16_t session = 0;
  MirrorKind kind = MirrorKind::kNone;
  uint64_t frames = 0;
  // Lost copies according to gaps in the sequence numbers, less those that arrived late. If
  // sessions share a counter, a loss is attributed to the session whose copy arrives
  // next.
  uint64_t lost = 0;
  uint64_t repeats = 0;  // copies with the same number as the one before
  bool has_sequence = false;
  uint32_t next_sequence = 0;
  bool has_clock = false;  // clock_offset_ns is valid
  // Capture time minus mirror time, which is added to mirror times; 0 if they agree.
  int64_t clock_offset_ns = 0;
  // With a resolution of about one second, by the receiver's clock (FrameWorker::LastSenders).
  Timestamp last_received{};
};

// Adds the sessions that another core tracked. The same session in both becomes one.
void MergeMirrorStreams(std::vector<MirrorStream>& into, const std::vector<MirrorStream>& from);

// Unit and layout of a timestamp; 0: no timestamp. Two timestamps of the same kind and with the
// same upper half of their bits differ in time by the difference of their lower halves times the
// unit.
using ClockKind = uint8_t;
constexpr ClockKind ClockKindOf(const MirrorInfo& mirror) {
  if (!mirror.has_timestamp || wire::NanosecondsOf(mirror.granularity) == 0) return 0;
  return static_cast<ClockKind>(1 | (mirror.has_seconds ? 2 : 0) |
                                (mirror.has_upper_timestamp ? 4 : 0) |
                                static_cast<int>(mirror.granularity) << 3);
}

class MirrorFollower;

// Recognises that one counter numbers the copies of several sessions (Open vSwitch has one for all
// of its bridges): a gap in the numbers of a session is then not a loss if copies of other sessions
// fill it.
class MirrorCounter {
 public:
  // Which sessions may share it: those of a switch, or all of a capture.
  enum class Scope : uint8_t { kSwitch, kCapture, kCount };

  explicit MirrorCounter(Scope scope) : scope_(static_cast<size_t>(scope)) {}

  // Accounts a copy of `session` whose number does not follow the previous one of that session.
  void CountGap(MirrorFollower& session, uint32_t sequence);

  bool IsShared() const { return switches_ >= kFewest && 5 * filled_ >= 4 * switches_; }

 private:
  static constexpr uint64_t kFewest = 16;

  const size_t scope_;
  MirrorFollower* last_ = nullptr;   // session of the newest copy, except for copies without a gap
  MirrorFollower* loser_ = nullptr;  // session to which the latest loss was attributed
  uint64_t switches_ = 0;            // gaps where the copies of another session begin
  uint64_t filled_ = 0;              // of these: the number follows that of the other session
};

class MirrorFollower {
  friend class MirrorCounter;

 public:
  // The counters that may number the copies, by scope. They must outlive the follower. Null: none.
  using Counters = std::array<MirrorCounter*, static_cast<size_t>(MirrorCounter::Scope::kCount)>;

  explicit MirrorFollower(const MirrorStream& stream, const Counters& counters = {})
      : stream_(stream), counters_(counters) {}

  // Accounts the next packet's header and returns the time at which its copy was taken. This is the
  // mirror's timestamp if there is one. If it differed from the capture time by 10 ms or more at
  // the first copy, it is corrected by that offset. If the clock then drifts by 100 ms, the offset
  // is determined again. This also limits the effect of a forged header on event time.
  Timestamp Follow(const MirrorInfo& mirror, Timestamp capture_time) {
    Count(mirror.has_sequence, mirror.sequence);
    if (!mirror.has_timestamp) return capture_time;
    Timestamp event;
    const bool near =
        IsNear(ClockKindOf(mirror), mirror.timestamp_upper, mirror.timestamp, capture_time, event);
    return near ? event : EventTime(mirror, capture_time);
  }

  // Fast path for a header that was not parsed completely. Returns false and changes nothing if the
  // header must be parsed.
  bool Follow(const ErspanMark& mark, ClockKind clock, Timestamp capture_time, Timestamp& event) {
    if (!IsNear(clock, mark.timestamp_upper, mark.timestamp, capture_time, event)) [[unlikely]] {
      if (clock != 0) return false;
      event = capture_time;
    }
    Count(true, mark.sequence);
    return true;
  }

  MirrorStream stream() const {
    MirrorStream stream = stream_;
    for (size_t i = 0; i < counters_.size(); ++i) {
      if (counters_[i] != nullptr && counters_[i]->IsShared()) stream.lost = shared_lost_[i];
    }
    return stream;
  }

 private:
  static constexpr int64_t kStrayedNs = 100'000'000;

  // A previously converted timestamp. Another timestamp of the same clock kind and upper half
  // is converted relative to it with one multiplication. If the lower half has wrapped, the result
  // is far from the capture time, and EventTime converts the timestamp instead.
  struct Told {
    static constexpr ClockKind kNever = UINT8_MAX;

    int64_t unit = 0;  // nanoseconds
    int64_t event_ns = 0;
    uint32_t timestamp = 0;
    uint32_t timestamp_upper = 0;
    uint32_t upper_mask = 0;  // 0 if there is no upper half
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
  Counters counters_;
  // As `lost` of the stream, if this counter is shared.
  std::array<uint64_t, static_cast<size_t>(MirrorCounter::Scope::kCount)> shared_lost_{};
};

}  // namespace rocescope
