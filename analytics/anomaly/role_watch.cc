// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/role_watch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "analytics/anomaly/complete_windows.h"
#include "analytics/anomaly/deviation.h"

namespace rocescope {
namespace {

constexpr size_t kMaxPhaseChanges = 1024;

// Simply alternating windows would fail for workloads that repeat every second window. Halves by
// the Thue-Morse sequence (0110 1001 ...) have no period, and their sizes differ by at most two.
size_t PartOf(int64_t window) { return std::popcount(static_cast<uint64_t>(window)) & 1; }

bool HasLevels(const Role& role) {
  return role.kind == EntityKind::kPort || role.kind == EntityKind::kNic;
}

// Removes metrics of the entity in windows [from, until) from the past.
void Remove(int64_t from, int64_t until, size_t entity, bool (*is_removed)(Metric), Panel& panel) {
  const int64_t end = panel.from + static_cast<int64_t>(panel.windows);
  from = std::max(from, panel.from);
  until = std::min(until, end);
  if (from >= until) return;
  const auto first = static_cast<size_t>(from - panel.from);
  for (size_t metric = 0; metric < panel.metrics.size(); ++metric) {
    if (!is_removed(panel.metrics[metric])) continue;
    std::ranges::fill(panel.Of(metric, entity).subspan(first, static_cast<size_t>(until - from)),
                      std::numeric_limits<float>::quiet_NaN());
  }
}

void RemoveLoad(int64_t from, int64_t until, size_t entity, Panel& panel) {
  Remove(from, until, entity, DependsOnLoad, panel);
}

void RemoveWindows(const std::set<std::pair<int64_t, Entity>>& removed, Panel& panel) {
  for (const auto& [window, entity] : removed) {
    const auto at = std::ranges::lower_bound(panel.entities, entity);
    if (at == panel.entities.end() || *at != entity) continue;
    const auto number = static_cast<size_t>(at - panel.entities.begin());
    Remove(window, window + 1, number, [](Metric) { return true; }, panel);
  }
}

// Removes the load at other levels: after a job changed, it does not show what is normal now.
void RemoveOtherLevels(std::span<const LevelChange> changes, int64_t window, size_t entity,
                       Panel& panel) {
  struct Segment {
    int64_t since = 0;
    size_t level = 0;
  };
  std::vector<Segment> segments = {{.since = std::numeric_limits<int64_t>::min(), .level = 0}};
  for (const LevelChange& change : changes) {
    if (change.known_at > window) break;
    const bool returned = change.returned && segments.size() > 1;
    const size_t level = returned ? segments[segments.size() - 2].level : segments.size();
    segments.push_back({.since = change.since, .level = level});
  }
  for (size_t i = 0; i < segments.size(); ++i) {
    // The first window of a segment has a part of both levels.
    const int64_t since = segments[i].since;
    const bool is_last = i + 1 == segments.size();
    const bool is_current = segments[i].level == segments.back().level;
    if (i > 0) RemoveLoad(since, since + 1, entity, panel);
    if (!is_last && !is_current) RemoveLoad(since, segments[i + 1].since, entity, panel);
  }
}

}  // namespace

void RoleWatch::Update(const MetricStore& metrics, std::span<const Member> members,
                       const EpisodeTracker& levels) {
  int64_t end = EndOfCompleteWindows(metrics, members);
  // The levels of a window must be known before it is evaluated.
  if (HasLevels(role_)) end = std::min(end, levels.end().value_or(end));
  if (!first_) next_ = first_.emplace(FirstCompleteWindow(metrics, members));
  // Series no longer contain the past of older windows.
  const auto kept = static_cast<int64_t>(MetricSeries::kMaxWindows);
  first_ = std::max(*first_, end - kept);
  next_ = std::max(next_, *first_);
  PanelReader reader(metrics, end);
  for (; next_ < end; ++next_) {
    if (next_ - *first_ < options_.shortest_past) {
      statistics_.unjudged += members.size();
      continue;
    }
    const int64_t past = std::min(next_ - *first_, options_.longest_past);
    const auto pace = static_cast<int64_t>(options_.refit_each * static_cast<double>(past));
    const bool is_outdated = !fitted_ || next_ - fitted_->at >= std::max<int64_t>(pace, 1) ||
                             (HasLevels(role_) && levels.HasChangesIn(next_));
    if (is_outdated) Fit(metrics, members, levels, reader, next_);
    Judge(metrics, reader, next_);
    Forget(next_ - options_.longest_past);
  }
}

void RoleWatch::Fit(const MetricStore& metrics, std::span<const Member> members,
                    const EpisodeTracker& levels, PanelReader& reader, int64_t window) {
  const int64_t from = std::max(*first_, window - options_.longest_past);
  fitted_ = std::make_unique<Fitted>();
  Fitted& fitted = *fitted_;
  fitted.at = window;
  fitted.panel = EmptyPanel(metrics, members, window - 1);
  Panel panel = reader.Read(fitted.panel, from, window);
  if (HasLevels(role_)) {
    for (size_t entity = 0; entity < panel.entities.size(); ++entity) {
      RemoveOtherLevels(levels.ChangesOf(panel.entities[entity]), window, entity, panel);
    }
  }
  RemoveWindows(odd_, panel);
  std::array<std::vector<size_t>, 2> halves;
  for (size_t i = 0; i < panel.windows; ++i) {
    halves[PartOf(panel.from + static_cast<int64_t>(i))].push_back(i);
  }
  fitted.even = std::make_unique<Past>(panel, halves[0], halves[1], PastOptions());
  fitted.odd = std::make_unique<Past>(panel, halves[1], halves[0], PastOptions());
  statistics_.fits += 2;
}

void RoleWatch::Judge(const MetricStore& metrics, PanelReader& reader, int64_t window) {
  const Panel panel = reader.Read(fitted_->panel, window, window + 1);
  const std::vector<Oddness> even = fitted_->even->Judge(panel);
  const std::vector<Oddness> odd = fitted_->odd->Judge(panel);
  std::vector<size_t> stable;
  uint32_t moved = 0;
  for (size_t entity = 0; entity < panel.entities.size(); ++entity) {
    if (!even[entity].judged || !odd[entity].judged) {
      ++statistics_.unjudged;
      continue;
    }
    ++statistics_.judged;
    const auto [less, more] = std::minmax({even[entity].Probability(), odd[entity].Probability()});
    if (less < options_.odd / options_.clearly) {
      if (more < options_.odd * options_.clearly) {
        stable.push_back(entity);
      } else {
        ++statistics_.unstable;
      }
    }
    const double own = std::max(even[entity].OwnProbability(), odd[entity].OwnProbability());
    if (own < options_.odd) ++moved;
  }
  statistics_.stable += stable.size();
  const double few = std::max<double>(
      options_.few, options_.few_share * static_cast<double>(panel.entities.size()));
  if (fitted_->even->has_peers() && moved > few) NoteShift(metrics, window, moved);
  if (fitted_->even->has_peers() && static_cast<double>(stable.size()) > few) {
    statistics_.shared += stable.size();
    return;
  }
  for (const size_t entity : stable) {
    odd_.insert({window, panel.entities[entity]});
    NoteAnomaly(metrics, panel, entity, even[entity], odd[entity]);
  }
}

void RoleWatch::NoteShift(const MetricStore& metrics, int64_t window, uint32_t entities) {
  const Timestamp from = metrics.StartOf(window);
  const Timestamp until = metrics.StartOf(window + 1);
  const auto of = static_cast<uint32_t>(fitted_->panel.entities.size());
  if (!phase_changes_.empty() &&
      from - phase_changes_.back().until < options_.calm * metrics.window()) {
    PhaseChange& last = phase_changes_.back();
    last.until = until;
    last.entities = std::max(last.entities, entities);
    last.of = of;
    return;
  }
  if (phase_changes_.size() >= kMaxPhaseChanges) phase_changes_.erase(phase_changes_.begin());
  phase_changes_.push_back(
      {.role = role_, .from = from, .until = until, .entities = entities, .of = of});
}

void RoleWatch::NoteAnomaly(const MetricStore& metrics, const Panel& panel, size_t entity,
                            const Oddness& even, const Oddness& odd) {
  const Timestamp from = metrics.StartOf(panel.from);
  const Timestamp until = metrics.StartOf(panel.from + 1);
  const Entity& whose = panel.entities[entity];
  // Use the half for which the window is less anomalous.
  const bool by_even = even.Probability() >= odd.Probability();
  const Oddness& oddness = by_even ? even : odd;
  const Past& past = by_even ? *fitted_->even : *fitted_->odd;
  const auto latest = latest_.find(whose);
  const auto is_symptom = [&](const MetricDeviation& one) {
    return IsClearSymptom(one, metrics.window());
  };
  bool goes_on = latest != latest_.end() &&
                 from - anomalies_[latest->second - gone_].until < options_.calm * metrics.window();
  std::vector<MetricDeviation> deviations;
  if (goes_on && std::ranges::none_of(anomalies_[latest->second - gone_].metrics, is_symptom)) {
    // A symptom that begins while the traffic is unusual is an anomaly of its own.
    deviations = past.Explain(panel, entity, metrics.window());
    goes_on = std::ranges::none_of(deviations, is_symptom);
  }
  Anomaly& anomaly = goes_on ? anomalies_[latest->second - gone_] : AddAnomaly(whose, from);
  anomaly.until = until;
  ++anomaly.windows;
  if (fitted_->even->has_peers()) anomaly.peers = static_cast<uint32_t>(panel.entities.size() - 1);
  if (goes_on && oddness.Probability() >= anomaly.probability) return;
  anomaly.peak = from;
  anomaly.probability = oddness.Probability();
  for (size_t i = 0; i < kAnomalyModels; ++i) {
    anomaly.models[i] = std::max(even.OfModel(i), odd.OfModel(i)) < options_.odd;
  }
  anomaly.metrics =
      deviations.empty() ? past.Explain(panel, entity, metrics.window()) : std::move(deviations);
}

Anomaly& RoleWatch::AddAnomaly(const Entity& entity, Timestamp from) {
  if (!anomalies_.empty() && anomalies_.size() >= options_.most_anomalies) ForgetOldest();
  latest_[entity] = gone_ + anomalies_.size();
  anomalies_.push_back({.entity = entity, .from = from});
  return anomalies_.back();
}

void RoleWatch::ForgetOldest() {
  const auto latest = latest_.find(anomalies_.front().entity);
  if (latest != latest_.end() && latest->second == gone_) latest_.erase(latest);
  anomalies_.pop_front();
  ++gone_;
  ++statistics_.refused;
}

void RoleWatch::Forget(int64_t before) {
  while (!odd_.empty() && odd_.begin()->first < before) odd_.erase(odd_.begin());
}

}  // namespace rocescope
