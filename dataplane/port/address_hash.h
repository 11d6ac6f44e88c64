// SPDX-License-Identifier: BSD-3-Clause
// Configuration of a NIC's hash (RSS): the address pair only, symmetric in both directions.
#pragma once

#include <rte_ethdev.h>

#include <array>
#include <cstdint>

namespace rocescope {

// A repeating key gives the same hash when source and destination are swapped (Woo and Park:
// Scalable TCP session monitoring with symmetric receive-side scaling, 2012).
// Aligned for rte_softrss, which reads words.
alignas(uint32_t) inline constexpr std::array<uint8_t, 52> kSymmetricKey = [] {
  std::array<uint8_t, 52> key{};
  for (size_t i = 0; i < key.size(); ++i) key[i] = i % 2 == 0 ? 0x6d : 0x5a;
  return key;
}();

struct AddressHash {
  uint64_t types = 0;  // RTE_ETH_RSS_ flags; 0 if there is no such hash
  bool ipv6 = false;   // also hashes IPv6
};

// Selects the hash from the types that a driver offers. Without RTE_ETH_RSS_IPV4 there is none.
// Drivers with one type per protocol (i40e) hash UDP with its ports, which differ between the
// directions of a RoCE connection (4791 is the destination port of both), or do not hash it at all.
// The remaining types would put all RoCE on queue 0.
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
