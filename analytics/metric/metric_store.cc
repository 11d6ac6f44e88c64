// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/metric/metric_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/prefetch.h"

namespace rocescope {

using topology::kNone;
using topology::NodeIndex;

namespace {

// A switch is identified by its agent's address, any named entity by its name, with or without
// domain.
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

// Maximum unconfirmed leap: a quarter of the kept windows, or a minute. No clock that is set at all
// is wrong by so much.
Duration LeapOf(Duration window) {
  constexpr auto kWindows = static_cast<int64_t>(MetricSeries::kMaxWindows) / 4;
  return std::min<Duration>(kWindows * window, std::chrono::minutes(1));
}

}  // namespace

MetricStore::MetricStore(const topology::Fabric& fabric, const MetricOptions& options)
    : fabric_(fabric),
      options_(options),
      width_(options.window),
      series_capacity_(options.series),
      resets_(fabric.nodes().size(), Timestamp::min()),
      gate_(LeapOf(options.window)) {}

int64_t MetricStore::WindowOf(Timestamp time) const { return width_.NumberOf(time); }

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

NodeIndex MetricStore::NodeOf(const Entity& entity) const {
  switch (entity.kind) {
    case EntityKind::kPort:
      return fabric_.port(entity.index).node;
    case EntityKind::kNic:
      return fabric_.nic(entity.index).host;
    case EntityKind::kGpu:
      return entity.all_gpus ? entity.index : fabric_.gpu(entity.index).host;
    case EntityKind::kHost:
    case EntityKind::kCount:
      break;
  }
  return entity.index;
}

void MetricStore::LookFor(const CounterEntity& entity) {
  if (was_asked_ && entity == asked_) return;
  asked_ = entity;
  was_asked_ = true;
  next_series_ = 0;
  place_ = Resolve(entity);
  node_ = place_ ? NodeOf(*place_) : kNone;
  const auto at = place_ ? entities_.find(*place_) : entities_.end();
  found_ = at == entities_.end() ? nullptr : &at->second;
  if (found_ == nullptr) return;
  for (const auto& [metric, series] : found_->series) series.Approach();
}

MetricStore::OfEntity* MetricStore::FindOrAdd() {
  if (found_ != nullptr || entities_.size() >= options_.entities) return found_;
  found_ = &entities_[*place_];
  found_->rates = RatesOf(fabric_, *place_);
  return found_;
}

void MetricStore::Note(const CounterEntity& entity, const Value& value, OddReadings& odd) {
  if (odd.count++ > 0) return;
  std::string name = entity.node.empty() ? ToString(entity.agent) : entity.node;
  if (!entity.port.empty()) {
    name += ":" + entity.port;
  } else if (entity.index != CounterEntity::kNoIndex) {
    name += (entity.kind == EntityKind::kGpu ? ":gpu" : ":") + std::to_string(entity.index);
  }
  odd.example = fmt::format("{} {} {}", name, InfoOf(value.metric).name, value.value);
}

ReadingFate MetricStore::AddTo(MetricSeries& series, const Value& value) {
  if (InfoOf(value.metric).kind == MetricKind::kCounter) {
    return series.AddCounter(
        value.time, value.value,
        {.bits = value.bits,
         .most_a_ns = MostGrowthANanosecond(*place_, value.metric, found_->rates),
         .device_reset = resets_[node_]},
        width_);
  }
  return series.AddGauge(value.time, value.value, OfGaugeIn(value.metric), width_);
}

void MetricStore::Add(const RecordBatch& batch) {
  for (const CounterRecord& record : batch.counters) Add(record);
  // Readings of an entity are far apart: without prefetches, most of the time is spent waiting.
  constexpr size_t kFar = 6;
  constexpr size_t kNear = 2;
  const std::vector<ReadingRecord>& readings = batch.readings;
  for (size_t i = 0; i < readings.size(); ++i) {
    if (i + kFar < readings.size()) Approach(readings[i + kFar]);
    if (i + kNear < readings.size()) ApproachWindows(readings[i + kNear]);
    Add(readings[i], batch.ValuesOf(readings[i]));
  }
}

void MetricStore::Approach(const ReadingRecord& reading) const {
  const Target* const target = targets_.Find(reading.group);
  if (target == nullptr || target->entity == nullptr) return;
  const auto& series = target->entity->series;
  PrefetchBytes(series.data(), series.size() * sizeof(series[0]));
}

void MetricStore::ApproachWindows(const ReadingRecord& reading) const {
  const Target* const target = targets_.Find(reading.group);
  if (target == nullptr || target->entity == nullptr) return;
  for (const auto& [metric, series] : target->entity->series) series.Approach();
}

// Equals Add for a CounterRecord of each value.
void MetricStore::Add(const ReadingRecord& reading, std::span<const uint64_t> values) {
  const CounterGroup& group = *reading.group;
  const auto [target, is_new] = targets_.Of(reading.group);
  if (is_new) {
    LookFor(group.entity);
    target = {.place = place_,
              .node = node_,
              .entity = found_,
              .series = std::vector<uint32_t>(group.metrics.size())};
  }
  if (!target.place || !gate_.IsNear(reading.event_time)) {
    for (size_t i = 0; i < values.size(); ++i) {
      Add(CounterRecord{.entity = group.entity,
                        .metric = group.metrics[i],
                        .value = values[i],
                        .event_time = reading.event_time,
                        .arrival_time = reading.arrival_time});
    }
    return;
  }
  was_asked_ = false;
  place_ = target.place;
  node_ = target.node;
  found_ = target.entity;
  gate_.Judge(node_, reading.event_time);
  for (size_t i = 0; i < values.size(); ++i) {
    next_series_ = target.series[i];
    Take(group.entity,
         {.metric = group.metrics[i], .value = values[i], .time = reading.event_time});
    target.series[i] = static_cast<uint32_t>(next_series_ - std::min<size_t>(next_series_, 1));
  }
  target.entity = found_;
}

void MetricStore::Add(const CounterRecord& record) {
  LookFor(record.entity);
  if (!place_) {
    ++statistics_.unknown_entities;
    // An sFlow agent also reports loopbacks and management ports.
    const bool named = record.entity.agent.IsUnspecified();
    if (named && FindNode(fabric_, record.entity) != kNone) {
      Note(record.entity, ValueOf(record), problem_.unknown);
    }
    return;
  }
  switch (gate_.Judge(node_, record.event_time)) {
    case TimeGate::Verdict::kNear:
      break;
    case TimeGate::Verdict::kStrange:
      Hold(record);
      return;
    case TimeGate::Verdict::kLeaps:
      Leap();
      LookFor(record.entity);
      break;
  }
  Take(record.entity, ValueOf(record));
}

void MetricStore::Advance(Timestamp packets) {
  if (gate_.Advance(packets)) Leap();
}

void MetricStore::Hold(const CounterRecord& record) {
  constexpr size_t kMost = 16'384;
  Note(record.entity, ValueOf(record), problem_.strayed);
  if (held_.size() < kMost) held_.push_back(record);
}

// The time has advanced, so the held readings may be valid.
void MetricStore::Leap() {
  const std::vector<CounterRecord> held = std::exchange(held_, {});
  for (const CounterRecord& record : held) {
    if (!gate_.IsNear(record.event_time)) {
      held_.push_back(record);
      continue;
    }
    --problem_.strayed.count;
    LookFor(record.entity);
    Take(record.entity, ValueOf(record));
  }
}

void MetricStore::RefuseSeries(const Value& value) {
  ++statistics_.series_refused;
  statistics_.series_refused_at = std::max(statistics_.series_refused_at, value.time);
}

void MetricStore::Take(const CounterEntity& entity, const Value& value) {
  if (found_ == nullptr && !CanAddSeries()) {
    RefuseSeries(value);
    return;
  }
  if (FindOrAdd() == nullptr) {
    ++statistics_.entities_refused;
    return;
  }
  if (InfoOf(value.metric).kind == MetricKind::kGauge &&
      !IsPossibleGauge(value.metric, value.value)) {
    Note(entity, value, problem_.impossible[static_cast<size_t>(value.metric)]);
    return;
  }
  auto& all = found_->series;
  // Readings of an entity mostly come in the order of the metrics.
  auto at = all.begin() + static_cast<std::ptrdiff_t>(std::min(next_series_, all.size()));
  if (at == all.end() || at->first != value.metric) {
    at = std::ranges::lower_bound(all, value.metric, {}, &std::pair<Metric, MetricSeries>::first);
  }
  next_series_ = static_cast<size_t>(at - all.begin()) + 1;
  const bool by_agent = !entity.agent.IsUnspecified();
  if (at == all.end() || at->first != value.metric) {
    if (!CanAddSeries()) {
      RefuseSeries(value);
      return;
    }
    ++statistics_.series;
    at = all.emplace(at, value.metric, MetricSeries());
    at->second.SetByAgent(by_agent);
  } else if (at->second.is_by_agent() != by_agent) {
    if (by_agent) {
      ++statistics_.told_twice;
      return;
    }
    at->second = MetricSeries();
  }
  // sFlow agents choose their own times: if there are other sources, those define the range of
  // windows.
  Extent& extent = by_agent ? by_agents_ : by_others_;
  const Duration kept = static_cast<int64_t>(MetricSeries::kMaxWindows) * options_.window;
  if (extent.last >= extent.first &&
      (value.time > extent.last + kept || value.time < extent.first - kept)) {
    extent = {};
  }
  extent.first = std::min(extent.first, value.time);
  extent.last = std::max(extent.last, value.time);
  switch (AddTo(at->second, value)) {
    case ReadingFate::kTaken:
      if (InfoOf(value.metric).kind != MetricKind::kCounter) break;
      for (CounterListener* const listener : options_.listeners) {
        listener->OnCounter(*place_, value.metric, at->second);
      }
      break;
    case ReadingFate::kLate:
      Note(entity, value, problem_.late);
      break;
    case ReadingFate::kOpen:
      break;
    case ReadingFate::kBackwards:
      resets_[node_] = std::max(resets_[node_], value.time);
      Note(entity, value, problem_.backwards);
      break;
    case ReadingFate::kImpossible:
      Note(entity, value, problem_.impossible[static_cast<size_t>(value.metric)]);
      break;
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
