// SPDX-License-Identifier: BSD-3-Clause
// The UDP destination ports that identify telemetry.
#pragma once

#include <cstdint>

namespace rocescope {

// 0: not received. The port of sFlow is assigned by IANA; P4.org leaves the ports of INT to the
// operator. The default for INT reports is that of Stratum's fabric-tna and its collectors; the
// default for INT inside packets is that of CableLabs' transparent-security.
struct TelemetryPorts {
  uint16_t int_reports = 32766;
  uint16_t int_md = 555;
  uint16_t sflow = 6343;
};

}  // namespace rocescope
