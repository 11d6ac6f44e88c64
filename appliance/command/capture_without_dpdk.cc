// SPDX-License-Identifier: BSD-3-Clause
// A program built without DPDK still knows what it lacks.
#include "appliance/command/capture.h"
#include "appliance/command/exit_code.h"
#include "appliance/command/message.h"

namespace rocescope {

int RunCapture(const CaptureRunOptions& /*options*/) {
  Message(
      "this rocescope was built without DPDK: install libdpdk-dev and configure with "
      "-DROCESCOPE_DPDK=ON (cmake --preset release), or pipe tcpdump into `rocescope replay -`");
  return kExitUsage;
}

}  // namespace rocescope
