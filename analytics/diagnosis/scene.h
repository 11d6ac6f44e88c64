// SPDX-License-Identifier: BSD-3-Clause
// What detectors look at: the answers of all other rooms at one moment, and counters as rows of
// windows.
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
#include "analytics/job/attribution.h"
#include "analytics/loss/loss_tracker.h"
#include "analytics/metric/metric_store.h"
#include "analytics/path/path.h"
#include "analytics/traffic/traffic.h"
#include "topology/fabric.h"

namespace rocescope {

// All must outlive the scene.
struct SceneParts {
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
};

// Of PFC and of queues.
inline constexpr uint8_t kPriorities = 8;

// By how much a counter grew in each window, or what a gauge said at its end.
using Row = std::vector<uint64_t>;

class Scene {
 public:
  explicit Scene(const SceneParts& parts);

  const SceneParts& parts() const { return parts_; }
  const topology::Fabric& fabric() const { return parts_.fabric; }

  // Windows that counters tell of: from 0 up to this.
  size_t windows() const { return windows_; }
  Timestamp BeginOf(size_t window) const {
    return parts_.metrics.StartOf(first_ + static_cast<int64_t>(window));
  }
  // Where a window with this number since the epoch is; at least windows() if it is not.
  size_t PlaceOf(int64_t window) const { return static_cast<size_t>(window - first_); }
  Timestamp EndOf(size_t window) const { return BeginOf(window + 1); }

  // The end of what was seen last in the window; unset while it may go on.
  std::optional<Timestamp> Until(size_t last) const;
  // Most that the port can send in a window.
  double BytesAWindow(topology::PortIndex port) const;

  // A switch's port itself, a host's as its NIC.
  Entity EntityOf(topology::PortIndex port, uint8_t priority = CounterEntity::kAllPriorities) const;
  bool Tells(const Entity& entity, Metric metric) const {
    return parts_.metrics.Find(entity, metric) != nullptr;
  }
  // Zeros if nobody tells.
  Row Growth(const Entity& entity, Metric metric) const;
  // Windows without a reading have the one before; those before the first, the first. Empty if
  // nobody tells.
  Row Levels(const Entity& entity, Metric metric) const;
  // Zeros in windows without a reading: what a watermark said is of that window alone.
  Row Readings(const Entity& entity, Metric metric) const { return Growth(entity, metric); }
  // Whether what it did in the window is known: told at all, and no counter that began anew then.
  bool IsKnown(const Entity& entity, Metric metric, size_t window) const;
  // Of a gauge: whether anybody read it in the window.
  bool HasReading(const Entity& entity, Metric metric, size_t window) const;

  // Of a port to which no link is declared: what a switch gets and sends is not what its links do.
  bool HasUndeclaredTraffic(topology::NodeIndex node) const;

  // Both counters are read at the same moments, so that sums over them mean something.
  Duration ReadingSlack() const;  // so much apart, they still are
  bool AreSimultaneous(const Entity& a, Metric of_a, const Entity& b, Metric of_b) const;

  // link_balance.h; worked out when first asked for. A scene is one thread's.
  const Balances& link_balances() const;

 private:
  const SceneParts parts_;
  int64_t first_ = 0;
  size_t windows_ = 0;
  mutable std::shared_ptr<const Balances> link_balances_;
};

}  // namespace rocescope
