// SPDX-License-Identifier: BSD-3-Clause
// How much a frame may nest before a walk gives up: what bounds its work.
#pragma once

namespace rocescope {

inline constexpr int kMaximumTunnels = 3;
inline constexpr int kMaximumVlanTags = 4;
inline constexpr int kMaximumIpv6ExtensionHeaders = 8;

}  // namespace rocescope
