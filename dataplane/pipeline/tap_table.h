// SPDX-License-Identifier: BSD-3-Clause
// Where each copy was taken. A capture or port is a tap; a mirror header splits it into the
// switch's session, direction and, where it tells, port. The numbers of taps are the registry's;
// what a core asked once it keeps.
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
  // With a registry of its own: a core that works alone.
  explicit TapTable(const std::vector<std::string>& captures)
      : TapTable(std::make_shared<TapRegistry>(captures)) {}

  TapTable(const TapTable&) = delete;
  TapTable& operator=(const TapTable&) = delete;

  struct Resolution {
    TapId tap = 0;
    Timestamp event_time;
  };

  // Names the tap of a decoded frame, counts it there, and tells the time at which the copy was
  // taken (MirrorFollower).
  Resolution Resolve(const RawFrame& raw, const MirrorInfo& mirror) {
    return Counted(IsSettled(raw) ? SettledBefore(raw) : Locate(raw, mirror));
  }
  // The same for a plain frame.
  Resolution Resolve(const RawFrame& raw, const ErspanMark& mark) {
    return Counted(IsSettled(raw) ? SettledBefore(raw) : Locate(raw, mark));
  }

  // For a frame that leaves no record: its mirror's sequence and clock go on.
  void Follow(const RawFrame& raw) {
    if (!IsSettled(raw)) Locate(raw, FindMirror(raw));
  }

  // For the core that receives frames which others will decode: does the first half of Resolve for
  // them, where all packets of a mirror pass in order. Returns the hash to spread them by.
  uint64_t Settle(RawFrame& raw) {
    ErspanMark mark;
    MirrorInfo mirror;
    const uint64_t hash = AddressPairHash(raw, mark, mirror);
    const Resolution sighted = mark.who != 0 ? Locate(raw, mark) : Locate(raw, mirror);
    raw.settled_tap = sighted.tap;
    // Less than MirrorFollower lets a clock stray.
    raw.event_offset_ns = static_cast<int32_t>((sighted.event_time - raw.timestamp).count());
    return hash;
  }

  // All taps that any core knows, by number, with this core's frames.
  std::vector<Tap> taps() const;
  const std::shared_ptr<TapRegistry>& registry() const { return registry_; }
  // By capture, switch, session and kind.
  std::vector<MirrorStream> MirrorStreams() const;
  // Mirrored frames that belong to their capture because there were too many taps or sessions.
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
    // VXLAN and Geneve are overlays, and plain GRE says nothing about where the copy was taken.
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

  std::shared_ptr<TapRegistry> registry_;
  std::vector<uint64_t> frames_;  // by tap
  ErspanMarkCache marks_;
  TapCache cache_;
  std::deque<MirrorFollower> streams_;  // marks_ points to them
  std::map<StreamKey, uint16_t> stream_numbers_;
  bool registry_full_ = false;
  std::map<MirrorLocation, TapId> all_places_;  // what the full registry has
  uint64_t overflow_ = 0;
};

}  // namespace rocescope
