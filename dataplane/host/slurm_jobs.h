// SPDX-License-Identifier: BSD-3-Clause
// Parses the output of `squeue --json` or `scontrol show job --json`. The format depends on the
// Slurm release: 21.08 (OpenAPI v0.0.37) has plain numbers, a single state word and one host list;
// from 23.02 on (data_parser v0.0.39) numbers are objects {set, infinite, number} and states are
// lists; from 24.05 on (v0.0.41) job_resources.nodes is an object that contains the host list.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/host/allocation.h"

namespace rocescope {

struct SlurmJobs {
  std::vector<Allocation> allocations;  // sorted by ID; jobs that have or had nodes
  uint64_t without_nodes = 0;           // pending jobs
  uint64_t malformed = 0;               // ignored jobs
  std::vector<std::string> notes;       // sentences, the first kMaxSlurmNotes
};

inline constexpr size_t kMaxSlurmNotes = 20;

// Never fails: for a text that is not JSON, the result contains only a note. The components of a
// heterogeneous job form one allocation with their common ID. Takes time linear in the text plus
// the expanded host names: a job has at most 65,536 nodes, all jobs together one million.
SlurmJobs ParseSlurmJobs(std::string_view text);

}  // namespace rocescope
