// SPDX-License-Identifier: BSD-3-Clause
// `rocescope decode`: captures in, one JSON object a frame out.
#pragma once

#include "dataplane/decode/telemetry_ports.h"
#include "dataplane/source/filter.h"
#include "dataplane/source/tap.h"

namespace rocescope {

struct DecodeOptions {
  CaptureTaps captures;  // merged by time
  FrameFilter filter;    // frames that it leaves out are counted, not printed
  bool check_icrc = false;
  TelemetryPorts ports;
};

// Prints to standard output; messages and the ledger go to standard error. Returns an ExitCode.
int RunDecode(const DecodeOptions& options);

}  // namespace rocescope
