// SPDX-License-Identifier: BSD-3-Clause
// What the diagnosis had to look at. That no fault was found says nothing of those that nothing at
// hand would have shown.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/diagnosis/finding_kind.h"
#include "analytics/diagnosis/obstacle.h"
#include "base/time.h"
#include "topology/fabric.h"

namespace rocescope {

class Scene;

// Told counters, but not all the time.
struct Silence {
  topology::NodeIndex node = topology::kNone;
  uint32_t windows = 0;  // in which others were read and it was not

  friend bool operator==(const Silence&, const Silence&) = default;
};

struct DiagnosisCoverage {
  uint64_t windows = 0;         // that were looked at, of those that counters tell of,
  Duration window{};            // each so long
  uint64_t windows_before = 0;  // those before them, of which nothing is remembered
  uint32_t switches = 0;        // that told counters; so did
  uint32_t nics = 0;
  uint32_t gpus = 0;
  uint32_t switches_of = 0;  // so many there are; so there are
  uint32_t nics_of = 0;
  uint32_t gpus_of = 0;
  uint32_t links = 0;             // there are, and of those
  uint32_t links_balanced = 0;    // what one end sent can be held against what the other got
  std::vector<Silence> silences;  // of switches and hosts; the longest first
  bool no_window = false;         // counters were told, but all of one moment
  uint64_t flows = 0;             // whose ways are known
  Hindrance hindrance;
  std::vector<FindingKind> not_seen;  // kinds that could not have been found; ascending

  friend bool operator==(const DiagnosisCoverage&, const DiagnosisCoverage&) = default;
};

// Takes the time of going over all series and paths once.
DiagnosisCoverage CoverageOf(const Scene& scene);

}  // namespace rocescope
