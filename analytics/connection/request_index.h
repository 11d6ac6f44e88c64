// SPDX-License-Identifier: BSD-3-Clause
// Finds the flows that have a PSN outstanding: a set-associative table of requests of all host
// pairs that can still be answered. The table has a fixed size; the oldest entry of a set is
// evicted.
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
    uint32_t entry = 0;  // index for Take
    Duration age{};      // a multiple of kTick
  };
  struct Matches {
    std::array<Match, kPaths> items;
    size_t size = 0;
  };

  // Shorter than the transmission of a frame.
  static constexpr Duration kTick = std::chrono::nanoseconds(32);

  // `sets` is a power of two; a set uses 128 bytes. Requests older than `maximum_age` (at most one
  // minute) do not match.
  RequestIndex(size_t sets, Duration maximum_age);

  // Records that `owner` sent a request with `psn` on `channel` (one direction of a host pair at
  // one tap). A copy of a stored request has no effect.
  void Insert(uint32_t channel, uint32_t psn, uint32_t owner, Timestamp time);

  // Finds the owners of requests with `psn` on `channel` that were sent at or before `time`.
  void Find(uint32_t channel, uint32_t psn, Timestamp time, Matches& matches) const;

  // Marks the request as answered, so that it no longer matches.
  void Take(const Match& match) { entries_[match.entry] = {}; }

  // Entries evicted while they were young enough to match.
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
