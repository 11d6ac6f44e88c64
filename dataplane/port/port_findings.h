// SPDX-License-Identifier: BSD-3-Clause
// What a DPDK port counted, for those who report it: programs without DPDK have none.
#pragma once

#include <cstdint>
#include <string>

namespace rocescope {

struct PortFindings {
  std::string name;
  std::string driver;
  bool counted = true;         // the driver tells `received` and `errors`
  bool losses_counted = true;  // and `missed` and `no_mbuf`
  uint64_t received = 0;
  uint64_t missed = 0;        // the NIC's queues were full
  uint64_t no_mbuf = 0;       // the pool was empty
  uint64_t errors = 0;        // broken frames
  uint32_t mbufs = 0;         // in the pool,
  uint32_t mbufs_in_use = 0;  // and of these in use now,
  uint32_t mbufs_peak = 0;    // and at most
};

}  // namespace rocescope
