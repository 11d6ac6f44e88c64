// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/waiting.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analytics/collective/median.h"

namespace rocescope {
namespace {

constexpr double kLate = 0.12;    // of a period, at least
constexpr double kLeastLate = 3;  // stretches
constexpr double kApart = 2;      // times as late as the next one
constexpr uint32_t kInARow = 3;   // iterations
constexpr size_t kMissed = 1;     // so many between them may not show it

struct Entry {
  double at = 0;
  uint32_t nic = 0;
};

// Who entered later than all others by far. `entries` are in order of time.
std::optional<std::pair<uint32_t, double>> LateOf(const std::vector<Entry>& entries,
                                                  double period) {
  std::vector<double> others;
  for (size_t i = 0; i + 1 < entries.size(); ++i) others.push_back(entries[i].at);
  const double next = entries[entries.size() - 2].at;
  const double median = MedianOf(others);
  const double late = entries.back().at - median;
  if (late < std::max(kLeastLate, kLate * period) || late < kApart * (next - median)) {
    return std::nullopt;
  }
  return std::pair(entries.back().nic, late);
}

}  // namespace

std::map<uint32_t, Bits> OwnActivity(const Channels& channels, std::span<const uint32_t> in_step) {
  std::map<uint32_t, Bits> own;
  for (const uint32_t number : in_step) {
    const Channel& channel = channels.all[number];
    own[channel.source] |= channel.data;
    own[channel.destination] |= channel.grants;
  }
  return own;
}

std::optional<LateNic> FindLateNic(const std::map<uint32_t, Bits>& own,
                                   const Iterations& iterations) {
  struct Run {
    LateNic so_far;
    std::vector<double> lateness;
  };
  std::map<uint32_t, Run> runs;  // by NIC: the one that goes on
  std::optional<LateNic> longest;
  for (size_t k = 0; k < iterations.count(); ++k) {
    const double from = WindowOf(iterations, k);
    const double to = WindowOf(iterations, k + 1);
    std::vector<Entry> entries;
    for (const auto& [nic, active] : own) {
      const auto at = static_cast<double>(active.FirstFrom(static_cast<size_t>(from)));
      if (at < to) entries.push_back({.at = at, .nic = nic});
    }
    if (entries.size() < own.size() || entries.size() < 2) continue;  // somebody was not seen
    std::ranges::stable_sort(entries, {}, &Entry::at);
    const auto late = LateOf(entries, iterations.period);
    if (!late) continue;
    Run& run = runs[late->first];
    if (run.lateness.empty() || k > run.so_far.last + 1 + kMissed) {
      run = {.so_far = {.nic = late->first, .first = k}, .lateness = {}};
    }
    run.lateness.push_back(late->second);
    run.so_far.last = k;
    run.so_far.iterations = static_cast<uint32_t>(run.lateness.size());
    if (run.so_far.iterations < kInARow) continue;
    if (!longest || run.so_far.iterations > longest->iterations) {
      longest = run.so_far;
      std::vector<double> values = run.lateness;
      longest->lateness = MedianOf(values);
    }
  }
  return longest;
}

}  // namespace rocescope
