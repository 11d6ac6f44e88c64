// SPDX-License-Identifier: BSD-3-Clause
// Determines the tap of each copy. A capture or port is a tap; a mirror header divides it by the
// switch's session, direction and, if present, port. The numbers come from the registry and are
// cached per core.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "dataplane/decode/address_pair.h"
#include "dataplane/decode/frame.h"
#include "dataplane/pipeline/erspan_mark_cache.h"
#include "dataplane/pipeline/mirror_stream.h"
#include "dataplane/pipeline/tap_cache.h"
#include "dataplane/pipeline/tap_registry.h"
#include "dataplane/record/record.h"

namespace rocescope {

class TapTable {
 public:
  static constexpr size_t kMaximumTaps = TapRegistry::kMaximumTaps;

  explicit TapTable(std::shared_ptr<TapRegistry> registry);
  // Creates its own registry, for a core that works alone.
  explicit TapTable(const std::vector<std::string>& captures)
      : TapTable(std::make_shared<TapRegistry>(captures)) {}

  TapTable(const TapTable&) = delete;
  TapTable& operator=(const TapTable&) = delete;

  struct Resolution {
    TapId tap = 0;
    Timestamp event_time;
  };

  // Determines the tap of a decoded frame, counts the frame, and returns the time at which the copy
  // was taken (MirrorFollower).
  Resolution Resolve(const RawFrame& raw, const MirrorInfo& mirror) {
    return Counted(IsSettled(raw) ? SettledBefore(raw) : Locate(raw, mirror));
  }
  // The same for a frame from the decoder's fast path.
  Resolution Resolve(const RawFrame& raw, const ErspanMark& mark) {
    return Counted(IsSettled(raw) ? SettledBefore(raw) : Locate(raw, mark));
  }

  // For a filtered or dropped frame: updates only the sequence and clock of its mirror session.
  void Follow(const RawFrame& raw) {
    if (!IsSettled(raw)) Locate(raw, FindMirror(raw));
  }

  // For the core that receives frames which others decode: performs the first half of Resolve for
  // them, because only this core sees all packets of a mirror session in order. Returns the hash by
  // which to distribute the frame.
  uint64_t Settle(RawFrame& raw) {
    ErspanMark mark;
    MirrorInfo mirror;
    const uint64_t hash = AddressPairHash(raw, mark, mirror);
    const Resolution sighted = mark.who != 0 ? Locate(raw, mark) : Locate(raw, mirror);
    raw.settled_tap = sighted.tap;
    // Fits, because MirrorFollower limits the difference.
    raw.event_offset_ns = static_cast<int32_t>((sighted.event_time - raw.timestamp).count());
    return hash;
  }

  // All taps that any core knows, by number, with the frame counts of this core.
  std::vector<Tap> taps() const;
  const std::shared_ptr<TapRegistry>& registry() const { return registry_; }
  // Sorted by capture, switch, session and kind.
  std::vector<MirrorStream> MirrorStreams() const;
  // Mirrored frames assigned to their capture because there were too many taps or sessions.
  uint64_t overflow() const { return overflow_; }

 private:
  static bool IsSettled(const RawFrame& raw) { return raw.settled_tap != RawFrame::kUnresolved; }
  static Resolution SettledBefore(const RawFrame& raw) {
    return {.tap = raw.settled_tap, .event_time = raw.timestamp + Duration(raw.event_offset_ns)};
  }
  Resolution Counted(Resolution sighted) {
    ++frames_[sighted.tap];
    return sighted;
  }

  Resolution Locate(const RawFrame& raw, const MirrorInfo& mirror) {
    // VXLAN and Geneve are overlays, and plain GRE does not identify where the copy was taken.
    const bool tells_place = mirror.kind == MirrorKind::kErspan1 ||
                             mirror.kind == MirrorKind::kErspan2 ||
                             mirror.kind == MirrorKind::kErspan3;
    if (!tells_place) return {.tap = raw.tap, .event_time = raw.timestamp};
    return LocateMirror(raw.tap, mirror, raw.timestamp);
  }
  Resolution Locate(const RawFrame& raw, const ErspanMark& mark) {
    Resolution sighted{.tap = raw.tap, .event_time = raw.timestamp};
    if (mark.who == 0) [[likely]]
      return sighted;
    const ErspanMarkCache::Slot* known = marks_.Find(raw.tap, mark);
    if (known == nullptr ||
        !known->stream->Follow(mark, known->clock, raw.timestamp, sighted.event_time)) [[unlikely]]
      return LocateMark(raw, mark);
    sighted.tap = known->tap;
    return sighted;
  }
  Resolution LocateMirror(TapId capture, const MirrorInfo& mirror, Timestamp capture_time);
  Resolution LocateMark(const RawFrame& raw, const ErspanMark& mark);
  Resolution LocateNew(TapId capture, const MirrorInfo& mirror, Timestamp capture_time);
  std::optional<TapId> NumberOf(const MirrorLocation& place);

  using StreamKey = std::tuple<TapId, IpAddress, uint16_t, MirrorKind>;
  using CounterKey = std::tuple<TapId, IpAddress>;

  std::shared_ptr<TapRegistry> registry_;
  std::vector<uint64_t> frames_;  // indexed by tap
  ErspanMarkCache marks_;
  TapCache cache_;
  std::map<CounterKey, MirrorCounter> switch_counters_;
  std::map<TapId, MirrorCounter> capture_counters_;
  std::deque<MirrorFollower> streams_;  // marks_ and the counters point into it
  std::map<StreamKey, uint16_t> stream_numbers_;
  bool registry_full_ = false;
  std::map<MirrorLocation, TapId> all_places_;  // copy of the registry once it is full
  uint64_t overflow_ = 0;
};

}  // namespace rocescope
