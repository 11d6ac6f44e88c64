// SPDX-License-Identifier: BSD-3-Clause
// Counters of network interfaces: /sys/class/net/NAME/statistics, and what drivers tell by ethtool
// of PFC and of broken frames, which stands nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/agent/rdma_sysfs.h"

namespace rocescope {

// Also the link's state and speed. Empty: there is no such interface.
std::vector<MetricValue> ReadInterfaceStatistics(const std::string& root, const std::string& name);

struct PriorityValue {
  static constexpr uint8_t kAll = UINT8_MAX;
  uint8_t priority = kAll;
  MetricValue value;

  friend bool operator==(const PriorityValue&, const PriorityValue&) = default;
};

// What `ethtool -S` names: rx_prio3_pause and its like (mlx5, bnxt, ice);
// others are passed over. By priority and metric.
std::vector<PriorityValue> MetricsOfEthtool(
    const std::vector<std::pair<std::string, uint64_t>>& statistics);

// Asks the driver (SIOCETHTOOL: ETHTOOL_GSTATS), which takes no rights. Empty: it tells nothing.
std::vector<std::pair<std::string, uint64_t>> ReadEthtoolStatistics(const std::string& name);

}  // namespace rocescope
