// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/former_run.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace rocescope::sim {

void RemoveFormerRun(const std::string& directory) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path run = directory;
  if (!fs::is_regular_file(run / "run.json", ignored)) return;
  for (const char* file : {"truth.json", "mirror.pcap", "int.pcap", "sflow.pcap", "counters.jsonl",
                           "counters.columns", "slurm.json"}) {
    fs::remove(run / file, ignored);
  }
  for (const auto& [folder, ending] : {std::pair("nccl", ".log"), std::pair("rdma", ".json"),
                                       std::pair("recording", ".columns")}) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(run / folder, ignored)) {
      if (entry.path().extension() == ending) files.push_back(entry.path());
    }
    for (const fs::path& file : files) fs::remove(file, ignored);
    fs::remove(run / folder, ignored);  // fails if it contains other files
  }
}

}  // namespace rocescope::sim
