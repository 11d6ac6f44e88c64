// SPDX-License-Identifier: BSD-3-Clause
// The tenant of an address. Different tenants can use the same addresses.
#pragma once

#include <cstdint>

namespace rocescope {

using Segment = uint32_t;  // 0: no tenant; otherwise the VXLAN or Geneve network identifier + 1

}  // namespace rocescope
