// SPDX-License-Identifier: BSD-3-Clause
// Dependencies between elements, as a message, as text and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "analytics/dependency/dependency_graph.h"

namespace rocescope {

namespace v1 {
class Dependencies;
class Dependency;
class DependencyCoverage;
class Reach;
}  // namespace v1

enum class DependencyQuestion : uint8_t { kBlastRadius, kNeeds };

// `element` must belong to the graph.
void FillDependency(const DependencyGraph& graph, const Element& element,
                    DependencyQuestion question, v1::Dependency& out);
void FillReach(const Reach& reach, v1::Reach& out);
void FillDependencyCoverage(const FlowCoverage& coverage, v1::DependencyCoverage& out);

// Returns "36 ranks of 2 jobs, on 36 GPUs of 5 hosts", or "" if no job uses the element.
std::string ReachText(const v1::Reach& reach);
// For each answer: one sentence, and a table with one row for each kind of element.
std::string RenderText(const v1::Dependencies& dependencies);
// The same JSON mapping as for a ReplayReport.
std::string RenderJson(const v1::Dependencies& dependencies);

}  // namespace rocescope
