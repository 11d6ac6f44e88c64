// SPDX-License-Identifier: BSD-3-Clause
// The input of all detectors: the answers of the other analyses at one time, and counters as rows
// of windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "analytics/cabling/cable_finding.h"
#include "analytics/collective/collective.h"
#include "analytics/connection/connection.h"
#include "analytics/delay/delay.h"
#include "analytics/diagnosis/balance.h"
#include "analytics/diagnosis/thresholds.h"
#include "analytics/job/attribution.h"
#include "analytics/link/counter_checks.h"
#include "analytics/link/link_errors.h"
#include "analytics/link/link_losses.h"
#include "analytics/loss/loss_tracker.h"
#include "analytics/metric/metric_store.h"
#include "analytics/path/path.h"
#include "analytics/traffic/traffic.h"
#include "topology/fabric.h"

namespace rocescope {

struct Reordering;

// All references must outlive the DiagnosisInput.
struct DiagnosisParts {
  const topology::Fabric& fabric;
  const MetricStore& metrics;
  const FlowPaths& paths;
  const FlowSummaries& flows;
  const ConnectionList& connections;
  const Attribution& attribution;
  const std::vector<JobIterationPattern>& iteration_patterns;
  const CablingAnswer& cabling;
  const Delays& delays;
  const QueueUses& queue_uses;
  const LossTracker& losses;
  const CounterChecks& counter_checks;
  const LinkErrors& link_errors;
  const LinkLosses& link_losses;
  Thresholds thresholds = {};
  // sFlow and INT may be forged: see forgeable.h. Files that a user selected are not.
  bool is_udp_forgeable = false;
};

// Priorities of PFC and of queues.
inline constexpr uint8_t kPriorities = 8;

// One value per window: see WindowValue (series.h).
using Row = std::vector<uint64_t>;

class DiagnosisInput {
 public:
  explicit DiagnosisInput(const DiagnosisParts& parts);

  const DiagnosisParts& parts() const { return parts_; }
  const topology::Fabric& fabric() const { return parts_.fabric; }
  const Thresholds& thresholds() const { return parts_.thresholds; }

  // Windows with counters are numbered 0 to windows() - 1 (row index).
  size_t windows() const { return windows_; }
  Timestamp BeginOf(size_t window) const {
    return parts_.metrics.StartOf(first_ + static_cast<int64_t>(window));
  }
  // The row index of the window with this number since the epoch; windows() or more if the window
  // is not among them.
  size_t PlaceOf(int64_t window) const { return static_cast<size_t>(window - first_); }
  Timestamp EndOf(size_t window) const { return BeginOf(window + 1); }

  // The begin of a window of all data, including windows that are no longer stored.
  Timestamp BeginOfEver(size_t window) const {
    return parts_.metrics.StartOf(first_ever_ + static_cast<int64_t>(window));
  }

  // The end of a fault that was last visible in the window; unset while it may still be active.
  std::optional<Timestamp> Until(size_t last) const;
  // Bytes that the port can send in a window at line rate.
  double BytesPerWindow(topology::PortIndex port) const;

  // The port itself for a switch, the NIC for a port of a host.
  Entity EntityOf(topology::PortIndex port, uint8_t priority = CounterEntity::kAllPriorities) const;
  bool HasMetric(const Entity& entity, Metric metric) const {
    return parts_.metrics.Find(entity, metric) != nullptr;
  }
  // The counter of damaged frames: FCS errors, or receive errors if the entity does not count
  // those.
  Metric ErrorMetricOf(const Entity& entity) const {
    return HasMetric(entity, Metric::kFcsErrors) ? Metric::kFcsErrors : Metric::kRxErrors;
  }
  // Increase per window. Zeros if the metric was never read: check IsKnown before using a zero.
  Row Growth(const Entity& entity, Metric metric) const;
  // Windows without a reading have the previous reading; windows before the first reading have the
  // first. Empty if the metric is missing.
  Row Levels(const Entity& entity, Metric metric) const;
  // Zeros in windows without a reading: a watermark applies to its own window only.
  Row Readings(const Entity& entity, Metric metric) const { return Growth(entity, metric); }
  // Whether the metric exists and did not restart in the window.
  bool IsKnown(const Entity& entity, Metric metric, size_t window) const;
  // Whether a gauge was read in the window.
  bool HasReading(const Entity& entity, Metric metric, size_t window) const;

  // The median time between two readings of a counter, at least one window; 0: no counter was read
  // twice.
  Duration reading_period() const { return reading_period_; }
  // The median time between two readings of a link's state, in windows; at least 1.
  size_t link_state_windows() const { return link_state_windows_; }

  // Whether a port without a declared link has traffic. The sums over the links of such a switch
  // are incomplete.
  bool HasUndeclaredTraffic(topology::NodeIndex node) const;

  // Readings at most this far apart count as simultaneous.
  Duration ReadingSlack() const;
  // Whether both counters are read at the same times, so that their sums can be compared. Never if
  // devices are generally read at different times: two of many then coincide by chance.
  bool AreSimultaneous(const Entity& a, Metric of_a, const Entity& b, Metric of_b) const;
  // Whether both ends of most links were last read at the same time. Computed on first use.
  bool DoMostCoincide() const;

  // Whether the metric is read at the end of each window. Otherwise, an event in a window may be
  // counted by the reading in the next window, and a watermark may be that of the window before.
  bool IsReadAtWindowEnds(const Entity& entity, Metric metric) const;

  // See spraying.h. Computed on first use, like link_balances.
  bool is_spraying() const;

  // See reordering.h. Computed on first use.
  const Reordering& reordering() const;

  // See link_balance.h. Computed on first use, so that the object belongs to one thread.
  const Balances& link_balances() const;

 private:
  bool CoincideAtLast(const Entity& a, Metric of_a, const Entity& b, Metric of_b) const;

  const DiagnosisParts parts_;
  int64_t first_ever_ = 0;  // the first window with counters
  int64_t first_ = 0;       // the first stored one
  size_t windows_ = 0;
  Duration reading_period_{};
  size_t link_state_windows_ = 1;
  mutable std::shared_ptr<const Balances> link_balances_;
  mutable std::shared_ptr<const Reordering> reordering_;
  mutable std::optional<bool> is_spraying_;
  mutable std::optional<bool> do_most_coincide_;
};

}  // namespace rocescope
