// SPDX-License-Identifier: BSD-3-Clause
// Changes that many entities have in common. Ports whose traffic changes together form an inferred
// job; this is a guess from counters, which knows neither packets nor schedulers.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/metric/entity.h"
#include "base/time.h"

namespace rocescope {

enum class EpisodeKind : uint8_t {
  kJobStarted,         // traffic of the job's ports began
  kJobPaused,          // traffic stopped and began again
  kJobStopped,         // traffic stopped a short time ago: the job paused or ended
  kJobEnded,           // traffic stopped and did not begin again
  kJobTrafficChanged,  // traffic rose or fell, but did not stop
  kChangedTogether,    // a metric of several entities deviated at the same time
  kFellAlone,          // traffic of one entity fell, that of the others did not change
};

// A change of the traffic. `at` is the start of the first window with a changed value.
struct EpisodeStep {
  Timestamp at;
  bool up = false;

  friend bool operator==(const EpisodeStep&, const EpisodeStep&) = default;
};

struct Episode {
  EpisodeKind kind = EpisodeKind::kChangedTogether;
  uint32_t job = 0;  // number of the inferred job, from 1; 0: none
  Timestamp from;    // start of the first window with a changed value
  // Start of the first window with the next change (kJobPaused, the last pause), otherwise the end
  // of the last window in which an entity changed.
  Timestamp until;
  uint32_t count = 1;              // number of pauses or changes
  Duration paused{};               // sum of all pauses
  std::vector<Entity> entities;    // ascending; entities that changed
  uint32_t of = 0;                 // entities of the inferred job
  double before = 0;               // median over the entities, bytes/s, received and sent
  double after = 0;                // as `before`, after the last change
  Metric metric = Metric::kCount;  // kChangedTogether: metric that deviates most
  bool up = false;                 // kChangedTogether: whether the metric rose
  std::vector<EpisodeStep> steps;  // ascending; at most the latest kMaxEpisodeSteps

  friend bool operator==(const Episode&, const Episode&) = default;
};

inline constexpr size_t kMaxEpisodeSteps = 64;

}  // namespace rocescope
