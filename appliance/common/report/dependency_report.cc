// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/dependency_report.h"

#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/job_report.h"
#include "appliance/common/report/message_json.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

// Fills in the name and, for a job, its allocation.
template <typename Message>
void FillElement(const Elements& elements, const Element& element, Message& out) {
  out.set_name(elements.NameOf(element));
  if (element.kind != ElementKind::kJob) return;
  const Job& job = elements.attribution().jobs[element.index].job;
  if (job.allocation) FillAllocation(*job.allocation, *out.mutable_allocation());
}

}  // namespace

void FillReach(const Reach& reach, v1::Reach& out) {
  out.set_job_count(reach.jobs);
  out.set_rank_count(reach.ranks);
  out.set_gpu_count(reach.gpus);
  out.set_host_count(reach.hosts);
}

void FillDependencyCoverage(const FlowCoverage& coverage, v1::DependencyCoverage& out) {
  out.set_flow_count(coverage.flows);
  out.set_known_flow_count(coverage.known);
  out.set_partly_known_flow_count(coverage.partly);
  out.set_unclaimed_flow_count(coverage.unclaimed);
}

void FillDependency(const DependencyGraph& graph, const Element& element,
                    DependencyQuestion question, v1::Dependency& out) {
  const bool is_radius = question == DependencyQuestion::kBlastRadius;
  out.set_question(is_radius ? v1::Dependency::QUESTION_BLAST_RADIUS
                             : v1::Dependency::QUESTION_NEEDS);
  out.set_kind(EnumOf<v1::ElementKind>(NameOf(element.kind)));
  FillElement(graph.elements(), element, out);
  const std::vector<Element> others =
      is_radius ? graph.BlastRadiusOf(element) : graph.NeedsOf(element);
  if (is_radius) FillReach(graph.ReachOf(others), *out.mutable_reach());
  v1::ElementsOfKind* row = nullptr;
  for (const Element& other : others) {
    const auto kind = EnumOf<v1::ElementKind>(NameOf(other.kind));
    if (row == nullptr || row->kind() != kind) {
      row = out.add_elements();
      row->set_kind(kind);
    }
    FillElement(graph.elements(), other, *row->add_elements());
  }
}

std::string RenderJson(const v1::Dependencies& dependencies) {
  std::string json;
  AppendJson(dependencies, true, json);
  json += '\n';
  return json;
}

}  // namespace rocescope
