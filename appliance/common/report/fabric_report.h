// SPDX-License-Identifier: BSD-3-Clause
// A fabric as text, JSON or Graphviz.
#pragma once

#include <optional>
#include <string>

#include "topology/ecmp.h"
#include "topology/fabric.h"
#include "topology/survey.h"

namespace rocescope {

// The paths between two NICs, printed after the fabric.
struct FabricPaths {
  topology::NicIndex from = topology::kNone;
  topology::NicIndex to = topology::kNone;
  topology::PathSet paths;
};
inline constexpr uint64_t kMaxShownPaths = 16;

// The fabric survey, and at most 20 rows of each kind of element.
std::string FabricText(const topology::Fabric& fabric, const topology::Survey& survey,
                       const std::optional<FabricPaths>& paths);
// The fabric survey alone, for `rocescope topology validate`.
std::string SurveyText(const topology::Fabric& fabric, const topology::Survey& survey);

// One JSON object with the complete fabric; appliance/README.md lists the keys.
std::string FabricJson(const topology::Fabric& fabric, const topology::Survey& survey,
                       const std::optional<FabricPaths>& paths);
std::string SurveyJson(const topology::Fabric& fabric, const topology::Survey& survey);

// An undirected Graphviz graph with one rank for each tier and port names at the ends of the edges.
std::string FabricDot(const topology::Fabric& fabric);

}  // namespace rocescope
