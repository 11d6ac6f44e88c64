// SPDX-License-Identifier: BSD-3-Clause
// What a user wants to see of a capture: --since, --until, --host, --qp. A frame that is left out
// counts as filtered in the ledger.
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

// A point in time, or one relative to a capture's first frame.
struct TimeBound {
  bool relative = false;
  Duration offset{0};  // since the epoch or since the first frame
};

// Takes RFC 3339 ("2024-05-01T12:34:56.5Z", "...+02:00"), seconds since the epoch
// ("1714566896.5") and seconds since the first frame ("+2.5"). Digits below 1 ns are dropped.
Result<TimeBound> ParseTimeBound(std::string_view text);

// Both ends included.
struct TimeWindow {
  Timestamp first = Timestamp::min();
  Timestamp last = Timestamp::max();

  bool Keeps(Timestamp t) const { return first <= t && t <= last; }
  bool KeepsAll() const { return first == Timestamp::min() && last == Timestamp::max(); }
};

// Moves the frames inside the window to the front of `batch`, in their order, and returns how many
// they are; the others are gone.
size_t KeepWithin(const TimeWindow& window, std::span<RawFrame> batch);

// "39" or "0x27", 0 to 2^24-1.
Result<Qpn> ParseQpn(std::string_view text);

struct FrameFilter {
  std::optional<TimeBound> since;  // included
  std::optional<TimeBound> until;  // excluded
  std::vector<IpAddress> hosts;    // source or destination; empty: all
  std::vector<Qpn> qpns;           // empty: all

  // The error if it would be empty by construction (--until not after --since). `first_frame` is
  // the earliest timestamp of the capture.
  Result<TimeWindow> WindowFrom(Timestamp first_frame) const;

  // Hosts and QPs; a frame must match one of each list that is not empty. A QP matches as the
  // packet's destination, as the source that a datagram names, or as one that a CM message names. A
  // pause frame has neither hosts nor QPs: only a filter without them keeps it.
  bool Keeps(const DecodedFrame& frame) const;
};

}  // namespace rocescope
