// SPDX-License-Identifier: BSD-3-Clause
// RDMA devices, their ports and counters, as /sys/class/infiniband has them. Source: the kernel's
// Documentation/ABI/stable/sysfs-class-infiniband; hw_counters have the driver's own names.
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
  std::string link_layer;            // "Ethernet", "InfiniBand"
  std::string state;                 // "ACTIVE"
  uint64_t bits_per_second = 0;      // 0: not told
  std::vector<IpAddress> addresses;  // of its RoCEv2 GIDs, ascending, without link-local ones that
                                     // another address stands beside
};

struct RdmaDeviceState {
  std::string name;
  std::string pci;  // empty: it has none, as of software
  std::string firmware;
  std::string board;
  std::string node_guid;
  std::string interface;  // of the network; empty: none
  std::vector<RdmaPortState> ports;
};

// `root` stands before "/sys". Empty where there are none.
std::vector<RdmaDeviceState> ReadRdmaDevices(const std::string& root);

struct MetricValue {
  Metric metric = Metric::kRxBytes;
  uint64_t value = 0;

  friend bool operator==(const MetricValue&, const MetricValue&) = default;
};

// Counters and the link's state of a port: each metric once, ascending. Names that mean nothing to
// us are passed over.
std::vector<MetricValue> ReadRdmaCounters(const std::string& root, std::string_view device,
                                          uint32_t port);

// "4: ACTIVE" is "ACTIVE"; "400 Gb/sec (4X NDR)" is 400'000'000'000, "" and the like 0.
std::string ParsePortState(std::string_view text);
uint64_t ParsePortRate(std::string_view text);
// "0000:0000:0000:0000:0000:ffff:c000:020b" is 192.0.2.11; none for what is no GID, or all zeros.
std::optional<IpAddress> ParseGid(std::string_view text);

}  // namespace rocescope
