// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/cabling/port_history.h"

#include <algorithm>

namespace rocescope {
namespace {

int64_t BinOf(Timestamp time, Duration spacing) { return ToNanoseconds(time) / spacing.count(); }

}  // namespace

void PortHistory::Add(const PortReading& reading) {
  carried_ = carried_ || reading.received > 0 || reading.sent > 0;
  if (!readings_.empty()) {
    const PortReading& last = readings_.back();
    if (reading.time <= last.time) return;
    if (reading.received < last.received || reading.sent < last.sent) {
      readings_.clear();  // the counters were reset
      spacing_ = Duration(0);
    }
  }
  // The first reading is kept, because everything is counted from there.
  if (readings_.size() > 1 && spacing_ > Duration(0) &&
      BinOf(reading.time, spacing_) == BinOf(readings_.back().time, spacing_)) {
    readings_.back() = reading;
    return;
  }
  readings_.push_back(reading);
  if (readings_.size() > kMaxReadings) Thin();
}

// Keeps the last reading of each bin, so that ports read together keep the same readings.
void PortHistory::Thin() {
  constexpr int64_t kHalf = kMaxReadings / 2;
  const Duration span = readings_.back().time - readings_.front().time;
  if (spacing_ <= Duration(0)) spacing_ = Duration(1);
  while (spacing_ * kHalf < span) spacing_ *= 2;
  size_t kept = 1;
  for (size_t i = 1; i < readings_.size(); ++i) {
    const bool last = i + 1 == readings_.size() ||
                      BinOf(readings_[i].time, spacing_) != BinOf(readings_[i + 1].time, spacing_);
    if (last) readings_[kept++] = readings_[i];
  }
  readings_.resize(kept);
}

void PortHistory::DropReadingsBefore(Timestamp time) {
  std::erase_if(readings_, [&](const PortReading& reading) { return reading.time < time; });
  spacing_ = Duration(0);
}

bool PortHistory::AddFlaps(Timestamp time, uint64_t count) {
  if (flaps_ && time <= last_flaps_) return false;
  const bool is_known = !transitions_.empty() && transitions_.back().by > last_flaps_;
  const bool has_changed = flaps_ && count != *flaps_ && !is_known;
  flaps_ = count;
  last_flaps_ = time;
  return has_changed;
}

bool PortHistory::AddState(Timestamp time, bool up) {
  if (up_ && time < last_state_) return false;
  const bool has_changed = up_ && *up_ != up;
  if (!up_) {
    first_state_ = time;
  } else if (has_changed) {
    if (transitions_.size() >= kMaxTransitions) transitions_.erase(transitions_.begin());
    transitions_.push_back({.after = last_state_, .by = time, .up = up});
  }
  up_ = up;
  ever_up_ = ever_up_ || up;
  last_state_ = time;
  ++state_readings_;
  return has_changed;
}

}  // namespace rocescope
