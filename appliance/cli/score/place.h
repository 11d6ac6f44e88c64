// SPDX-License-Identifier: BSD-3-Clause
// Compares the place of a finding with the place of a fault. Internal to this folder.
#pragma once

#include <cstdint>
#include <string_view>

namespace rocescope {

namespace v1 {
class TruthFault;
}

// Compares NODE:PORT-NODE:PORT in either order.
bool IsSameLink(std::string_view a, std::string_view b);

// Returns whether NODE:PORT is one of the link's ends.
bool IsEndOf(std::string_view port, std::string_view link);

// Returns whether one end of the link is this NIC (HOST:DEVICE), or a port of this switch or host.
bool Touches(std::string_view link, std::string_view element);

// How close two places are, by their names only.
enum class Closeness : uint8_t {
  kFar,
  kSharedNode,  // a node of one is a node of the other, such as two links of a switch
  kTouching,    // a link and one of its ends, or a node and one of its links or NICs
  kSame,
};
Closeness ClosenessOf(std::string_view a, std::string_view b);

// Compares places: a link by its two ports; any link of a deadlock's loop; either of two swapped
// links; all others by name. For a fault in one direction, a finding with the other direction is
// wrong, and one without a direction is right.
bool IsRightPlace(const v1::TruthFault& fault, std::string_view place, std::string_view direction);

}  // namespace rocescope
