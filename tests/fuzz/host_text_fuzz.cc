// SPDX-License-Identifier: BSD-3-Clause
// Parsers of the agent for /proc, /sys and driver data, valid or not.
#include <cstdint>
#include <string>
#include <string_view>

#include "appliance/agent/gpu_information.h"
#include "appliance/agent/interface_counters.h"
#include "appliance/agent/process_environment.h"
#include "appliance/agent/rdma_sysfs.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const ProcessEnvironment environment = ParseProcessEnvironment(text);
  Require(environment.visible_gpus.size() <= 1024, "the GPU list is bounded");
  Require(environment.visible_gpus.find_first_of("=; \n") == std::string::npos,
          "the GPU list contains only list characters");
  if (const auto gpu = ParseGpuInformation(text))
    Require(!gpu->pci.empty(), "a GPU has a PCI address");
  Require(ParsePortRate(text) <= 1'000'000'000'000'000, "the rate is plausible");
  if (const auto gid = ParseGid(text))
    Require(!gid->IsUnspecified(), "a GID is a specified address");
  Require(ParsePortState(text).size() <= size, "the state is part of the input");
  for (const PriorityValue& one : MetricsOfEthtool({{std::string(text), 1}})) {
    Require(one.priority < 8 || one.priority == PriorityValue::kAll, "the priority is valid");
  }
  return 0;
}
