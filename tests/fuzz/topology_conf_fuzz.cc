// SPDX-License-Identifier: BSD-3-Clause
// Slurm topology.conf files.
#include "tests/fuzz/convert_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope::topology;
  return FuzzConversion(Format::kSlurm, data, size);
}
