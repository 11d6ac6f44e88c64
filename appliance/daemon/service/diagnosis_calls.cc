// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "appliance/common/report/dependency_report.h"
#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/service.h"
#include "base/nearest.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {

ServiceStatus Service::ListFindings(const v1::ListFindingsRequest& request,
                                    v1::ListFindingsResponse& out) {
  const auto answer = AnsweredWithTopology();
  if (!answer) return tl::unexpected(answer.error());
  const Snapshot& snapshot = (*answer)->snapshot();
  std::string job;
  if (!request.job().empty()) {
    const auto found = FindJob(snapshot, request.job());
    if (!found) return tl::unexpected(NoSuchJob(request.job()));
    job = snapshot.attribution->jobs[*found].job.id;
  }
  (*answer)->FillAge(*out.mutable_age());
  const v1::ReplayReport& report = (*answer)->findings();
  for (const v1::Finding& finding : report.findings()) {
    const auto& affected_jobs = finding.affected_jobs();
    if (!job.empty() && std::ranges::find(affected_jobs, job) == affected_jobs.end()) continue;
    *out.add_findings() = finding;
  }
  *out.mutable_coverage() = report.diagnosis_coverage();
  out.set_zero_ns(report.zero_ns());
  return {};
}

ServiceStatus Service::ListAnomalies(const v1::ListAnomaliesRequest&,
                                     v1::ListAnomaliesResponse& out) {
  const auto answer = AnsweredWithTopology();
  if (!answer) return tl::unexpected(answer.error());
  (*answer)->FillAge(*out.mutable_age());
  *out.mutable_anomalies() = (*answer)->anomalies().anomalies();
  return {};
}

ServiceStatus Service::GetServiceLevels(const v1::GetServiceLevelsRequest&,
                                        v1::GetServiceLevelsResponse& out) {
  const auto answer = Answered();
  if (!answer) return tl::unexpected(answer.error());
  (*answer)->FillAge(*out.mutable_age());
  *out.mutable_service_levels() = (*answer)->service_levels().service_levels();
  return {};
}

ServiceStatus Service::GetDependencies(const v1::GetDependenciesRequest& request,
                                       v1::GetDependenciesResponse& out) {
  if (request.question() != v1::Dependency::QUESTION_BLAST_RADIUS &&
      request.question() != v1::Dependency::QUESTION_NEEDS) {
    return RefuseFields({"question"}, "expected QUESTION_BLAST_RADIUS or QUESTION_NEEDS");
  }
  const auto answer = AnsweredWithTopology();
  if (!answer) return tl::unexpected(answer.error());
  const DependencyGraph& graph = (*answer)->dependencies();
  const auto element = graph.elements().Find(request.element());
  if (!element) {
    const std::vector<std::string> names = graph.elements().Names();
    const std::vector<std::string_view> known(names.begin(), names.end());
    return Refuse(ServiceFault::kUnknownElement,
                  fmt::format("element: unknown element \"{}\"{}; expected a node, NODE:PORT, "
                              "HOST:NIC, HOST:gpu:NUMBER, a link, the address of a NIC, or a job",
                              request.element(), DidYouMean(request.element(), known)));
  }
  (*answer)->FillAge(*out.mutable_age());
  const auto question = request.question() == v1::Dependency::QUESTION_NEEDS
                            ? DependencyQuestion::kNeeds
                            : DependencyQuestion::kBlastRadius;
  FillDependency(graph, *element, question, *out.mutable_dependency());
  FillDependencyCoverage(graph.coverage(), *out.mutable_coverage());
  return {};
}

}  // namespace rocescope
