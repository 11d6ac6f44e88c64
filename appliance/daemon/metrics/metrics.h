// SPDX-License-Identifier: BSD-3-Clause
// Metrics for Prometheus. Metrics use base units. The number of label values is bounded for any
// size of fabric; queue pairs and addresses are not used as labels.
#pragma once

#include <cstddef>
#include <string>

#include "appliance/daemon/service/service.h"

namespace rocescope {

// Maximum number of ongoing findings with series of their own. The section `metrics` of the
// configuration limits links and jobs.
inline constexpr size_t kMaxFindingsReported = 100;

// Returns all metrics in the Prometheus text format 0.0.4.
std::string MetricsText(Service& service);

}  // namespace rocescope
