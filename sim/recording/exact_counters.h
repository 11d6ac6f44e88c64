// SPDX-License-Identifier: BSD-3-Clause
// The exact counters of a run: the true value of every counter at any time. The packet model
// records them in short steps, the flow model computes them. A telemetry profile (sim/profile)
// reads them in the way in which a poller reads real devices.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "dataplane/record/counter_entity.h"
#include "dataplane/record/metric.h"
#include "topology/fabric.h"

namespace rocescope::sim {

class ExactCounters {
 public:
  struct Entity {
    CounterEntity entity;
    topology::NodeIndex node = topology::kNone;  // the switch or host that reports it
    std::vector<Metric> metrics;                 // of each reading, in this order
  };
  // The device of an entity is down in [begin, end).
  struct Outage {
    Timestamp begin;
    Timestamp end;  // Timestamp::max(): it does not come up again

    friend bool operator==(const Outage&, const Outage&) = default;
  };

  virtual ~ExactCounters() = default;

  virtual std::span<const Entity> entities() const = 0;
  virtual Timestamp begin() const = 0;
  virtual Timestamp end() const = 0;
  // The outages of the switch, host or NIC that reports the entity, in order, without overlaps.
  // Read returns false in each of them.
  virtual std::vector<Outage> OutagesOf(uint32_t entity) const = 0;
  // Writes the values of the entity at `time` to `values`, which has one element for each metric.
  // Counters never decrease; an outage does not reset them. A watermark is the maximum, and a
  // utilisation the mean, over the time from `since` to `time`. Returns false if the device reports
  // nothing at that time. For each entity, `time` must not decrease between calls, and `since` must
  // not exceed `time`.
  virtual bool Read(uint32_t entity, Timestamp since, Timestamp time,
                    std::span<uint64_t> values) = 0;
};

}  // namespace rocescope::sim
