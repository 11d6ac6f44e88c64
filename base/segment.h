// SPDX-License-Identifier: BSD-3-Clause
// The tenant that an address belongs to: tenants reuse addresses.
#pragma once

#include <cstdint>

namespace rocescope {

using Segment = uint32_t;  // 0: none; else the VXLAN or Geneve network identifier + 1

}  // namespace rocescope
