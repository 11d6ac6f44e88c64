// SPDX-License-Identifier: BSD-3-Clause
// Whether a finding is where a fault is. Internal to this folder.
#pragma once

#include <string_view>

namespace rocescope {

namespace v1 {
class TruthFault;
}

// NODE:PORT-NODE:PORT, whichever end stands first.
bool IsSameLink(std::string_view a, std::string_view b);

// Whether NODE:PORT is one of a link's ends.
bool IsEndOf(std::string_view port, std::string_view link);

// Whether an end of the link is that NIC (HOST:DEVICE), or a port of that switch or host.
bool Touches(std::string_view link, std::string_view element);

// A link by its two ports; any link of a deadlock's loop; either of two swapped ones; all others by
// name. Of a fault in one direction a finding that names the other one is wrong, and one that names
// none is right.
bool IsRightPlace(const v1::TruthFault& fault, std::string_view place, std::string_view direction);

}  // namespace rocescope
