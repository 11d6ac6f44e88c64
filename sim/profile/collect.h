// SPDX-License-Identifier: BSD-3-Clause
// Reads the exact counters of a run with a telemetry profile, and writes the readings and the part
// of the truth that describes them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "rocescope/v1/truth.pb.h"
#include "sim/profile/profile.h"
#include "sim/profile/transform.h"
#include "sim/recording/exact_counters.h"
#include "topology/fabric.h"

namespace rocescope::sim {

struct CollectOptions {
  const Profile& profile;
  std::vector<ProfileOverride> overrides;
  double scale = 1;  // as in TransformOptions
  uint64_t seed = 1;
};

// Opens the exact counters at their beginning. CollectCounters calls it several times. It may
// return the same object each time if that can be read again from the beginning.
using OpenExactCounters = std::function<Result<std::shared_ptr<ExactCounters>>()>;

// Writes the readings to `path` (counters.columns). Adds the profile and the detection limits to
// `truth`.
Result<TransformReport> CollectCounters(const CollectOptions& options,
                                        const topology::Fabric& fabric,
                                        const OpenExactCounters& open, const std::string& path,
                                        v1::Truth& truth);

}  // namespace rocescope::sim
