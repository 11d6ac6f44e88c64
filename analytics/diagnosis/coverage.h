// SPDX-License-Identifier: BSD-3-Clause
// The telemetry that the diagnosis had, and the fault kinds that were not detectable with it.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/diagnosis/obstacle.h"
#include "analytics/diagnosis/unusable_counters.h"
#include "base/time.h"
#include "topology/fabric.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {

class DiagnosisInput;

// A node whose counters are missing in some windows.
struct Silence {
  topology::NodeIndex node = topology::kNone;
  // Windows in which other nodes were read and this one was not, although a reading was due.
  uint32_t windows = 0;

  friend bool operator==(const Silence&, const Silence&) = default;
};

// Switches at which faults of a kind were not detectable, although they were at other switches.
struct BlindSpot {
  FaultKind kind{};
  std::vector<topology::NodeIndex> switches;  // ascending

  friend bool operator==(const BlindSpot&, const BlindSpot&) = default;
};

struct DiagnosisCoverage {
  uint64_t windows = 0;           // analysed windows with counters
  Duration window{};              // length of a window
  uint64_t windows_before = 0;    // earlier windows that are no longer stored
  uint32_t switches = 0;          // with counters
  uint32_t nics = 0;              // with counters
  uint32_t gpus = 0;              // with counters
  uint32_t switches_of = 0;       // in the topology
  uint32_t nics_of = 0;           // in the topology
  uint32_t gpus_of = 0;           // in the topology
  uint32_t links = 0;             // in the topology
  uint32_t links_counted = 0;     // of these, with packet counters that can show silent loss
  std::vector<Silence> silences;  // the longest first
  bool no_window = false;         // there are counters, but of a single reading
  uint64_t flows = 0;             // with a known path
  Hindrance hindrance;
  std::vector<FaultKind> not_seen;  // fault kinds that were not detectable; ascending
  // By kind, ascending, without those in not_seen. Switches without counters are left out.
  std::vector<BlindSpot> blind_spots;
  std::vector<UnusableCounters> unusable_counters;  // see UnusableCountersIn

  friend bool operator==(const DiagnosisCoverage&, const DiagnosisCoverage&) = default;
};

// The time is proportional to the number of counter series and paths.
DiagnosisCoverage CoverageOf(const DiagnosisInput& input);

}  // namespace rocescope
