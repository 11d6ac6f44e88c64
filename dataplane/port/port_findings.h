// SPDX-License-Identifier: BSD-3-Clause
// Counters of a DPDK port for reports. Programs without DPDK have none.
#pragma once

#include <cstdint>
#include <string>

namespace rocescope {

struct PortFindings {
  std::string name;
  std::string driver;
  bool counted = true;         // the driver reports `received` and `errors`
  bool losses_counted = true;  // the driver reports `missed` and `no_mbuf`
  uint64_t received = 0;
  uint64_t missed = 0;        // dropped because the NIC's queues were full
  uint64_t no_mbuf = 0;       // dropped because the mbuf pool was empty
  uint64_t errors = 0;        // received with errors
  uint32_t mbufs = 0;         // size of the pool
  uint32_t mbufs_in_use = 0;  // mbufs in use now
  uint32_t mbufs_peak = 0;    // maximum number of mbufs in use
};

}  // namespace rocescope
