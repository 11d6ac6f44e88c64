// SPDX-License-Identifier: BSD-3-Clause
// Results of the anomaly detection: entities whose counters deviate from their own past and from
// their peers. An anomaly says that a behaviour is unusual, not that something is broken; that is a
// finding.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analytics/anomaly/episode.h"
#include "analytics/anomaly/role.h"
#include "analytics/metric/entity.h"
#include "base/time.h"

namespace rocescope {

enum class AnomalyModelKind : uint8_t { kRobustZ, kPrincipalComponents, kMixture };
inline constexpr size_t kAnomalyModels = 3;
// Names in reports and in the API.
inline constexpr std::array<std::string_view, kAnomalyModels> kAnomalyModelNames = {
    "robust_z", "principal_components", "gaussian_mixture"};

// All values are in the metric's unit per window: the increment of a counter or the level of a
// gauge.
struct MetricDeviation {
  Metric metric = Metric::kCount;
  double share = 0;  // contribution to the anomaly score of the window, 0 to 1
  double observed = 0;
  // Predicted from the entity's past and the shift of its peers in the same window.
  double expected = 0;
  double spread = 0;  // usual deviation from the expected value

  friend bool operator==(const MetricDeviation&, const MetricDeviation&) = default;
};

struct Anomaly {
  Entity entity;
  Timestamp from;  // aligned to analysis windows: start of the first, end of the last
  Timestamp until;
  uint32_t windows = 0;  // anomalous windows within [from, until)
  uint32_t peers = 0;    // other entities of the same role; 0: compared only with its own past
  Timestamp peak;        // start of the most anomalous window; the members below refer to it
  // Probability (0 to 1) that a normal window is at least as unusual, given the past.
  double probability = 1;
  // Models that classify the window as anomalous on their own.
  std::array<bool, kAnomalyModels> models{};
  std::vector<MetricDeviation> metrics;  // sorted by share, largest first
  // Position in Anomalies::episodes, from 1, of the episode that explains it. 0: it is unlike the
  // other entities.
  uint32_t episode = 0;

  // Anomaly score from 0 to 1; larger is more anomalous.
  double Score() const { return 1 - probability; }
  friend bool operator==(const Anomaly&, const Anomaly&) = default;
};

// Many entities of one role changed their behaviour at the same time: a job started, ended or
// changed its phase. This is not an anomaly.
struct PhaseChange {
  Role role;
  Timestamp from;  // aligned to analysis windows, as in Anomaly
  Timestamp until;
  uint32_t entities = 0;  // maximum number of affected entities in one window
  uint32_t of = 0;        // entities of this role

  friend bool operator==(const PhaseChange&, const PhaseChange&) = default;
};

struct AnomalyStatistics {
  uint64_t judged = 0;    // all counts below are windows of single entities
  uint64_t unjudged = 0;  // too little past
  uint64_t stable = 0;    // anomalous according to both halves of the past
  uint64_t unstable = 0;  // clearly anomalous according to only one half: not reported
  uint64_t shared = 0;  // stable, but too many entities of the role were anomalous at the same time
  uint64_t refused = 0;  // oldest anomalies dropped to make space for new ones of the same role
  uint64_t fits = 0;     // model fits to a role's past
  uint64_t forgotten_episodes = 0;  // oldest episodes dropped to make space for new ones

  friend bool operator==(const AnomalyStatistics&, const AnomalyStatistics&) = default;
};

struct Anomalies {
  std::vector<Anomaly> anomalies;          // sorted by time, then entity
  std::vector<PhaseChange> phase_changes;  // sorted by time, then role
  // First kFellAlone, then those of inferred jobs, both sorted by time, then kChangedTogether.
  std::vector<Episode> episodes;
  AnomalyStatistics statistics;
};

}  // namespace rocescope
