// SPDX-License-Identifier: BSD-3-Clause
// Checks the names that a switch configuration contains. A topology file may contain any printable
// characters in names, of which some are commands in a shell or in a switch's command line.
#pragma once

#include <string_view>

#include "appliance/cli/plan/plan.h"
#include "base/result.h"

namespace rocescope::plan {

// Returns whether the name starts with a letter or a digit and continues with those and . / : _ -,
// as names of switches and interfaces do. Such a name is one word for shells and switches, and
// never an option, a comment or a list.
bool IsPlainName(std::string_view name);

// Checks the names of the switches that mirror or sample, and of the ports that do so. The error
// names the switch and the port.
Status CheckConfigNames(const topology::Fabric& fabric, const Plan& plan);

}  // namespace rocescope::plan
