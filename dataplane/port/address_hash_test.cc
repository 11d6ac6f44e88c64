// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/port/address_hash.h"

#include <gtest/gtest.h>
#include <rte_thash.h>

#include <random>

namespace rocescope {
namespace {

// DPDK 22.11, drivers/net/mlx5/mlx5_defs.h: MLX5_RSS_HF_MASK rejects everything except IP, UDP, TCP
// and ESP.
constexpr uint64_t kMlx5 = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_ESP;

// drivers/net/i40e/i40e_ethdev.h: I40E_RSS_OFFLOAD_ALL.
constexpr uint64_t kI40e =
    RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |
    RTE_ETH_RSS_NONFRAG_IPV4_SCTP | RTE_ETH_RSS_NONFRAG_IPV4_OTHER | RTE_ETH_RSS_FRAG_IPV6 |
    RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_NONFRAG_IPV6_SCTP |
    RTE_ETH_RSS_NONFRAG_IPV6_OTHER | RTE_ETH_RSS_L2_PAYLOAD;

TEST(AddressHash, ExcludesPorts) {
  const AddressHash hash = AddressHashOf(kMlx5);
  EXPECT_TRUE(hash.ipv6);
  EXPECT_NE(hash.types & RTE_ETH_RSS_IPV4, 0u);
  EXPECT_EQ(hash.types & (RTE_ETH_RSS_UDP | RTE_ETH_RSS_TCP), 0u);
  EXPECT_EQ(hash.types & ~kMlx5, 0u);
}

TEST(AddressHash, IsNoneForDriversWithPerProtocolTypes) {
  EXPECT_EQ(AddressHashOf(kI40e).types, 0u);
  EXPECT_EQ(AddressHashOf(0).types, 0u);
}

TEST(AddressHash, ReportsIpv4Only) {
  const AddressHash hash = AddressHashOf(RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV6);
  EXPECT_FALSE(hash.ipv6);
  EXPECT_EQ(hash.types, uint64_t{RTE_ETH_RSS_IPV4});
}

// Uses DPDK's Toeplitz function with a key of 40 bytes, the shortest of all NICs.
TEST(AddressHash, IsSymmetric) {
  std::mt19937 random(7);
  uint32_t different = 0;
  for (int i = 0; i < 1000; ++i) {
    uint32_t there[2] = {static_cast<uint32_t>(random()), static_cast<uint32_t>(random())};
    uint32_t back[2] = {there[1], there[0]};
    const uint32_t hash = rte_softrss(there, 2, kSymmetricKey.data());
    ASSERT_EQ(hash, rte_softrss(back, 2, kSymmetricKey.data()));
    different += hash % 2;
  }
  EXPECT_GT(different, 400u);  // out of 1000: pairs are distributed over both halves
  EXPECT_LT(different, 600u);
}

}  // namespace
}  // namespace rocescope
