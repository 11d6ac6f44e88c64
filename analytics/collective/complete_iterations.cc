// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/complete_iterations.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/median.h"

namespace rocescope {
namespace {

// Fractions of a period.
constexpr double kLeastQuiet = 0.06;    // shorter quiet times are within a collective
constexpr double kLeastLength = 0.6;    // minimum time from one start to the next
constexpr double kOnTime = 0.2;         // maximum distance from the expected start
constexpr double kLateRange = 0.35;     // the start after a stall is searched in this range
constexpr double kSearchedFirst = 1.5;  // the first start is searched in this range
constexpr double kReliableIn = 1.25;    // windows in which a reliable channel is usually active
// Fractions of iterations, channels or amounts.
constexpr double kReliable = 0.45;
constexpr double kMissing = 0.05;     // reliable channels that may be missing
constexpr double kEnough = 0.55;      // of the usual amount
constexpr double kContinues = 0.5;    // of the usual activity: no pause between two iterations
constexpr double kSameLength = 0.15;  // difference from the median length
constexpr double kMostSame = 0.55;    // iterations with about the same length
constexpr double kLongest = 5;        // ratio of most of the other iterations to the median length
constexpr double kMostOthers = 0.85;  // of the iterations
constexpr size_t kFewestIterations = 3;
constexpr size_t kMaxChannels = 256;

struct Pause {
  double at = 0;     // the start after the pause
  double quiet = 0;  // its length
};

std::vector<Pause> PausesOf(const Bits& active, size_t length, double least) {
  std::vector<Pause> pauses;
  size_t end = 0;
  for (size_t i = active.FirstFrom(0); i < length; i = active.FirstFrom(i + 1)) {
    const auto quiet = static_cast<double>(i - end);
    if (quiet >= least) pauses.push_back({.at = static_cast<double>(i), .quiet = quiet});
    end = i + 1;
  }
  return pauses;
}

class Walker {
 public:
  Walker(const Bits& active, std::span<const Bits* const> channels, size_t length, double usual)
      : active_(active), length_(length), all_(active) {
    const auto window = static_cast<size_t>(std::max(1.0, kReliableIn * usual));
    for (const Bits* bits : channels.first(std::min(channels.size(), kMaxChannels))) {
      const size_t first = bits->FirstFrom(0);
      const size_t last = bits->LastBefore(length);
      if (first >= length || last >= length) continue;
      double windows = 0;
      double used = 0;
      for (size_t at = first; at <= last; at += window) {
        if (active.FirstFrom(at) >= at + window) continue;  // the whole group pauses
        ++windows;
        if (bits->FirstFrom(at) < at + window) ++used;
      }
      channels_.push_back({.bits = bits,
                           .counts = BitCounts(*bits),
                           .first = static_cast<double>(first),
                           .last = static_cast<double>(last),
                           .reliable = used >= kReliable * windows});
    }
  }

  std::optional<Iterations> Find(double period) {
    // The median length can differ from the candidate: two phases on different channels look like
    // two iterations, but only together they are complete.
    for (int attempt = 0; attempt < 2; ++attempt) {
      usual_amount_ = 0;
      Iterations found = Best(period);
      if (found.count() < kFewestIterations) return std::nullopt;
      usual_amount_ = UsualAmount(found);
      found = Best(period);
      if (found.count() < kFewestIterations) return std::nullopt;
      const double median = MedianLength(found);
      if (std::abs(median / period - 1) <= kOnTime) {
        if (!IsRegular(found, median)) return std::nullopt;
        return found;
      }
      period = median;
    }
    return std::nullopt;
  }

 private:
  struct Used {
    const Bits* bits = nullptr;
    BitCounts counts;
    double first = 0;
    double last = 0;
    bool reliable = false;
  };

  static double MedianLength(const Iterations& iterations) {
    std::vector<double> lengths = LengthsOf(iterations);
    return UpperMedianOf(lengths);
  }

  static std::vector<double> LengthsOf(const Iterations& iterations) {
    std::vector<double> lengths;
    for (size_t k = 0; k < iterations.count(); ++k) {
      lengths.push_back(iterations.begins[k + 1] - iterations.begins[k]);
    }
    return lengths;
  }

  // Whether the iterations have similar lengths. The steps of one collective repeat, too, but are
  // followed by a much longer time of computation.
  static bool IsRegular(const Iterations& iterations, double median) {
    const std::vector<double> lengths = LengthsOf(iterations);
    const auto all = static_cast<double>(lengths.size());
    const auto same = static_cast<double>(std::ranges::count_if(lengths, [&](double length) {
      return std::abs(length / median - 1) <= std::max(kSameLength, 2 / median);
    }));
    const auto longer = static_cast<double>(
        std::ranges::count_if(lengths, [&](double length) { return length > kLongest * median; }));
    return same >= kMostSame * all && longer <= (1 - kMostOthers) * all;
  }

  double Amount(double from, double to) const {
    double sum = 0;
    for (const Used& channel : channels_) {
      sum += static_cast<double>(channel.counts.Before(static_cast<size_t>(to)) -
                                 channel.counts.Before(static_cast<size_t>(from)));
    }
    return sum;
  }

  double UsualAmount(const Iterations& iterations) const {
    std::vector<double> amounts;
    for (size_t k = 0; k < iterations.count(); ++k) {
      amounts.push_back(Amount(iterations.begins[k], iterations.begins[k + 1]));
    }
    return UpperMedianOf(amounts);
  }

  // Whether [from, to) contains everything that an iteration consists of.
  bool IsComplete(double from, double to) const {
    double expected = 0;
    double missing = 0;
    for (const Used& channel : channels_) {
      if (!channel.reliable || channel.first >= to || channel.last < from) continue;
      ++expected;
      if (static_cast<double>(channel.bits->FirstFrom(static_cast<size_t>(from))) >= to) ++missing;
    }
    if (expected == 0 || missing > kMissing * expected) return false;
    return usual_amount_ == 0 || Amount(from, to) >= kEnough * usual_amount_;
  }

  // The start of the iteration after the one that starts at `at`.
  const Pause* NextStart(double at, double period) const {
    const double expected = at + period;
    const Pause* best = nullptr;
    double best_worth = 0;
    double center = expected;
    double limit = static_cast<double>(length_);
    for (auto next = std::ranges::lower_bound(pauses_, at + kLeastLength * period, {}, &Pause::at);
         next != pauses_.end() && next->at <= limit; ++next) {
      if (best == nullptr) {
        if (!IsComplete(at, next->at)) continue;
        if (next->at > expected + kOnTime * period) center = next->at;
        limit = std::max(expected + kOnTime * period, next->at + kLateRange * period);
      }
      const double worth = std::min(next->quiet, period) - std::abs(next->at - center);
      if (best != nullptr && worth <= best_worth) continue;
      best = &*next;
      best_worth = worth;
    }
    return best;
  }

  Iterations From(size_t first, double period) const {
    const double busy =
        static_cast<double>(active_.CountBefore(length_)) / static_cast<double>(length_);
    Iterations found;
    double at = pauses_[first].at;
    double quiet = pauses_[first].quiet;
    size_t seen_until = 0;
    for (bool seen = true;;) {
      found.begins.push_back(at);
      found.quiet.push_back(seen ? quiet : 0);
      if (seen) {
        seen_until = found.begins.size();
        ++found.seen;
      }
      const double expected = at + period;
      const Pause* const next = NextStart(at, period);
      const double until = next == nullptr ? static_cast<double>(length_) : next->at;
      // Iterations without a pause between them. Otherwise, the iteration is longer.
      const bool continues = until > expected + kOnTime * period && IsComplete(at, expected) &&
                             Busy(expected, until) >= kContinues * busy * (until - expected);
      seen = !continues;
      if (seen && next == nullptr) break;
      if (continues && expected + period > static_cast<double>(length_)) break;
      at = seen ? next->at : expected;
      quiet = seen ? next->quiet : 0;
    }
    found.begins.resize(seen_until);
    found.quiet.resize(seen_until);
    if (found.count() > 0) {
      found.period =
          (found.begins.back() - found.begins.front()) / static_cast<double>(found.count());
    }
    return found;
  }

  double Busy(double from, double to) const {
    return static_cast<double>(all_.Before(static_cast<size_t>(to)) -
                               all_.Before(static_cast<size_t>(from)));
  }

  Iterations Best(double period) {
    pauses_ = PausesOf(active_, length_, std::max(2.0, kLeastQuiet * period));
    Iterations best;
    double most = 0;
    for (size_t i = 0; i < pauses_.size(); ++i) {
      if (pauses_[i].at > pauses_[0].at + kSearchedFirst * period) break;
      Iterations found = From(i, period);
      double quiet = 0;
      for (const double one : found.quiet) quiet += std::min(one, period);
      if (quiet <= most * 1.05) continue;
      most = quiet;
      best = std::move(found);
    }
    return best;
  }

  const Bits& active_;
  size_t length_;
  BitCounts all_;
  std::vector<Used> channels_;
  std::vector<Pause> pauses_;
  double usual_amount_ = 0;  // 0: not known yet
};

}  // namespace

std::optional<Iterations> FindCompleteIterations(const Bits& active,
                                                 std::span<const Bits* const> channels,
                                                 size_t length, std::span<const Period> candidates,
                                                 double usual) {
  if (length == 0 || channels.empty()) return std::nullopt;
  Walker walker(active, channels, length, usual);
  for (const Period& candidate : candidates) {
    if (std::optional<Iterations> found = walker.Find(candidate.intervals)) return found;
  }
  return std::nullopt;
}

}  // namespace rocescope
