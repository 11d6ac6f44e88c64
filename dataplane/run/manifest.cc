// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/manifest.h"

#include <nlohmann/json.hpp>

#include "dataplane/run/json_object.h"

namespace rocescope {
namespace {

constexpr auto kLongestNs = static_cast<uint64_t>(ToNanoseconds(kLatestTime));

// Windows and rates are divided by it.
constexpr double kLeastTimeScale = 1e-9;
constexpr double kMostTimeScale = 1e9;

Duration ReadDuration(JsonObject& object, std::string_view key, uint64_t least) {
  return Duration(static_cast<int64_t>(object.Unsigned(key, least, kLongestNs)));
}

RunManifest::Ports ReadPorts(JsonObject ports, JsonObject& outer) {
  const auto port = [&ports](std::string_view key) {
    return static_cast<uint16_t>(ports.Unsigned(key, 1, UINT16_MAX));
  };
  const RunManifest::Ports read = {
      .int_reports = port("int_reports"), .int_md = port("int_md"), .sflow = port("sflow")};
  outer.Adopt(ports);
  return read;
}

RunManifest::Telemetry ReadTelemetry(JsonObject telemetry, JsonObject& outer) {
  const RunManifest::Telemetry read = {.mirror = telemetry.Bool("mirror"),
                                       .int_reports = telemetry.Bool("int_reports"),
                                       .sflow = telemetry.Bool("sflow"),
                                       .counters = telemetry.Bool("counters"),
                                       .nccl_logs = telemetry.Bool("nccl_logs"),
                                       .rdma = telemetry.Bool("rdma")};
  outer.Adopt(telemetry);
  return read;
}

}  // namespace

Result<RunManifest> ParseRunManifest(std::string_view text) {
  const Result<nlohmann::json> json = ParseJsonStrictly(text);
  if (!json) return tl::unexpected(json.error());
  JsonObject object(*json, "");
  // Checked first, because another version has other keys.
  object.Unsigned("schema_version", RunManifest::kSchemaVersion, RunManifest::kSchemaVersion);
  RunManifest manifest;
  manifest.scenario = object.Text("scenario", RunManifest::kLongestName);
  manifest.seed = object.Unsigned("seed", 0, UINT64_MAX);
  manifest.epoch = FromNanoseconds(0) + ReadDuration(object, "epoch_ns", 0);
  manifest.duration = ReadDuration(object, "duration_ns", 1);
  manifest.record_interval = ReadDuration(object, "record_interval_ns", 1);
  manifest.analysis_window = ReadDuration(object, "analysis_window_ns", 1);
  manifest.counter_period = ReadDuration(object, "counter_period_ns", 0);
  manifest.time_scale = object.Number("time_scale");
  manifest.ports = ReadPorts(object.Object("ports"), object);
  manifest.telemetry = ReadTelemetry(object.Object("telemetry"), object);
  if (manifest.record_interval.count() > 0 &&
      manifest.analysis_window % manifest.record_interval != Duration(0)) {
    object.Fail("analysis_window_ns: expected a multiple of record_interval_ns");
  }
  if (!(manifest.time_scale >= kLeastTimeScale && manifest.time_scale <= kMostTimeScale)) {
    object.Fail("time_scale: expected a number from 1e-9 to 1e9");
  }
  if (const Status finished = object.Finish(); !finished) return tl::unexpected(finished.error());
  return manifest;
}

std::string RenderRunManifest(const RunManifest& manifest) {
  nlohmann::ordered_json json;
  json["schema_version"] = RunManifest::kSchemaVersion;
  json["scenario"] = manifest.scenario;
  json["seed"] = manifest.seed;
  json["epoch_ns"] = ToNanoseconds(manifest.epoch);
  json["duration_ns"] = manifest.duration.count();
  json["record_interval_ns"] = manifest.record_interval.count();
  json["analysis_window_ns"] = manifest.analysis_window.count();
  json["counter_period_ns"] = manifest.counter_period.count();
  json["time_scale"] = manifest.time_scale;
  json["ports"]["int_reports"] = manifest.ports.int_reports;
  json["ports"]["int_md"] = manifest.ports.int_md;
  json["ports"]["sflow"] = manifest.ports.sflow;
  json["telemetry"]["mirror"] = manifest.telemetry.mirror;
  json["telemetry"]["int_reports"] = manifest.telemetry.int_reports;
  json["telemetry"]["sflow"] = manifest.telemetry.sflow;
  json["telemetry"]["counters"] = manifest.telemetry.counters;
  json["telemetry"]["nccl_logs"] = manifest.telemetry.nccl_logs;
  json["telemetry"]["rdma"] = manifest.telemetry.rdma;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace rocescope
