// SPDX-License-Identifier: BSD-3-Clause
// Collective operations as what they are on a network: transfers between ranks, and which of them
// must have arrived before another may begin.
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
  kPipeline,         // activations forward from stage to stage, gradients back
};

std::string_view NameOf(CollectiveKind kind);  // "ring", "halving_doubling", ...
Result<CollectiveKind> ParseCollectiveKind(std::string_view name);

// Ranks are counted from 0 within the communicator.
class Plan {
 public:
  struct Transfer {
    uint32_t from;
    uint32_t to;
    uint64_t bytes;
    SimTime delay;             // of computing, once all it waits for has arrived
    uint32_t waits;            // for so many others
    uint32_t first_dependant;  // in dependants(): those that wait for it
    uint32_t dependant_count;
  };

  uint32_t ranks() const { return ranks_; }
  std::span<const Transfer> transfers() const { return transfers_; }
  std::span<const uint32_t> DependantsOf(const Transfer& transfer) const {
    return std::span(dependants_).subspan(transfer.first_dependant, transfer.dependant_count);
  }
  // Transfers that the rank sends or receives.
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
  uint64_t bytes = 0;        // of each rank's buffer
  uint32_t chunks = 8;        // of a tree: pipelined
  uint32_t at_once = 4;       // of all-to-all: a rank's sends under way
  uint32_t microbatches = 8;  // of a pipeline
  SimTime compute = 0;        // of a pipeline: a stage's for a microbatch, each way
};

// kInvalidArgument: too few ranks, or not a power of two where it must be.
Result<Plan> MakePlan(const CollectiveOptions& options);

}  // namespace rocescope::sim
