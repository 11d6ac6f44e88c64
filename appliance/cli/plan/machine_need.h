// SPDX-License-Identifier: BSD-3-Clause
// Cores, memory and disk that an appliance needs for a mirror plan. Pure functions of sizing.h.
#pragma once

#include <cstdint>
#include <vector>

#include "appliance/cli/plan/options.h"
#include "topology/fabric.h"

namespace rocescope::plan {

struct MirrorPlan;

struct ReceiveNeed {
  double packets_per_second = 0;  // at the utilisation
  uint64_t cores = 0;             // with kCoreSafety
  uint64_t least_cores = 0;       // without
  uint64_t memory_bytes = 0;      // of the receiving cores
};

struct MachineNeed {
  std::vector<ReceiveNeed> collectors;  // in their order
  uint64_t flows = 0;                   // different ones; memory counts them at each tap
  uint64_t cores = 0;                   // with kCoreSafety and kOtherCores
  uint64_t least_cores = 0;             // as measured, without either
  uint64_t budget_bytes = 0;            // for the key `memory`
  uint64_t memory_bytes = 0;            // physical memory for this budget
  uint64_t least_memory_bytes = 0;      // memory in use, without headroom
  uint64_t history_bytes = 0;           // minutes of links, for kHistoryDays

  uint64_t ReceiveCores() const;
  // Returns whether the machine of the options has them; true if the options state no machine.
  bool FitsIn(const PlanOptions& options) const;
  // The same without safety factor and headroom.
  bool BarelyFitsIn(const PlanOptions& options) const;
};

// The sessions of `plan` must have their collectors. Memory is that of one appliance, which has at
// most kMostReceiveCores and kMostFlows.
MachineNeed NeedOf(const topology::Fabric& fabric, const PlanOptions& options,
                   const MirrorPlan& plan);

}  // namespace rocescope::plan
