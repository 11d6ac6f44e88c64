// SPDX-License-Identifier: BSD-3-Clause
// Communicators that no line names: NCCL before 2.16 prints no commId, so that all of a size look
// alike. Where two processes say that they are the same rank of one they are of several, and what
// parts them is, in order of trust:
// - who talks to whom: a queue pair that the log says goes to a rank, and packets of it to an
//   address of the process that is that rank;
// - the jobs that this makes of processes, where all of their ranks fit into one communicator;
// - the scheduler's allocations, likewise;
// - hosts, as launchers number the ranks of a host in even steps.
// What nothing ties together stays apart. Internal to this folder.
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

// All that may be of one communicator.
struct SizedClass {
  int rank_count = 0;
  std::vector<SizedMember> members;
};

// Where parting is called for, by class and member a number of its communicator: the place of the
// first member of it. Empty: the class is one communicator. `joined` are processes of one job for
// other reasons.
std::vector<std::vector<uint32_t>> PartClasses(std::span<const LoggedProcess> processes,
                                               std::span<const SizedClass> classes,
                                               std::span<const std::pair<size_t, size_t>> joined,
                                               const JobEvidence& evidence);

}  // namespace rocescope
