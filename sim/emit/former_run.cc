// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/former_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "sim/emit/output_file.h"

namespace rocescope::sim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"topology.yaml", "truth.json",      "mirror.pcap",
                                  "int.pcap",      "sflow.pcap",      "counters.jsonl",
                                  "slurm.json",    "counters.columns"};
// Folders and the endings of the files that a run writes in them.
constexpr std::pair<const char*, const char*> kFolders[] = {
    {"nccl", ".log"}, {"rdma", ".json"}, {"recording", ".columns"}, {"recording", ".json"}};

// Whether writing to this path would change a file of another directory.
bool IsShared(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  if (fs::is_symlink(status)) return true;
  return fs::is_regular_file(status) && fs::hard_link_count(path, ignored) > 1;
}

// The name of run.json until the run is complete.
constexpr const char* kUnfinished = "run.json.part";

void RemoveFormerRun(const fs::path& run) {
  std::error_code ignored;
  bool is_run = fs::remove(run / "run.json", ignored);
  is_run |= fs::remove(run / kUnfinished, ignored);
  for (const char* file : kFiles) {
    if (is_run || IsShared(run / file)) fs::remove(run / file, ignored);
  }
  for (const auto& [folder, ending] : kFolders) {
    if (IsShared(run / folder)) fs::remove(run / folder, ignored);
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(run / folder, ignored)) {
      if (entry.path().extension() == ending && (is_run || IsShared(entry.path()))) {
        files.push_back(entry.path());
      }
    }
    for (const fs::path& file : files) fs::remove(file, ignored);
    if (is_run) fs::remove(run / folder, ignored);  // fails if it contains other files
  }
}

}  // namespace

Status BeginRun(const std::string& directory) {
  RemoveFormerRun(directory);
  return WriteFile(fmt::format("{}/{}", directory, kUnfinished), "");
}

Status FinishRun(const std::string& directory, const RunManifest& manifest) {
  const std::string unfinished = fmt::format("{}/{}", directory, kUnfinished);
  if (Status written = WriteFile(unfinished, RenderRunManifest(manifest)); !written) return written;
  std::error_code error;
  fs::rename(unfinished, directory + "/run.json", error);
  if (!error) return {};
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("{}/run.json: cannot be written: {}", directory, error.message()));
}

}  // namespace rocescope::sim
