// SPDX-License-Identifier: BSD-3-Clause
// The numbers of taps, shared by the lcores that receive the same mirrors.
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

// Where a copy was taken according to its mirror header.
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

// May be called by any thread. TapTable caches the results.
class TapRegistry {
 public:
  // Maximum number of taps. Mirror headers create taps, and they can be forged; beyond the limit,
  // copies are assigned to their capture's tap.
  static constexpr size_t kMaximumTaps = 4096;

  // The captures and ports are the first taps, in this order.
  explicit TapRegistry(const std::vector<std::string>& captures);

  // Returns the number of a place and assigns a new one if it is unknown. Returns nullopt if the
  // limit is reached; no new numbers are assigned from then on.
  std::optional<TapId> NumberOf(const MirrorLocation& place);

  // All taps by number, without frame counts.
  std::vector<Tap> Taps() const;
  std::map<MirrorLocation, TapId> Places() const;
  // Locations of the taps with numbers of at least `number`, except captures and ports.
  std::vector<TapLocation> PlacesFrom(size_t number) const;
  size_t count() const;

 private:
  mutable std::mutex mutex_;
  std::vector<Tap> taps_;
  std::map<MirrorLocation, TapId> numbers_;
  std::vector<TapLocation> places_;  // indexed by number minus the number of captures
};

}  // namespace rocescope
