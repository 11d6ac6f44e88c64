// SPDX-License-Identifier: BSD-3-Clause
// Plans of collective operations: transfers between ranks, and the dependencies between them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/engine/time.h"

namespace rocescope::sim {

enum class CollectiveKind : uint8_t {
  kRing,  // all-reduce: reduce-scatter, then all-gather, around a ring
  kTree,  // all-reduce over two binary trees, as NCCL builds them
  kAllToAll,
  kHalvingDoubling,  // all-reduce; a power of two of ranks
  kPipeline,         // activations forward from stage to stage, gradients backward
};

std::string_view NameOf(CollectiveKind kind);  // "ring", "halving_doubling", ...
Result<CollectiveKind> ParseCollectiveKind(std::string_view name);

// Ranks are numbered from 0 within the communicator.
class Plan {
 public:
  struct Transfer {
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
    SimTime delay;             // compute time after all dependencies have arrived
    uint32_t waits;            // number of dependencies
    uint32_t first_dependant;  // index in dependants() of the transfers that depend on it
    uint32_t dependant_count;
  };

  uint32_t ranks() const { return ranks_; }
  std::span<const Transfer> transfers() const { return transfers_; }
  std::span<const uint32_t> DependantsOf(const Transfer& transfer) const {
    return std::span(dependants_).subspan(transfer.first_dependant, transfer.dependant_count);
  }
  // Number of transfers that the rank sends or receives.
  uint32_t InvolvedIn(uint32_t rank) const { return involved_[rank]; }

 private:
  friend class PlanBuilder;
  uint32_t ranks_ = 0;
  std::vector<Transfer> transfers_;
  std::vector<uint32_t> dependants_;
  std::vector<uint32_t> involved_;
};

struct CollectiveOptions {
  CollectiveKind kind = CollectiveKind::kRing;
  uint32_t ranks = 2;
  uint64_t bytes = 0;         // buffer size of each rank
  uint32_t chunks = 8;        // of a tree: number of pipelined chunks
  uint32_t at_once = 4;       // of all-to-all: concurrent sends of a rank
  uint32_t microbatches = 8;  // of a pipeline
  SimTime compute = 0;  // of a pipeline: compute time of a stage for one microbatch and direction
};

// Returns kInvalidArgument if there are too few ranks, or if their number must be a power of two
// and is not.
Result<Plan> MakePlan(const CollectiveOptions& options);

}  // namespace rocescope::sim
