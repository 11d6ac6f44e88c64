// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/balance.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rocescope {
namespace {

// Missing frames never fall below the lost frames. The least value from a window on is therefore an
// upper limit for the frames that were lost until then.
std::vector<int64_t> LeastFromHereOn(const Balance& place) {
  std::vector<int64_t> least = place.missing;
  auto unknown = place.unknown.rbegin();
  for (size_t i = least.size(); i-- > 1;) {
    while (unknown != place.unknown.rend() && *unknown > i) ++unknown;
    const bool anew = unknown != place.unknown.rend() && *unknown == i;
    if (!anew) least[i - 1] = std::min(least[i - 1], least[i]);
  }
  return least;
}

}  // namespace

Balances::Balances(std::vector<Balance> places) : places_(std::move(places)) {
  for (const Balance& place : places_) {
    lost_.push_back(LeastFromHereOn(place));
    for (size_t i = 0; i < place.missing.size(); ++i) {
      if (place.missing[i] != Balance::kUnread) {
        in_flight_.push_back(place.missing[i] - lost_.back()[i]);
      }
    }
  }
  std::ranges::sort(in_flight_);
}

// Returns -log10 of the probability that a reading finds this many frames in flight.
double Balances::SurpriseAt(const Balance& place, size_t window, int64_t frames) const {
  const auto as_many = in_flight_.end() - std::ranges::lower_bound(in_flight_, frames);
  const double anywhere =
      (static_cast<double>(as_many) + 1) / (static_cast<double>(in_flight_.size()) + 1);
  // Markov's inequality limits how often more frames than the mean are in flight.
  const auto full = static_cast<double>(place.full[window]);
  const auto found = static_cast<double>(frames);
  const double here = found > full ? 0 : 2 * place.busy[window] * full / found;
  return -std::log10(std::clamp(std::max(anywhere, here), 0.0, 1.0));
}

std::optional<Loss> Balances::LossWithin(size_t place, size_t from, size_t until) const {
  const std::vector<int64_t>& missing = places_[place].missing;
  const std::vector<int64_t>& lost = lost_[place];
  if (from >= until || lost[from] == Balance::kUnread) return std::nullopt;
  // Consecutive readings that find this many frames missing occur by chance in one of a hundred
  // fabrics.
  const double beyond_doubt = std::log10(static_cast<double>(places_.size() * missing.size())) + 2;
  Loss loss{.last = from, .detected_at = until};
  for (size_t begin = from; begin < until; ++begin) {
    if (lost[begin] <= 0 || missing[begin] == Balance::kUnread) continue;
    int64_t least = missing[begin];
    for (size_t end = begin; end < until && end < loss.detected_at; ++end) {
      if (missing[end] != Balance::kUnread) least = std::min(least, missing[end]);
      double surprise = 0;
      for (size_t i = begin; i <= end; ++i) {
        if (missing[i] != Balance::kUnread) surprise += SurpriseAt(places_[place], i, least);
      }
      // A workload can be synchronised with the readings. Then all readings find the same frames in
      // flight.
      const bool small = least <= places_[place].full[end];
      if (surprise >= (small ? 2 : 1) * beyond_doubt) loss.detected_at = end;
    }
  }
  if (loss.detected_at == until) return std::nullopt;
  // The first sign is the first reading at which the lost frames exceed what is in flight at nine
  // of ten readings.
  constexpr double kSign = 1;
  loss.first = from;
  while (loss.first < loss.detected_at &&
         (lost[loss.first] <= 0 || lost[loss.first] == Balance::kUnread ||
          SurpriseAt(places_[place], loss.first, lost[loss.first]) < kSign)) {
    ++loss.first;
  }
  loss.earliest = from;
  while (loss.earliest < loss.first &&
         (lost[loss.earliest] <= 0 || lost[loss.earliest] == Balance::kUnread)) {
    ++loss.earliest;
  }
  for (size_t i = from; i < until && lost[i] != Balance::kUnread; ++i) {
    loss.frames = static_cast<uint64_t>(std::max<int64_t>(lost[i], 0));
    if (i > from && lost[i] > lost[i - 1]) loss.last = i;
  }
  // The first sign cannot be later than the last increase.
  loss.first = std::min(loss.first, loss.last);
  loss.earliest = std::min(loss.earliest, loss.first);
  return loss;
}

std::optional<Loss> Balances::LossAt(size_t place) const {
  const Balance& at = places_[place];
  std::optional<Loss> all;
  const auto join = [&](size_t from, size_t until) {
    const std::optional<Loss> loss = LossWithin(place, from, until);
    if (!loss) return;
    if (!all) {
      all = loss;
      return;
    }
    all->frames += loss->frames;
    all->last = std::max(all->last, loss->last);
  };
  size_t from = 0;
  for (const size_t unknown : at.unknown) {
    join(from, unknown);
    from = unknown + 1;
  }
  join(from, at.missing.size());
  if (all) all->small = all->frames <= static_cast<uint64_t>(std::ranges::max(at.full));
  return all;
}

}  // namespace rocescope
