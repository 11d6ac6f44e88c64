// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/via_dpdk.h"

#include "appliance/cli/command/stop_signal.h"
#include "dataplane/port/capture_port.h"

namespace rocescope {

Result<std::unique_ptr<CaptureSource>> OpenViaDpdk(const CaptureTaps& captures) {
  return OpenCapturesAsPorts(captures.files, {.stopped = InputEndedBySignal});
}

}  // namespace rocescope
