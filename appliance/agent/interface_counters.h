// SPDX-License-Identifier: BSD-3-Clause
// Counters of network interfaces: /sys/class/net/NAME/statistics, and driver statistics from
// ethtool, the only source of PFC counters and FCS errors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/agent/rdma_sysfs.h"

namespace rocescope {

// Includes the link state and speed. Empty if there is no such interface.
std::vector<MetricValue> ReadInterfaceStatistics(const std::string& root, const std::string& name);

struct PriorityValue {
  static constexpr uint8_t kAll = UINT8_MAX;
  uint8_t priority = kAll;
  MetricValue value;

  friend bool operator==(const PriorityValue&, const PriorityValue&) = default;
};

// Maps `ethtool -S` names such as rx_prio3_pause (mlx5, bnxt, ice) to metrics and ignores all
// others. Ordered by priority and metric.
std::vector<PriorityValue> MetricsOfEthtool(
    const std::vector<std::pair<std::string, uint64_t>>& statistics);

// Queries the driver (SIOCETHTOOL: ETHTOOL_GSTATS), which requires no privileges. Empty if the
// driver reports nothing.
std::vector<std::pair<std::string, uint64_t>> ReadEthtoolStatistics(const std::string& name);

}  // namespace rocescope
