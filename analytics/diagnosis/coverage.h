// SPDX-License-Identifier: BSD-3-Clause
// What the diagnosis had to look at. That no fault was found says nothing of those that nothing at
// hand would have shown.
#pragma once

#include <cstdint>
#include <vector>

#include "analytics/diagnosis/finding_kind.h"
#include "base/time.h"

namespace rocescope {

class Scene;

struct DiagnosisCoverage {
  uint64_t windows = 0;   // that counters tell of,
  Duration window{};      // each so long
  uint32_t switches = 0;  // that told counters; so did
  uint32_t nics = 0;
  uint32_t gpus = 0;
  uint64_t flows = 0;                 // whose ways are known
  std::vector<FindingKind> not_seen;  // kinds that could not have been found; ascending

  friend bool operator==(const DiagnosisCoverage&, const DiagnosisCoverage&) = default;
};

// Takes the time of going over all series and paths once.
DiagnosisCoverage CoverageOf(const Scene& scene);

}  // namespace rocescope
