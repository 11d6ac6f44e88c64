// SPDX-License-Identifier: BSD-3-Clause
// Output of `squeue --json`, valid or not.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "dataplane/host/slurm_jobs.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const SlurmJobs jobs = ParseSlurmJobs(text);
  Require(jobs.notes.size() <= kMaxSlurmNotes, "notes are bounded");
  size_t nodes = 0;
  for (const Allocation& allocation : jobs.allocations) {
    Require(!allocation.nodes.empty(), "an allocation has nodes");
    nodes += allocation.nodes.size();
    Require(!allocation.start || *allocation.start <= kLatestTime, "times are within bounds");
    for (const AllocatedNode& node : allocation.nodes) {
      Require(!node.name.empty(), "a node has a name");
      Require(std::ranges::is_sorted(node.gpus), "GPUs ascend");
    }
  }
  Require(nodes <= 1'000'000, "nodes are bounded");
  return 0;
}
