// SPDX-License-Identifier: BSD-3-Clause
// Internal to this folder: separates communicators without an identifier. NCCL before 2.16 prints
// no commId, so all communicators of one size look alike. If two processes claim the same rank,
// there are several communicators. They are separated by, most trusted first:
// - packets: a log states that a queue pair connects to a rank, and its packets go to the address
//   of a process with that rank;
// - the jobs formed in this way, if all of their ranks fit into one communicator;
// - the scheduler's allocations, if all of their ranks fit into one communicator;
// - hosts, because launchers number the ranks of a host at equal distances;
// - process IDs, if each rank was started equally often on its GPU: a job that is restarted.
// Members without any common evidence stay separate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "analytics/job/communicator.h"
#include "analytics/job/process_set.h"

namespace rocescope {

struct SizedMember {
  size_t process = 0;       // index into the processes
  size_t communicator = 0;  // index into NcclProcess::communicators
  int rank = 0;
};

// All members that may belong to one communicator.
struct SizedClass {
  int rank_count = 0;
  std::vector<SizedMember> members;
};

// Returns by class and member the number of its communicator, which is the index of that
// communicator's first member. An empty list: the class is one communicator. `joined` are pairs of
// processes known to belong to one job from other evidence.
std::vector<std::vector<uint32_t>> PartClasses(std::span<const LoggedProcess> processes,
                                               std::span<const SizedClass> classes,
                                               std::span<const std::pair<size_t, size_t>> joined,
                                               const JobEvidence& evidence);

}  // namespace rocescope
