// SPDX-License-Identifier: BSD-3-Clause
// What `squeue --json` or `scontrol show job --json` of Slurm prints. Releases differ in
// form: 21.08 (OpenAPI v0.0.37) has plain numbers, one word of state and the nodes as one host
// list; from 23.02 on (data_parser v0.0.39) numbers are objects {set, infinite, number} and states
// are lists; from 24.05 on (v0.0.41) job_resources.nodes is an object with the host list in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/host/allocation.h"

namespace rocescope {

struct SlurmJobs {
  std::vector<Allocation> allocations;  // by id; of jobs that have or had nodes
  uint64_t without_nodes = 0;           // jobs that wait
  uint64_t malformed = 0;               // jobs that were lost
  std::vector<std::string> notes;       // sentences, the first kMaxSlurmNotes
};

inline constexpr size_t kMaxSlurmNotes = 20;

// Never fails: of a text that is not JSON a note is all there is. The components of a heterogeneous
// job are one allocation, under the id that they share. Linear in the text, but for names in
// brackets: a job has at most 65,536 nodes, all jobs together a million.
SlurmJobs ParseSlurmJobs(std::string_view text);

}  // namespace rocescope
