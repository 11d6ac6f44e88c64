// SPDX-License-Identifier: BSD-3-Clause
// `rocescope decode`: prints each frame of captures as one JSON object.
#pragma once

#include "dataplane/decode/telemetry_ports.h"
#include "dataplane/source/filter.h"
#include "dataplane/source/tap.h"

namespace rocescope {

struct DecodeOptions {
  CaptureTaps captures;  // merged by time
  FrameFilter filter;    // frames that do not match are counted but not printed
  bool check_icrc = false;
  TelemetryPorts ports;
};

// Prints frames to standard output, and messages and the ledger to standard error. Returns an
// ExitCode.
int RunDecode(const DecodeOptions& options);

}  // namespace rocescope
