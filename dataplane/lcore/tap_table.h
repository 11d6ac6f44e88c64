// SPDX-License-Identifier: BSD-3-Clause
// Where each copy was taken. A capture or port is a tap; a mirror header splits it into the
// switch's session, direction and, where it tells, port.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "dataplane/decode/frame.h"
#include "dataplane/record/record.h"

namespace rocescope {

struct Tap {
  std::string name;  // "leaf1", or "leaf1/10.0.0.5 session 3 ingress port 17"
  TapId capture = 0;
  uint64_t frames = 0;
};

// A mirror's own numbering and clock.
struct MirrorStream {
  TapId capture = 0;
  IpAddress source;
  uint16_t session = 0;
  uint64_t frames = 0;
  uint64_t lost = 0;  // gaps in its sequence numbers, less what came late
  bool has_sequence = false;
  uint32_t next_sequence = 0;
  bool has_clock = false;       // clock_offset_ns means something
  int64_t clock_offset_ns = 0;  // capture time less mirror time, to be added; 0 if they agree
};

class TapTable {
 public:
  // Mirror headers make taps, so a stranger's packets could too: beyond this many, copies belong
  // to their capture's tap.
  static constexpr size_t kMaximumTaps = 4096;

  explicit TapTable(const std::vector<std::string>& capture_names);

  struct Sighted {
    TapId tap = 0;
    Timestamp event_time;
  };
  // Names the tap of a decoded frame of `capture` and the time at which the copy was taken: the
  // mirror's timestamp where there is one, moved to the capture's clock by what they differed at
  // the first copy if that is 10 ms or more. A clock that then strays by 100 ms, or a stranger's
  // header that pretends so, is moved anew: one packet must not carry the table's time away.
  Sighted Resolve(TapId capture, const MirrorInfo& mirror, Timestamp capture_time) {
    // VXLAN and Geneve are overlays, and plain GRE says nothing about where the copy was taken.
    const bool tells_place = mirror.kind == MirrorKind::kErspan1 ||
                             mirror.kind == MirrorKind::kErspan2 ||
                             mirror.kind == MirrorKind::kErspan3;
    if (tells_place) [[unlikely]]
      return ResolveMirror(capture, mirror, capture_time);
    ++taps_[capture].frames;
    return {.tap = capture, .event_time = capture_time};
  }

  const std::vector<Tap>& taps() const { return taps_; }
  std::vector<MirrorStream> MirrorStreams() const;
  uint64_t overflow() const { return overflow_; }

 private:
  Sighted ResolveMirror(TapId capture, const MirrorInfo& mirror, Timestamp capture_time);

  using StreamKey = std::tuple<TapId, IpAddress, uint16_t, MirrorKind>;
  using TapKey = std::tuple<StreamKey, MirrorDirection, bool, uint32_t>;

  std::vector<Tap> taps_;
  std::map<StreamKey, MirrorStream> streams_;
  std::map<TapKey, TapId> by_mirror_;
  uint64_t overflow_ = 0;
};

}  // namespace rocescope
