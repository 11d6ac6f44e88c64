// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/host_index.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
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

// Comparing each of these names with all others took 6.5 s for the construction of the index alone
// when it was measured.
TEST(HostIndex, HandlesManyHostsWithOneShortName) {
  constexpr uint32_t kHosts = 60'000;
  std::vector<HostNic> nics;
  for (uint32_t i = 0; i < kHosts; ++i) {
    nics.push_back({.host = fmt::format("w.{}.x", i),
                    .device = "mlx5_0",
                    .addresses = {IpAddress::FromV4(0x0a000000 + i)}});
  }
  const std::clock_t start = std::clock();
  const HostIndex hosts({}, nics);
  size_t found = 0;
  for (const HostNic& nic : nics) {
    found += hosts.AddressesOf(nic.host, {.device = "mlx5_0", .port = 1}).size();
    found += hosts.AddressesOf("w", {.device = "mlx5_0", .port = 1}).size();
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(found, kHosts);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 3) << "processor time";
#else
  static_cast<void>(seconds);
#endif
}

}  // namespace
}  // namespace rocescope
