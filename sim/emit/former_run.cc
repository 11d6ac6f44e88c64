// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/former_run.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace rocescope::sim {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"topology.yaml", "truth.json",      "mirror.pcap",
                                  "int.pcap",      "sflow.pcap",      "counters.jsonl",
                                  "slurm.json",    "counters.columns"};
// Folders and the endings of the files that a run writes in them.
constexpr std::pair<const char*, const char*> kFolders[] = {
    {"nccl", ".log"}, {"rdma", ".json"}, {"recording", ".columns"}};

// Whether writing to this path would change a file of another directory.
bool IsShared(const fs::path& path) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  if (fs::is_symlink(status)) return true;
  return fs::is_regular_file(status) && fs::hard_link_count(path, ignored) > 1;
}

}  // namespace

void RemoveFormerRun(const std::string& directory) {
  std::error_code ignored;
  const fs::path run = directory;
  const bool is_run = fs::exists(fs::symlink_status(run / "run.json", ignored));
  fs::remove(run / "run.json", ignored);
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

}  // namespace rocescope::sim
