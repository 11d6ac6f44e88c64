// SPDX-License-Identifier: BSD-3-Clause
// DCQCN's reaction point (Zhu et al., SIGCOMM 2015, section 5; the order of stages as NICs have
// it): a rate that each interval with a congestion notification cuts by alpha/2, and that a timer
// and a byte counter raise again. The timers of alpha and of cutting tick from the first
// notification on; they are not events of their own, but caught up with when something asks.
#pragma once

#include <cstdint>

#include "sim/engine/engine.h"

namespace rocescope::sim {

struct DcqcnOptions {
  bool enabled = true;
  double g = 1.0 / 256;                          // weight of the newest interval in alpha
  SimTime alpha_timer = kMicrosecond;            // alpha is renewed
  SimTime decrease_interval = 4 * kMicrosecond;  // at most one cut in each
  SimTime rate_timer = 300 * kMicrosecond;
  uint64_t byte_counter = 0;   // octets; 0: none
  uint32_t fast_recovery = 1;  // F: stages that return to the target before it is raised
  double additive = 40e6;      // bit/s
  double hyper = 100e6;        // bit/s
  double minimum = 100e6;      // bit/s
  double first_cut = 1;        // the rate is this share after the first notification
  bool clamp_target = false;   // each cut makes the rate the target, not only the first in a row
  SimTime cnp_interval =
      50 * kMicrosecond;  // notification point: at most one CNP in each; 0: no limit
};

class Dcqcn {
 public:
  // `line_rate` in bit/s.
  Dcqcn(Engine& engine, const DcqcnOptions& options, double line_rate);

  double rate() const { return rate_; }
  double target() const { return target_; }
  void ReceiveCnp();
  void CountSent(uint64_t bytes);  // for the byte counter

 private:
  void CatchUpAlpha(SimTime now);
  void Cut();
  void RaiseByTime();
  void Raise();

  Engine& engine_;
  const DcqcnOptions& options_;
  const double line_rate_;
  double rate_;
  double target_;
  double alpha_ = 1;
  bool notified_ = false;        // ever
  bool alpha_notified_ = false;  // since alpha's last tick
  SimTime next_alpha_ = 0;
  SimTime next_cut_ = 0;
  uint32_t time_stage_ = 0;
  uint32_t byte_stage_ = 0;
  uint64_t bytes_ = 0;
  Timer<Dcqcn, &Dcqcn::Cut> cut_timer_;
  Timer<Dcqcn, &Dcqcn::RaiseByTime> rate_timer_;
};

}  // namespace rocescope::sim
