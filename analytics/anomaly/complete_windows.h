// SPDX-License-Identifier: BSD-3-Clause
// The windows that a group of entities has reported completely.
#pragma once

#include <cstdint>
#include <span>

#include "analytics/anomaly/panel.h"

namespace rocescope {

// Returns the first window that began after the first reading of a member.
int64_t FirstCompleteWindow(const MetricStore& metrics, std::span<const Member> members);

// Returns the first window that is incomplete for a member that still reports.
int64_t EndOfCompleteWindows(const MetricStore& metrics, std::span<const Member> members);

}  // namespace rocescope
