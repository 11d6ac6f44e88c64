// SPDX-License-Identifier: BSD-3-Clause
// The scenario YAML format: a valid file has consistent places and numbers. Otherwise the error
// names the file.
#include <cstdint>
#include <string_view>

#include "sim/scenario/scenario.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const auto scenario = sim::LoadScenario({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!scenario) {
    Require(scenario.error().message.starts_with("fuzz"), "an error names the file");
    return 0;
  }
  Require(scenario->fabric.has_value() && scenario->duration > 0, "there is something to simulate");
  const topology::Fabric& fabric = *scenario->fabric;
  for (const sim::JobOptions& job : scenario->jobs) {
    Require(job.chunk > 0, "a job's messages have a length");
    for (const topology::GpuIndex gpu : job.gpus) Require(gpu < fabric.gpus().size(), "a GPU");
    for (const auto& phase : job.phases) {
      for (const auto& group : phase.groups) {
        for (const uint32_t rank : group) Require(rank < job.gpus.size(), "a rank of the job");
      }
    }
  }
  for (const auto& stream : scenario->streams) {
    Require(stream.from < fabric.nics().size() && stream.to < fabric.nics().size() &&
                stream.from != stream.to,
            "a stream has two ends");
  }
  for (const sim::FaultOptions& fault : scenario->faults) {
    Require(fault.onset < scenario->duration, "a fault starts within the run");
    Require(fault.probability >= 0 && fault.probability <= 1, "a probability");
    Require(fault.link == topology::kNone || fault.link < fabric.links().size(), "a link");
  }
  return 0;
}
