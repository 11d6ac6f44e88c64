// SPDX-License-Identifier: BSD-3-Clause
// A plan as a person or a program reads it.
#pragma once

#include <string>

#include "appliance/cli/plan/plan.h"
#include "base/result.h"

namespace rocescope::plan {

// The answer first, then what was weighed against it, then what is to be pasted. `pasted` says
// whether files and configuration stand below; else they are in a folder already.
Result<std::string> PlanText(const topology::Fabric& fabric, const Plan& plan, bool pasted);

// One object with all there is; appliance/README.md lists the keys.
Result<std::string> PlanJson(const topology::Fabric& fabric, const Plan& plan);

// "5.12 Gbit/s", three digits.
std::string BitRate(double bits_per_second);
// "2.99 M/s", likewise.
std::string PacketRate(double per_second);
// "12.5 %"; what is not quite all is not rounded to it, nor a little to nothing.
std::string PerCent(double share);

}  // namespace rocescope::plan
