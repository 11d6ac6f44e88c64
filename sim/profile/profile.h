// SPDX-License-Identifier: BSD-3-Clause
// A telemetry profile: how pollers read the counters of devices, and what gets lost, delayed or
// changed on the way to the collector. README.md has the schema of the files in sim/profiles/. All
// times are those of a real fabric; transform.h scales them.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataplane/record/metric.h"

namespace rocescope::sim {

struct DurationRange {
  Duration least{};
  Duration most{};

  friend bool operator==(const DurationRange&, const DurationRange&) = default;
};

using MetricSet = std::bitset<kMetricCount>;

// How the devices of one group are polled.
struct PollSettings {
  Duration period{};          // 0: these devices are not polled
  bool random_phase = false;  // false: all devices are polled at the same time
  Duration jitter{};          // each poll is up to this much late; at most one period
  // Share of the devices that refresh their counters only periodically: a poll returns the values
  // of the last refresh. The others return current values.
  double cached_share = 0;
  DurationRange refresh;  // the refresh period of each of these devices is drawn from this range

  friend bool operator==(const PollSettings&, const PollSettings&) = default;
};

// A counter that each port also increments for a harmless reason.
struct Quirk {
  Metric metric = Metric::kRxDiscards;
  Duration period{};  // between two increments
};

// A class of devices that have the same hardware and software.
struct VendorClass {
  std::string name;
  double share = 1;                      // share of the devices
  MetricSet missing;                     // metrics that these devices do not have
  MetricSet wrapping;                    // counters that have 32 bits
  std::optional<DurationRange> refresh;  // all devices of this class refresh with this period
  std::optional<Quirk> quirk;
};

struct Profile {
  enum class Mirror : uint8_t { kNone, kLeaf, kAll };

  std::string file;  // for messages
  std::string name;
  std::string about;  // one sentence

  PollSettings switches;
  PollSettings nics;
  PollSettings gpus;
  std::vector<VendorClass> switch_vendors = {{}};  // shares add up to 1
  std::vector<VendorClass> nic_vendors = {{}};
  bool switch_priorities = true;  // whether switches have counters for each priority
  bool nic_priorities = true;

  // true: the timestamp of a reading is the time of the device's clock when it answers. false: it
  // is the time at which the answer arrives at the poller.
  bool device_timestamps = true;
  Duration response{};     // greatest time from the device's answer to its arrival at the poller
  Duration clock_error{};  // greatest offset of a device's clock

  double lost_readings = 0;     // share of readings lost independently of each other
  double lost_polls = 0;        // share of polls of a node that are lost completely
  double lost_poll_burst = 1;   // mean number of consecutive lost polls
  double late = 0;              // share of readings that the collector receives late
  DurationRange lateness;       // by this time
  double reordered = 0;         // share of readings that arrive after the next one of the entity
  double duplicates = 0;        // share of readings that arrive twice
  double restarts_per_day = 0;  // how often the counters of a node restart from 0
  bool random_start_values = false;  // devices have been running for months when the run starts
  bool counters_survive_reboots = false;  // otherwise they start from 0 after an outage
  double unread_switches = 0;             // share of switches that are never polled
  double unread_hosts = 0;

  // Other telemetry. It is present if the run has it and the profile allows it.
  Mirror mirror = Mirror::kAll;
  uint32_t mirror_sampling = 1;  // one of this many frames is mirrored
  bool int_reports = true;
  bool sflow = true;
  bool nccl = true;
  bool rdma = true;
  bool slurm = true;
};

// The polling period of switches, or of NICs if switches are not polled.
inline Duration PollPeriod(const Profile& profile) {
  return profile.switches.period > Duration(0) ? profile.switches.period : profile.nics.period;
}

// Nodes whose counters are read with another profile. The other profile does not affect the scale
// and the other telemetry.
struct ProfileOverride {
  std::vector<std::string> nodes;  // names
  Profile profile;
};

// Errors have one line each, in the form "FILE:LINE:COLUMN: what is wrong, and what was expected",
// where FILE is `file`. Impossible settings are errors: shares above 1, periods of 0, a jitter
// above the period.
Result<Profile> LoadProfile(std::string_view text, std::string_view file);

// "30s", "1.5ms", "2h": a time up to 30 days with a unit (ns, us, ms, s, min, h, d), or "0".
Result<Duration> ParseProfileTime(std::string_view text);

}  // namespace rocescope::sim
