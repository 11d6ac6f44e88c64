// SPDX-License-Identifier: BSD-3-Clause
// By which UDP destination ports telemetry is known.
#pragma once

#include <cstdint>

namespace rocescope {

// 0: none. sFlow's is assigned; P4.org leaves INT's to the operator. For reports rocescope takes
// what Stratum's fabric-tna and the collectors beside it use, for INT inside packets what
// CableLabs' transparent-security does.
struct TelemetryPorts {
  uint16_t int_reports = 32766;
  uint16_t int_md = 555;
  uint16_t sflow = 6343;
};

}  // namespace rocescope
