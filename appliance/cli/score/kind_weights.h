// SPDX-License-Identifier: BSD-3-Clause
// Frequency of fault types in production, for figures that a stratified campaign does not give.
#pragma once

#include <string_view>

#include "appliance/cli/score/finding_figures.h"
#include "base/result.h"

namespace rocescope {

// Reads YAML like sim/draw/priors.yaml: `kinds` with one weight each; ignores the other keys, which
// only the simulator uses. `file` is the name in errors, which have a line and a column.
Result<KindWeights> LoadKindWeights(std::string_view text, std::string_view file);

}  // namespace rocescope
