// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/metric/metric_store.h"

#include <algorithm>
#include <string>

namespace rocescope {

using topology::kNone;
using topology::NodeIndex;

namespace {

// A switch by its agent's address; whatever has a name, by that, with or without its domain.
NodeIndex FindNode(const topology::Fabric& fabric, const CounterEntity& entity) {
  if (!entity.agent.IsUnspecified()) {
    const NodeIndex node = fabric.FindSwitchBySflow(entity.agent);
    if (node != kNone || entity.node.empty()) return node;
  }
  const NodeIndex node = fabric.FindNode(entity.node);
  return node != kNone ? node : fabric.FindNode(entity.node.substr(0, entity.node.find('.')));
}

uint32_t FindGpu(const topology::Fabric& fabric, NodeIndex host, uint32_t number) {
  for (const topology::GpuIndex gpu : fabric.GpusOf(host)) {
    if (fabric.gpu(gpu).number == number) return gpu;
  }
  return kNone;
}

}  // namespace

MetricStore::MetricStore(const topology::Fabric& fabric, const MetricOptions& options)
    : fabric_(fabric), options_(options) {}

int64_t MetricStore::WindowOf(Timestamp time) const {
  return NumberOfWindow(time, options_.window);
}

std::optional<Entity> MetricStore::Resolve(const CounterEntity& entity) const {
  const NodeIndex node = FindNode(fabric_, entity);
  if (node == kNone) return std::nullopt;
  Entity found{.kind = entity.kind, .priority = entity.priority};
  switch (entity.kind) {
    case EntityKind::kPort:
      found.index = entity.port.empty() ? fabric_.FindPortByNumber(node, entity.index)
                                        : fabric_.FindPort(node, entity.port);
      break;
    case EntityKind::kNic:
      found.index = fabric_.FindNicByDevice(node, entity.port);
      break;
    case EntityKind::kGpu:
      found.all_gpus = entity.index == CounterEntity::kNoIndex;
      found.index = found.all_gpus ? node : FindGpu(fabric_, node, entity.index);
      break;
    case EntityKind::kHost:
      found.index = node;
      break;
    case EntityKind::kCount:
      break;
  }
  if (found.index == kNone) return std::nullopt;
  return found;
}

std::optional<std::pair<int64_t, int64_t>> MetricStore::WindowsRead() const {
  const Extent& extent = by_others_.last > by_others_.first ? by_others_ : by_agents_;
  if (extent.last <= extent.first) return std::nullopt;
  return std::pair(WindowOf(extent.first), WindowOf(extent.last - Duration(1)) + 1);
}

MetricStore::OfEntity* MetricStore::FindOrAdd(const CounterEntity& entity) {
  refused_ = false;
  const std::optional<Entity> place = Resolve(entity);
  if (!place) return nullptr;
  const auto at = entities_.find(*place);
  if (at != entities_.end()) return &at->second;
  if (entities_.size() >= options_.entities) {
    refused_ = true;
    return nullptr;
  }
  return &entities_[*place];
}

void MetricStore::Add(const CounterRecord& record) {
  if (!was_asked_ || !(record.entity == asked_)) {
    asked_ = record.entity;
    found_ = FindOrAdd(asked_);
    was_asked_ = true;
  }
  if (found_ == nullptr) {
    ++(refused_ ? statistics_.entities_refused : statistics_.unknown_entities);
    return;
  }
  auto& all = found_->series;
  auto at =
      std::ranges::lower_bound(all, record.metric, {}, &std::pair<Metric, MetricSeries>::first);
  const bool by_agent = !record.entity.agent.IsUnspecified();
  if (at == all.end() || at->first != record.metric) {
    at = all.emplace(at, record.metric, MetricSeries());
    at->second.SetByAgent(by_agent);
  } else if (at->second.is_by_agent() != by_agent) {
    if (by_agent) {
      ++statistics_.told_twice;
      return;
    }
    at->second = MetricSeries();
  }
  // Agents say when they like: where others tell, those have the time.
  Extent& extent = by_agent ? by_agents_ : by_others_;
  extent.first = std::min(extent.first, record.event_time);
  extent.last = std::max(extent.last, record.event_time);
  if (InfoOf(record.metric).kind == MetricKind::kCounter) {
    at->second.AddCounter(record.event_time, record.value, record.bits, options_.window);
  } else {
    at->second.AddGauge(record.event_time, record.value, options_.window);
  }
}

const MetricSeries* MetricStore::Find(const Entity& entity, Metric metric) const {
  const auto at = entities_.find(entity);
  if (at == entities_.end()) return nullptr;
  const auto& all = at->second.series;
  const auto found =
      std::ranges::lower_bound(all, metric, {}, &std::pair<Metric, MetricSeries>::first);
  return found == all.end() || found->first != metric ? nullptr : &found->second;
}

}  // namespace rocescope
