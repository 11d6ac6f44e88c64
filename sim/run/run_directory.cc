// SPDX-License-Identifier: BSD-3-Clause
#include "sim/run/run_directory.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "sim/emit/former_run.h"
#include "sim/emit/output_file.h"
#include "topology/yaml.h"

namespace rocescope::sim {
namespace {

// Returns the dilated fabric. The error names a link whose speed is not a multiple of the dilation.
Result<topology::Fabric> Dilated(const topology::Fabric& fabric, uint32_t dilation) {
  topology::Fabric::Parts parts = fabric.parts();
  for (topology::LinkIndex i = 0; i < parts.links.size(); ++i) {
    topology::Link& link = parts.links[i];
    if (link.bits_per_second % dilation != 0) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("--dilate {}: the speed of {}, {} bit/s, is not a multiple of it", dilation,
                      fabric.NameOfLink(i), link.bits_per_second));
    }
    link.bits_per_second /= dilation;
    link.delay *= dilation;
  }
  return topology::Fabric::Make(std::move(parts));
}

}  // namespace

Status PrepareRunDirectory(const Scenario& scenario, const topology::Fabric& fabric,
                           const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: cannot be created: {}", directory, error.message()));
  }
  if (Status begun = BeginRun(directory); !begun) return begun;
  const auto dilated = Dilated(fabric, scenario.dilation);
  if (!dilated) return tl::unexpected(dilated.error());
  return WriteFile(directory + "/topology.yaml", topology::WriteFabric(*dilated));
}

RunManifest ManifestOf(const Scenario& scenario, const topology::Fabric& fabric, bool stream) {
  const TelemetryOptions& on = scenario.telemetry;
  return {.scenario = scenario.name,
          .seed = scenario.seed,
          .epoch = scenario.epoch,
          .duration = Duration(scenario.duration / kNanosecond) * scenario.dilation,
          .record_interval = scenario.record_interval * scenario.dilation,
          .analysis_window = scenario.analysis_window * scenario.dilation,
          .counter_period = Duration(on.counter_period / kNanosecond) * scenario.dilation,
          .time_scale = scenario.time_scale * scenario.dilation,
          .telemetry = {.mirror = !stream && !fabric.taps().empty(),
                        .int_reports = !stream && on.int_exponent.has_value(),
                        .sflow = !stream && on.sflow_rate > 0,
                        .counters = on.counter_period > 0,
                        .nccl_logs = !on.nccl_version.empty(),
                        .rdma = on.rdma}};
}

}  // namespace rocescope::sim
