// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/repeated_readings.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace rocescope {

void RepeatedReadings::Add(const LinkReadings& readings) {
  Pause* pause = Find(readings);
  if (pause == nullptr) return;
  const uint64_t sent = readings.sent - pause->sent;
  if (sent < kLeastSent) return;  // the same pause
  pause->sent = readings.sent;
  Repeat(*pause, readings, sent);
  if (pause->with_loss == 0 || readings.missing != pause->missing) return;
  const auto lost = static_cast<uint64_t>(pause->missing - pause->base.missing);
  if (lost < kLeastFrames || !IsLoss(*pause, readings.time)) return;
  if (lost_ == 0) intact_ = pause->base;
  lost_ = std::max(lost_, lost);
  latest_ = readings;
}

bool RepeatedReadings::OnIdle(int64_t missing) {
  const bool is_refuted = lost_ > 0 && idle_ && missing - *idle_ < static_cast<int64_t>(lost_);
  if (is_refuted) *this = {};
  idle_ = missing;
  for (Pause& pause : pauses_) pause.is_confirmed |= IsOfIdle(pause.base.missing);
  return is_refuted;
}

bool RepeatedReadings::IsOfIdle(int64_t missing) const {
  return idle_ && std::abs(missing - *idle_) < static_cast<int64_t>(kLeastFrames);
}

// Returns the pause with the same value and moves it to the end. nullptr: the value is new.
RepeatedReadings::Pause* RepeatedReadings::Find(const LinkReadings& readings) {
  const auto at = std::ranges::find_if(pauses_, [&](const Pause& pause) {
    return pause.base.missing_other == readings.missing_other;
  });
  if (at != pauses_.end()) {
    std::rotate(at, at + 1, pauses_.end());
    return &pauses_.back();
  }
  const auto value = static_cast<uint32_t>(readings.missing_other);
  if (std::ranges::find(recent_, value) == recent_.end()) {
    if (recent_.size() < kRecent) {
      recent_.push_back(value);
    } else {
      recent_[next_recent_++ % kRecent] = value;
    }
    return nullptr;
  }
  if (pauses_.size() == kPauses) pauses_.erase(pauses_.begin());
  pauses_.push_back({.sent = readings.sent});
  SetBase(pauses_.back(), readings);
  return nullptr;
}

// `sent`: since the last repetition.
void RepeatedReadings::Repeat(Pause& pause, const LinkReadings& readings, uint64_t sent) const {
  const int64_t more = readings.missing - pause.base.missing;
  // A loss grows with the traffic. All frames of an iteration at once are not lost, but on the way.
  const int64_t before = pause.with_loss > 0 ? pause.missing : pause.base.missing;
  const auto step = static_cast<double>(readings.missing - before);
  if (more == 0) {
    pause.scattered += pause.with_loss;  // a loss does not vanish
    ++pause.equal;
    pause.most_since_base = std::max(pause.most_since_base, pause.since_base);
    pause.longest = std::max(pause.longest, readings.time - pause.base.time);
    SetBase(pause, readings);
    return;
  }
  ++pause.since_base;
  if (more < 0) {
    ++pause.scattered;
    pause.lower_settled = readings.missing == pause.lower ? pause.lower_settled + 1 : 0;
    pause.lower = readings.missing;
    if (pause.lower_settled >= kNewBase) SetBase(pause, readings);
  } else if (step > kMostLost * static_cast<double>(sent)) {
    ++pause.scattered;
  } else {
    AddLoss(pause, readings);
  }
}

void RepeatedReadings::AddLoss(Pause& pause, const LinkReadings& readings) const {
  if (pause.with_loss > 0 && readings.missing < pause.missing) {
    pause.scattered += std::exchange(pause.with_loss, 0);
  }
  pause.settled = pause.with_loss > 0 && readings.missing == pause.missing ? pause.settled + 1 : 0;
  pause.missing = readings.missing;
  ++pause.with_loss;
  // Either the ends counted a few frames differently, or the base was not that of a pause.
  const bool is_small = readings.missing - pause.base.missing < static_cast<int64_t>(kLeastFrames);
  const bool is_base_unsure = !pause.is_confirmed || pause.equal < kLeastEqual;
  if ((!is_small && !is_base_unsure) || pause.settled < kNewBase) return;
  pause.equal += pause.settled;
  SetBase(pause, readings);
}

void RepeatedReadings::SetBase(Pause& pause, const LinkReadings& readings) const {
  const bool is_same = pause.base.missing == readings.missing;
  pause.is_confirmed = (pause.is_confirmed && is_same) || IsOfIdle(readings.missing);
  pause.base = readings;
  pause.since_base = pause.with_loss = 0;
  pause.lower_settled = 0;
}

bool RepeatedReadings::IsLoss(const Pause& pause, Timestamp time) {
  if (!pause.is_confirmed || pause.equal < kLeastEqual || pause.settled < kSettledLoss) {
    return false;
  }
  // Otherwise the opposite direction carries too little traffic to identify pauses.
  if (pause.scattered > kMostScattered * (pause.scattered + pause.equal)) return false;
  return pause.with_loss >= kLeastWithLoss + kLonger * pause.most_since_base &&
         time - pause.base.time >= kLonger * pause.longest;
}

}  // namespace rocescope
