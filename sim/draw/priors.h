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

  // For draws of several faults. The optional keys of the file have these defaults.
  std::vector<LossRates> field_loss_rates;  // not raised; empty: loss_rates
  // Relative weights of one, two, three and four faults.
  std::array<double, 4> concurrent = {1, 1, 1, 1};
  // Share of the scenarios with several faults in which all of them are at one link, switch or
  // host.
  double same_place = 0.3;
  double growing = 0.2;  // share of the faults that can grow
};

// Strict: an unknown kind, a negative weight or a rate above 1 is an error with line and column.
Result<Priors> LoadPriors(std::string_view text, std::string_view file);

}  // namespace rocescope::sim
