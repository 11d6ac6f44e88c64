// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/switch_balance.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "analytics/diagnosis/sum_windows.h"
#include "analytics/diagnosis/unusable_counters.h"
#include "base/median.h"

namespace rocescope {
namespace {

using topology::kNone;
using topology::NodeIndex;

// Queued frames at the end of each window, estimated from the queued bytes and the mean length of
// the frames that each port sends. Empty if no port reports its queues.
std::vector<double> QueuedFrames(const DiagnosisInput& input, NodeIndex node) {
  const topology::Node& of = input.fabric().node(node);
  std::vector<double> queued;
  std::vector<double> unknown(input.windows());  // bytes at ports that sent nothing
  double longest = 0;                            // largest mean length of a port
  for (uint32_t i = 0; i < of.port_count; ++i) {
    if (input.fabric().port(of.first_port + i).link == kNone) continue;
    const double length = MeanLengthOf(input, input.EntityOf(of.first_port + i));
    longest = std::max(longest, length);
    for (uint8_t priority = 0; priority < kPriorities; ++priority) {
      const Row bytes =
          input.Levels(input.EntityOf(of.first_port + i, priority), Metric::kQueueBytes);
      if (!bytes.empty()) queued.resize(input.windows());
      for (size_t w = 0; w < bytes.size(); ++w) {
        const auto waiting = static_cast<double>(bytes[w]);
        (length > 0 ? queued : unknown)[w] += length > 0 ? waiting / length : waiting;
      }
    }
  }
  for (size_t w = 0; w < queued.size(); ++w) {
    if (unknown[w] > 0) queued[w] += unknown[w] / std::max(longest, kShortestFrame);
  }
  return queued;
}

// If readings are within windows, the first increment of a port that missed a reading is divided
// wrongly, and so is each sum that begins there. Sets the typical difference of the first windows
// of each sum to 0.
void CorrectBeginnings(const SumWindows& windows, std::vector<int64_t>& difference) {
  constexpr size_t kFirst = 5;  // windows
  for (size_t begin = 0; begin < difference.size();) {
    size_t end = begin;
    while (end < difference.size() && windows.known[end]) ++end;
    std::vector<int64_t> first;
    for (size_t w = begin; w < end && first.size() < kFirst; ++w) {
      if (windows.read[w]) first.push_back(difference[w]);
    }
    if (first.size() == kFirst) {
      const int64_t typical = UpperMedianOf(first);
      for (size_t w = begin; w < end; ++w) difference[w] -= typical;
    }
    begin = end + 1;
  }
}

}  // namespace

double MeanLengthOf(const DiagnosisInput& input, const Entity& port) {
  const Row frames = input.Growth(port, Metric::kTxPackets);
  const Row bytes = input.Growth(port, Metric::kTxBytes);
  const auto sum = [](const Row& row) {
    return static_cast<double>(std::accumulate(row.begin(), row.end(), uint64_t{0}));
  };
  return sum(frames) == 0 ? 0 : sum(bytes) / sum(frames);
}

Balance BalanceOf(const DiagnosisInput& input, NodeIndex node) {
  const topology::Node& of = input.fabric().node(node);
  if (input.HasUndeclaredTraffic(node) || !AreUsable(input, node)) return {};
  Balance balance{.missing = std::vector<int64_t>(input.windows()),
                  .busy = std::vector<double>(input.windows()),
                  .full = std::vector<int64_t>(input.windows())};
  std::vector<int64_t>& difference = balance.missing;
  std::optional<Entity> first;
  std::vector<Counter> counters;
  for (uint32_t i = 0; i < of.port_count; ++i) {
    if (input.fabric().port(of.first_port + i).link == kNone) continue;
    const Entity entity = input.EntityOf(of.first_port + i);
    if (!first) first = entity;
    if (!input.AreSimultaneous(*first, Metric::kRxPackets, entity, Metric::kTxPackets)) return {};
    counters.emplace_back(entity, Metric::kRxPackets);
    counters.emplace_back(entity, Metric::kTxPackets);
    const auto add = [&](Metric metric, int64_t sign) {
      const Row row = input.Growth(entity, metric);
      for (size_t w = 0; w < row.size(); ++w) difference[w] += sign * static_cast<int64_t>(row[w]);
    };
    add(Metric::kRxPackets, 1);
    add(Metric::kTxPackets, -1);
    for (const Metric metric : kCountedDrops) add(metric, -1);
  }
  const std::vector<double> queued = QueuedFrames(input, node);
  if (queued.empty()) return {};  // all missing frames may be queued
  // If readings are within windows, increments are divided between windows in whole frames. A sum
  // is then wrong by less than one frame for each counter, both where it begins and where it ends.
  const bool is_rounded = first && !input.IsReadAtWindowEnds(*first, Metric::kRxPackets);
  const auto rounding = is_rounded ? static_cast<int64_t>(2 * counters.size()) : 0;
  const SumWindows windows = SumWindowsOf(input, counters);
  for (size_t w = 0; w < difference.size(); ++w) {
    if (!windows.known[w]) {
      balance.unknown.push_back(w);
      difference[w] = 0;  // the sum starts again
    } else if (w > 0) {
      difference[w] += difference[w - 1];
    }
  }
  if (is_rounded) CorrectBeginnings(windows, difference);
  for (size_t w = 0; w < difference.size(); ++w) {
    if (!windows.known[w] || !windows.read[w]) {
      difference[w] = Balance::kUnread;
      continue;
    }
    difference[w] -= rounding;
    if (queued[w] == 0) continue;
    difference[w] -= static_cast<int64_t>(queued[w]);
    balance.busy[w] = 1;
    balance.full[w] =
        2 + static_cast<int64_t>(input.thresholds().queued_frames_uncertainty * queued[w]);
  }
  return balance;
}

}  // namespace rocescope
