// SPDX-License-Identifier: BSD-3-Clause
// Estimates the offset of another clock from request/response pairs. Of the last few, the pair with
// the shortest round trip is used (RFC 5905, section 10).
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/time.h"

namespace rocescope {

struct ClockOffset {
  Duration ahead{};  // other clock minus own clock
  Duration error{};  // bound of the estimation error

  friend bool operator==(const ClockOffset&, const ClockOffset&) = default;
};

class ClockEstimate {
 public:
  // The request left at `sent` and the response arrived at `heard`, both by our clock. The other
  // clock read `answered`.
  void Add(Timestamp sent, Timestamp answered, Timestamp heard) {
    if (heard < sent) return;  // our clock was set back
    const Duration half = (heard - sent) / 2;
    last_[next_++ % last_.size()] = {.ahead = answered - (sent + half), .error = half};
    if (count_ < last_.size()) ++count_;
  }

  // None if there was no response yet.
  std::optional<ClockOffset> Best() const {
    std::optional<ClockOffset> best;
    for (size_t i = 0; i < count_; ++i) {
      if (!best || last_[i].error < best->error) best = last_[i];
    }
    return best;
  }

 private:
  std::array<ClockOffset, 8> last_;
  size_t next_ = 0;
  size_t count_ = 0;
};

}  // namespace rocescope
