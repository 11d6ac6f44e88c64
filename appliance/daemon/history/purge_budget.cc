// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/purge_budget.h"

#include <algorithm>
#include <chrono>

namespace rocescope {

double PurgeShare(Duration keep) {
  const std::chrono::duration<double, std::ratio<3600>> hours = keep;
  return std::max(1.0 / 24, 2 / std::max(1.0, hours.count()));
}

int64_t PurgeBudget::Allowed(Duration monotonic, int64_t rows) {
  // During a purge the rows become fewer; the rate stays the same, so that the purge ends.
  if (!is_limited_) rows_ = static_cast<double>(rows);
  const std::chrono::duration<double, std::ratio<3600>> hours =
      has_begun_ ? monotonic - last_ : Duration{};
  has_begun_ = true;
  last_ = monotonic;
  const double per_hour = rows_ * share_;
  budget_ = std::min(budget_ + hours.count() * per_hour, std::max(1.0, per_hour));
  return static_cast<int64_t>(budget_);
}

void PurgeBudget::Use(int64_t deleted, bool is_limited) {
  budget_ = std::max(0.0, budget_ - static_cast<double>(deleted));
  is_limited_ = is_limited;
}

void PurgeBudget::Restart() {
  has_begun_ = false;
  budget_ = 0;
}

}  // namespace rocescope
