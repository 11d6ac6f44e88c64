// SPDX-License-Identifier: BSD-3-Clause
// What a scheduler says of a job: which nodes, and which of their GPUs, are its for how long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace rocescope {

struct AllocatedNode {
  std::string name;            // as the scheduler spells it
  std::vector<uint32_t> gpus;  // as nvidia-smi counts, ascending; empty: not told
};

enum class AllocationState : uint8_t {
  kHeld,   // the nodes are the job's: running, suspended, starting or ending
  kEnded,  // they were, until Allocation::end where that is told
};

struct Allocation {
  uint64_t id = 0;  // the scheduler's number of the job
  std::string name;
  std::string user;
  AllocationState state = AllocationState::kHeld;
  std::string state_text;  // "RUNNING"
  std::vector<AllocatedNode> nodes;
  std::optional<Timestamp> start;  // in whole seconds, rounded down
  std::optional<Timestamp> end;    // of one that is held: when its time limit is over
};

}  // namespace rocescope
