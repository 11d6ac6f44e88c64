// SPDX-License-Identifier: BSD-3-Clause
// How sure a share is that was counted.
#pragma once

namespace rocescope {

struct Interval {
  double low = 0;
  double high = 1;
};

// In which a share lies with 95 % that was seen as `right` of `of`: Wilson, Probable inference, the
// law of succession, and statistical inference, JASA 22 (1927), equation of p. 209 solved for the
// share. All of [0, 1] where nothing was counted.
Interval WilsonInterval(double right, double of);

}  // namespace rocescope
