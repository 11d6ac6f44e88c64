// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/hardware_count.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <array>
#include <vector>

namespace rocescope {
namespace {

// mlx5 and bnxt distinguish frames on the wire from frames delivered to this process.
constexpr std::array<std::string_view, 2> kNames = {"rx_phy_packets", "rx_total_frames"};

}  // namespace

bool CountsFramesOnWire(std::string_view name) {
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

uint64_t HardwareCount(uint16_t port) {
  const int count = rte_eth_xstats_get_names(port, nullptr, 0);
  if (count <= 0) return 0;
  std::vector<rte_eth_xstat_name> names(static_cast<size_t>(count));
  std::vector<rte_eth_xstat> values(static_cast<size_t>(count));
  if (rte_eth_xstats_get_names(port, names.data(), count) != count ||
      rte_eth_xstats_get(port, values.data(), count) != count) {
    return 0;
  }
  for (const rte_eth_xstat& value : values) {
    if (CountsFramesOnWire(names[value.id].name)) return value.value;
  }
  return 0;
}

}  // namespace rocescope
