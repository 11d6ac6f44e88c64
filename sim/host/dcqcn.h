// SPDX-License-Identifier: BSD-3-Clause
// DCQCN's reaction point (Zhu et al., SIGCOMM 2015, section 5; the order of the stages follows real
// NICs). Each interval with a CNP cuts the rate by alpha/2; a timer and a byte counter raise it
// again. The timers of alpha and of rate cuts tick from the first CNP on. They are not events;
// their state is brought up to date when it is read.
#pragma once

#include <cstdint>

#include "sim/engine/engine.h"

namespace rocescope::sim {

struct DcqcnOptions {
  bool enabled = true;
  double g = 1.0 / 256;                          // weight of the newest interval in alpha
  SimTime alpha_timer = kMicrosecond;            // update interval of alpha
  SimTime decrease_interval = 4 * kMicrosecond;  // at most one rate cut in each interval
  SimTime rate_timer = 300 * kMicrosecond;
  uint64_t byte_counter = 0;   // bytes; 0 disables the byte counter
  uint32_t fast_recovery = 1;  // F: stages of fast recovery before the target rate is raised
  double additive = 40e6;      // bit/s
  double hyper = 100e6;        // bit/s
  double minimum = 100e6;      // bit/s
  double first_cut = 1;        // fraction of the line rate after the first CNP
  // Every cut sets the target to the current rate, not only the first of a series.
  bool clamp_target = false;
  SimTime cnp_interval =
      // Notification point: minimum interval between CNPs of a queue pair; 0: no limit.
      50 * kMicrosecond;
};

class Dcqcn {
 public:
  // `line_rate` is in bit/s.
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
  bool notified_ = false;        // a CNP has arrived
  bool alpha_notified_ = false;  // a CNP has arrived since the last alpha update
  SimTime next_alpha_ = 0;
  SimTime next_cut_ = 0;
  uint32_t time_stage_ = 0;
  uint32_t byte_stage_ = 0;
  uint64_t bytes_ = 0;
  Timer<Dcqcn, &Dcqcn::Cut> cut_timer_;
  Timer<Dcqcn, &Dcqcn::RaiseByTime> rate_timer_;
};

}  // namespace rocescope::sim
