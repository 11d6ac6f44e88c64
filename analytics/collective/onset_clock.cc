// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/onset_clock.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "base/median.h"

namespace rocescope {
namespace {

// Fractions of a period.
constexpr double kLeastQuiet = 0.1;   // quiet time of a channel before it starts to send again
constexpr double kTogether = 0.12;    // maximum distance of starts of channels that start together
constexpr double kLeastLength = 0.6;  // minimum time from one start to the next
constexpr double kShort = 0.75;       // a shorter time from one start to the next is suspicious
constexpr double kWithin = 0.5;       // most channels start within this time
constexpr double kOnTime = 0.2;       // difference of the median length from the candidate
constexpr double kEarly = 0.4;        // maximum time by which other activity starts earlier
constexpr double kQuietStep = 0.06;   // shorter quiet times are within a collective
// Fractions of starts, channels, amounts or iterations.
constexpr double kOften = 0.3;        // of the expected number of starts
constexpr double kMostStarts = 0.6;   // common starts of channels that start together
constexpr double kMost = 0.5;         // of the channels must start for an iteration to start
constexpr double kEnough = 0.55;      // of the usual amounts: the iteration is complete
constexpr double kLeastSent = 0.25;   // of the usual amounts: less is no iteration
constexpr double kFewBusy = 0.05;     // of the usual number of active channels: other traffic
constexpr double kLargeSet = 0.5;     // of the size of the largest set
constexpr double kSameLength = 0.15;  // difference from the median length
constexpr double kMostSame = 0.55;    // iterations with about the same length
constexpr double kLongest = 5;        // ratio of most of the other iterations to the median length
constexpr double kMostOthers = 0.85;  // of the iterations
constexpr size_t kFewestIterations = 5;
// The same if the channels do not repeat with this period.
constexpr size_t kFewestUnrepeated = 8;
constexpr size_t kShortest = 6;  // slots: shorter periods are indistinguishable from noise
constexpr size_t kMaxChannels = 512;

struct Source {
  explicit Source(const Bits& bits) : counts(bits) {}

  BitCounts counts;
  std::vector<size_t> onsets;
};

struct Onset {
  size_t at = 0;
  size_t channel = 0;  // index in the set
};

std::vector<size_t> OnsetsOf(const Bits& bits, size_t length, size_t quiet) {
  std::vector<size_t> onsets;
  size_t end = 0;
  for (size_t i = bits.FirstFrom(0); i < length; i = bits.FirstFrom(i + 1)) {
    if (i >= end + quiet || (onsets.empty() && i > 0)) onsets.push_back(i);
    end = i + 1;
  }
  return onsets;
}

// Returns the share of `starts` that have one of `others` near them.
double CommonShare(std::span<const size_t> starts, std::span<const size_t> others, size_t near) {
  if (starts.empty()) return 0;
  size_t common = 0;
  size_t next = 0;
  for (const size_t start : starts) {
    while (next < others.size() && others[next] + near < start) ++next;
    if (next < others.size() && others[next] <= start + near) ++common;
  }
  return static_cast<double>(common) / static_cast<double>(starts.size());
}

double MedianLengthOf(const Iterations& iterations) {
  std::vector<double> lengths;
  for (size_t k = 0; k < iterations.count(); ++k) {
    lengths.push_back(iterations.begins[k + 1] - iterations.begins[k]);
  }
  return UpperMedianOf(lengths);
}

// Share of iterations with about the median length.
double SameShare(const Iterations& iterations, double median) {
  double same = 0;
  for (size_t k = 0; k < iterations.count(); ++k) {
    const double length = iterations.begins[k + 1] - iterations.begins[k];
    same += std::abs(length / median - 1) <= std::max(kSameLength, 2 / median);
  }
  return same / static_cast<double>(iterations.count());
}

double LongShare(const Iterations& iterations, double median) {
  double longer = 0;
  for (size_t k = 0; k < iterations.count(); ++k) {
    longer += iterations.begins[k + 1] - iterations.begins[k] > kLongest * median;
  }
  return longer / static_cast<double>(iterations.count());
}

// Slots in which more than a small share of the usual number of channels is active.
Bits BusyOf(const std::vector<Bits>& channels, size_t length) {
  std::vector<uint32_t> counts(length);
  for (const Bits& bits : channels) {
    for (size_t i = bits.FirstFrom(0); i < length; i = bits.FirstFrom(i + 1)) ++counts[i];
  }
  std::vector<uint32_t> sorted;
  std::ranges::copy_if(counts, std::back_inserter(sorted), [](uint32_t one) { return one > 0; });
  Bits busy;
  if (sorted.empty()) return busy;
  const auto high = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * 9 / 10);
  std::ranges::nth_element(sorted, high);
  const auto least = static_cast<uint32_t>(kFewBusy * *high);
  for (size_t i = 0; i < length; ++i) {
    if (counts[i] > least) busy.Set(i);
  }
  return busy;
}

// Channels from one NIC to another that are active one after the other are one channel, because a
// job that restarts uses new queue pairs. A channel continues the one whose bursts are most alike.
std::vector<Bits> Joined(std::span<const ClockChannel> channels, size_t length) {
  struct One {
    Bits bits;
    size_t first = 0;
    size_t last = 0;
    double burst = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, std::vector<One>> by_pair;
  for (const ClockChannel& channel : channels) {
    One one = {.bits = *channel.bits,
               .first = channel.bits->FirstFrom(0),
               .last = channel.bits->LastBefore(length)};
    if (one.first >= length) continue;
    one.burst = static_cast<double>(one.bits.Count()) /
                static_cast<double>(OnsetsOf(one.bits, length, 3).size());
    by_pair[{channel.source, channel.destination}].push_back(std::move(one));
  }
  std::vector<Bits> joined;
  for (auto& [pair, all] : by_pair) {
    std::ranges::stable_sort(all, {}, &One::first);
    std::vector<One> merged;
    for (One& one : all) {
      One* best = nullptr;
      for (One& before : merged) {
        if (before.last >= one.first) continue;
        const auto apart = [&](const One& other) {
          return std::abs(std::log(other.burst / one.burst));
        };
        if (best == nullptr || apart(before) < apart(*best)) best = &before;
      }
      if (best == nullptr) {
        merged.push_back(std::move(one));
      } else {
        best->bits |= one.bits;
        best->last = one.last;
      }
    }
    for (One& one : merged) joined.push_back(std::move(one.bits));
  }
  return joined;
}

// The usual time from one start of a channel to the next, where a start follows a quiet time of at
// least `quiet`.
double UsualDistance(const std::vector<Bits>& channels, size_t length, size_t quiet) {
  std::vector<double> distances;
  for (const Bits& bits : channels) {
    const std::vector<size_t> onsets = OnsetsOf(bits, length, quiet);
    std::vector<double> of_channel;
    for (size_t i = 1; i < onsets.size(); ++i) {
      of_channel.push_back(static_cast<double>(onsets[i] - onsets[i - 1]));
    }
    if (of_channel.size() >= kFewestIterations) distances.push_back(UpperMedianOf(of_channel));
  }
  return distances.empty() ? 0 : UpperMedianOf(distances);
}

using Set = std::vector<const Source*>;

class Clock {
 public:
  Clock(const std::vector<Bits>& channels, size_t length, double period)
      : length_(length), period_(period) {
    const auto quiet = static_cast<size_t>(std::max(2.0, kLeastQuiet * period));
    const double expected = static_cast<double>(length) / period;
    for (const Bits& bits : channels) {
      Source source(bits);
      source.onsets = OnsetsOf(bits, length, quiet);
      if (static_cast<double>(source.onsets.size()) < kOften * expected) continue;
      sources_.push_back(std::move(source));
    }
    busy_ = BusyOf(channels, length);
  }

  std::optional<Iterations> Find() const {
    std::vector<Set> sets = SetsOf();
    size_t largest = 0;
    for (const Set& set : sets) largest = std::max(largest, set.size());
    std::optional<Iterations> best;
    double best_same = 0;
    for (const Set& set : sets) {
      if (static_cast<double>(set.size()) < kLargeSet * static_cast<double>(largest)) continue;
      Iterations found = StartsOf(set, {});
      if (found.count() < kFewestIterations) continue;
      found = StartsOf(set, UsualAmounts(set, found));
      if (found.count() < kFewestIterations) continue;
      const double median = MedianLengthOf(found);
      const double same = SameShare(found, median);
      if (std::abs(median / period_ - 1) > kOnTime) continue;
      if (same < kMostSame || LongShare(found, median) > 1 - kMostOthers) continue;
      if (best && same <= best_same) continue;
      best_same = same;
      best = std::move(found);
    }
    return best;
  }

 private:
  std::vector<Set> SetsOf() const {
    const auto near = static_cast<size_t>(std::max(1.0, kTogether * period_));
    std::vector<Set> sets;
    for (const Source& source : sources_) {
      bool found = false;
      for (Set& set : sets) {
        const Source& first = *set.front();
        if (CommonShare(first.onsets, source.onsets, near) < kMostStarts ||
            CommonShare(source.onsets, first.onsets, near) < kMostStarts) {
          continue;
        }
        set.push_back(&source);
        found = true;
        break;
      }
      if (!found) sets.push_back({&source});
    }
    return sets;
  }

  // What each channel usually sends in an iteration.
  static std::vector<double> UsualAmounts(const Set& set, const Iterations& iterations) {
    std::vector<double> usual;
    for (const Source* source : set) {
      std::vector<double> amounts;
      for (size_t k = 0; k < iterations.count(); ++k) {
        amounts.push_back(AmountOf(*source, iterations.begins[k], iterations.begins[k + 1]));
      }
      usual.push_back(UpperMedianOf(amounts));
    }
    return usual;
  }

  static double AmountOf(const Source& source, double from, double to) {
    return static_cast<double>(source.counts.Before(static_cast<size_t>(to)) -
                               source.counts.Before(static_cast<size_t>(from)));
  }

  // The part of their usual amounts that the channels sent. Retransmissions of some do not make up
  // for what others did not send.
  static double SentShare(const Set& set, std::span<const double> usual, double from, double to) {
    double all = 0;
    double sent = 0;
    for (size_t c = 0; c < usual.size(); ++c) {
      all += usual[c];
      sent += std::min(usual[c], AmountOf(*set[c], from, to));
    }
    return all > 0 ? sent / all : 1;
  }

  // `usual` is empty if it is not known yet.
  Iterations StartsOf(const Set& set, std::span<const double> usual) const {
    std::vector<Onset> onsets;
    for (size_t c = 0; c < set.size(); ++c) {
      for (const size_t at : set[c]->onsets) onsets.push_back({.at = at, .channel = c});
    }
    std::ranges::sort(onsets, {}, &Onset::at);
    const auto needed =
        static_cast<size_t>(std::max(1.0, std::ceil(kMost * static_cast<double>(set.size()))));
    Iterations found;
    std::vector<double> first;
    std::deque<Onset> started;  // one of each channel
    std::vector<bool> is_started(set.size());
    double complete_at = -1;  // the previous iteration is complete here
    for (const Onset& onset : onsets) {
      const auto at = static_cast<double>(onset.at);
      if (!found.begins.empty() && complete_at < 0) {
        if (at < found.begins.back() + kLeastLength * period_) continue;
        if (SentShare(set, usual, first.back(), at) < kEnough) continue;
        complete_at = at;
      }
      while (!started.empty() && static_cast<double>(started.front().at) + kWithin * period_ < at) {
        is_started[started.front().channel] = false;
        started.pop_front();
      }
      if (is_started[onset.channel]) continue;
      is_started[onset.channel] = true;
      started.push_back(onset);
      if (started.size() < needed) continue;
      found.begins.push_back(at);
      found.quiet.push_back(0);
      first.push_back(static_cast<double>(started.front().at));
      started.clear();
      is_started.assign(set.size(), false);
      complete_at = -1;
    }
    if (!usual.empty()) {
      DropRetransmissions(set, usual, first, found);
      MoveToFirst(first, found);
    }
    found.seen = static_cast<uint32_t>(found.begins.size());
    if (found.count() > 0) {
      found.period =
          (found.begins.back() - found.begins.front()) / static_cast<double>(found.count());
    }
    return found;
  }

  // After a stall, many channels retransmit at once. That is less than an iteration sends.
  void DropRetransmissions(const Set& set, std::span<const double> usual,
                           std::vector<double>& first, Iterations& found) const {
    size_t kept = 0;
    for (size_t k = 0; k < first.size(); ++k) {
      const double until = first[k] + period_;
      if (kept > 0 && until <= static_cast<double>(length_)) {
        const bool is_short = first[k] - first[kept - 1] < kShort * period_;
        if (SentShare(set, usual, first[k], until) < (is_short ? kEnough : kLeastSent)) continue;
      }
      first[kept] = first[k];
      found.begins[kept] = found.begins[k];
      ++kept;
    }
    first.resize(kept);
    found.begins.resize(kept);
    found.quiet.resize(kept);
  }

  // Moves the starts back to the first activity after a quiet time.
  void MoveToFirst(std::span<const double> first, Iterations& found) const {
    const double quiet = std::max(2.0, kQuietStep * period_);
    for (size_t k = 0; k < found.begins.size(); ++k) {
      auto at = static_cast<size_t>(first[k]);
      double before = 0;
      const double earliest =
          std::max(k == 0 ? 0 : found.begins[k - 1], first[k] - kEarly * period_);
      for (;;) {
        const size_t last = busy_.LastBefore(at);
        before = static_cast<double>(last == Bits::kCount ? at : at - last - 1);
        if (before >= quiet || last == Bits::kCount || static_cast<double>(last) < earliest) break;
        at = last;
      }
      if (before >= quiet) {
        found.begins[k] = static_cast<double>(at);
        found.quiet[k] = before;
      } else {
        found.begins[k] = first[k];
      }
    }
  }

  size_t length_;
  double period_;
  Bits busy_;
  std::vector<Source> sources_;
};

}  // namespace

std::optional<Iterations> FindIterationsByOnsets(std::span<const ClockChannel> channels,
                                                 size_t length,
                                                 std::span<const Period> candidates) {
  if (length == 0) return std::nullopt;
  const std::vector<Bits> joined =
      Joined(channels.first(std::min(channels.size(), kMaxChannels)), length);
  struct Attempt {
    double period = 0;
    size_t fewest = 0;  // iterations
  };
  std::vector<Attempt> attempts;
  for (const Period& candidate : candidates) {
    attempts.push_back({.period = candidate.intervals, .fewest = kFewestIterations});
  }
  for (size_t quiet = kShortest / 2; quiet < length / kFewestUnrepeated; quiet *= 2) {
    const double usual = UsualDistance(joined, length, quiet);
    if (usual >= kShortest) attempts.push_back({.period = usual, .fewest = kFewestUnrepeated});
  }
  std::ranges::stable_sort(attempts, {}, &Attempt::period);
  for (const Attempt& attempt : attempts) {
    auto found = Clock(joined, length, attempt.period).Find();
    if (found && found->count() >= attempt.fewest) return found;
  }
  return std::nullopt;
}

}  // namespace rocescope
