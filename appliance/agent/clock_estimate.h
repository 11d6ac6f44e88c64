// SPDX-License-Identifier: BSD-3-Clause
// By how much another clock is ahead of ours, from questions and their answers: the quickest of the
// last few says most (RFC 5905, 10).
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "base/time.h"

namespace rocescope {

struct ClockOffset {
  Duration ahead{};  // the other clock less ours
  Duration error{};  // at most so far from that

  friend bool operator==(const ClockOffset&, const ClockOffset&) = default;
};

class ClockEstimate {
 public:
  // We asked at `sent` and heard at `heard`, by our clock; the other one said `answered`.
  void Add(Timestamp sent, Timestamp answered, Timestamp heard) {
    if (heard < sent) return;  // our clock was set meanwhile
    const Duration half = (heard - sent) / 2;
    last_[next_++ % last_.size()] = {.ahead = answered - (sent + half), .error = half};
    if (count_ < last_.size()) ++count_;
  }

  // None: nothing was heard.
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
