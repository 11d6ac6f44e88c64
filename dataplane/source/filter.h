// SPDX-License-Identifier: BSD-3-Clause
// Filters on the frames of a capture: --since, --until, --host, --qp. Excluded frames count as
// filtered in the ledger.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/qpn.h"
#include "base/result.h"
#include "base/time.h"
#include "dataplane/decode/frame.h"

namespace rocescope {

// A point in time, absolute or relative to a capture's first frame.
struct TimeBound {
  bool relative = false;
  Duration offset{0};  // since the epoch, or since the first frame
};

// Accepts RFC 3339 ("2024-05-01T12:34:56.5Z", "...+02:00"), seconds since the epoch
// ("1714566896.5") and seconds since the first frame ("+2.5"). Digits below 1 ns are ignored.
Result<TimeBound> ParseTimeBound(std::string_view text);

// Both bounds are inclusive.
struct TimeWindow {
  Timestamp first = Timestamp::min();
  Timestamp last = Timestamp::max();

  bool Keeps(Timestamp t) const { return first <= t && t <= last; }
  bool KeepsAll() const { return first == Timestamp::min() && last == Timestamp::max(); }
};

// Moves the frames inside the window to the front of `batch`, in order, and returns their number.
// The other frames are discarded.
size_t KeepWithin(const TimeWindow& window, std::span<RawFrame> batch);

// Accepts "39" or "0x27", 0 to 2^24-1.
Result<Qpn> ParseQpn(std::string_view text);

struct FrameFilter {
  std::optional<TimeBound> since;  // inclusive
  std::optional<TimeBound> until;  // exclusive
  std::vector<IpAddress> hosts;    // source or destination; empty: all
  std::vector<Qpn> qpns;           // empty: all

  // Returns an error if --until is not after --since. `first_frame` is the earliest timestamp of
  // the capture.
  Result<TimeWindow> WindowFrom(Timestamp first_frame) const;

  // Filters by hosts and QPs; a frame must match one entry of each list that is not empty. A QP
  // matches the packet's destination QP, the source QP of a datagram, or a QP in a CM message. A
  // pause frame has neither hosts nor QPs, so any such filter excludes it.
  bool Keeps(const DecodedFrame& frame) const;
};

}  // namespace rocescope
