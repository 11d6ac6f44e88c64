// SPDX-License-Identifier: BSD-3-Clause
// Draws benign events: link errors, maintenance, interruptions of jobs, foreign traffic.
#pragma once

#include "sim/draw/dice.h"
#include "sim/draw/outline.h"

namespace rocescope::sim {

// Adds events to an outline that is otherwise complete.
void DrawBenign(const topology::Fabric& fabric, RandomSource& dice, Outline& outline);

}  // namespace rocescope::sim
