// SPDX-License-Identifier: BSD-3-Clause
// Draws the location, time and magnitude of a fault so that the fault is observable.
#pragma once

#include "sim/draw/dice.h"
#include "sim/draw/outline.h"
#include "sim/draw/priors.h"
#include "sim/draw/traffic.h"
#include "sim/draw/workload.h"

namespace rocescope::sim {

// Returns the workload properties without which the fault kind has no effect.
WorkloadNeeds NeedsOf(FaultKind kind);

struct Scene {
  const topology::Fabric& fabric;
  const Outline& outline;  // contains the workload
  const Traffic& traffic;
  const Priors& priors;
};
// Returns false if the scenario has no suitable location for this kind.
bool DrawFault(FaultKind kind, const Scene& scene, RandomSource& dice, FaultOptions& fault);

}  // namespace rocescope::sim
