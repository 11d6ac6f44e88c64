// SPDX-License-Identifier: BSD-3-Clause
// Limits on nesting in a frame. They bound the work per frame.
#pragma once

namespace rocescope {

inline constexpr int kMaximumTunnels = 3;
inline constexpr int kMaximumVlanTags = 4;
inline constexpr int kMaximumIpv6ExtensionHeaders = 8;

}  // namespace rocescope
