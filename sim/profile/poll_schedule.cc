// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/poll_schedule.h"

#include <algorithm>
#include <cmath>

namespace rocescope::sim {
namespace {

Duration Part(Duration whole, double share) {
  return Duration(static_cast<int64_t>(static_cast<double>(whole.count()) * share));
}

}  // namespace

Duration ScaledTime(Duration time, double scale) {
  if (time <= Duration(0)) return Duration(0);
  return Duration(std::max<int64_t>(1, std::llround(static_cast<double>(time.count()) * scale)));
}

Duration DrawTime(const DurationRange& range, Random& random) {
  const auto span = static_cast<uint64_t>((range.most - range.least).count());
  return range.least + Duration(static_cast<int64_t>(random.Below(span + 1)));
}

PollSchedule::PollSchedule(const Options& options)
    : options_(options),
      timing_(options.seed, "poll timing", options.number),
      loss_(options.seed, "poll loss", options.number),
      due_(options.begin),
      refresh_start_(options.begin) {
  Random phase(options.seed, "poll phase", options.number);
  if (options.random_phase) due_ += Part(options.period, phase.Uniform());
  // The device refreshes at its own phase, which no poller knows.
  refresh_start_ -= Part(options.refresh, phase.Uniform());
  in_burst_ = loss_.Chance(options.lost_polls);
  next_ = {.time = options.begin, .arrival = options.begin, .exact = options.begin};
  Draw();
}

void PollSchedule::Advance() {
  due_ += options_.period;
  if (options_.lost_polls > 0) {
    // Gilbert's model: all polls are lost in the bad state, whose mean length is the burst. The
    // chance to enter it gives the share of lost polls in the long run.
    const double leave = 1 / options_.lost_poll_burst;
    const double enter = options_.lost_polls * leave / (1 - options_.lost_polls);
    in_burst_ = loss_.Chance(in_burst_ ? 1 - leave : enter);
  }
  Draw();
}

void PollSchedule::Draw() {
  const Timestamp time = due_ + Part(options_.jitter, timing_.Uniform());
  const Timestamp arrival = time + Part(options_.response, timing_.Uniform());
  // A poller that waits for an answer does not send the next request.
  next_.time = std::max(next_.time, time);
  next_.arrival = std::max(next_.arrival, arrival);
  next_.exact = RefreshBefore(next_.time);
  next_.lost = in_burst_;
}

Timestamp PollSchedule::RefreshBefore(Timestamp time) const {
  if (options_.refresh <= Duration(0)) return time;
  const Timestamp last = time - (time - refresh_start_) % options_.refresh;
  return std::max(last, options_.begin);
}

}  // namespace rocescope::sim
