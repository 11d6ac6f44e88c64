// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/scene.h"

#include <algorithm>

#include "analytics/diagnosis/link_balance.h"

namespace rocescope {

using topology::kNone;

Scene::Scene(const SceneParts& parts) : parts_(parts) {
  const auto extent = parts_.metrics.WindowsRead();
  if (!extent) return;
  constexpr int64_t kMost = static_cast<int64_t>(MetricSeries::kMaxWindows);
  first_ = std::max(extent->first, extent->second - kMost);
  windows_ = static_cast<size_t>(extent->second - first_);
}

// What stood still for so many windows is over.
std::optional<Timestamp> Scene::Until(size_t last) const {
  constexpr size_t kCalm = 4;
  return last + kCalm < windows_ ? std::optional(EndOf(last)) : std::nullopt;
}

double Scene::BytesAWindow(topology::PortIndex port) const {
  return static_cast<double>(fabric().SpeedOf(port)) / 8 *
         static_cast<double>(parts_.metrics.window().count()) * 1e-9;
}

Entity Scene::EntityOf(topology::PortIndex port, uint8_t priority) const {
  const topology::NicIndex nic = fabric().NicOf(port);
  return {.kind = nic == kNone ? EntityKind::kPort : EntityKind::kNic,
          .index = nic == kNone ? port : nic,
          .priority = priority};
}

Row Scene::Growth(const Entity& entity, Metric metric) const {
  Row row(windows_);
  const MetricSeries* series = parts_.metrics.Find(entity, metric);
  if (series == nullptr) return row;
  for (const WindowValue& value : series->windows()) {
    const int64_t at = value.window - first_;
    if (at >= 0 && at < static_cast<int64_t>(windows_)) row[static_cast<size_t>(at)] = value.value;
  }
  return row;
}

Row Scene::Levels(const Entity& entity, Metric metric) const {
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

bool Scene::IsKnown(const Entity& entity, Metric metric, size_t window) const {
  const MetricSeries* series = parts_.metrics.Find(entity, metric);
  return series != nullptr && series->IsKnown(first_ + static_cast<int64_t>(window));
}

bool Scene::HasReading(const Entity& entity, Metric metric, size_t window) const {
  const MetricSeries* series = parts_.metrics.Find(entity, metric);
  return series != nullptr &&
         std::ranges::binary_search(series->windows(), first_ + static_cast<int64_t>(window), {},
                                    &WindowValue::window);
}

bool Scene::HasUndeclaredTraffic(topology::NodeIndex node) const {
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

Duration Scene::ReadingSlack() const {
  constexpr int kPart = 100;  // of a window
  return parts_.metrics.window() / kPart;
}

bool Scene::AreSimultaneous(const Entity& a, Metric of_a, const Entity& b, Metric of_b) const {
  const MetricSeries* first = parts_.metrics.Find(a, of_a);
  const MetricSeries* second = parts_.metrics.Find(b, of_b);
  if (first == nullptr || second == nullptr) return false;
  // One that is gone for a while begins anew where it was, and is not read meanwhile.
  const Duration slack = ReadingSlack();
  const Duration apart = first->last_reading() - second->last_reading();
  return apart <= slack && -apart <= slack && !first->is_by_agent() && !second->is_by_agent();
}

const Balances& Scene::link_balances() const {
  if (!link_balances_) link_balances_ = std::make_shared<const Balances>(LinkBalances(*this));
  return *link_balances_;
}

}  // namespace rocescope
