// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/counter_checks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analytics/link/linked_port.h"

namespace rocescope {

CounterChecks::CounterChecks(const topology::Fabric& fabric)
    : fabric_(fabric), ports_(fabric.ports().size()) {}

void CounterChecks::OnCounter(const Entity& entity, Metric metric, const MetricSeries& series) {
  const bool is_sent = metric == Metric::kTxPackets || metric == Metric::kTxBytes;
  const bool is_packets = metric == Metric::kTxPackets || metric == Metric::kRxPackets;
  if (!is_sent && !is_packets && metric != Metric::kRxBytes) return;
  const topology::PortIndex port = LinkedPortOf(fabric_, entity);
  if (port == topology::kNone) return;
  Counter& counter = is_sent ? ports_[port].sent : ports_[port].received;
  Growth& growth = is_packets ? counter.packets : counter.bytes;
  const bool has_restarted = series.restarts() != std::exchange(growth.restarts, series.restarts());
  const uint64_t before = std::exchange(growth.until, series.total());
  if (has_restarted || !std::exchange(growth.is_read, true) || growth.until < before) {
    growth.from = growth.until;
    Growth& other = is_packets ? counter.bytes : counter.packets;
    other.from = other.until;
  }
  is_packets ? OnPackets(counter, series) : OnBytes(counter, series);
}

void CounterChecks::OnBytes(Counter& counter, const MetricSeries& series) {
  counter.most_bytes = std::max(counter.most_bytes, series.last().value_or(0));
  counter.longest_interval = std::max(counter.longest_interval, series.last_interval());
}

void CounterChecks::OnPackets(Counter& counter, const MetricSeries& series) {
  ++counter.readings;
  if (!series.last() || *series.last() == counter.value) return;
  counter.value = *series.last();
  ++counter.changes;
  if (counter.divisor != 1) counter.divisor = std::gcd(counter.divisor, counter.value);
}

std::optional<CounterProblem> CounterChecks::ProblemOf(const Counter& counter,
                                                       topology::PortIndex port) const {
  constexpr uint64_t kEnoughPackets = 10'000;
  constexpr uint32_t kEnoughReadings = 8;
  constexpr uint32_t kOften = 5;  // one fall in this many readings
  const uint32_t falls = counter.packets.restarts;
  if (counter.readings >= kEnoughReadings && falls >= 3 && falls * kOften >= counter.readings) {
    return CounterProblem{.kind = CounterProblemKind::kFalls,
                          .value = falls / static_cast<double>(counter.readings)};
  }
  if (counter.changes >= kEnoughReadings && counter.divisor >= kRoundedTo) {
    return CounterProblem{.kind = CounterProblemKind::kRounded,
                          .value = static_cast<double>(counter.divisor)};
  }
  // Bytes that never increase are not counted.
  if (counter.bytes.sum() == 0 || counter.readings < kEnoughReadings ||
      counter.packets.sum() < kEnoughPackets) {
    return std::nullopt;
  }
  const double length =
      static_cast<double>(counter.bytes.sum()) / static_cast<double>(counter.packets.sum());
  if (length >= kShortest && length <= kLongest) return std::nullopt;
  // A counter of 32 bits may wrap several times between two readings.
  constexpr uint64_t kNarrow = uint64_t{1} << 32;
  const auto seconds = static_cast<double>(counter.longest_interval.count()) * 1e-9;
  const double possible = static_cast<double>(fabric_.SpeedOf(port)) / 8 * seconds;
  const bool may_wrap = counter.most_bytes < kNarrow && possible >= static_cast<double>(kNarrow);
  if (length < kShortest && may_wrap) return std::nullopt;
  return CounterProblem{.kind = CounterProblemKind::kFrameLength, .value = length};
}

}  // namespace rocescope
