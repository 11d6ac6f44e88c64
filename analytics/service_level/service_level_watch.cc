// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/service_level_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analytics/collective/gpus_by_job.h"
#include "analytics/service_level/counter_values.h"
#include "analytics/service_level/iteration_values.h"
#include "analytics/service_level/utilisation_gaps.h"
#include "analytics/service_level/window_share.h"

namespace rocescope {
namespace {

using topology::kNone;

// A new search repeats what the time line still contains; older spans remain unchanged.
void Append(const std::vector<IterationSpan>& later, std::vector<IterationSpan>& spans) {
  if (later.empty()) return;
  const Timestamp from = later.front().begin + (later.front().end - later.front().begin) / 2;
  std::erase_if(spans, [&](const IterationSpan& span) { return span.end > from; });
  if (!spans.empty()) spans.back().end = std::min(spans.back().end, later.front().begin);
  spans.insert(spans.end(), later.begin(), later.end());
  if (spans.size() > kMaxIterationSpans) {
    spans.erase(spans.begin(), spans.end() - static_cast<std::ptrdiff_t>(kMaxIterationSpans));
  }
}

bool IsOfAJob(ServiceIndicator indicator) {
  const ServiceLayer layer = InfoOf(indicator).layer;
  return layer == ServiceLayer::kApplication || layer == ServiceLayer::kCollective;
}

std::vector<Entity> EntitiesOf(const topology::Fabric& fabric, ServiceLayer layer) {
  std::vector<Entity> entities;
  const auto add_all = [&](EntityKind kind, size_t count) {
    for (uint32_t i = 0; i < count; ++i) entities.push_back({.kind = kind, .index = i});
  };
  if (layer == ServiceLayer::kGpu) add_all(EntityKind::kGpu, fabric.gpus().size());
  if (layer == ServiceLayer::kNic) add_all(EntityKind::kNic, fabric.nics().size());
  if (layer != ServiceLayer::kFabric) return entities;
  for (uint32_t port = 0; port < fabric.ports().size(); ++port) {
    if (fabric.port(port).link == kNone) continue;
    if (!fabric.node(fabric.port(port).node).IsSwitch()) continue;
    entities.push_back({.kind = EntityKind::kPort, .index = port});
  }
  return entities;
}

}  // namespace

ServiceLevels ServiceLevelWatch::Update(const topology::Fabric* fabric, const MetricStore* metrics,
                                        const Attribution& attribution,
                                        const std::vector<JobIterationPattern>& iteration_patterns,
                                        Duration window) {
  ServiceLevels answer{.options = options_, .levels = {}};
  AddJobs(attribution, iteration_patterns, metrics, window, answer);
  if (fabric != nullptr && metrics != nullptr) {
    AddEntities(*fabric, *metrics, attribution, iteration_patterns, answer);
  }
  return answer;
}

std::optional<double> ServiceLevelWatch::BoundOf(ServiceIndicator indicator,
                                                 std::span<const double> values,
                                                 LearntBounds& learnt) const {
  const ServiceBound& bound = options_.bounds[static_cast<size_t>(indicator)];
  if (bound.kind == BoundKind::kFixed) return bound.number;
  if (const auto at = learnt.find(indicator); at != learnt.end()) return at->second;
  const std::optional<double> now =
      LearntBound(values, InfoOf(indicator).worse, bound.number, options_);
  // Until then, more values may refine the bound; later the first windows are forgotten.
  const auto told = static_cast<size_t>(std::ranges::count_if(values, HasValue));
  if (now && told >= size_t{2} * options_.learnt_windows) learnt.emplace(indicator, *now);
  return now;
}

void ServiceLevelWatch::AddJobs(const Attribution& attribution,
                                const std::vector<JobIterationPattern>& iteration_patterns,
                                const MetricStore* metrics, Duration window,
                                ServiceLevels& answer) {
  std::map<std::string, JobPast> jobs;
  std::vector<JobPast*> pasts;
  std::vector<const JobIterationPattern*> iteration_pattern_of(attribution.jobs.size(), nullptr);
  for (const JobIterationPattern& iteration_pattern : iteration_patterns)
    iteration_pattern_of[iteration_pattern.job] = &iteration_pattern;
  int64_t until = std::numeric_limits<int64_t>::min();
  for (const AttributedJob& job : attribution.jobs) {
    const size_t number = pasts.size();
    const auto at = jobs_.find(job.job.id);
    const auto [now, added] =
        jobs.try_emplace(job.job.id, at == jobs_.end() ? JobPast() : at->second);
    pasts.push_back(added ? &now->second : nullptr);
    if (!added || iteration_pattern_of[number] == nullptr) continue;
    Append(iteration_pattern_of[number]->spans, now->second.spans);
    if (now->second.spans.empty()) continue;
    until = std::max(until, NumberOfWindow(now->second.spans.back().end, window));
  }
  if (metrics != nullptr) {
    if (const auto read = metrics->WindowsRead()) until = std::max(until, read->second);
  }
  for (size_t i = 0; i < kServiceIndicatorCount; ++i) {
    const auto indicator = static_cast<ServiceIndicator>(i);
    if (!IsOfAJob(indicator)) continue;
    for (uint32_t job = 0; job < pasts.size(); ++job) {
      ServiceLevel level{.indicator = indicator, .job = job};
      if (pasts[job] != nullptr && iteration_pattern_of[job] != nullptr &&
          !pasts[job]->spans.empty()) {
        JobPast& past = *pasts[job];
        const int64_t first = NumberOfWindow(past.spans.front().begin, window);
        const int64_t most = std::max<int64_t>(kMaxIterationSpans, options_.long_windows);
        const std::vector<double> values =
            IterationValues(*iteration_pattern_of[job], past.spans, indicator, window,
                            std::max(first, until - most), until);
        Judge(values, BoundOf(indicator, values, past.learnt), options_, level);
      }
      answer.levels.push_back(level);
    }
  }
  jobs_ = std::move(jobs);
}

void ServiceLevelWatch::AddEntities(const topology::Fabric& fabric, const MetricStore& metrics,
                                    const Attribution& attribution,
                                    const std::vector<JobIterationPattern>& iteration_patterns,
                                    ServiceLevels& answer) {
  const auto read = metrics.WindowsRead().value_or(std::pair<int64_t, int64_t>(0, 0));
  const auto from_of = [&](int64_t most) { return std::max(read.first, read.second - most); };
  const int64_t from = from_of(options_.long_windows);
  const int64_t from_first =
      from_of(std::max<int64_t>(MetricSeries::kMaxWindows, options_.long_windows));
  std::vector<std::vector<double>> gaps;  // indexed by GPU
  for (size_t i = 0; i < kServiceIndicatorCount; ++i) {
    const auto indicator = static_cast<ServiceIndicator>(i);
    if (IsOfAJob(indicator)) continue;
    const bool is_gap = indicator == ServiceIndicator::kGpuUtilisationGap;
    const int64_t begin = IsLearnt(indicator) ? from_first : from;
    if (is_gap) {
      gaps =
          UtilisationGaps(metrics, fabric.gpus().size(),
                          GpusByJob(fabric, attribution, iteration_patterns), begin, read.second);
    }
    const std::vector<Entity> entities = EntitiesOf(fabric, InfoOf(indicator).layer);
    answer.levels.reserve(answer.levels.size() + entities.size());
    for (const Entity& entity : entities) {
      ServiceLevel level{.indicator = indicator, .entity = entity};
      const std::vector<double> values =
          is_gap ? std::move(gaps[entity.index])
                 : CounterValues(metrics, entity, indicator, begin, read.second);
      LearntBounds nothing;
      LearntBounds& learnt = IsLearnt(indicator) ? entities_[entity] : nothing;
      Judge(values, BoundOf(indicator, values, learnt), options_, level);
      answer.levels.push_back(level);
    }
  }
}

}  // namespace rocescope
