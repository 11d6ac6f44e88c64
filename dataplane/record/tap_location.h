// SPDX-License-Identifier: BSD-3-Clause
// Where a tap is, as the mirror headers of its copies say: what connects a TapId with a fabric.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "dataplane/record/record.h"

namespace rocescope {

enum class TapSide : uint8_t { kUnknown, kIngress, kEgress };

struct TapLocation {
  TapId tap = 0;
  IpAddress switch_address;  // the mirror's source
  uint16_t session = 0;
  TapSide side = TapSide::kUnknown;
  bool has_port = false;
  uint32_t port = 0;  // the switch's number for it

  friend bool operator==(const TapLocation&, const TapLocation&) = default;
};

}  // namespace rocescope
