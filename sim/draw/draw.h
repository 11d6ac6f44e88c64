// SPDX-License-Identifier: BSD-3-Clause
// Random scenarios: a campaign of faults and healthy controls, each a text that LoadScenario reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "sim/draw/priors.h"
#include "sim/fault/fault.h"

namespace rocescope::sim {

struct DrawOptions {
  uint64_t seed = 1;
  Priors priors;
  bool stratified = false;  // every kind equally often; else by the priors' weights
  double healthy = 0.3;     // the share of controls in which nothing goes wrong: 0 to 1
};

struct DrawnScenario {
  std::string name;  // "0001-gray_loss"
  std::string yaml;
  std::optional<FaultKind> kind;  // empty: healthy
};

// What goes wrong in scenario `number`, from 1. Of the first n, `healthy` times n are controls,
// rounded down, evenly spread. Stratified, the others are rounds with every kind once, each in an
// order of its own, so that of any number of scenarios kinds differ by at most one.
std::optional<FaultKind> KindOf(const DrawOptions& options, uint32_t number);

// The same for the same seed and number, however many others are drawn. Makes a network to see
// where traffic goes, so no sim::Engine may exist meanwhile.
Result<DrawnScenario> DrawScenario(const DrawOptions& options, uint32_t number);

}  // namespace rocescope::sim
