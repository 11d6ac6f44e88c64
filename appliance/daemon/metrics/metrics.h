// SPDX-License-Identifier: BSD-3-Clause
// What Prometheus gets: base units, and labels whose number of values is bounded, whatever the
// fabric is like. Queue pairs and addresses are no labels.
#pragma once

#include <cstddef>
#include <string>

#include "appliance/daemon/service/service.h"

namespace rocescope {

// At most so many of each have series of their own: the busiest links, the jobs that sent most, the
// surest findings.
inline constexpr size_t kMaxLinksTold = 256;
inline constexpr size_t kMaxJobsTold = 100;
inline constexpr size_t kMaxFindingsTold = 100;

// The text format 0.0.4.
std::string MetricsText(Service& service);

}  // namespace rocescope
