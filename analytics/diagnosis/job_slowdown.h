// SPDX-License-Identifier: BSD-3-Clause
// Compares the iterations of a job during a fault with those before it.
#pragma once

#include <optional>

#include "analytics/collective/collective.h"
#include "base/time.h"

namespace rocescope {

// Iterations during a fault take at least this many times as long as before if it slows the job
// down. Healthy iterations differ by a few percent; a workload can differ by more from one phase to
// the next.
inline constexpr double kSlowerIterations = 1.15;
// The ratio that suffices if a rank-sum test of the iterations next to the start of the fault
// excludes chance.
inline constexpr double kSurelySlowerIterations = 1.02;

// Whether most iterations after `from` were clearly longer than most of those before. `until` is
// unset while the fault is active. False if too few iterations are known.
bool IsSlower(const JobIterationPattern& pattern, Timestamp from, std::optional<Timestamp> until);

// Whether the job iterated until about `from`, and then completed no iteration for much longer than
// any one had taken before. `now` is the end of the data.
bool HasStopped(const JobIterationPattern& pattern, Timestamp from, Timestamp now);

}  // namespace rocescope
