// SPDX-License-Identifier: BSD-3-Clause
// Who needs what, as a message, and as a person or a program reads it.
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

// `element` is one of the graph's.
void FillDependency(const DependencyGraph& graph, const Element& element,
                    DependencyQuestion question, v1::Dependency& out);
void FillReach(const Reach& reach, v1::Reach& out);
void FillDependencyCoverage(const FlowCoverage& coverage, v1::DependencyCoverage& out);

// "36 ranks of 2 jobs, on 36 GPUs of 5 hosts"; nothing where there is no job.
std::string ReachText(const v1::Reach& reach);
// Of each answer a sentence and a table with a row for each kind, however many there are of it.
std::string RenderText(const v1::Dependencies& dependencies);
// As that of a ReplayReport.
std::string RenderJson(const v1::Dependencies& dependencies);

}  // namespace rocescope
