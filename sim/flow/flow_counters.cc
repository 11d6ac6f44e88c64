// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/flow_counters.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rocescope::sim {
namespace {

SimTime SinceEpoch(Timestamp time, Timestamp epoch) { return (time - epoch).count() * kNanosecond; }

// The first time in whole nanoseconds that is not before `time`.
Timestamp NotBefore(SimTime time, Timestamp epoch) {
  if (time == kNever) return Timestamp::max();
  return epoch + Duration((time + kNanosecond - 1) / kNanosecond);
}

bool Concerns(const FlowHistory::Outage& outage, const FlowHistory::Entity& entity) {
  return outage.port == topology::kNone || outage.port == entity.port;
}

bool IsMaximum(Metric metric) {
  return metric == Metric::kQueueWatermark || metric == Metric::kBufferWatermark;
}

}  // namespace

FlowCounters::FlowCounters(const FlowHistory& history, Timestamp epoch,
                           std::shared_ptr<const void> owner)
    : owner_(std::move(owner)),
      history_(history),
      epoch_(epoch),
      series_(history.series.size()),
      counts_(history.counts.size()),
      cursors_(history.values.size()) {
  topology::NodeIndex nodes = 0;
  for (const FlowHistory::Entity& entity : history.entities) {
    entities_.push_back({.entity = entity.id, .node = entity.node, .metrics = entity.metrics});
    nodes = std::max(nodes, entity.node + 1);
  }
  for (const FlowHistory::Outage& outage : history.outages)
    nodes = std::max(nodes, outage.node + 1);
  outages_.resize(nodes);
  for (const FlowHistory::Outage& outage : history.outages) {
    outages_[outage.node].push_back(outage);
  }
  for (size_t i = 0; i < history.values.size(); ++i) cursors_[i].terms = history.values[i].terms;
}

Timestamp FlowCounters::end() const { return epoch_ + Duration(history_.duration / kNanosecond); }

std::vector<ExactCounters::Outage> FlowCounters::OutagesOf(uint32_t number) const {
  const FlowHistory::Entity& entity = history_.entities[number];
  std::vector<Outage> outages;
  for (const FlowHistory::Outage& outage : outages_[entity.node]) {
    if (!Concerns(outage, entity)) continue;
    outages.push_back(
        {.begin = NotBefore(outage.begin, epoch_), .end = NotBefore(outage.end, epoch_)});
  }
  std::sort(outages.begin(), outages.end(),
            [](const Outage& a, const Outage& b) { return a.begin < b.begin; });
  std::vector<Outage> merged;
  for (const Outage& outage : outages) {
    if (merged.empty() || merged.back().end < outage.begin) {
      merged.push_back(outage);
    } else {  // the NIC was also down
      merged.back().end = std::max(merged.back().end, outage.end);
    }
  }
  return merged;
}

// Counts are read at similar times by the entities of a node.
int64_t FlowCounters::ValueOf(uint32_t number, SimTime time) {
  CountCache& cache = counts_[number];
  if (cache.time == time) return cache.value;
  const FlowHistory::Count& count = history_.counts[number];
  SeriesCache& series = series_[count.series];
  if (series.time != time) {
    series.time = time;
    series.value = history_.series[count.series].At(time, series.hint);
  }
  cache.time = time;
  cache.value = WholeCount(series.value * count.scale);
  return cache.value;
}

// Modulo 2^64, so that no sum overflows.
uint64_t FlowCounters::Weighted(const FlowHistory::Term& term, SimTime time) {
  return static_cast<uint64_t>(int64_t{term.weight}) *
         static_cast<uint64_t>(ValueOf(term.count, time));
}

SimTime FlowCounters::EndOf(uint32_t count) const {
  const Series& series = history_.series[history_.counts[count].series];
  return series.empty() ? 0 : series.points().back().time;
}

uint64_t FlowCounters::Counter(Cursor& cursor, SimTime time) {
  if (time >= cursor.next_settled) Settle(cursor, time);
  uint64_t sum = cursor.settled;
  for (const FlowHistory::Term& term : cursor.terms) sum += Weighted(term, time);
  return static_cast<uint64_t>(std::max<int64_t>(0, static_cast<int64_t>(sum)));
}

void FlowCounters::Settle(Cursor& cursor, SimTime time) {
  std::erase_if(cursor.terms, [&](const FlowHistory::Term& term) {
    if (EndOf(term.count) > time) return false;
    cursor.settled += Weighted(term, time);
    return true;
  });
  cursor.next_settled = kNever;
  for (const FlowHistory::Term& term : cursor.terms) {
    cursor.next_settled = std::min(cursor.next_settled, EndOf(term.count));
  }
}

uint64_t FlowCounters::Gauge(const FlowHistory::Value& value, Cursor& cursor, Metric metric,
                             SimTime since, SimTime time) const {
  const auto& steps = value.steps;
  if (steps.empty()) return 0;
  while (cursor.step + 1 < steps.size() && steps[cursor.step + 1].time <= time) ++cursor.step;
  uint64_t result = steps[cursor.step].time <= time ? steps[cursor.step].value : 0;
  if (!IsMaximum(metric)) return result;
  for (size_t at = cursor.step; steps[at].time > since && at > 0; --at) {
    result = std::max(result, steps[at - 1].value);
  }
  return result;
}

uint64_t FlowCounters::Busy(const FlowHistory::Value& value, SimTime since, SimTime time) {
  if (time <= since) return 0;
  double busy = 0;
  for (const FlowHistory::Count& count : value.busy) {
    const Series& series = history_.series[count.series];
    busy += count.scale * (series.At(time) - series.At(since));
  }
  const double share = busy * kSecond / static_cast<double>(time - since);
  return static_cast<uint64_t>(std::lround(100 * std::clamp(share, 0.0, 1.0)));
}

uint64_t FlowCounters::CounterAt(uint32_t entity, size_t metric, SimTime time) {
  return Counter(cursors_[history_.entities[entity].first_value + metric], time);
}

uint64_t FlowCounters::GaugeAt(uint32_t number, size_t metric, SimTime time) {
  const FlowHistory::Entity& entity = history_.entities[number];
  const size_t index = entity.first_value + metric;
  return Gauge(history_.values[index], cursors_[index], entity.metrics[metric], time, time);
}

bool FlowCounters::Read(uint32_t number, Timestamp since, Timestamp time,
                        std::span<uint64_t> values) {
  const FlowHistory::Entity& entity = history_.entities[number];
  const SimTime now = std::min(SinceEpoch(time, epoch_), history_.duration);
  const SimTime before = std::max<SimTime>(0, SinceEpoch(since, epoch_));
  for (const FlowHistory::Outage& outage : outages_[entity.node]) {
    if (Concerns(outage, entity) && now >= outage.begin && now < outage.end) return false;
  }
  for (size_t i = 0; i < entity.metrics.size(); ++i) {
    const uint32_t index = entity.first_value + static_cast<uint32_t>(i);
    const FlowHistory::Value& value = history_.values[index];
    if (!value.busy.empty()) {
      values[i] = Busy(value, before, now);
    } else if (!value.steps.empty()) {
      values[i] = Gauge(value, cursors_[index], entity.metrics[i], before, now);
    } else {
      values[i] = Counter(cursors_[index], now);
    }
  }
  return true;
}

}  // namespace rocescope::sim
