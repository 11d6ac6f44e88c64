// SPDX-License-Identifier: BSD-3-Clause
// Which entities the counter files of a run directory can contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"
#include "dataplane/record/counter_entity.h"
#include "dataplane/record/metric.h"

namespace rocescope {

inline constexpr size_t kLongestEntityName = 128;  // maximum length of a node or port name in bytes
inline constexpr uint64_t kEntityPriorities = 8;
inline constexpr uint64_t kLargestGpuIndex = UINT16_MAX;

// Names are not empty and valid UTF-8. Only ports and NICs have a port and a priority, and only
// GPUs have an index. The error says what was expected.
Status CheckCounterEntity(const CounterEntity& entity);

// A reading has at least one metric, and no metric twice.
Status CheckMetricsOfReading(std::span<const Metric> metrics);

}  // namespace rocescope
