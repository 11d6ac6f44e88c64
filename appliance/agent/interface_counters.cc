// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/interface_counters.h"

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>

#include "appliance/agent/small_file.h"

namespace rocescope {
namespace {

struct StatisticRow {
  std::string_view file;
  Metric metric;
};
constexpr std::array kStatistics = {
    StatisticRow{"rx_bytes", Metric::kRxBytes},
    StatisticRow{"rx_packets", Metric::kRxPackets},
    StatisticRow{"rx_errors", Metric::kRxErrors},
    StatisticRow{"rx_dropped", Metric::kRxDiscards},
    StatisticRow{"rx_crc_errors", Metric::kFcsErrors},
    StatisticRow{"tx_bytes", Metric::kTxBytes},
    StatisticRow{"tx_packets", Metric::kTxPackets},
    StatisticRow{"tx_errors", Metric::kTxErrors},
    StatisticRow{"tx_dropped", Metric::kTxDiscards},
    StatisticRow{"carrier_down_count", Metric::kLinkFlaps},
};

// '#' matches the priority. Sources: the kernel's
// Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst (durations in
// microseconds), and the tables of the bnxt and ice drivers.
struct EthtoolRow {
  std::string_view name;
  Metric metric;
  uint64_t scale;
};
constexpr std::array kEthtool = {
    EthtoolRow{"rx_prio#_pause", Metric::kPfcRx, 1},
    EthtoolRow{"tx_prio#_pause", Metric::kPfcTx, 1},
    EthtoolRow{"rx_prio#_pause_duration", Metric::kPfcRxTime, 1000},
    EthtoolRow{"tx_prio#_pause_duration", Metric::kPfcTxTime, 1000},
    EthtoolRow{"rx_pfc_ena_frames_pri#", Metric::kPfcRx, 1},
    EthtoolRow{"tx_pfc_ena_frames_pri#", Metric::kPfcTx, 1},
    EthtoolRow{"rx_priority_#_xoff.nic", Metric::kPfcRx, 1},
    EthtoolRow{"tx_priority_#_xoff.nic", Metric::kPfcTx, 1},
    EthtoolRow{"rx_crc_errors_phy", Metric::kFcsErrors, 1},
    EthtoolRow{"rx_symbol_err_phy", Metric::kSymbolErrors, 1},
    EthtoolRow{"rx_discards_phy", Metric::kRxDiscards, 1},
    EthtoolRow{"tx_discards_phy", Metric::kTxDiscards, 1},
};

// Returns the priority at '#', kAll for a pattern without '#', or nothing if the name does not
// match.
std::optional<uint8_t> Match(std::string_view pattern, std::string_view name) {
  const size_t at = pattern.find('#');
  if (at == std::string_view::npos) {
    return pattern == name ? std::optional(PriorityValue::kAll) : std::nullopt;
  }
  if (name.size() != pattern.size() || name.substr(0, at) != pattern.substr(0, at) ||
      name.substr(at + 1) != pattern.substr(at + 1) || name[at] < '0' || name[at] > '7') {
    return std::nullopt;
  }
  return static_cast<uint8_t>(name[at] - '0');
}

}  // namespace

std::vector<MetricValue> ReadInterfaceStatistics(const std::string& root, const std::string& name) {
  const std::string folder = fmt::format("{}/sys/class/net/{}", root, name);
  std::map<Metric, uint64_t> values;
  for (const StatisticRow& row : kStatistics) {
    // carrier_down_count is outside `statistics/`.
    const bool is_outside = row.metric == Metric::kLinkFlaps;
    const auto value =
        ReadNumberFile(fmt::format("{}/{}{}", folder, is_outside ? "" : "statistics/", row.file));
    if (value) values[row.metric] = *value;
  }
  const auto state = ReadSmallFile(folder + "/operstate");
  if (state && *state != "unknown") values[Metric::kLinkUp] = *state == "up" ? 1 : 0;
  // The unit is Mbit/s. The file contains -1 if the speed is unknown.
  if (const auto speed = ReadNumberFile(folder + "/speed"); speed && *speed < 100'000'000) {
    values[Metric::kLinkSpeed] = *speed * 1'000'000;
  }
  std::vector<MetricValue> all;
  for (const auto& [metric, value] : values) all.push_back({.metric = metric, .value = value});
  return all;
}

std::vector<PriorityValue> MetricsOfEthtool(
    const std::vector<std::pair<std::string, uint64_t>>& statistics) {
  std::map<std::pair<uint8_t, Metric>, uint64_t> values;
  for (const auto& [name, value] : statistics) {
    for (const EthtoolRow& row : kEthtool) {
      if (const auto priority = Match(row.name, name)) {
        values[{*priority, row.metric}] = value * row.scale;
      }
    }
  }
  std::vector<PriorityValue> all;
  for (const auto& [key, value] : values) {
    all.push_back({.priority = key.first, .value = {.metric = key.second, .value = value}});
  }
  return all;
}

std::vector<std::pair<std::string, uint64_t>> ReadEthtoolStatistics(const std::string& name) {
  std::vector<std::pair<std::string, uint64_t>> statistics;
  ifreq request{};
  if (name.empty() || name.size() >= sizeof request.ifr_name) return statistics;
  std::memcpy(request.ifr_name, name.data(), name.size());
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return statistics;
  const auto ask = [&](void* what) {
    request.ifr_data = static_cast<char*>(what);
    return ioctl(descriptor, SIOCETHTOOL, &request) == 0;
  };
  constexpr uint32_t kMost = 65'536;
  ethtool_drvinfo driver{};
  driver.cmd = ETHTOOL_GDRVINFO;
  const uint32_t count = ask(&driver) ? std::min(driver.n_stats, kMost) : 0;
  // The kernel fills in no more than the requested count. The extra space allows for statistics
  // that appear in between.
  const size_t room = count + size_t{1024};
  std::vector<uint64_t> names((sizeof(ethtool_gstrings) + room * ETH_GSTRING_LEN) / 8 + 1);
  std::vector<uint64_t> values((sizeof(ethtool_stats) + room * 8) / 8 + 1);
  auto* const strings = reinterpret_cast<ethtool_gstrings*>(names.data());
  auto* const numbers = reinterpret_cast<ethtool_stats*>(values.data());
  strings->cmd = ETHTOOL_GSTRINGS;
  strings->string_set = ETH_SS_STATS;
  strings->len = count;
  numbers->cmd = ETHTOOL_GSTATS;
  numbers->n_stats = count;
  if (count > 0 && ask(strings) && ask(numbers) && strings->len == numbers->n_stats &&
      strings->len <= room) {
    const char* const text = reinterpret_cast<const char*>(strings) + sizeof *strings;
    const auto* const value =
        reinterpret_cast<const uint64_t*>(reinterpret_cast<const char*>(numbers) + sizeof *numbers);
    for (uint32_t i = 0; i < strings->len; ++i) {
      const char* const begin = text + size_t{i} * ETH_GSTRING_LEN;
      statistics.emplace_back(std::string(begin, strnlen(begin, ETH_GSTRING_LEN)), value[i]);
    }
  }
  close(descriptor);
  return statistics;
}

}  // namespace rocescope
