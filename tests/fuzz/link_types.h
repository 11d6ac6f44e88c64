// SPDX-License-Identifier: BSD-3-Clause
// The link types for the frame fuzzers, selected by the low three bits of an input byte.
#pragma once

#include "dataplane/decode/frame.h"

namespace rocescope {

inline constexpr LinkType kLinkTypes[] = {
    LinkType::kEthernet, LinkType::kRawIp,        LinkType::kLinuxCooked,      LinkType::kIpv4,
    LinkType::kIpv6,     LinkType::kLinuxCooked2, static_cast<LinkType>(9999), LinkType::kEthernet};

}  // namespace rocescope
