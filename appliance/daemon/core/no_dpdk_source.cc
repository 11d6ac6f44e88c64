// SPDX-License-Identifier: BSD-3-Clause
// The stub for programs that are built without DPDK.
#include "appliance/daemon/core/dpdk_source.h"

namespace rocescope {

Result<std::unique_ptr<DpdkSource>> DpdkSource::Open(const DpdkConfig& /*config*/,
                                                     Notify /*notify*/) {
  return MakeError(
      ErrorCode::kUnimplemented,
      "the configuration uses dpdk, but this rocescope was built without DPDK: install "
      "libdpdk-dev and configure with -DROCESCOPE_DPDK=ON (cmake --preset release)");
}

}  // namespace rocescope
