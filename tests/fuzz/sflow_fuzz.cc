// SPDX-License-Identifier: BSD-3-Clause
// sFlow datagrams, up to records.
#include "tests/fuzz/telemetry_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rocescope::ReadTelemetry(rocescope::FrameKind::kSflow, {data, size});
  return 0;
}
