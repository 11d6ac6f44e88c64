// SPDX-License-Identifier: BSD-3-Clause
// DCQCN's reaction point (Zhu et al., SIGCOMM 2015, section 5) without its byte counter: CNPs cut
// the rate by alpha/2, and a timer raises it again. It needs no timers of its own: the state is
// brought up to date whenever it is read.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace rocescope::endpoint {

// The defaults fit about a thousand packets per second. Real NICs use microseconds.
struct DcqcnOptions {
  bool enabled = true;
  double g = 1.0 / 16;                                         // weight of the newest interval
  Duration alpha_timer = std::chrono::milliseconds(5);         // update interval of alpha
  Duration decrease_interval = std::chrono::milliseconds(10);  // at most one cut in each
  Duration rate_timer = std::chrono::milliseconds(50);         // interval of raises
  uint32_t fast_recovery = 3;                                  // raises to the rate before the cut
  double additive = 0;                                         // bit/s; 0: 5 % of the line rate
  double minimum = 0;                                          // bit/s; 0: 2 % of the line rate
  // Notification point: minimum interval between the CNPs of a queue pair.
  Duration cnp_interval = std::chrono::milliseconds(2);
};

class RateControl {
 public:
  // `line_rate` is in bit/s.
  RateControl(const DcqcnOptions& options, double line_rate);

  void ReceiveCnp(Timestamp now);
  // Returns the rate in bit/s. Times must not decrease.
  double RateAt(Timestamp now);
  double line_rate() const { return line_rate_; }

 private:
  void CatchUp(Timestamp now);
  void CatchUpAlpha(Timestamp now);
  void Cut(Timestamp now);
  void Raise();

  const DcqcnOptions options_;
  const double line_rate_;
  const double additive_;
  const double minimum_;
  double rate_;
  double target_;
  double alpha_ = 1;
  bool active_ = false;  // the rate is below the line rate
  bool cnp_in_interval_ = false;
  bool cut_pending_ = false;
  uint32_t raises_ = 0;  // since the last cut
  Timestamp next_alpha_{};
  Timestamp next_cut_{};
  Timestamp next_raise_{};
};

}  // namespace rocescope::endpoint
