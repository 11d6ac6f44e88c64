// SPDX-License-Identifier: BSD-3-Clause
// Draws the place, time and severity of a fault such that telemetry can show it.
#pragma once

#include "sim/draw/dice.h"
#include "sim/draw/outline.h"
#include "sim/draw/priors.h"
#include "sim/draw/traffic.h"
#include "sim/draw/workload.h"

namespace rocescope::sim {

// Properties that the workload needs so that the fault has an effect.
WorkloadNeeds NeedsOf(FaultKind kind);

struct DrawContext {
  const topology::Fabric& fabric;
  const Outline& outline;  // the workload
  const Traffic& traffic;
  const Priors& priors;
  // As in the field: onsets over the whole run, magnitudes over the whole range, faults that grow.
  bool field = false;
  bool lift = true;  // raise loss rates until they are visible
  // Another fault at whose link, switch or host this one is to be; nullptr: anywhere.
  const FaultOptions* neighbour = nullptr;
};
// The switch or host of a fault, or both ends of its link.
std::vector<topology::NodeIndex> NodesAt(const topology::Fabric& fabric, const FaultOptions& fault);

// False: the workload has no suitable place for this kind.
bool DrawFault(FaultKind kind, const DrawContext& context, RandomSource& dice, FaultOptions& fault);

}  // namespace rocescope::sim
