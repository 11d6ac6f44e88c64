// SPDX-License-Identifier: BSD-3-Clause
// Which flows have a PSN outstanding: a set-associative table of the requests that a response may
// answer, of all host pairs. Fixed size; the oldest of a set gives way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.h"

namespace rocescope {

class RequestIndex {
 public:
  static constexpr size_t kPaths = 8;

  struct Match {
    uint32_t owner = 0;
    uint32_t entry = 0;  // for Take
    Duration age{};      // a multiple of kTick
  };
  struct Matches {
    std::array<Match, kPaths> items;
    size_t size = 0;
  };

  static constexpr Duration kTick = std::chrono::nanoseconds(32);  // less than a frame takes

  // `sets` is a power of two; a set takes 128 octets. Requests older than `maximum_age` (at most a
  // minute) do not match.
  RequestIndex(size_t sets, Duration maximum_age);

  // `owner` sent a request with `psn` on `channel` (one direction of a host pair at one tap). A
  // copy of a request that is there changes nothing.
  void Insert(uint32_t channel, uint32_t psn, uint32_t owner, Timestamp time);

  // The owners of requests with `psn` on `channel`, not later than `time`.
  void Find(uint32_t channel, uint32_t psn, Timestamp time, Matches& matches) const;

  // The request is answered, and matches no more.
  void Take(const Match& match) { entries_[match.entry] = {}; }

  // Entries that were still young enough to match when another took their place.
  uint64_t evicted() const { return evicted_; }

 private:
  struct Entry {
    uint64_t key = kEmpty;
    uint32_t owner = 0;
    uint32_t ticks = 0;  // modulo 2^32: 137 s
  };
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  Entry* SetOf(uint64_t key);
  const Entry* SetOf(uint64_t key) const;

  std::vector<Entry> entries_;
  size_t set_mask_;
  uint32_t maximum_age_;  // ticks
  uint64_t evicted_ = 0;
};

}  // namespace rocescope
