// SPDX-License-Identifier: BSD-3-Clause
// `replay --via dpdk`: the captures as ports.
#pragma once

#include <memory>

#include "base/result.h"
#include "dataplane/source/capture.h"
#include "dataplane/source/tap.h"

namespace rocescope {

// kUnimplemented in a program built without DPDK.
Result<std::unique_ptr<CaptureSource>> OpenViaDpdk(const CaptureTaps& captures);

}  // namespace rocescope
