// SPDX-License-Identifier: BSD-3-Clause
// The sections of a plan's text, each with an empty line in front.
#pragma once

#include <string>
#include <vector>

#include "appliance/cli/plan/plan_report.h"

namespace rocescope::plan {

// mirror_text.cc
std::string ChoicesText(const Plan& plan);
std::string CollectorsText(const Plan& plan);
std::string SessionsText(const topology::Fabric& fabric, const Plan& plan);
// telemetry_text.cc
std::string SeenText(const Plan& plan);
std::string SflowText(const topology::Fabric& fabric, const Plan& plan);
std::string IntText(const Plan& plan);

// "leaf[0-7]"
std::string NamesOf(const topology::Fabric& fabric, const std::vector<topology::NodeIndex>& nodes);

}  // namespace rocescope::plan
