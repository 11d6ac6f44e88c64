// SPDX-License-Identifier: BSD-3-Clause
// A fabric as a person, a program or Graphviz reads it.
#pragma once

#include <optional>
#include <string>

#include "topology/ecmp.h"
#include "topology/fabric.h"
#include "topology/survey.h"

namespace rocescope {

// The paths between two NICs, to be shown beside the fabric.
struct FabricPaths {
  topology::NicIndex from = topology::kNone;
  topology::NicIndex to = topology::kNone;
  topology::PathSet paths;
};
inline constexpr uint64_t kMaxShownPaths = 16;

// The survey and at most 20 rows of a kind.
std::string FabricText(const topology::Fabric& fabric, const topology::Survey& survey,
                       const std::optional<FabricPaths>& paths);
// The survey alone, as `validate` says it.
std::string SurveyText(const topology::Fabric& fabric, const topology::Survey& survey);

// One object with all there is; appliance/README.md lists the keys.
std::string FabricJson(const topology::Fabric& fabric, const topology::Survey& survey,
                       const std::optional<FabricPaths>& paths);
std::string SurveyJson(const topology::Fabric& fabric, const topology::Survey& survey);

// An undirected graph with a rank for each tier, port names at the ends of its edges.
std::string FabricDot(const topology::Fabric& fabric);

}  // namespace rocescope
