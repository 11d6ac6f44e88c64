// SPDX-License-Identifier: BSD-3-Clause
// What /proc, /sys and drivers say to the agent, valid or not.
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
  Require(environment.visible_gpus.size() <= 1024, "a list of GPUs is short");
  Require(environment.visible_gpus.find_first_of("=; \n") == std::string::npos, "and nothing else");
  if (const auto gpu = ParseGpuInformation(text)) Require(!gpu->pci.empty(), "a GPU has a place");
  Require(ParsePortRate(text) <= 1'000'000'000'000'000, "a rate is one");
  if (const auto gid = ParseGid(text)) Require(!gid->IsUnspecified(), "a GID is an address");
  Require(ParsePortState(text).size() <= size, "a state stands there");
  for (const PriorityValue& one : MetricsOfEthtool({{std::string(text), 1}})) {
    Require(one.priority < 8 || one.priority == PriorityValue::kAll, "there are 8 priorities");
  }
  return 0;
}
