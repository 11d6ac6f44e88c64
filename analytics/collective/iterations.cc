// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/iterations.h"

#include <algorithm>
#include <cmath>

namespace rocescope {
namespace {

// Fraction of a period: shorter quiet times are within a collective.
constexpr double kMinQuiet = 0.06;
// Fraction of a period: maximum distance from the expected start.
constexpr double kTolerance = 0.2;
// Fraction of the quiet time: activity before this point belongs to the previous iteration.
constexpr double kQuietBefore = 0.6;
constexpr double kMostly = 0.6;       // fraction of the iterations
constexpr double kStalled = 0.5;      // fraction of the usual activity
constexpr double kFirstWithin = 1.5;  // periods: the first start is searched in this range

struct Start {
  double at = 0;
  double quiet = 0;  // quiet time before the start
};

std::vector<Start> StartsOf(const Bits& active, size_t length, double least) {
  std::vector<Start> starts;
  size_t quiet_since = 0;
  for (size_t i = 0; i < length; ++i) {
    if (!active.Test(i)) continue;
    const auto quiet = static_cast<double>(i - quiet_since);
    if (quiet >= least) starts.push_back({.at = static_cast<double>(i), .quiet = quiet});
    quiet_since = i + 1;
  }
  return starts;
}

struct Trail {
  Iterations iterations;
  double quiet = 0;
  double first_seen = 0;
  double last_seen = 0;
  uint32_t steps = 0;  // iterations from the first to the last observed start
};

double BusyIn(const Bits& active, double from, double to) {
  double busy = 0;
  for (size_t i = active.FirstFrom(static_cast<size_t>(from)); static_cast<double>(i) < to;
       i = active.FirstFrom(i + 1)) {
    ++busy;
  }
  return busy;
}

Trail FollowFrom(const Bits& active, const std::vector<Start>& starts, size_t first, size_t length,
                 double period) {
  const double busy = static_cast<double>(active.Count()) / static_cast<double>(length);
  Trail trail;
  double at = starts[first].at;
  double quiet = starts[first].quiet;
  trail.first_seen = at;
  uint32_t step = 0;
  bool seen = true;
  for (;;) {
    trail.iterations.begins.push_back(at);
    trail.iterations.quiet.push_back(seen ? quiet : 0);
    if (seen) {
      trail.quiet += std::min(quiet, period);
      trail.last_seen = at;
      trail.steps = step;
      ++trail.iterations.seen;
    }
    const double expected = at + period;
    if (expected >= static_cast<double>(length)) break;
    const auto from =
        std::ranges::lower_bound(starts, expected - kTolerance * period, {}, &Start::at);
    const Start* best = nullptr;
    for (auto next = from; next != starts.end() && next->at <= expected + kTolerance * period;
         ++next) {
      // Prefer a long quiet time close to the expected start.
      const auto worth = [&](const Start& start) {
        return start.quiet - std::abs(start.at - expected);
      };
      if (best == nullptr || worth(*next) > worth(*best)) best = &*next;
    }
    seen = best != nullptr;
    if (!seen) {
      // Without much activity in between, the iteration is longer; otherwise the next iteration
      // started without a quiet time before it.
      const auto late =
          std::ranges::lower_bound(starts, expected + kTolerance * period, {}, &Start::at);
      if (late != starts.end() &&
          BusyIn(active, expected, late->at) < kStalled * busy * (late->at - expected)) {
        best = &*late;
        seen = true;
      }
    }
    at = seen ? best->at : expected;
    quiet = seen ? best->quiet : 0;
    ++step;
  }
  // Starts after the last observed one are only extrapolated.
  trail.iterations.begins.resize(trail.steps + 1);
  trail.iterations.quiet.resize(trail.steps + 1);
  return trail;
}

}  // namespace

Iterations FindIterations(const Bits& active, size_t length, double period) {
  const std::vector<Start> starts = StartsOf(active, length, std::max(2.0, kMinQuiet * period));
  Trail best;
  for (size_t i = 0; i < starts.size(); ++i) {
    if (starts[i].at > starts[0].at + kFirstWithin * period) break;
    Trail trail = FollowFrom(active, starts, i, length, period);
    if (trail.quiet > best.quiet * 1.05) best = std::move(trail);
  }
  if (best.steps == 0) return {};
  best.iterations.period = (best.last_seen - best.first_seen) / best.steps;
  return std::move(best.iterations);
}

double WindowOf(const Iterations& iterations, size_t k) {
  return std::max(0.0, iterations.begins[k] - kQuietBefore * iterations.quiet[k]);
}

void JoinUnfinished(std::span<const Bits* const> members, Iterations& iterations) {
  const size_t count = iterations.count();
  if (count < 2) return;
  const auto takes_part = [&](const Bits* member, size_t k) {
    const size_t at = member->FirstFrom(static_cast<size_t>(WindowOf(iterations, k)));
    return static_cast<double>(at) < WindowOf(iterations, k + 1);
  };
  std::vector<bool> unfinished(count);
  for (const Bits* member : members) {
    std::vector<size_t> absent;
    for (size_t k = 0; k < count; ++k) {
      if (!takes_part(member, k)) absent.push_back(k);
    }
    if (static_cast<double>(absent.size()) > (1 - kMostly) * static_cast<double>(count)) continue;
    for (const size_t k : absent) unfinished[k] = true;
  }
  Iterations joined = {.begins = {}, .quiet = {}, .seen = 0, .period = iterations.period};
  for (size_t k = 0; k <= count; ++k) {
    if (k > 0 && k < count && unfinished[k - 1]) {
      unfinished[k] = false;  // everyone took part, together with the previous one
      continue;
    }
    joined.begins.push_back(iterations.begins[k]);
    joined.quiet.push_back(iterations.quiet[k]);
  }
  const size_t left_out = iterations.begins.size() - joined.begins.size();
  joined.seen = iterations.seen - std::min(iterations.seen, static_cast<uint32_t>(left_out));
  joined.period = (joined.begins.back() - joined.begins.front()) /
                  static_cast<double>(std::max<size_t>(1, joined.count()));
  iterations = std::move(joined);
}

}  // namespace rocescope
