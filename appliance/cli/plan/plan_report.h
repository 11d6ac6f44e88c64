// SPDX-License-Identifier: BSD-3-Clause
// A plan as text or JSON.
#pragma once

#include <string>

#include "appliance/cli/plan/plan.h"
#include "base/result.h"

namespace rocescope::plan {

// The plan, the alternatives, and the configuration. `pasted` says whether the files are printed,
// too; otherwise they are in a directory.
Result<std::string> PlanText(const topology::Fabric& fabric, const Plan& plan, bool pasted);

// One JSON object with the complete plan; appliance/README.md lists the keys.
Result<std::string> PlanJson(const topology::Fabric& fabric, const Plan& plan);

// "5.12 Gbit/s", with three digits.
std::string BitRate(double bits_per_second);
// "2.99 M/s", with three digits.
std::string PacketRate(double per_second);
// "12.5 %". Values near 100 % or 0 % are not rounded to it.
std::string PerCent(double share);

}  // namespace rocescope::plan
