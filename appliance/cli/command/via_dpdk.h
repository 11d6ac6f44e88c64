// SPDX-License-Identifier: BSD-3-Clause
// `replay --via dpdk`: reads captures as DPDK ports.
#pragma once

#include <memory>

#include "base/result.h"
#include "dataplane/source/capture.h"
#include "dataplane/source/tap.h"

namespace rocescope {

// Returns kUnimplemented if the program was built without DPDK.
Result<std::unique_ptr<CaptureSource>> OpenViaDpdk(const CaptureTaps& captures);

}  // namespace rocescope
