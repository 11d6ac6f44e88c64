// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/repeated_readings.h"

#include <algorithm>
#include <utility>

namespace rocescope {

void RepeatedReadings::Add(const LinkReadings& readings) {
  Place* place = Find(readings);
  if (place == nullptr) return;
  if (std::exchange(place->sent, readings.sent) == readings.sent) return;  // the same pause
  Repeat(*place, readings);
  if (place->rises == 0 || readings.missing != place->missing) return;
  const auto lost = static_cast<uint64_t>(place->missing - place->base.missing);
  if (lost < kLeastFrames || !IsLoss(*place, readings.time)) return;
  if (lost_ == 0) intact_ = place->base;
  lost_ = std::max(lost_, lost);
  latest_ = readings;
}

// Returns the place of these readings and moves it to the end. nullptr: their value is new.
RepeatedReadings::Place* RepeatedReadings::Find(const LinkReadings& readings) {
  const auto at = std::ranges::find_if(places_, [&](const Place& place) {
    return place.base.missing_other == readings.missing_other;
  });
  if (at != places_.end()) {
    std::rotate(at, at + 1, places_.end());
    return &places_.back();
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
  if (places_.size() == kPlaces) places_.erase(places_.begin());
  places_.push_back(
      {.base = readings, .is_pause = readings.missing == idle_, .sent = readings.sent});
  return nullptr;
}

void RepeatedReadings::OnIdle(int64_t missing) {
  idle_ = missing;
  for (Place& place : places_) place.is_pause |= place.base.missing == missing;
}

void RepeatedReadings::Repeat(Place& place, const LinkReadings& readings) {
  const int64_t rise = readings.missing - place.base.missing;
  const auto sent = static_cast<double>(readings.sent - place.base.sent);
  if (rise == 0) {
    place.scattered += place.rises;  // a loss does not vanish
    ++place.equal;
    place.most_others = std::max(place.most_others, place.others);
    place.longest = std::max(place.longest, readings.time - place.base.time);
    Rebase(place, readings);
    return;
  }
  ++place.others;
  if (rise < 0) {
    ++place.scattered;
    place.lower_settled = readings.missing == place.lower ? place.lower_settled + 1 : 0;
    place.lower = readings.missing;
    if (place.lower_settled >= kForGood) Rebase(place, readings);
  } else if (static_cast<double>(rise) > kMostLost * sent) {
    ++place.scattered;
  } else {
    Rise(place, readings);
  }
}

void RepeatedReadings::Rise(Place& place, const LinkReadings& readings) {
  if (place.rises > 0 && readings.missing < place.missing) {
    place.scattered += std::exchange(place.rises, 0);
  }
  place.settled = place.rises > 0 && readings.missing == place.missing ? place.settled + 1 : 0;
  place.missing = readings.missing;
  ++place.rises;
  const bool is_small = readings.missing - place.base.missing < static_cast<int64_t>(kLeastFrames);
  if (!is_small || place.settled < kForGood) return;
  place.equal += place.settled;  // the ends counted a few frames differently
  Rebase(place, readings);
}

void RepeatedReadings::Rebase(Place& place, const LinkReadings& readings) {
  place.base = readings;
  place.others = place.rises = 0;
  place.lower_settled = 0;
}

bool RepeatedReadings::IsLoss(const Place& place, Timestamp time) {
  if (!place.is_pause || place.equal < kFamiliar || place.settled < kSettled) return false;
  // Otherwise the other direction carries too little traffic.
  if (place.scattered > kMostScattered * (place.scattered + place.equal)) return false;
  return place.rises >= kLeastRises + kLonger * place.most_others &&
         time - place.base.time >= kLonger * place.longest;
}

}  // namespace rocescope
