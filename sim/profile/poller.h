// SPDX-License-Identifier: BSD-3-Clause
// The poller of one group of a node, and the counters as that device reports them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "sim/profile/poll_schedule.h"
#include "sim/profile/transform.h"

namespace rocescope::sim {

// An entity as the collector sees it: some of its metrics, with the device's own start values.
struct PolledEntity {
  static constexpr uint32_t kUnannounced = UINT32_MAX;

  // Converts one exact value to the reported one: (exact + offset) & mask.
  struct Conversion {
    uint32_t source = 0;  // index in the exact metrics
    uint64_t offset = 0;  // counters only; modulo 2^64
    uint64_t mask = UINT64_MAX;
    bool is_counter = false;
  };
  struct QuirkCount {
    size_t value = 0;  // index in `values`
    Duration period{};
    Duration phase{};
    uint64_t at_restart = 0;  // count at the last restart of the counters
  };

  uint32_t index = 0;  // in ExactCounters::entities
  const CounterEntity* entity = nullptr;
  std::vector<Metric> metrics;
  std::vector<Conversion> conversions;  // one for each metric; empty: the exact values
  std::optional<QuirkCount> quirk;
  uint32_t number = kUnannounced;              // number in the sink
  bool is_present = false;                     // the device reports it at present
  uint32_t restarts = 0;                       // number of restarts of its counters
  std::vector<ExactCounters::Outage> outages;  // of its device
  size_t next_outage = 0;  // the first one that had not ended at the last reading
  // Start of the time that watermarks cover, if the device was down at the previous poll.
  std::optional<Timestamp> since;
  std::vector<uint64_t> values;  // one for each metric
};

class Poller {
 public:
  // One stream of random numbers for each purpose, so that a setting does not change the effect of
  // others.
  struct Streams {
    Random loss;
    Random lateness;
    Random order;
    Random duplicates;
    Random restarts;
  };
  struct Options {
    PollSchedule::Options schedule;
    const Profile* profile = nullptr;  // outlives the poller
    Duration clock_offset{};
    double restarts_per_ns = 0;
    uint32_t number = 0;  // index in TransformReport::pollers
  };

  Poller(const Options& options, std::vector<PolledEntity> entities);

  const Poll& next() const { return schedule_.next(); }
  // Removes the next poll from the schedule, whether it is lost or not.
  void Take();
  // Reads all entities as the device reports them in the poll that Take removed.
  void Read(ExactCounters& exact);

  Timestamp TimestampOf(const Poll& poll) const {
    return WithinBounds(options_.profile->device_timestamps ? poll.time + options_.clock_offset
                                                            : poll.arrival);
  }
  const Profile& profile() const { return *options_.profile; }
  Duration period() const { return options_.schedule.period; }
  // The greatest time between the arrivals of two successive polls.
  Duration longest_gap() const {
    return options_.schedule.period + options_.schedule.jitter + options_.schedule.response;
  }
  std::span<PolledEntity> entities() { return entities_; }
  Streams& streams() { return streams_; }
  uint32_t number() const { return options_.number; }
  uint32_t restarts() const;  // greatest number of restarts of an entity

 private:
  bool ReadEntity(ExactCounters& exact, PolledEntity& entity, std::span<uint64_t> values);
  // Marks an entity as absent if its device went down since the previous poll, which returned the
  // same refresh.
  void LeaveOutThoseDown();
  // Whether the device was down between the refresh and the poll that was taken.
  bool IsDown(const PolledEntity& entity) const {
    return entity.next_outage < entity.outages.size() &&
           entity.outages[entity.next_outage].begin <= time_;
  }
  // Restarts the entity at the end of each outage until `time`.
  void EndOutages(ExactCounters& exact, PolledEntity& entity, Timestamp time);
  void DrawRestart();
  void RestartAll(ExactCounters& exact, Timestamp time);
  void Restart(ExactCounters& exact, PolledEntity& entity, Timestamp time);
  void Convert(PolledEntity& entity, Timestamp time);

  const Options options_;
  PollSchedule schedule_;
  Streams streams_;
  std::vector<PolledEntity> entities_;
  std::vector<uint64_t> exact_;    // the values of one entity
  Timestamp since_;                // exact time of the previous poll that returned other values
  Timestamp time_;                 // time of the poll that was taken
  Timestamp exact_time_;           // exact time of the poll that was taken
  std::optional<Timestamp> read_;  // exact time of the values in `entities_`
  Timestamp next_restart_ = Timestamp::max();
};

// Makes the pollers of all nodes that are polled. The report lists the pollers of all nodes.
Result<std::vector<Poller>> MakePollers(const ExactCounters& exact, const Profile& profile,
                                        const TransformOptions& options, TransformReport& report);

}  // namespace rocescope::sim
