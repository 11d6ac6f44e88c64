// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/run_directory.h"

#include <fmt/format.h>

#include <filesystem>

#include "appliance/common/files/text_file.h"

namespace rocescope {
namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kLargestManifest = uintmax_t{1} << 20;

Result<RunManifest> ReadManifest(const std::string& path) {
  const Result<std::string> text = ReadTextFile(path, kLargestManifest);
  if (!text) return tl::unexpected(text.error());
  Result<RunManifest> manifest = ParseRunManifest(*text);
  if (manifest) return manifest;
  return MakeError(manifest.error().code, fmt::format("{}: {}", path, manifest.error().message));
}

}  // namespace

Result<RunDirectory> OpenRunDirectory(const std::string& path, const RunParts& parts) {
  const fs::path folder(path);
  Result<RunManifest> manifest = ReadManifest((folder / "run.json").string());
  if (!manifest && manifest.error().code == ErrorCode::kNotFound) {
    return MakeError(ErrorCode::kNotFound,
                     fmt::format("{}: directory without a run.json: pass the capture files in it, "
                                 "or the directory of a run",
                                 path));
  }
  if (!manifest) return tl::unexpected(manifest.error());
  RunDirectory run;
  run.manifest = *std::move(manifest);
  const auto exists = [&folder](const char* name) {
    std::error_code ignored;
    return fs::exists(folder / name, ignored);
  };
  // Returns the path of a part, or an empty string.
  const auto part = [&](bool wanted, bool expected, const char* name) -> std::string {
    if (!wanted) return {};
    const fs::path file = folder / name;
    if (exists(name)) return file.string();
    if (expected) {
      run.notes.push_back(fmt::format("{}: listed in run.json but missing", file.string()));
    }
    return {};
  };
  const RunManifest::Telemetry& on = run.manifest.telemetry;
  for (std::string capture : {part(parts.mirror != MirrorSessions::kNone, on.mirror, "mirror.pcap"),
                              part(parts.int_reports, on.int_reports, "int.pcap"),
                              part(parts.sflow, on.sflow, "sflow.pcap")}) {
    if (!capture.empty()) run.captures.push_back(std::move(capture));
  }
  const bool counters = parts.counters || parts.switch_counters;
  const bool in_columns = exists("counters.columns");
  if (counters && in_columns && exists("counters.jsonl")) {
    return MakeError(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: contains both counters.jsonl and counters.columns: remove one of them",
                    path));
  }
  run.counters = part(counters, on.counters, in_columns ? "counters.columns" : "counters.jsonl");
  for (std::string logs : {part(parts.nccl_logs, on.nccl_logs, "nccl")}) {
    if (!logs.empty()) run.nccl_logs.push_back(std::move(logs));
  }
  for (std::string dumps : {part(parts.rdma, on.rdma, "rdma")}) {
    if (!dumps.empty()) run.rdma.push_back(std::move(dumps));
  }
  for (std::string jobs : {part(parts.slurm, false, "slurm.json")}) {
    if (!jobs.empty()) run.slurm.push_back(std::move(jobs));
  }
  run.topology = part(true, false, "topology.yaml");
  return run;
}

}  // namespace rocescope
