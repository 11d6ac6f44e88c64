// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/diagnosis_input.h"

#include <algorithm>

#include "analytics/diagnosis/link_balance.h"

namespace rocescope {

using topology::kNone;

DiagnosisInput::DiagnosisInput(const DiagnosisParts& parts) : parts_(parts) {
  const auto extent = parts_.metrics.WindowsRead();
  if (!extent) return;
  constexpr int64_t kMost = static_cast<int64_t>(MetricSeries::kMaxWindows);
  first_ = std::max(extent->first, extent->second - kMost);
  windows_ = static_cast<size_t>(extent->second - first_);
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
  const MetricSeries* first = parts_.metrics.Find(a, of_a);
  const MetricSeries* second = parts_.metrics.Find(b, of_b);
  if (first == nullptr || second == nullptr) return false;
  // Only the last readings are compared: a node that was down misses readings and then continues.
  const Duration slack = ReadingSlack();
  const Duration apart = first->last_reading() - second->last_reading();
  return apart <= slack && -apart <= slack && !first->is_by_agent() && !second->is_by_agent();
}

const Balances& DiagnosisInput::link_balances() const {
  if (!link_balances_) link_balances_ = std::make_shared<const Balances>(LinkBalances(*this));
  return *link_balances_;
}

}  // namespace rocescope
