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
  for (const sim::JobOptions& job : scenario->jobs) {
    Require(job.start < job.end, "a job ends after its start");
    sim::SimTime running = job.start;
    for (const sim::JobOptions::Restart& restart : job.restarts) {
      Require(restart.at > running && restart.downtime > 0, "restarts are in order");
      running = restart.at + restart.downtime;
      Require(running < job.end, "a restart is complete before the job's end");
    }
    for (const sim::JobOptions::Interlude& interlude : job.interludes) {
      Require(!interlude.phases.empty() && (interlude.after > 0 || interlude.every > 0),
              "an interlude has phases and a time");
    }
    for (const topology::NicIndex nic : job.checkpoint.to) {
      Require(nic < fabric.nics().size(), "a storage NIC");
    }
  }
  const sim::BenignOptions& benign = scenario->benign;
  for (const sim::RatioRange& range : {benign.bit_error_ratio, benign.pre_fec_bit_error_ratio}) {
    Require(!range.on() || (range.least > 0 && range.least <= range.most), "a range");
  }
  Require(benign.gpu_clock_spread >= 0 && benign.gpu_clock_spread < 1, "a spread");
  for (const sim::MaintenanceOptions& work : scenario->maintenance) {
    Require(work.start < scenario->duration && work.duration > 0, "maintenance within the run");
    Require(work.link < fabric.links().size() || work.node < fabric.nodes().size(), "a place");
  }
  for (const sim::TcpFlow::Options& flow : scenario->foreign) {
    Require(flow.from < fabric.nics().size() && flow.to < fabric.nics().size() &&
                flow.from != flow.to && flow.message > 0 && flow.start < flow.end,
            "foreign traffic has two ends and a time");
  }
  for (const auto& stream : scenario->streams) {
    Require(stream.from < fabric.nics().size() && stream.to < fabric.nics().size() &&
                stream.from != stream.to,
            "a stream has two ends");
  }
  for (const sim::FaultOptions& fault : scenario->faults) {
    Require(fault.onset < scenario->duration, "a fault starts within the run");
    Require(fault.probability >= 0 && fault.probability <= 1, "a probability");
    const double severity = sim::SeverityAt(fault, fault.onset, scenario->duration);
    Require(severity > 0 && severity <= 1, "a severity");
    Require(fault.link == topology::kNone || fault.link < fabric.links().size(), "a link");
  }
  return 0;
}
