// SPDX-License-Identifier: BSD-3-Clause
// Matches the communicators of different processes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analytics/job/communicator.h"
#include "analytics/job/process_set.h"

namespace rocescope {

struct GroupMember {
  size_t process = 0;       // index into the processes
  size_t communicator = 0;  // index into NcclProcess::communicators
};

struct CommunicatorGroup {
  uint64_t key = 0;
  int rank_count = 0;
  std::map<int, GroupMember> members;  // indexed by rank
  int parent = -1;                     // index into the groups
  std::optional<int> color;
  bool matched_by_size = false;
  bool was_parted = false;  // distinguished from others of the same size
  std::vector<std::string> notes;
};

struct CommunicatorSet {
  std::vector<CommunicatorGroup> groups;
  // Keyed by process and communicator: index of the group; -1: another process holds the rank.
  std::vector<std::vector<int>> group_of;
};

std::string CommunicatorId(const CommunicatorGroup& group);

CommunicatorSet MatchCommunicators(std::span<const LoggedProcess> processes,
                                   const JobEvidence& evidence = {});

}  // namespace rocescope
