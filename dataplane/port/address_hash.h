// SPDX-License-Identifier: BSD-3-Clause
// What a NIC's hash (RSS) is asked for: the address pair alone, the same for both directions.
#pragma once

#include <rte_ethdev.h>

#include <array>
#include <cstdint>

namespace rocescope {

// Repeated, so that swapping source and destination changes nothing (Woo and Park: Scalable TCP
// session monitoring with symmetric receive-side scaling, 2012).
inline constexpr std::array<uint8_t, 52> kSymmetricKey = [] {
  std::array<uint8_t, 52> key{};
  for (size_t i = 0; i < key.size(); ++i) key[i] = i % 2 == 0 ? 0x6d : 0x5a;
  return key;
}();

struct AddressHash {
  uint64_t types = 0;  // RTE_ETH_RSS_: 0 if there is no such hash
  bool ipv6 = false;   // also for IPv6
};

// From all that a driver offers. Without RTE_ETH_RSS_IPV4 there is none: drivers that know their
// packet types singly (i40e) hash UDP with its ports, which differ between the directions of a RoCE
// connection (4791 is the destination of both), or not at all, and what they offer beside would
// leave all of RoCE on queue 0.
constexpr AddressHash AddressHashOf(uint64_t offered) {
  if ((offered & RTE_ETH_RSS_IPV4) == 0) return {};
  constexpr uint64_t kV4 =
      RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_FRAG_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_OTHER;
  constexpr uint64_t kV6 =
      RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_FRAG_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_OTHER;
  const bool ipv6 = (offered & RTE_ETH_RSS_IPV6) != 0;
  return {.types = offered & (ipv6 ? kV4 | kV6 : kV4), .ipv6 = ipv6};
}

}  // namespace rocescope
