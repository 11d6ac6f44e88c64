// SPDX-License-Identifier: BSD-3-Clause
// RDMA devices, their ports and counters from /sys/class/infiniband. Source: the kernel's
// Documentation/ABI/stable/sysfs-class-infiniband. Names in hw_counters are driver-specific.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "dataplane/record/metric.h"

namespace rocescope {

struct RdmaPortState {
  uint32_t number = 0;
  std::string link_layer;        // "Ethernet", "InfiniBand"
  std::string state;             // "ACTIVE"
  uint64_t bits_per_second = 0;  // 0: unknown
  // Addresses of its RoCEv2 GIDs, ascending. Link-local ones only if there are no others.
  std::vector<IpAddress> addresses;
};

struct RdmaDeviceState {
  std::string name;
  std::string pci;  // empty: none, as for software devices
  std::string firmware;
  std::string board;
  std::string node_guid;
  std::string interface;  // network interface; empty: none
  std::vector<RdmaPortState> ports;
};

// `root` is prefixed to "/sys". Empty if there are no devices.
std::vector<RdmaDeviceState> ReadRdmaDevices(const std::string& root);

struct MetricValue {
  Metric metric = Metric::kRxBytes;
  uint64_t value = 0;

  friend bool operator==(const MetricValue&, const MetricValue&) = default;
};

// The counters and the link state of a port, each metric once, in ascending order. Unknown names
// are ignored.
std::vector<MetricValue> ReadRdmaCounters(const std::string& root, std::string_view device,
                                          uint32_t port);

// "4: ACTIVE" gives "ACTIVE". "400 Gb/sec (4X NDR)" gives 400'000'000'000, and invalid text gives
// 0.
std::string ParsePortState(std::string_view text);
uint64_t ParsePortRate(std::string_view text);
// "0000:0000:0000:0000:0000:ffff:c000:020b" gives 192.0.2.11. None if the text is not a GID or is
// all zeros.
std::optional<IpAddress> ParseGid(std::string_view text);

}  // namespace rocescope
