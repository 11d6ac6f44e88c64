// SPDX-License-Identifier: BSD-3-Clause
// Properties of every conversion from another program's file format.
#pragma once

#include <cstdint>
#include <string_view>

#include "tests/fuzz/require.h"
#include "topology/convert/convert.h"
#include "topology/yaml.h"

namespace rocescope::topology {

inline int FuzzConversion(Format format, const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto conversion = Convert(format, text, "fuzz", {.gpus_per_host = 2, .nics_per_host = 2});
  if (!conversion) {
    Require(conversion.error().message.starts_with("fuzz:"), "an error names the file");
    return 0;
  }
  const std::string written = WriteFabric(conversion->fabric);
  const auto again = LoadFabric(written, "written");
  Require(again.has_value(), "the converted topology is valid");
  Require(WriteFabric(*again) == written, "the converted topology is stable");
  return 0;
}

}  // namespace rocescope::topology
