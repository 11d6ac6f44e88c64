// SPDX-License-Identifier: BSD-3-Clause
// Metrics for Prometheus. Metrics use base units. The number of label values is bounded for any
// size of fabric; queue pairs and addresses are not used as labels.
#pragma once

#include <cstddef>
#include <string>

#include "appliance/daemon/service/service.h"

namespace rocescope {

// Maximum number of links, jobs and findings with series of their own: the busiest links, the jobs
// with the most bytes, and the first ongoing findings.
inline constexpr size_t kMaxLinksTold = 256;
inline constexpr size_t kMaxJobsTold = 100;
inline constexpr size_t kMaxFindingsTold = 100;

// Returns all metrics in the Prometheus text format 0.0.4.
std::string MetricsText(Service& service);

}  // namespace rocescope
