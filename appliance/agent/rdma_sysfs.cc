// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/rdma_sysfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "appliance/agent/small_file.h"

namespace rocescope {
namespace {

struct CounterRow {
  std::string_view file;
  Metric metric;
  uint64_t scale;
};
// Files in the port's `counters`. Data counters are in units of four bytes.
constexpr std::array kPortCounters = {
    CounterRow{"port_rcv_data", Metric::kRxBytes, 4},
    CounterRow{"port_rcv_packets", Metric::kRxPackets, 1},
    CounterRow{"port_rcv_errors", Metric::kRxErrors, 1},
    CounterRow{"port_xmit_data", Metric::kTxBytes, 4},
    CounterRow{"port_xmit_packets", Metric::kTxPackets, 1},
    CounterRow{"port_xmit_discards", Metric::kTxDiscards, 1},
    CounterRow{"symbol_error", Metric::kSymbolErrors, 1},
    CounterRow{"link_downed", Metric::kLinkFlaps, 1},
};
// Files in `hw_counters` of irdma, bnxt_re and rxe. The names of mlx5 equal the metric names.
constexpr std::array kHardwareCounters = {
    CounterRow{"cnpSent", Metric::kCnpSent, 1},
    CounterRow{"cnpHandled", Metric::kCnpHandled, 1},
    CounterRow{"cnpIgnored", Metric::kCnpIgnored, 1},
    CounterRow{"RxECNMrkd", Metric::kEcnMarkedRoce, 1},
    CounterRow{"tx_cnp_pkts", Metric::kCnpSent, 1},
    CounterRow{"rx_cnp_pkts", Metric::kCnpHandled, 1},
    CounterRow{"rx_ecn_marked_pkts", Metric::kEcnMarkedRoce, 1},
    CounterRow{"rcvd_seq_err", Metric::kPacketSequenceError, 1},
    CounterRow{"rcvd_rnr_err", Metric::kRnrNakRetry, 1},
    CounterRow{"duplicate_request", Metric::kDuplicateRequest, 1},
    CounterRow{"out_of_seq_request", Metric::kOutOfSequence, 1},
    CounterRow{"sent_pkts", Metric::kTxPackets, 1},
    CounterRow{"rcvd_pkts", Metric::kRxPackets, 1},
};

bool IsHardwareMetric(Metric metric) {
  return metric >= Metric::kCnpSent && metric <= Metric::kIcrcErrors;
}

std::string PortFolder(const std::string& root, std::string_view device, uint32_t port) {
  return fmt::format("{}/sys/class/infiniband/{}/ports/{}", root, device, port);
}

std::string TextAt(const std::string& path) { return ReadSmallFile(path).value_or(""); }

bool IsLinkLocal(const IpAddress& address) { return address.high >> 54 == 0xfe80ull >> 6; }

// Each interface has a GID for each of its addresses and each RoCE version, so duplicates are
// common.
std::vector<IpAddress> ReadAddresses(const std::string& port) {
  std::vector<IpAddress> addresses;
  bool any_global = false;
  for (const std::string& index : NamesIn(port + "/gids")) {
    // If the kernel does not report GID types, all GIDs count.
    const auto type = ReadSmallFile(port + "/gid_attrs/types/" + index);
    if (type && *type != "RoCE v2") continue;
    const auto text = ReadSmallFile(port + "/gids/" + index);
    const auto address = text ? ParseGid(*text) : std::nullopt;
    if (!address) continue;
    addresses.push_back(*address);
    any_global = any_global || !IsLinkLocal(*address);
  }
  if (any_global) std::erase_if(addresses, IsLinkLocal);
  std::ranges::sort(addresses);
  addresses.erase(std::unique(addresses.begin(), addresses.end()), addresses.end());
  return addresses;
}

RdmaPortState ReadPort(const std::string& root, const std::string& device, uint32_t number) {
  const std::string folder = PortFolder(root, device, number);
  RdmaPortState port = {.number = number, .link_layer = TextAt(folder + "/link_layer")};
  port.state = ParsePortState(TextAt(folder + "/state"));
  port.bits_per_second = ParsePortRate(TextAt(folder + "/rate"));
  if (port.link_layer == "Ethernet") port.addresses = ReadAddresses(folder);
  return port;
}

}  // namespace

std::string ParsePortState(std::string_view text) {
  const size_t colon = text.find(": ");
  return std::string(colon == std::string_view::npos ? text : text.substr(colon + 2));
}

uint64_t ParsePortRate(std::string_view text) {
  double gigabits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gigabits);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  constexpr double kMost = 1e6;
  if (error != std::errc() || !unit.starts_with(" Gb/sec") || !(gigabits > 0 && gigabits < kMost)) {
    return 0;
  }
  return static_cast<uint64_t>(std::llround(gigabits * 1e9));
}

std::optional<IpAddress> ParseGid(std::string_view text) {
  constexpr size_t kLength = 39;  // eight groups of four digits and seven colons
  if (text.size() != kLength) return std::nullopt;
  const auto address = ParseIpAddress(text);
  if (!address || address->IsUnspecified()) return std::nullopt;
  return *address;
}

std::vector<RdmaDeviceState> ReadRdmaDevices(const std::string& root) {
  std::vector<RdmaDeviceState> devices;
  const std::string all = root + "/sys/class/infiniband";
  for (const std::string& name : NamesIn(all)) {
    const std::string folder = all + "/" + name;
    RdmaDeviceState& device = devices.emplace_back();
    device.name = name;
    // Software devices such as rxe have no `device`; `parent` contains their interface.
    device.pci = LinkName(folder + "/device");
    device.firmware = TextAt(folder + "/fw_ver");
    device.board = TextAt(folder + "/board_id");
    device.node_guid = TextAt(folder + "/node_guid");
    const std::vector<std::string> interfaces = NamesIn(folder + "/device/net");
    device.interface = interfaces.empty() ? TextAt(folder + "/parent") : interfaces.front();
    for (const std::string& number : NamesIn(folder + "/ports")) {
      constexpr uint64_t kMaxPorts = 255;
      const auto port = ParseDecimal(number);
      if (port && *port <= kMaxPorts) {
        device.ports.push_back(ReadPort(root, name, static_cast<uint32_t>(*port)));
      }
    }
  }
  return devices;
}

std::vector<MetricValue> ReadRdmaCounters(const std::string& root, std::string_view device,
                                          uint32_t port) {
  std::map<Metric, uint64_t> values;
  const std::string folder = PortFolder(root, device, port);
  for (const CounterRow& row : kPortCounters) {
    const auto value = ReadNumberFile(fmt::format("{}/counters/{}", folder, row.file));
    if (value) values[row.metric] = *value * row.scale;
  }
  for (const std::string& name : NamesIn(folder + "/hw_counters")) {
    std::optional<Metric> metric = MetricNamed(name);
    if (metric && !IsHardwareMetric(*metric)) metric.reset();
    const auto row = std::ranges::find(kHardwareCounters, name, &CounterRow::file);
    if (!metric && row != kHardwareCounters.end()) metric = row->metric;
    if (!metric || values.contains(*metric)) continue;
    if (const auto value = ReadNumberFile(folder + "/hw_counters/" + name)) {
      values[*metric] = *value;
    }
  }
  const std::string state = ParsePortState(TextAt(folder + "/state"));
  if (!state.empty()) values[Metric::kLinkUp] = state == "ACTIVE" ? 1 : 0;
  if (const uint64_t rate = ParsePortRate(TextAt(folder + "/rate")); rate > 0) {
    values[Metric::kLinkSpeed] = rate;
  }
  std::vector<MetricValue> all;
  for (const auto& [metric, value] : values) all.push_back({.metric = metric, .value = value});
  return all;
}

}  // namespace rocescope
