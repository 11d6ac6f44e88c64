// SPDX-License-Identifier: BSD-3-Clause
// The answer of the anomaly detection: what behaved otherwise than it used to and than its like, by
// its own counters alone. It says that something is odd, not what is broken: that is a finding.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "analytics/anomaly/role.h"
#include "analytics/metric/entity.h"
#include "base/time.h"

namespace rocescope {

enum class AnomalyModelKind : uint8_t { kRobustZ, kPrincipalComponents, kMixture };
inline constexpr size_t kAnomalyModels = 3;
// As reports have it.
inline constexpr std::array<std::string_view, kAnomalyModels> kAnomalyModelNames = {
    "robust_z", "principal_components", "gaussian_mixture"};

// In the metric's unit, a window: by how much a counter grew, how high a gauge stood.
struct MetricDeviation {
  Metric metric = Metric::kCount;
  double share = 0;  // of what is odd about the window: 0 to 1
  double observed = 0;
  double expected = 0;  // by its own past, moved as its peers moved in the same window
  double spread = 0;    // how far from it is usual

  friend bool operator==(const MetricDeviation&, const MetricDeviation&) = default;
};

struct Anomaly {
  Entity entity;
  Timestamp from;  // of analysis windows: the first one's beginning, the last one's end
  Timestamp until;
  uint32_t windows = 0;    // odd ones among these
  uint32_t peers = 0;      // entities of the same role; 0: held against its own past alone
  Timestamp peak;          // beginning of the oddest window, which the following are about
  double probability = 1;  // of a window as odd, by what was seen before: 0 to 1
  std::array<bool, kAnomalyModels> models{};  // that find it odd by themselves
  std::vector<MetricDeviation> metrics;       // the largest share first

  // 0 to 1; the larger, the odder.
  double Score() const { return 1 - probability; }
  friend bool operator==(const Anomaly&, const Anomaly&) = default;
};

// Many of one role began to behave otherwise at the same time: a job began, ended, or does
// something else. No anomaly.
struct PhaseChange {
  Role role;
  Timestamp from;  // of analysis windows, as above
  Timestamp until;
  uint32_t entities = 0;  // at most in one window
  uint32_t of = 0;        // entities of that role

  friend bool operator==(const PhaseChange&, const PhaseChange&) = default;
};

struct AnomalyStatistics {
  uint64_t judged = 0;    // windows of single entities, as are the following
  uint64_t unjudged = 0;  // for want of a past
  uint64_t stable = 0;    // odd by both halves of the past
  uint64_t unstable = 0;  // clearly odd by one half alone: not reported
  uint64_t shared = 0;    // stable, but too many of the role were odd at the same time
  uint64_t refused = 0;   // anomalies, the oldest, that gave way to new ones of their role
  uint64_t fits = 0;      // of models to a role's past

  friend bool operator==(const AnomalyStatistics&, const AnomalyStatistics&) = default;
};

struct Anomalies {
  std::vector<Anomaly> anomalies;          // by time, then entity
  std::vector<PhaseChange> phase_changes;  // by time, then role
  AnomalyStatistics statistics;
};

}  // namespace rocescope
