// SPDX-License-Identifier: BSD-3-Clause
// Deadlines for gRPC that do not depend on the wall clock, which may be set.
#pragma once

#include <grpc/support/time.h>

#include <chrono>

namespace rocescope {

// A relative deadline; gRPC adds it to its monotonic clock.
inline gpr_timespec After(std::chrono::milliseconds time) {
  return gpr_time_from_millis(time.count(), GPR_TIMESPAN);
}

}  // namespace rocescope
