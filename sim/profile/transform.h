// SPDX-License-Identifier: BSD-3-Clause
// Reads exact counters as pollers read real devices: each device at its own phase, through the
// device's cache, with losses, delays, duplicates, wraps and restarts.
//
// A device answers a poll only if it has been up since the refresh whose values it returns. Its
// counters and watermarks start from 0 when it comes up again, unless the profile says that they
// survive.
//
// Invariant, for each counter that neither restarts nor wraps: a reading is the exact value at a
// time from (its timestamp - staleness - clock error) to (its timestamp + clock error), where
// PollerReport has the staleness. Start values add a constant, quirks a slowly increasing count.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataplane/run/counter_columns.h"
#include "sim/profile/profile.h"
#include "sim/recording/exact_counters.h"

namespace rocescope::sim {

// Pollers read the groups of a node separately, for example a host's NICs by node_exporter and its
// GPUs by DCGM.
enum class PollGroup : uint8_t { kSwitch, kNic, kGpu };
std::string_view NameOf(PollGroup group);  // "switch", "nic", "gpu"

struct TransformOptions {
  // All times of the profile are multiplied by this factor. Runs of the packet model last for
  // milliseconds: one analysis window represents one polling period of the switches, or of the NICs
  // if switches are not polled.
  double scale = 1;
  uint64_t seed = 1;
  std::span<const ProfileOverride> overrides;
  // Entities (indices in ExactCounters::entities) whose readings the report lists.
  std::span<const uint32_t> watched;
};

// The settings that the poller of one group of a node got. Times are scaled.
struct PollerReport {
  topology::NodeIndex node = topology::kNone;
  std::string name;  // name of the node
  PollGroup group = PollGroup::kSwitch;
  std::string vendor;
  bool is_read = false;
  Duration period{};
  Duration refresh{};       // 0: current values
  Duration staleness{};     // greatest time from the exact value to the reading's timestamp
  Duration clock_offset{};  // the device's clock minus the true time
  MetricSet missing;        // metrics that are not read
  MetricSet wrapping;       // counters that have 32 bits
  std::optional<Quirk> quirk;
  uint32_t restarts = 0;  // greatest number of times that the counters of an entity restarted
};

// A reading that arrived.
struct ReadingTime {
  Timestamp time;         // timestamp of the reading
  Timestamp exact;        // the reading has the exact values of this time
  uint32_t restarts = 0;  // number of times that the counters of the entity had restarted
};

struct TransformReport {
  uint64_t readings = 0;    // readings that arrived, without duplicates
  uint64_t lost_polls = 0;  // polls of which all readings were lost
  uint64_t lost = 0;        // readings that were lost individually
  uint64_t late = 0;
  uint64_t reordered = 0;
  uint64_t duplicates = 0;
  Duration greatest_clock_error{};    // greatest error of any reading's timestamp
  std::vector<PollerReport> pollers;  // by node
  std::vector<uint32_t> poller_of;    // indexed by entity
  // By TransformOptions::watched: the readings in the order of the polls.
  std::vector<std::vector<ReadingTime>> watched;
};

// Returns an error if the profile or an override does not fit the run. It names the setting.
Status CheckProfile(const ExactCounters& exact, const Profile& profile,
                    const TransformOptions& options);

// Writes the readings in order of arrival. Returns the errors of CheckProfile. The same counters,
// profiles, scale and seed give the same readings.
Result<TransformReport> Transform(ExactCounters& exact, const Profile& profile,
                                  const TransformOptions& options, CounterSink& sink);

}  // namespace rocescope::sim
