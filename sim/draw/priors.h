// SPDX-License-Identifier: BSD-3-Clause
// Prior probabilities of fault kinds and loss rates, read from a data file (priors.yaml).
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/fault/fault.h"

namespace rocescope::sim {

struct Priors {
  struct LossRates {  // lost fraction of frames, 0 to 1
    double least = 0;
    double most = 0;
    double share = 0;  // relative weight
  };
  std::array<double, kFaultKinds> kinds{};  // relative weights; at least one is above 0
  std::vector<LossRates> loss_rates;        // not empty
};

// Strict: an unknown kind, a negative weight or a rate above 1 is an error with line and column.
Result<Priors> LoadPriors(std::string_view text, std::string_view file);

}  // namespace rocescope::sim
