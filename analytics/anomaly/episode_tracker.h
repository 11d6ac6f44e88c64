// SPDX-License-Identifier: BSD-3-Clause
// Finds changes of the traffic that several ports have in common, one analysis window at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "analytics/anomaly/inferred_jobs.h"
#include "analytics/anomaly/panel.h"
#include "analytics/anomaly/traffic_level.h"
#include "analytics/metric/metric_store.h"
#include "topology/fabric.h"

namespace rocescope {

// From window `since` on, the traffic of an entity has another level, because a job changed.
struct LevelChange {
  int64_t known_at = 0;  // window in which the change was recognised
  int64_t since = 0;
  bool returned = false;  // to the level before the last change
};

class EpisodeTracker {
 public:
  // `fabric` must outlive the tracker.
  explicit EpisodeTracker(const topology::Fabric& fabric, Duration window,
                          const InferredJobOptions& options = {});

  // Evaluates windows that completed since the last call. The cost of a window is linear in the
  // entities and independent of the history.
  void Update(const MetricStore& metrics);

  // First window that was not evaluated; unset: no entity reports traffic.
  std::optional<int64_t> end() const { return first_ ? std::optional(next_) : std::nullopt; }
  // First those of single entities, then those of inferred jobs; both sorted by time.
  std::vector<Episode> Episodes() const;
  uint64_t forgotten() const { return jobs_.forgotten() + forgotten_; }

  // Changes of a port or NIC in the latest windows, in order. Priorities have those of their port.
  std::span<const LevelChange> ChangesOf(Entity entity) const;

  // Whether any change was recognised in this window.
  bool HasChangesIn(int64_t window) const { return changed_in_.contains(window); }

  // Whether the entities are on at least three links, so that a fault of one link cannot affect all
  // of them.
  static bool AreOnManyLinks(const topology::Fabric& fabric, std::span<const Entity> entities);

 private:
  // Steps in one direction, in successive windows. Entities that are read at different times show a
  // change in different windows.
  struct Group {
    int64_t first = 0;  // windows in which steps were confirmed
    int64_t last = 0;
    std::map<Entity, LevelStep> steps;
    double usual = 0;  // mean number of steps per window that do not belong to a common change
  };
  struct OfEntity {
    TrafficLevel level;
    std::vector<LevelChange> changes;
  };

  void Evaluate(const MetricStore& metrics, std::span<const Member> members, int64_t window);
  void AddTo(Group& group, int64_t window, const Entity& entity, const LevelStep& step);
  void Close(Group& group, int64_t window);
  bool IsCommon(const Group& group) const;
  void NoteAlone(const Group& group);

  const topology::Fabric& fabric_;
  const Duration window_;
  std::optional<int64_t> first_;
  int64_t next_ = 0;
  std::map<Entity, OfEntity> entities_;
  std::array<Group, 2> groups_;  // downwards, upwards
  std::set<int64_t> changed_in_;
  InferredJobs jobs_;
  std::map<Entity, Episode> alone_;
  uint64_t forgotten_ = 0;  // episodes dropped from alone_
};

}  // namespace rocescope
