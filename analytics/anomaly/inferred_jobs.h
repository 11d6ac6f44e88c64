// SPDX-License-Identifier: BSD-3-Clause
// Groups entities whose traffic changes together into inferred jobs, and records what the jobs do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "analytics/anomaly/episode.h"
#include "analytics/anomaly/traffic_level.h"
#include "analytics/metric/entity.h"
#include "base/time.h"

namespace rocescope {

struct TrafficStep {
  Entity entity;
  LevelStep step;
};

struct InferredJobOptions {
  // At least this part of a job's entities must change for the whole job to change.
  double most = 0.6;
  // Entities that changed with a job without belonging to it form a job of their own if there are
  // at least this many, and they are at least this part of all that changed.
  size_t fewest = 3;
  double good_part = 0.2;
  double idle = 0.25;          // traffic below this part of the traffic before has stopped
  int64_t longest_pause = 40;  // windows; a longer interruption is an end and a new start
  int64_t ramp = 16;           // windows after a start in which a further rise belongs to it
  size_t max_jobs = 256;       // the ones that changed least recently are forgotten
  size_t max_episodes = 512;   // the oldest are forgotten
  size_t max_entities = size_t{1} << 18;  // in all episodes
};

class InferredJobs {
 public:
  explicit InferredJobs(Duration window, const InferredJobOptions& options = {})
      : window_(window), options_(options) {}

  // Adds steps in the same direction, sorted by entity, each entity once. The order of calls is
  // that of the time at which the steps were confirmed.
  void Add(std::span<const TrafficStep> steps);

  // Sorted by time. `now` is the first window that was not evaluated.
  std::vector<Episode> Episodes(int64_t now) const;
  uint64_t forgotten() const { return forgotten_; }  // episodes dropped to make space

 private:
  struct Job {
    std::vector<Entity> entities;  // ascending
    bool runs = true;
    int64_t changed = 0;  // window
    // Identifiers of its latest episodes of each kind; 0: none.
    uint64_t started = 0;
    uint64_t paused = 0;
    uint64_t stopped = 0;
    uint64_t traffic_changed = 0;
  };
  using Steps = std::span<const TrafficStep>;

  // Removes the steps of jobs of which most entities changed, and returns the jobs with their
  // steps.
  std::vector<std::pair<uint32_t, std::vector<TrafficStep>>> TakeJobs(
      std::vector<TrafficStep>& steps) const;
  uint32_t NewJob(Steps steps);
  void Apply(uint32_t number, Steps steps);
  void Start(uint32_t number, Steps steps);
  void Resume(uint32_t number, Steps steps);
  void Stop(uint32_t number, Steps steps);
  void ChangeTraffic(uint32_t number, Steps steps);
  uint64_t AddEpisode(EpisodeKind kind, uint32_t number, Steps steps);
  Episode* Find(uint64_t id);
  void Extend(Episode& episode, Steps steps) const;
  void ForgetOldest();

  Timestamp StartOf(int64_t window) const { return Timestamp(window * window_); }

  const Duration window_;
  const InferredJobOptions options_;
  std::map<uint32_t, Job> jobs_;
  std::map<uint64_t, Episode> episodes_;
  uint32_t last_job_ = 0;
  uint64_t last_episode_ = 0;
  size_t entities_ = 0;  // in all episodes
  uint64_t forgotten_ = 0;
};

}  // namespace rocescope
