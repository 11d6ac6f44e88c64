// SPDX-License-Identifier: BSD-3-Clause
// The link layers that a capture may have.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "dataplane/decode/frame.h"

namespace rocescope {

// Converts the number in a capture's header (a LINKTYPE from tcpdump.org's list, or the DLT that
// libpcap makes of it). The error names the capture, the link layer and the supported ones.
Result<LinkType> LinkTypeFromNumber(int number, const std::string& capture);

}  // namespace rocescope
