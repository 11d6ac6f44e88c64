// SPDX-License-Identifier: BSD-3-Clause
// Which link layers a capture may have.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "dataplane/decode/frame.h"

namespace rocescope {

// Of the number in a capture's header (a LINKTYPE of tcpdump.org's list, or the DLT that libpcap
// makes of it). The error names the capture, the number's meaning and what is supported.
Result<LinkType> LinkTypeFromNumber(int number, const std::string& capture);

}  // namespace rocescope
