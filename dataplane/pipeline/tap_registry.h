// SPDX-License-Identifier: BSD-3-Clause
// The numbers of taps, on which the lcores that work on the same mirrors agree.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "dataplane/decode/frame.h"
#include "dataplane/record/record.h"
#include "dataplane/record/tap_location.h"

namespace rocescope {

struct Tap {
  std::string name;  // "leaf1", or "leaf1/10.0.0.5 session 3 ingress port 17"
  TapId capture = 0;
  uint64_t frames = 0;
};

// Where a copy was taken, as its mirror header says.
struct MirrorLocation {
  TapId capture = 0;
  IpAddress source;
  uint16_t session = 0;
  MirrorKind kind = MirrorKind::kNone;
  MirrorDirection direction = MirrorDirection::kUnknown;
  bool has_port_index = false;
  uint32_t port_index = 0;

  friend auto operator<=>(const MirrorLocation&, const MirrorLocation&) = default;
};

// Any thread may call; one that has asked once keeps the answer (TapTable).
class TapRegistry {
 public:
  // Mirror headers make taps, so a stranger's packets could too: beyond this many, copies belong
  // to their capture's tap.
  static constexpr size_t kMaximumTaps = 4096;

  // Captures and ports are the first taps, in this order.
  explicit TapRegistry(const std::vector<std::string>& captures);

  // The number of a place, a new one at the first time; nullopt when there are no more. From then
  // on no place gets one.
  std::optional<TapId> NumberOf(const MirrorLocation& place);

  // All of them, by number, without frames.
  std::vector<Tap> Taps() const;
  std::map<MirrorLocation, TapId> Places() const;
  // Where those from this number on are, captures and ports left out.
  std::vector<TapLocation> PlacesFrom(size_t number) const;
  size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Tap> taps_;
  std::map<MirrorLocation, TapId> numbers_;
  std::vector<TapLocation> places_;  // by number less the count of captures
};

}  // namespace rocescope
