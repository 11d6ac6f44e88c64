// SPDX-License-Identifier: BSD-3-Clause
// A valid configuration is dumped, and the dump parses to the same configuration.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "appliance/common/config/agent_config.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = rocescope::ParseAgentConfig(text, "fuzz");
  if (!config) return 0;
  const auto again = rocescope::ParseAgentConfig(rocescope::DumpAgentConfig(*config), "dump");
  rocescope::Require(again.has_value(), "the dump is valid");
  rocescope::Require(*again == *config, "the dump is equivalent");
  return 0;
}
