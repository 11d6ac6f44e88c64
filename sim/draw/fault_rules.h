// SPDX-License-Identifier: BSD-3-Clause
// Draws a fault: where, when and how bad, so that it is one that could be seen.
#pragma once

#include "sim/draw/dice.h"
#include "sim/draw/outline.h"
#include "sim/draw/priors.h"
#include "sim/draw/traffic.h"
#include "sim/draw/workload.h"

namespace rocescope::sim {

// What the workload must be like for the kind to matter.
WorkloadNeeds NeedsOf(FaultKind kind);

struct Scene {
  const topology::Fabric& fabric;
  const Outline& outline;  // its workload
  const Traffic& traffic;
  const Priors& priors;
};
// False: nothing here has a place for it.
bool DrawFault(FaultKind kind, const Scene& scene, RandomSource& dice, FaultOptions& fault);

}  // namespace rocescope::sim
