// SPDX-License-Identifier: BSD-3-Clause
// The location of a tap according to the mirror headers of its copies. It links a TapId to the
// topology.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "dataplane/record/record.h"

namespace rocescope {

enum class TapSide : uint8_t { kUnknown, kIngress, kEgress };

struct TapLocation {
  TapId tap = 0;
  IpAddress switch_address;  // source address of the mirror session
  uint16_t session = 0;
  TapSide side = TapSide::kUnknown;
  bool has_port = false;
  uint32_t port = 0;  // the switch's own number of the port

  friend bool operator==(const TapLocation&, const TapLocation&) = default;
};

}  // namespace rocescope
