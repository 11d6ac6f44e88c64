// SPDX-License-Identifier: BSD-3-Clause
// How both directions of a host pair come to one lcore. Programs without DPDK know it too.
#pragma once

#include <cstdint>

namespace rocescope {

enum class SpreadBy : uint8_t {
  kAuto,      // kSoftware where more than one lcore receives
  kRss,       // the NIC's hash of the outer addresses
  kSoftware,  // the lcore that receives passes a frame on to the one that owns its inner addresses
  kNone,      // they do not
};

}  // namespace rocescope
