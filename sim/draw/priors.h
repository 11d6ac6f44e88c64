// SPDX-License-Identifier: BSD-3-Clause
// How often things go wrong in life, as a data file has it (priors.yaml).
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fault/fault.h"

namespace rocescope::sim {

struct Priors {
  struct LossRates {  // of a frame, 0 to 1
    double least = 0;
    double most = 0;
    double share = 0;  // relative to the others'
  };
  std::array<double, kFaultKinds> kinds{};  // relative weights; not all of them 0
  std::vector<LossRates> loss_rates;        // not empty
};

// Strict: an unknown kind, a negative weight or a rate above 1 is an error with its line and
// column.
Result<Priors> LoadPriors(std::string_view text, std::string_view file);

}  // namespace rocescope::sim
