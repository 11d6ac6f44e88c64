// SPDX-License-Identifier: BSD-3-Clause
// Confidence interval of a counted share.
#pragma once

namespace rocescope {

struct Interval {
  double low = 0;
  double high = 1;
};

// The 95 % interval of the share `right` / `of`: Wilson, Probable inference, the law of succession,
// and statistical inference, JASA 22 (1927), equation of p. 209 solved for the share. Returns [0,
// 1] if nothing was counted.
Interval WilsonInterval(double right, double of);

}  // namespace rocescope
