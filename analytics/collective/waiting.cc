// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/waiting.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "analytics/collective/collective.h"
#include "base/median.h"

namespace rocescope {
namespace {

constexpr double kLate = 0.12;          // minimum delay as a fraction of a period
constexpr double kMinLate = 3;          // slots
constexpr double kApart = 1.5;          // minimum ratio to the delay of the next member
constexpr size_t kMissed = 1;           // iterations in between that may not show it
constexpr double kAbsentAtMost = 0.25;  // fraction of the iterations
constexpr size_t kFewWaits = 3;         // members that may have different tasks
constexpr double kOwnShare = 0.5;       // minimum share of the delay that is longer computation

struct Entry {
  double at = 0;
  uint32_t nic = 0;
  std::optional<double> computed;  // time since its input arrived
};

// When each member entered a common operation, in time order.
using Round = std::vector<Entry>;

// Returns the minimum gap that is not a pause within a collective.
double LeastLate(double period) { return std::max(kMinLate, kLate * period); }

// Returns the member that entered much later than all others.
std::optional<std::pair<uint32_t, double>> LateOf(const Round& entries, double period) {
  if (entries.size() < 2) return std::nullopt;
  std::vector<double> others;
  for (size_t i = 0; i + 1 < entries.size(); ++i) others.push_back(entries[i].at);
  const double next = entries[entries.size() - 2].at;
  const double median = UpperMedianOf(others);
  const double late = entries.back().at - median;
  if (late < LeastLate(period) || late < kApart * (next - median)) {
    return std::nullopt;
  }
  std::vector<double> computed;
  for (size_t i = 0; i + 1 < entries.size(); ++i) {
    if (entries[i].computed) computed.push_back(*entries[i].computed);
  }
  if (!entries.back().computed || computed.empty() ||
      *entries.back().computed - UpperMedianOf(computed) < kOwnShare * late) {
    return std::nullopt;
  }
  return std::pair(entries.back().nic, late);
}

// Returns members that are active in most iterations. The others do not wait for members that are
// often inactive.
std::vector<std::pair<uint32_t, const Bits*>> Members(const std::map<uint32_t, Bits>& own,
                                                      const Iterations& iterations) {
  std::vector<std::pair<uint32_t, const Bits*>> members;
  for (const auto& [nic, active] : own) {
    size_t absent = 0;
    for (size_t k = 0; k < iterations.count(); ++k) {
      const size_t at = active.FirstFrom(static_cast<size_t>(WindowOf(iterations, k)));
      if (static_cast<double>(at) >= WindowOf(iterations, k + 1)) ++absent;
    }
    if (kAbsentAtMost * static_cast<double>(iterations.count()) >= static_cast<double>(absent)) {
      members.emplace_back(nic, &active);
    }
  }
  return members;
}

// An iteration may have several steps with computation before each. Waiting members have already
// entered: a round ends when the last one has entered, and the next round starts after the
// following pause.
std::vector<Round> RoundsOf(const std::map<uint32_t, Bits>& own,
                            const std::map<uint32_t, Bits>& busy, const Iterations& iterations) {
  const auto members = Members(own, iterations);
  Bits all;
  for (const auto& [nic, active] : members) all |= *active;
  const auto end = static_cast<size_t>(iterations.begins.back());
  std::vector<Round> rounds;
  auto from = static_cast<size_t>(WindowOf(iterations, 0));
  while (!members.empty()) {
    Round round;
    for (const auto& [nic, active] : members) {
      const size_t enters = active->FirstFrom(from);
      Entry& entry = round.emplace_back(Entry{.at = static_cast<double>(enters), .nic = nic});
      const auto of_nic = busy.find(nic);
      const size_t before = of_nic == busy.end() ? Bits::kCount : of_nic->second.LastBefore(enters);
      if (before < Bits::kCount) entry.computed = static_cast<double>(enters - before);
    }
    std::ranges::stable_sort(round, {}, &Entry::at);
    auto at = static_cast<size_t>(round.back().at);
    if (at >= end) break;
    for (from = all.FirstFrom(at + 1);
         static_cast<double>(from - at) <= LeastLate(iterations.period) && from < end;
         from = all.FirstFrom(at + 1)) {
      at = from;
    }
    rounds.push_back(std::move(round));
  }
  return rounds;
}

double LatenessOf(const Round& round, uint32_t nic) {
  std::vector<double> others;
  double at = 0;
  for (const Entry& entry : round) {
    if (entry.nic == nic) {
      at = entry.at;
    } else {
      others.push_back(entry.at);
    }
  }
  return at - UpperMedianOf(others);
}

// With two or three members, one may regularly enter last because the others send to it first.
// Small groups are therefore compared with their own past.
bool IsUsual(std::span<const Round> before, uint32_t nic, double late, double period) {
  std::vector<double> usual;
  for (const Round& round : before) usual.push_back(LatenessOf(round, nic));
  return usual.size() < Straggler::kLeastIterations ||
         late - UpperMedianOf(usual) < LeastLate(period);
}

// Whether chance explains the run, given the number of iterations in which other members were late.
// On busy hosts, every member is occasionally the last.
bool IsExplainedByChance(size_t iterations, size_t members, size_t late_others,
                         const LateNic& run) {
  constexpr double kMaxExpected = 0.1;  // such runs in all iterations of all members
  if (late_others == 0 || members < 2) return false;
  const double share = (static_cast<double>(late_others) / static_cast<double>(members - 1) + 0.5) /
                       (static_cast<double>(iterations) + 1);
  const size_t length = run.last - run.first + 1;
  double expected = static_cast<double>(iterations * members);
  // The number of combinations of iterations within the run.
  for (uint32_t i = 0; i < run.iterations; ++i) {
    expected *= share * static_cast<double>(length - std::min<size_t>(i, length - 1)) / (i + 1);
  }
  return expected > kMaxExpected;
}

// Keyed by NIC: the data that it sends, combined with the given bits of the channels to it.
std::map<uint32_t, Bits> ActivityBy(const Channels& channels, std::span<const uint32_t> in_step,
                                    Bits Channel::* of_destination) {
  std::map<uint32_t, Bits> by_nic;
  for (const uint32_t number : in_step) {
    const Channel& channel = channels.all[number];
    by_nic[channel.source] |= channel.data;
    by_nic[channel.destination] |= channel.*of_destination;
  }
  return by_nic;
}

}  // namespace

std::map<uint32_t, Bits> OwnActivity(const Channels& channels, std::span<const uint32_t> in_step) {
  return ActivityBy(channels, in_step, &Channel::grants);
}

std::map<uint32_t, Bits> BusyActivity(const Channels& channels, std::span<const uint32_t> in_step) {
  return ActivityBy(channels, in_step, &Channel::data);
}

std::optional<LateNic> FindLateNic(const std::map<uint32_t, Bits>& own,
                                   const std::map<uint32_t, Bits>& busy,
                                   const Iterations& iterations) {
  struct Run {
    LateNic so_far;
    size_t begins = 0;  // index of the first round of this run
    std::vector<double> lateness;
  };
  std::map<uint32_t, Run> runs;  // indexed by NIC: the current run
  std::optional<LateNic> longest;
  std::map<uint32_t, std::set<size_t>> late_in;  // indexed by NIC: iterations
  const std::vector<Round> rounds = RoundsOf(own, busy, iterations);
  for (const Round& round : rounds) {
    const auto number = static_cast<size_t>(&round - rounds.data());
    const auto late = LateOf(round, iterations.period);
    if (!late) continue;
    // The iteration in which the others started to wait.
    const auto begins = std::span(iterations.begins).first(iterations.count());
    const auto next = std::ranges::upper_bound(begins, round.front().at);
    const auto k = static_cast<size_t>(std::max<ptrdiff_t>(0, next - begins.begin() - 1));
    late_in[late->first].insert(k);
    Run& run = runs[late->first];
    if (run.lateness.empty() || k > run.so_far.last + 1 + kMissed) {
      run = {.so_far = {.nic = late->first, .first = k}, .begins = number, .lateness = {}};
    } else if (k == run.so_far.last) {
      run.lateness.back() = std::max(run.lateness.back(), late->second);
      continue;
    }
    run.lateness.push_back(late->second);
    run.so_far.last = k;
    run.so_far.iterations = static_cast<uint32_t>(run.lateness.size());
    if (run.so_far.iterations < Straggler::kLeastIterations) continue;
    if (!longest || run.so_far.iterations > longest->iterations) {
      std::vector<double> values = run.lateness;
      const double lateness = UpperMedianOf(values);
      if (round.size() <= kFewWaits &&
          IsUsual(std::span(rounds).first(run.begins), late->first, lateness, iterations.period)) {
        continue;
      }
      longest = run.so_far;
      longest->lateness = lateness;
    }
  }
  if (!longest) return std::nullopt;
  size_t late_others = 0;
  for (const auto& [nic, late] : late_in) late_others += nic == longest->nic ? 0 : late.size();
  if (IsExplainedByChance(iterations.count(), rounds.front().size(), late_others, *longest)) {
    return std::nullopt;
  }
  return longest;
}

}  // namespace rocescope
