// SPDX-License-Identifier: BSD-3-Clause
// Where each copy was taken. A capture or port is a tap; a mirror header splits it into the
// switch's session, direction and, where it tells, port. The numbers of taps are the registry's;
// what a core asked once it keeps.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/address.h"
#include "base/time.h"
#include "dataplane/decode/address_pair.h"
#include "dataplane/decode/frame.h"
#include "dataplane/lcore/mirror_stream.h"
#include "dataplane/lcore/tap_cache.h"
#include "dataplane/lcore/tap_registry.h"
#include "dataplane/record/record.h"

namespace rocescope {

class TapTable {
 public:
  static constexpr size_t kMaximumTaps = TapRegistry::kMaximumTaps;

  explicit TapTable(std::shared_ptr<TapRegistry> registry);
  // With a registry of its own: a core that works alone.
  explicit TapTable(const std::vector<std::string>& captures)
      : TapTable(std::make_shared<TapRegistry>(captures)) {}

  struct Sighted {
    TapId tap = 0;
    Timestamp event_time;
  };

  // Names the tap of a decoded frame, counts it there, and tells the time at which the copy was
  // taken (MirrorFollower).
  Sighted Resolve(const RawFrame& raw, const MirrorInfo& mirror) {
    const Sighted sighted =
        raw.settled_tap == RawFrame::kNotSettled
            ? Locate(raw.tap, mirror, raw.timestamp)
            : Sighted{.tap = raw.settled_tap,
                      .event_time = raw.timestamp + Duration(raw.event_offset_ns)};
    ++frames_[sighted.tap];
    return sighted;
  }

  // For a frame that leaves no record: its mirror's sequence and clock go on.
  void Follow(const RawFrame& raw) {
    if (raw.settled_tap != RawFrame::kNotSettled) return;
    MirrorInfo mirror;
    AddressPairHash(raw, mirror);
    Locate(raw.tap, mirror, raw.timestamp);
  }

  // For the core that receives frames which others will decode: does the first half of Resolve for
  // them, where all packets of a mirror pass in order. Returns the hash to spread them by.
  uint64_t Settle(RawFrame& raw) {
    MirrorInfo mirror;
    const uint64_t hash = AddressPairHash(raw, mirror);
    const Sighted sighted = Locate(raw.tap, mirror, raw.timestamp);
    raw.settled_tap = sighted.tap;
    // Less than MirrorFollower lets a clock stray.
    raw.event_offset_ns = static_cast<int32_t>((sighted.event_time - raw.timestamp).count());
    return hash;
  }

  // All taps that any core knows, by number, with this core's frames.
  std::vector<Tap> taps() const;
  // By capture, switch, session and kind.
  std::vector<MirrorStream> MirrorStreams() const;
  // Mirrored frames that belong to their capture because there were too many taps or sessions.
  uint64_t overflow() const { return overflow_; }

 private:
  Sighted Locate(TapId capture, const MirrorInfo& mirror, Timestamp capture_time) {
    // VXLAN and Geneve are overlays, and plain GRE says nothing about where the copy was taken.
    const bool tells_place = mirror.kind == MirrorKind::kErspan1 ||
                             mirror.kind == MirrorKind::kErspan2 ||
                             mirror.kind == MirrorKind::kErspan3;
    if (!tells_place) return {.tap = capture, .event_time = capture_time};
    return LocateMirror(capture, mirror, capture_time);
  }
  Sighted LocateMirror(TapId capture, const MirrorInfo& mirror, Timestamp capture_time);
  Sighted LocateNew(TapId capture, const MirrorInfo& mirror, Timestamp capture_time);
  std::optional<TapId> NumberOf(const MirrorPlace& place);

  using StreamKey = std::tuple<TapId, IpAddress, uint16_t, MirrorKind>;

  std::shared_ptr<TapRegistry> registry_;
  std::vector<uint64_t> frames_;  // by tap
  TapCache cache_;
  std::vector<MirrorFollower> streams_;
  std::map<StreamKey, uint16_t> stream_numbers_;
  bool registry_full_ = false;
  std::map<MirrorPlace, TapId> all_places_;  // what the full registry has
  uint64_t overflow_ = 0;
};

}  // namespace rocescope
