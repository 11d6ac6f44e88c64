// SPDX-License-Identifier: BSD-3-Clause
// How often kinds of faults occur in life, for figures that a stratified campaign cannot give.
#pragma once

#include <string_view>

#include "appliance/cli/score/finding_figures.h"
#include "base/result.h"

namespace rocescope {

// Of YAML as sim/draw/priors.yaml: `kinds` with a weight each; `loss_rates` is let be. `file` names
// the text in errors, which tell each mistake with its line and column.
Result<KindWeights> LoadKindWeights(std::string_view text, std::string_view file);

}  // namespace rocescope
