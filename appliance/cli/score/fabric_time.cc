// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/fabric_time.h"

#include "rocescope/v1/truth.pb.h"

namespace rocescope {

std::optional<double> FabricSeconds(const v1::Truth& truth, int64_t duration_ns) {
  constexpr double kNanosecond = 1e-9;
  if (truth.profile().scale() <= 0) return std::nullopt;
  return static_cast<double>(duration_ns) * kNanosecond * truth.profile().scale();
}

}  // namespace rocescope
