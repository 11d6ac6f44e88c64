// SPDX-License-Identifier: BSD-3-Clause
// containerlab topologies.
#include "tests/fuzz/convert_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope::topology;
  return FuzzConversion(Format::kContainerlab, data, size);
}
