// SPDX-License-Identifier: BSD-3-Clause
// Fabric time of a run. Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>

namespace rocescope {

namespace v1 {
class Truth;
}

// Converts a duration of the run to seconds of fabric time. The packet model runs faster than a
// real fabric: one analysis window stands for one polling period of the profile. Returns nullopt
// without a profile.
std::optional<double> FabricSeconds(const v1::Truth& truth, int64_t duration_ns);

}  // namespace rocescope
