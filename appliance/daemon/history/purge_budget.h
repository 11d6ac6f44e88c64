// SPDX-License-Identifier: BSD-3-Clause
// Limits how many rows of a table are deleted because of their age.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace rocescope {

// Share of the rows that may be deleted per hour: 1/24, so that a shorter retention time is in
// effect after a day. A short retention time needs more, because its rows become too old faster.
double PurgeShare(Duration keep);

// The budget grows steadily from 0 when the process starts, so that repeated restarts do not
// exceed the limit.
class PurgeBudget {
 public:
  explicit PurgeBudget(double share_per_hour) : share_(share_per_hour) {}

  // Returns how many rows may be deleted now. `rows` is the number of stored rows.
  int64_t Allowed(Duration monotonic, int64_t rows);
  // Records a deletion. `is_limited`: more rows are too old than Allowed returned.
  void Use(int64_t deleted, bool is_limited);
  // Sets the budget to 0.
  void Restart();
  bool is_limited() const { return is_limited_; }

 private:
  const double share_;
  bool has_begun_ = false;
  Duration last_{};
  double rows_ = 0;  // stored rows when the current purge started
  double budget_ = 0;
  bool is_limited_ = false;
};

}  // namespace rocescope
