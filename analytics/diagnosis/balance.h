// SPDX-License-Identifier: BSD-3-Clause
// Frames that went into a place and did not come out. The difference of two counters that are read
// at the same time consists of lost frames, which accumulate, and frames in flight, which do not.
// The load of the place and the differences at all places show how many frames are usually in
// flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rocescope {

// The balance of the counters of a place, for each window.
struct Balance {
  static constexpr int64_t kUnread = INT64_MAX;

  // Frames in minus frames out since the start, at the end of the window; kUnread where this is
  // unknown. Empty: the two counters are not read at the same time.
  std::vector<int64_t> missing;
  // Windows in which a counter's increase is unknown, ascending. `missing` is kUnread there and
  // starts again from 0 afterwards. The frames in flight are unknown too, so that the values before
  // and after such a window cannot be compared.
  std::vector<size_t> unknown;
  // Fraction of the window, 0 to 1, in which the place is loaded. Up to `full` frames are in flight
  // then.
  std::vector<double> busy;
  std::vector<int64_t> full;
};

struct Loss {
  uint64_t frames = 0;
  size_t earliest = 0;     // first window in which frames may have been lost
  size_t first = 0;        // window of the first sign
  size_t last = 0;         // window of the last sign
  size_t detected_at = 0;  // window
  bool small = false;      // every reading may have found these frames in flight instead of lost
};

class Balances {
 public:
  // One reading proves nothing: all missing frames may have been in flight at that moment.
  static constexpr uint32_t kLeastReadings = 2;

  explicit Balances(std::vector<Balance> places);

  const Balance& At(size_t place) const { return places_[place]; }
  // Empty if the missing frames may still be in flight.
  std::optional<Loss> LossAt(size_t place) const;

 private:
  double SurpriseAt(const Balance& place, size_t window, int64_t frames) const;
  std::optional<Loss> LossWithin(size_t place, size_t from, size_t until) const;

  std::vector<Balance> places_;
  std::vector<std::vector<int64_t>> lost_;  // by place and window: frames lost until then
  std::vector<int64_t> in_flight_;          // frames in flight at each reading, ascending
};

}  // namespace rocescope
