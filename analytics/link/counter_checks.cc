// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/counter_checks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "analytics/link/linked_port.h"

namespace rocescope {

namespace {

constexpr uint32_t kEnoughReadings = 8;

}  // namespace

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
  const uint32_t falls = series.restarts() - std::exchange(growth.restarts, series.restarts());
  const uint64_t before = std::exchange(growth.until, series.total());
  if (falls > 0 || !std::exchange(growth.is_read, true) || growth.until < before) {
    growth.from = growth.until;
    Growth& other = is_packets ? counter.bytes : counter.packets;
    other.from = other.until;
  }
  is_packets ? OnPackets(counter, series, falls) : OnBytes(counter, series);
}

void CounterChecks::OnBytes(Counter& counter, const MetricSeries& series) {
  counter.most_bytes = std::max(counter.most_bytes, series.last().value_or(0));
  counter.longest_interval = std::max(counter.longest_interval, series.last_interval());
}

void CounterChecks::OnPackets(Counter& counter, const MetricSeries& series, uint32_t falls) {
  if (counter.present.readings >= Block::kReadings) {
    counter.before = std::exchange(counter.present, Block());
  }
  Block& block = counter.present;
  block.falls += falls;
  block.readings += 1 + falls;  // the series rejects readings that fall
  if (!series.last() || *series.last() == counter.value) return;
  counter.value = *series.last();
  ++block.changes;
  if (block.divisor != 1) block.divisor = std::gcd(block.divisor, counter.value);
}

std::optional<CounterProblem> CounterChecks::ProblemOf(const Block& block) {
  constexpr uint32_t kOften = 5;  // one fall in this many readings
  if (block.readings >= kEnoughReadings && block.falls >= 3 &&
      block.falls * kOften >= block.readings) {
    return CounterProblem{.kind = CounterProblemKind::kFalls,
                          .value = block.falls / static_cast<double>(block.readings)};
  }
  if (block.changes >= kEnoughReadings && block.divisor >= kRoundedTo) {
    return CounterProblem{.kind = CounterProblemKind::kRounded,
                          .value = static_cast<double>(block.divisor)};
  }
  return std::nullopt;
}

std::optional<CounterProblem> CounterChecks::ProblemOf(const Counter& counter,
                                                       topology::PortIndex port) const {
  constexpr uint64_t kEnoughPackets = 10'000;
  for (const Block* block : {&counter.present, &counter.before}) {
    if (auto problem = ProblemOf(*block)) return problem;
  }
  // Bytes that never increase are not counted.
  const uint32_t readings = counter.present.readings + counter.before.readings;
  if (counter.bytes.sum() == 0 || readings < kEnoughReadings ||
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
  return CounterProblem{.kind = length < kShortest ? CounterProblemKind::kShortFrames
                                                   : CounterProblemKind::kLongFrames,
                        .value = length};
}

}  // namespace rocescope
