// SPDX-License-Identifier: BSD-3-Clause
// How both directions of a host pair reach the same lcore. Also used by programs without DPDK.
#pragma once

#include <cstdint>

namespace rocescope {

enum class SpreadBy : uint8_t {
  kAuto,      // kSoftware if more than one lcore receives
  kRss,       // by the NIC's hash (RSS) of the outer addresses
  kSoftware,  // the receiving lcore passes a frame to the lcore that owns its inner addresses
  kNone,      // not at all
};

}  // namespace rocescope
