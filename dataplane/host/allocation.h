// SPDX-License-Identifier: BSD-3-Clause
// A scheduler's allocation of nodes and GPUs to a job.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/shared_list.h"
#include "base/time.h"

namespace rocescope {

struct AllocatedNode {
  std::string name;            // as spelled by the scheduler
  std::vector<uint32_t> gpus;  // numbers as in nvidia-smi, ascending; empty: unknown
};

enum class AllocationState : uint8_t {
  kHeld,   // the job holds the nodes: running, suspended, starting or completing
  kEnded,  // the job held the nodes until Allocation::end, if that is known
};

struct Allocation {
  uint64_t id = 0;  // the scheduler's job number
  std::string name;
  std::string user;
  AllocationState state = AllocationState::kHeld;
  std::string state_text;  // "RUNNING"
  SharedList<AllocatedNode> nodes;
  std::optional<Timestamp> start;  // in whole seconds, rounded down
  std::optional<Timestamp> end;    // while held: the time limit
};

}  // namespace rocescope
