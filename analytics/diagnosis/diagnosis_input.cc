// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/diagnosis_input.h"

#include <algorithm>

#include "analytics/diagnosis/link_balance.h"
#include "analytics/diagnosis/reordering.h"
#include "analytics/diagnosis/spraying.h"

namespace rocescope {

using topology::kNone;

namespace {

// The polling interval of a counter whose readings span more than the stored windows: that of the
// readings in the stored windows, or the time between the last two if there is only one.
Duration LatePeriodOf(const MetricStore& metrics, const MetricSeries& series) {
  constexpr auto kStored = static_cast<int64_t>(MetricSeries::kMaxWindows);
  // A reading at the end of a window belongs to that window.
  const int64_t last = metrics.WindowOf(series.last_reading() - Duration(1));
  int64_t first = last - kStored + 1;
  int64_t read = kStored;
  const auto begin = std::ranges::lower_bound(series.skipped(), first);
  for (auto at = begin; at != series.skipped().end() && *at <= last; ++at) {
    if (*at == first) ++first;
    --read;
  }
  return read > 1 ? metrics.window() * (last - first) / (read - 1) : series.last_interval();
}

// The median over all counters, because a few may be read only once or by another collector.
Duration ReadingPeriodIn(const MetricStore& metrics) {
  std::vector<Duration> periods;
  for (const auto& [entity, of] : metrics.entities()) {
    for (const auto& [metric, series] : of.series) {
      if (series.is_by_agent() || series.last_reading() <= series.first_reading()) continue;
      if (InfoOf(metric).kind != MetricKind::kCounter) continue;  // see skipped()
      const int64_t first = metrics.WindowOf(series.first_reading());
      const int64_t last = metrics.WindowOf(series.last_reading());
      const int64_t span = last - first + 1;
      if (span > static_cast<int64_t>(MetricSeries::kMaxWindows)) {
        periods.push_back(std::max(LatePeriodOf(metrics, series), metrics.window()));
        continue;
      }
      const int64_t read = span - std::ranges::count_if(series.skipped(), [&](int64_t window) {
                             return window > last - span;
                           });
      periods.push_back(metrics.window() * span / std::max<int64_t>(read, 1));
    }
  }
  if (periods.empty()) return {};
  const auto middle = periods.begin() + static_cast<ptrdiff_t>(periods.size() / 2);
  std::ranges::nth_element(periods, middle);
  return *middle;
}

size_t LinkStateWindowsIn(const MetricStore& metrics, int64_t first) {
  std::vector<size_t> gaps;
  for (const auto& [entity, of] : metrics.entities()) {
    for (const auto& [metric, series] : of.series) {
      if (metric != Metric::kLinkUp) continue;
      const auto read = std::ranges::lower_bound(series.windows(), first, {}, &WindowValue::window);
      const auto count = static_cast<size_t>(series.windows().end() - read);
      if (count < 2) continue;
      const auto span = static_cast<size_t>(series.windows().back().window - read->window);
      gaps.push_back((span + (count - 1) / 2) / (count - 1));
    }
  }
  if (gaps.empty()) return 1;
  const auto middle = gaps.begin() + static_cast<ptrdiff_t>(gaps.size() / 2);
  std::ranges::nth_element(gaps, middle);
  return *middle;
}

}  // namespace

DiagnosisInput::DiagnosisInput(const DiagnosisParts& parts) : parts_(parts) {
  reading_period_ = ReadingPeriodIn(parts_.metrics);
  const auto extent = parts_.metrics.WindowsRead();
  if (!extent) return;
  constexpr int64_t kMost = static_cast<int64_t>(MetricSeries::kMaxWindows);
  first_ever_ = extent->first;
  first_ = std::max(extent->first, extent->second - kMost);
  windows_ = static_cast<size_t>(extent->second - first_);
  link_state_windows_ = LinkStateWindowsIn(parts_.metrics, first_);
}

std::optional<Timestamp> DiagnosisInput::Until(size_t last) const {
  return last + thresholds().quiet_windows < windows_ ? std::optional(EndOf(last)) : std::nullopt;
}

double DiagnosisInput::BytesPerWindow(topology::PortIndex port) const {
  return static_cast<double>(fabric().SpeedOf(port)) / 8 *
         static_cast<double>(parts_.metrics.window().count()) * 1e-9;
}

Entity DiagnosisInput::EntityOf(topology::PortIndex port, uint8_t priority) const {
  const topology::NicIndex nic = fabric().NicOf(port);
  return {.kind = nic == kNone ? EntityKind::kPort : EntityKind::kNic,
          .index = nic == kNone ? port : nic,
          .priority = priority};
}

Row DiagnosisInput::Growth(const Entity& entity, Metric metric) const {
  Row row(windows_);
  const MetricSeries* series = parts_.metrics.Find(entity, metric);
  if (series == nullptr) return row;
  for (const WindowValue& value : series->windows()) {
    const int64_t at = value.window - first_;
    if (at >= 0 && at < static_cast<int64_t>(windows_)) row[static_cast<size_t>(at)] = value.value;
  }
  return row;
}

Row DiagnosisInput::Levels(const Entity& entity, Metric metric) const {
  const MetricSeries* series = parts_.metrics.Find(entity, metric);
  if (series == nullptr || series->windows().empty()) return {};
  Row row(windows_);
  auto at = series->windows().begin();
  uint64_t level = at->value;
  for (size_t i = 0; i < windows_; ++i) {
    while (at != series->windows().end() && at->window <= first_ + static_cast<int64_t>(i)) {
      level = at->value;
      ++at;
    }
    row[i] = level;
  }
  return row;
}

bool DiagnosisInput::IsKnown(const Entity& entity, Metric metric, size_t window) const {
  const MetricSeries* series = parts_.metrics.Find(entity, metric);
  return series != nullptr && series->IsKnown(first_ + static_cast<int64_t>(window));
}

bool DiagnosisInput::HasReading(const Entity& entity, Metric metric, size_t window) const {
  const MetricSeries* series = parts_.metrics.Find(entity, metric);
  return series != nullptr &&
         std::ranges::binary_search(series->windows(), first_ + static_cast<int64_t>(window), {},
                                    &WindowValue::window);
}

bool DiagnosisInput::HasUndeclaredTraffic(topology::NodeIndex node) const {
  const topology::Node& of = fabric().node(node);
  for (uint32_t i = 0; i < of.port_count; ++i) {
    if (fabric().port(of.first_port + i).link != topology::kNone) continue;
    for (const Metric metric : {Metric::kRxPackets, Metric::kTxPackets}) {
      const MetricSeries* series = parts_.metrics.Find(EntityOf(of.first_port + i), metric);
      if (series != nullptr && !series->windows().empty()) return true;
    }
  }
  return false;
}

Duration DiagnosisInput::ReadingSlack() const {
  return Duration(static_cast<int64_t>(static_cast<double>(parts_.metrics.window().count()) *
                                       thresholds().simultaneous_ratio));
}

bool DiagnosisInput::AreSimultaneous(const Entity& a, Metric of_a, const Entity& b,
                                     Metric of_b) const {
  if (!CoincideAtLast(a, of_a, b, of_b)) return false;
  return parts_.metrics.NodeOf(a) == parts_.metrics.NodeOf(b) || DoMostCoincide();
}

bool DiagnosisInput::DoMostCoincide() const {
  if (do_most_coincide_) return *do_most_coincide_;
  size_t read = 0;
  size_t coincide = 0;
  for (const topology::Link& link : fabric().links()) {
    const Entity a = EntityOf(link.ends[0]);
    const Entity b = EntityOf(link.ends[1]);
    if (!HasMetric(a, Metric::kTxPackets) || !HasMetric(b, Metric::kRxPackets)) continue;
    ++read;
    if (CoincideAtLast(a, Metric::kTxPackets, b, Metric::kRxPackets)) ++coincide;
  }
  do_most_coincide_ = 2 * coincide > read;
  return *do_most_coincide_;
}

bool DiagnosisInput::CoincideAtLast(const Entity& a, Metric of_a, const Entity& b,
                                    Metric of_b) const {
  const MetricSeries* first = parts_.metrics.Find(a, of_a);
  const MetricSeries* second = parts_.metrics.Find(b, of_b);
  if (first == nullptr || second == nullptr) return false;
  // Only the last readings are compared: a node that was down misses readings and then continues.
  const Duration slack = ReadingSlack();
  const Duration apart = first->last_reading() - second->last_reading();
  return apart <= slack && -apart <= slack && !first->is_by_agent() && !second->is_by_agent();
}

bool DiagnosisInput::IsReadAtWindowEnds(const Entity& entity, Metric metric) const {
  const MetricSeries* series = parts_.metrics.Find(entity, metric);
  if (series == nullptr) return false;
  const Timestamp last = series->last_reading();
  const Timestamp begin = parts_.metrics.StartOf(parts_.metrics.WindowOf(last));
  const Duration after = last - begin;
  return std::min(after, parts_.metrics.window() - after) <= ReadingSlack();
}

bool DiagnosisInput::is_spraying() const {
  if (!is_spraying_) is_spraying_ = IsSpraying(parts_.paths);
  return *is_spraying_;
}

const Reordering& DiagnosisInput::reordering() const {
  if (!reordering_) reordering_ = std::make_shared<const Reordering>(FindReordering(*this));
  return *reordering_;
}

const Balances& DiagnosisInput::link_balances() const {
  if (!link_balances_) link_balances_ = std::make_shared<const Balances>(LinkBalances(*this));
  return *link_balances_;
}

}  // namespace rocescope
