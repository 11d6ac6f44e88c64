// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/wilson.h"

#include <algorithm>
#include <cmath>

namespace rocescope {

Interval WilsonInterval(double right, double of) {
  constexpr double kZ = 1.959963984540054;  // 97.5 % quantile of the normal distribution
  if (of <= 0) return {};
  const double share = right / of;
  const double centre = share + kZ * kZ / (2 * of);
  const double reach = kZ * std::sqrt(share * (1 - share) / of + kZ * kZ / (4 * of * of));
  const double all = 1 + kZ * kZ / of;
  return {.low = std::max((centre - reach) / all, 0.0),
          .high = std::min((centre + reach) / all, 1.0)};
}

}  // namespace rocescope
