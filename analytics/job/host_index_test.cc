// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/host_index.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "analytics/job/dump_host.h"

namespace rocescope {
namespace {

// A host can report any number of addresses, which the analysis combines with its queue pairs.
TEST(HostIndex, LimitsTheAddressesOfAHost) {
  std::vector<HostNic> nics;
  for (uint32_t device = 0; device < 1000; ++device) {
    HostNic& nic = nics.emplace_back(
        HostNic{.host = "a", .device = "mlx5_" + std::to_string(device), .addresses = {}});
    for (uint32_t i = 0; i < 100; ++i) {
      nic.addresses.push_back(IpAddress::FromV4(0x0a000000 + 1000 * device + i));
    }
  }
  const HostIndex hosts({}, nics);
  EXPECT_EQ(hosts.AddressesOf("a", {.device = "mlx5_0", .port = 1}).size(), kMaxAddressesOfPort);
  EXPECT_TRUE(hosts.AddressesOf("a", {.device = "mlx5_999", .port = 1}).empty());
  const RdmaDump dump = {.host = "a"};
  const DumpHost of_dump(dump, hosts);
  const auto began = std::chrono::steady_clock::now();
  const RdmaQueuePair unknown;
  size_t found = 0;
  for (int i = 0; i < 10'000; ++i) found = of_dump.AddressesOf(unknown).size();
  EXPECT_EQ(found, kMaxPortsOfHost * kMaxAddressesOfPort);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

}  // namespace
}  // namespace rocescope
