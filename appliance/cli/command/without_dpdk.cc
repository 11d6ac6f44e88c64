// SPDX-License-Identifier: BSD-3-Clause
// Error messages of a build without DPDK.
#include "appliance/cli/command/capture.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/cli/command/via_dpdk.h"

namespace rocescope {
namespace {

constexpr const char* kMissing =
    "this build has no DPDK support: install libdpdk-dev and configure with -DROCESCOPE_DPDK=ON "
    "(cmake --preset release)";

}  // namespace

int RunCapture(const CaptureRunOptions& /*options*/) {
  Message(kMissing);
  return kExitUsage;
}

Result<std::unique_ptr<CaptureSource>> OpenViaDpdk(const CaptureTaps& /*captures*/) {
  return MakeError(ErrorCode::kUnimplemented, kMissing);
}

}  // namespace rocescope
