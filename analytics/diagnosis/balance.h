// SPDX-License-Identifier: BSD-3-Clause
// What went in and did not come out. Between two counters that are read at one moment there is what
// was lost, which stays, and what is under way, which comes and goes: how much of the latter is
// usual, the place's load and all places of the fabric say together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace rocescope {

// By window.
struct Balance {
  static constexpr int64_t kUnread = INT64_MAX;

  // Frames in less frames out since the beginning, at the window's end; kUnread where that says
  // nothing. None at all: the two are not read at one moment.
  std::vector<int64_t> missing;
  // Windows in which one of the counters did nobody knows what, ascending: `missing` there is
  // kUnread, and begins anew behind them. What was under way then is not known either, so that
  // nothing that stands before them tells of what comes after.
  std::vector<size_t> unknown;
  // Of the window, the part in which as many as `full` are under way at any moment: 0 to 1.
  std::vector<double> busy;
  std::vector<int64_t> full;
};

struct Loss {
  uint64_t frames = 0;
  size_t first = 0;    // window of the first sign
  size_t last = 0;     // and of the last one
  size_t verdict = 0;  // when it was beyond doubt
  bool small = false;  // no more than may be under way at a moment: all readings may have met that
};

class Balances {
 public:
  explicit Balances(std::vector<Balance> places);

  const Balance& At(size_t place) const { return places_[place]; }
  // Nothing, if what is missing may still be under way.
  std::optional<Loss> LossAt(size_t place) const;

 private:
  double SurpriseAt(const Balance& place, size_t window, int64_t frames) const;
  std::optional<Loss> LossWithin(size_t place, size_t from, size_t until) const;

  std::vector<Balance> places_;
  std::vector<std::vector<int64_t>> lost_;  // of each: what had gone for good by then
  std::vector<int64_t> under_way_;          // of all readings, ascending
};

}  // namespace rocescope
