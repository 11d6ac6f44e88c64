// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/anomaly/episode_tracker.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "analytics/anomaly/complete_windows.h"

namespace rocescope {
namespace {

// Steps of one change are confirmed within this many windows.
constexpr int64_t kGroupWindows = 4;
constexpr size_t kManyLinks = 3;
// A level change is kept while the detector's past or a late call of Update can reach it.
constexpr int64_t kKeptChanges = 2 * static_cast<int64_t>(MetricSeries::kMaxWindows);

bool HasTraffic(const Entity& entity) {
  return (entity.kind == EntityKind::kPort || entity.kind == EntityKind::kNic) &&
         entity.priority == CounterEntity::kAllPriorities;
}

std::vector<Member> MembersOf(const MetricStore& metrics) {
  std::vector<Member> members;
  for (const auto& [entity, of_entity] : metrics.entities()) {
    if (!HasTraffic(entity)) continue;
    const bool counts = std::ranges::any_of(of_entity.series, [](const auto& one) {
      return one.first == Metric::kRxBytes || one.first == Metric::kTxBytes;
    });
    if (counts) members.push_back({.entity = entity, .of_entity = &of_entity});
  }
  return members;
}

// Bytes received and sent in the window; unset: not read.
std::optional<double> BytesIn(const MetricStore& metrics, const Member& member, int64_t window) {
  std::optional<double> bytes;
  for (const auto& [metric, series] : member.of_entity->series) {
    if (metric != Metric::kRxBytes && metric != Metric::kTxBytes) continue;
    const std::optional<double> value = ValueIn(metrics, metric, series, window);
    if (value) bytes = bytes.value_or(0) + *value;
  }
  return bytes;
}

// Identifies a link: both of its ends have the same identifier.
std::pair<EntityKind, uint32_t> LinkOf(const topology::Fabric& fabric, const Entity& entity) {
  if (entity.kind != EntityKind::kPort && entity.kind != EntityKind::kNic) {
    return {entity.kind, entity.index};
  }
  const topology::PortIndex port =
      entity.kind == EntityKind::kNic ? fabric.nic(entity.index).port : entity.index;
  if (port == topology::kNone) return {entity.kind, entity.index};
  const topology::PortIndex peer = fabric.Peer(port);
  return {EntityKind::kPort, peer == topology::kNone ? port : std::min(port, peer)};
}

}  // namespace

EpisodeTracker::EpisodeTracker(const topology::Fabric& fabric, Duration window,
                               const InferredJobOptions& options)
    : fabric_(fabric), window_(window), jobs_(window, options) {}

bool EpisodeTracker::AreOnManyLinks(const topology::Fabric& fabric,
                                    std::span<const Entity> entities) {
  std::set<std::pair<EntityKind, uint32_t>> links;
  for (const Entity& entity : entities) {
    links.insert(LinkOf(fabric, entity));
    if (links.size() >= kManyLinks) return true;
  }
  return false;
}

void EpisodeTracker::Update(const MetricStore& metrics) {
  const std::vector<Member> members = MembersOf(metrics);
  if (members.empty()) return;
  const int64_t end = EndOfCompleteWindows(metrics, members);
  if (!first_) next_ = first_.emplace(FirstCompleteWindow(metrics, members));
  // Series no longer contain older windows.
  next_ = std::max(next_, end - static_cast<int64_t>(MetricSeries::kMaxWindows));
  for (; next_ < end; ++next_) Evaluate(metrics, members, next_);
}

void EpisodeTracker::Evaluate(const MetricStore& metrics, std::span<const Member> members,
                              int64_t window) {
  const double seconds = std::chrono::duration<double>(metrics.window()).count();
  for (const Member& member : members) {
    const std::optional<double> bytes = BytesIn(metrics, member, window);
    if (!bytes) continue;
    const auto step = entities_[member.entity].level.Add(window, LevelOfRate(*bytes / seconds));
    if (step) AddTo(groups_[step->up ? 1 : 0], window, member.entity, *step);
  }
  // If a change downwards and one upwards end together, the earlier one is closed first.
  const bool up_first = groups_[1].first < groups_[0].first;
  for (Group* group : {&groups_[up_first ? 1 : 0], &groups_[up_first ? 0 : 1]}) {
    constexpr double kMemory = 1.0 / 64;  // windows
    group->usual -= group->usual * kMemory;
    if (group->steps.empty()) continue;
    const bool is_over = group->last < window || window - group->first + 1 >= kGroupWindows;
    if (is_over) Close(*group, window);
  }
}

void EpisodeTracker::AddTo(Group& group, int64_t window, const Entity& entity,
                           const LevelStep& step) {
  if (group.steps.empty()) group.first = window;
  group.last = window;
  const auto [at, is_new] = group.steps.emplace(entity, step);
  // The first steps may contain only a part of the change.
  if (!is_new) at->second.after = step.after;
}

// Chance changes of unrelated entities must not look like a job: their number in some windows has
// a Poisson distribution.
bool EpisodeTracker::IsCommon(const Group& group) const {
  constexpr double kDeviations = 4;
  std::vector<Entity> entities;
  for (const auto& [entity, step] : group.steps) entities.push_back(entity);
  const double chance = group.usual * static_cast<double>(group.last - group.first + 1);
  const double most = chance + kDeviations * std::sqrt(chance) + 1;
  return static_cast<double>(entities.size()) > most && AreOnManyLinks(fabric_, entities);
}

void EpisodeTracker::Close(Group& group, int64_t window) {
  constexpr double kMemory = 1.0 / 64;
  for (auto& [entity, step] : group.steps) {
    // The second window of a change may still contain only a part of it.
    const float reached = entities_.at(entity).level.reached();
    step.after = step.up ? std::max(step.after, reached) : std::min(step.after, reached);
  }
  if (!IsCommon(group)) {
    NoteAlone(group);
    group.usual += kMemory * static_cast<double>(group.steps.size());
    group.steps.clear();
    return;
  }
  std::vector<TrafficStep> steps;
  for (const auto& [entity, step] : group.steps) {
    OfEntity& of_entity = entities_.at(entity);
    steps.push_back({.entity = entity, .step = step});
    std::erase_if(of_entity.changes,
                  [&](const LevelChange& one) { return one.known_at < window - kKeptChanges; });
    of_entity.changes.push_back(
        {.known_at = window, .since = step.onset, .returned = step.Returned()});
  }
  group.steps.clear();
  changed_in_.insert(window);
  changed_in_.erase(changed_in_.begin(), changed_in_.lower_bound(window - kKeptChanges));
  jobs_.Add(steps);
}

// Adds steps of single entities to their episodes. A new episode starts with a fall, and only if
// such steps are rare.
void EpisodeTracker::NoteAlone(const Group& group) {
  constexpr double kRare = 0.1;  // steps per window
  constexpr double kFall = 0.5;
  constexpr uint8_t kSettled = 8;    // windows
  constexpr size_t kMaxAlone = 256;  // entities
  for (const auto& [entity, step] : group.steps) {
    const Timestamp at(step.onset * window_);
    const auto earlier = alone_.find(entity);
    const bool falls = !step.up && !step.Returned() && step.settled >= kSettled &&
                       RateOfLevel(step.after) < kFall * RateOfLevel(step.before);
    if (earlier == alone_.end() && (!falls || group.usual > kRare)) continue;
    if (earlier == alone_.end() && alone_.size() >= kMaxAlone) {
      alone_.erase(
          std::ranges::min_element(alone_, {}, [](const auto& one) { return one.second.until; }));
      ++forgotten_;
    }
    Episode& episode = alone_[entity];
    if (episode.entities.empty()) {
      episode = {.kind = EpisodeKind::kFellAlone,
                 .from = at,
                 .entities = {entity},
                 .of = 1,
                 .before = RateOfLevel(step.before)};
    } else if (!step.up) {
      ++episode.count;
    }
    episode.until = at + window_;
    episode.after = RateOfLevel(step.after);
    if (episode.steps.size() >= kMaxEpisodeSteps) episode.steps.erase(episode.steps.begin());
    episode.steps.push_back({.at = at, .up = step.up});
  }
}

std::vector<Episode> EpisodeTracker::Episodes() const {
  std::vector<Episode> episodes;
  for (const auto& [entity, episode] : alone_) episodes.push_back(episode);
  std::ranges::sort(episodes, {},
                    [](const Episode& one) { return std::pair(one.from, one.entities.front()); });
  std::ranges::move(jobs_.Episodes(next_), std::back_inserter(episodes));
  return episodes;
}

std::span<const LevelChange> EpisodeTracker::ChangesOf(Entity entity) const {
  entity.priority = CounterEntity::kAllPriorities;
  const auto at = entities_.find(entity);
  if (at == entities_.end()) return {};
  return at->second.changes;
}

}  // namespace rocescope
