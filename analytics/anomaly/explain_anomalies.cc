// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/explain_anomalies.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analytics/anomaly/deviation.h"
#include "analytics/anomaly/episode_tracker.h"

namespace rocescope {
namespace {

// In windows: readings at different times within a window shift a change by up to two windows.
constexpr int64_t kBefore = 2;
// In windows: the detector finds small deviations of a new level until it has learnt that level.
constexpr int64_t kAfter = 8;
constexpr int64_t kTogether = 1;         // between successive anomalies that begin together
constexpr int64_t kLongestTogether = 4;  // between the first and the last of them

Entity PortOf(Entity entity) {
  entity.priority = CounterEntity::kAllPriorities;
  return entity;
}

class Explainer {
 public:
  Explainer(const topology::Fabric& fabric, Duration window, Anomalies& all)
      : fabric_(fabric), window_(window), all_(all) {
    for (uint32_t i = 0; i < all_.episodes.size(); ++i) {
      for (const Entity& entity : all_.episodes[i].entities) episodes_of_[entity].push_back(i);
    }
  }

  void Run() {
    ExplainByJobs();
    KeepUnlikePeers();
    GroupRest();
  }

 private:
  static constexpr uint32_t kNone = 0;
  // A metric and its direction.
  using Symptom = std::pair<Metric, bool>;

  std::vector<Symptom> SymptomsOf(const Anomaly& anomaly) const {
    std::vector<Symptom> symptoms;
    for (const MetricDeviation& one : anomaly.metrics) {
      if (IsClearSymptom(one, window_)) {
        symptoms.emplace_back(one.metric, one.observed > one.expected);
      }
    }
    return symptoms;
  }

  bool Explains(const Episode& episode, const Anomaly& anomaly) const {
    const int direction = TrafficDirection(anomaly);
    for (size_t i = 0; i < episode.steps.size(); ++i) {
      const EpisodeStep& step = episode.steps[i];
      if (direction != 0 && (direction > 0) != step.up) continue;
      if (anomaly.from < step.at - kBefore * window_) continue;
      // A port that fell alone stays unusual until its next step.
      const bool stays = episode.kind == EpisodeKind::kFellAlone &&
                         (i + 1 == episode.steps.size() || anomaly.from < episode.steps[i + 1].at);
      if (stays || anomaly.from <= step.at + kAfter * window_) return true;
    }
    return false;
  }

  void ExplainByJobs() {
    for (Anomaly& anomaly : all_.anomalies) {
      anomaly.episode = kNone;
      const auto at = episodes_of_.find(PortOf(anomaly.entity));
      if (at == episodes_of_.end()) continue;
      for (const uint32_t episode : at->second) {
        if (Explains(all_.episodes[episode], anomaly)) anomaly.episode = episode + 1;
      }
    }
  }

  // An anomaly with a symptom that few anomalies of the same episode have remains a single one.
  void KeepUnlikePeers() {
    std::map<std::pair<uint32_t, Symptom>, std::set<Entity>> with_symptom;
    std::map<uint32_t, std::set<Entity>> explained;
    for (const Anomaly& anomaly : all_.anomalies) {
      if (anomaly.episode == kNone) continue;
      explained[anomaly.episode].insert(PortOf(anomaly.entity));
      for (const Symptom& one : SymptomsOf(anomaly)) {
        with_symptom[{anomaly.episode, one}].insert(PortOf(anomaly.entity));
      }
    }
    for (Anomaly& anomaly : all_.anomalies) {
      if (anomaly.episode == kNone) continue;
      const size_t few = std::max<size_t>(2, explained[anomaly.episode].size() / 4);
      const bool is_alone = all_.episodes[anomaly.episode - 1].kind == EpisodeKind::kFellAlone;
      for (const Symptom& one : SymptomsOf(anomaly)) {
        // The episode is that its traffic fell, unlike that of its peers.
        if (is_alone && IsTraffic(one.first)) continue;
        if (with_symptom.at({anomaly.episode, one}).size() > few) continue;
        anomaly.episode = kNone;
        break;
      }
    }
  }

  // Anomalies without an episode that begin together and deviate alike.
  void GroupRest() {
    using Key = std::tuple<EntityKind, Metric, bool>;
    std::map<Key, std::vector<Anomaly*>> alike;
    for (Anomaly& anomaly : all_.anomalies) {
      if (anomaly.episode != kNone || anomaly.metrics.empty()) continue;
      const MetricDeviation& first = anomaly.metrics.front();
      const bool up = first.observed > first.expected;
      // The metrics of traffic change together: any of them may deviate most.
      const Metric metric = IsTraffic(first.metric) ? Metric::kTxBytes : first.metric;
      alike[{anomaly.entity.kind, metric, up}].push_back(&anomaly);
    }
    for (const auto& [key, anomalies] : alike) {
      for (size_t first = 0; first < anomalies.size();) {
        size_t end = first + 1;
        while (end < anomalies.size() &&
               anomalies[end]->from - anomalies[end - 1]->from <= kTogether * window_ &&
               anomalies[end]->from - anomalies[first]->from < kLongestTogether * window_) {
          ++end;
        }
        AddTogether(std::get<Metric>(key), std::get<bool>(key),
                    std::span(anomalies).subspan(first, end - first));
        first = end;
      }
    }
  }

  void AddTogether(Metric metric, bool up, std::span<Anomaly* const> anomalies) {
    std::set<Entity> entities;
    for (const Anomaly* anomaly : anomalies) entities.insert(anomaly->entity);
    Episode episode{.metric = metric, .up = up};
    episode.entities.assign(entities.begin(), entities.end());
    if (!EpisodeTracker::AreOnManyLinks(fabric_, episode.entities)) return;
    if (const auto job = JobAtTheTime(metric, up, *anomalies.front())) {
      for (Anomaly* anomaly : anomalies) anomaly->episode = *job + 1;
      return;
    }
    episode.of = static_cast<uint32_t>(episode.entities.size());
    episode.from = anomalies.front()->from;
    for (Anomaly* anomaly : anomalies) {
      episode.until = std::max(episode.until, anomaly->until);
      anomaly->episode = static_cast<uint32_t>(all_.episodes.size()) + 1;
    }
    all_.episodes.push_back(std::move(episode));
  }

  // Returns the index of an episode of a job that changed at about this time. Several ports whose
  // traffic changes a little then, such as uplinks, carry the traffic of the job.
  std::optional<uint32_t> JobAtTheTime(Metric metric, bool up, const Anomaly& first) const {
    if (!IsTraffic(metric)) return std::nullopt;
    for (uint32_t i = 0; i < all_.episodes.size(); ++i) {
      if (all_.episodes[i].job == 0) continue;
      for (const EpisodeStep& step : all_.episodes[i].steps) {
        const Duration apart = first.from - step.at;
        if (step.up == up && apart <= kBefore * window_ && apart >= -kBefore * window_) return i;
      }
    }
    return std::nullopt;
  }

  const topology::Fabric& fabric_;
  const Duration window_;
  Anomalies& all_;
  std::map<Entity, std::vector<uint32_t>> episodes_of_;
};

}  // namespace

void ExplainAnomalies(const topology::Fabric& fabric, Duration window, Anomalies& all) {
  Explainer(fabric, window, all).Run();
}

}  // namespace rocescope
