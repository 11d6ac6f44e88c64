// SPDX-License-Identifier: BSD-3-Clause
#include "sim/recording/recorded_counters.h"

#include <fmt/format.h>

#include <algorithm>

#include "dataplane/run/counter_columns_reader.h"

namespace rocescope::sim {
namespace {

constexpr uint64_t kPicosecondsPerNs = 1000;
constexpr uint64_t kPercent = 100;

bool IsWatermark(Metric metric) {
  return metric == Metric::kQueueWatermark || metric == Metric::kBufferWatermark;
}

}  // namespace

Result<std::unique_ptr<RecordedCounters>> RecordedCounters::Open(const std::string& path,
                                                                 const topology::Fabric& fabric) {
  auto reader = CounterColumnsReader::Open(path);
  if (!reader) return tl::unexpected(reader.error());
  auto recorded = std::make_unique<RecordedCounters>(fabric);
  CounterColumnsReader::Reading reading;
  for (;;) {
    const Result<bool> next = (*reader)->Next(reading);
    if (!next) return tl::unexpected(next.error());
    if (!*next) break;
    while (recorded->entities_.size() < (*reader)->entities()) {
      const CounterColumnsReader::Entity& entity =
          (*reader)->entity(static_cast<uint32_t>(recorded->entities_.size()));
      if (fabric.FindNode(entity.entity.node) == topology::kNone) {
        return MakeError(
            ErrorCode::kInvalidArgument,
            fmt::format("{}: the fabric has no node \"{}\"", path, entity.entity.node));
      }
      recorded->Announce(entity.entity, entity.metrics);
    }
    recorded->Append(reading.number, reading.time, reading.arrival, reading.values);
  }
  if (recorded->steps_.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: the recording has no readings", path));
  }
  return recorded;
}

uint32_t RecordedCounters::Announce(const CounterEntity& entity, std::span<const Metric> metrics) {
  entities_.push_back({.entity = entity,
                       .node = fabric_.FindNode(entity.node),
                       .metrics = {metrics.begin(), metrics.end()}});
  series_.emplace_back();
  return static_cast<uint32_t>(entities_.size() - 1);
}

void RecordedCounters::Append(uint32_t number, Timestamp time, Timestamp /*arrival*/,
                              std::span<const uint64_t> values) {
  if (steps_.empty() || steps_.back() < time) steps_.push_back(time);
  const auto step = static_cast<uint32_t>(steps_.size() - 1);
  Series& series = series_[number];
  if (!series.rows.empty() && series.rows.back().last_step + 1 == step &&
      std::equal(values.begin(), values.end(),
                 series.values.end() - static_cast<ptrdiff_t>(values.size()))) {
    series.rows.back().last_step = step;
    return;
  }
  series.rows.push_back({.first_step = step, .last_step = step});
  series.values.insert(series.values.end(), values.begin(), values.end());
}

Timestamp RecordedCounters::begin() const { return steps_.empty() ? Timestamp() : steps_.front(); }

Timestamp RecordedCounters::end() const { return steps_.empty() ? Timestamp() : steps_.back(); }

std::vector<ExactCounters::Outage> RecordedCounters::OutagesOf(uint32_t entity) const {
  std::vector<Outage> outages;
  const std::vector<Row>& rows = series_[entity].rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t next = size_t{rows[i].last_step} + 1;
    if (i + 1 < rows.size()) {
      if (rows[i + 1].first_step == next) continue;
      outages.push_back({.begin = steps_[next], .end = steps_[rows[i + 1].first_step]});
    } else if (next < steps_.size()) {
      outages.push_back({.begin = steps_[next], .end = Timestamp::max()});
    }
  }
  return outages;
}

uint32_t RecordedCounters::StepAt(Timestamp time) const {
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), time);
  return after == steps_.begin() ? kNoStep : static_cast<uint32_t>(after - steps_.begin() - 1);
}

size_t RecordedCounters::RowAt(const Series& series, uint32_t step) const {
  const auto after =
      std::upper_bound(series.rows.begin(), series.rows.end(), step,
                       [](uint32_t at, const Row& row) { return at < row.first_step; });
  if (after == series.rows.begin() || (after - 1)->last_step < step) return kNoRow;
  return static_cast<size_t>(after - series.rows.begin() - 1);
}

uint64_t RecordedCounters::Utilisation(uint32_t entity, size_t metric, uint32_t since,
                                       uint32_t step) const {
  const Series& series = series_[entity];
  if (since == step && step > 0) --since;
  const size_t before = RowAt(series, since);
  const auto elapsed = static_cast<uint64_t>((steps_[step] - steps_[since]).count());
  if (before == kNoRow || elapsed == 0) return 0;
  const size_t width = entities_[entity].metrics.size();
  const uint64_t computed =
      series.values[RowAt(series, step) * width + metric] - series.values[before * width + metric];
  return computed * kPercent / (elapsed * kPicosecondsPerNs);
}

bool RecordedCounters::Read(uint32_t entity, Timestamp since, Timestamp time,
                            std::span<uint64_t> values) {
  const uint32_t step = StepAt(time);
  const Series& series = series_[entity];
  const size_t row = step == kNoStep ? kNoRow : RowAt(series, step);
  if (row == kNoRow) return false;
  const std::vector<Metric>& metrics = entities_[entity].metrics;
  const size_t width = metrics.size();
  const uint32_t step_before = std::min(StepAt(std::max(since, begin())), step);
  const uint64_t* const current = &series.values[row * width];
  for (size_t i = 0; i < width; ++i) {
    values[i] = current[i];
    if (metrics[i] == Metric::kGpuUtilisation) {
      values[i] = Utilisation(entity, i, step_before, step);
    } else if (IsWatermark(metrics[i])) {
      for (size_t earlier = row; earlier > 0 && series.rows[earlier - 1].last_step > step_before;
           --earlier) {
        values[i] = std::max(values[i], series.values[(earlier - 1) * width + i]);
      }
    }
  }
  return true;
}

}  // namespace rocescope::sim
