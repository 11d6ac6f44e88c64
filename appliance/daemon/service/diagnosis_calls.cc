// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/dependency_report.h"
#include "appliance/common/report/job_report.h"
#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/service.h"
#include "base/nearest.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fabric.h"

namespace rocescope {

ServiceStatus Service::ListFindings(const Caller& caller, const v1::ListFindingsRequest& in,
                                    v1::ListFindingsResponse& out) {
  if (in.has_at_time()) return PastFindings(caller, in, out);
  if (const auto there = NeedTopology(); !there) return there;
  const auto page = Page(ReadListRequest(in));
  if (!page) return tl::unexpected(page.error());
  const OwnJobs own = OwnJobsOf(caller, *page->answer);
  const auto job = JobIdOf(page->answer->snapshot(), own, in.job_id());
  if (!job) return tl::unexpected(job.error());
  const v1::ReplayReport& report = page->answer->findings();
  std::vector<const v1::Finding*> findings;
  for (const v1::Finding& finding : report.findings()) {
    const auto& affected_jobs = finding.affected_job_ids();
    if (!job->empty() && std::ranges::find(affected_jobs, *job) == affected_jobs.end()) continue;
    if (own.IsAffectedBy(finding)) findings.push_back(&finding);
  }
  page->answer->FillMetadata(*out.mutable_snapshot());
  *out.mutable_coverage() = report.diagnosis_coverage();
  own.Restrict(*out.mutable_coverage());
  for (const v1::Finding& finding : report.suspected_findings()) {
    if (!own.IsAffectedBy(finding)) continue;
    v1::Finding& suspected = *out.add_suspected_findings();
    suspected = finding;
    reviews_.Decorate(suspected);
    own.Restrict(suspected);
  }
  const auto fill = [&](uint64_t i, v1::Finding& finding) {
    finding = *findings[i];
    reviews_.Decorate(finding);
    own.Restrict(finding);  // removes what Decorate added: it is for operators
  };
  return FillPage(page->list, PageVersion(*page->answer), findings.size(), fill,
                  *out.mutable_findings(), out);
}

ServiceStatus Service::ListAnomalies(const Caller&, const v1::ListAnomaliesRequest& in,
                                     v1::ListAnomaliesResponse& out) {
  if (in.has_at_time()) return PastAnomalies(in, out);
  if (const auto there = NeedTopology(); !there) return there;
  const auto page = Page(ReadListRequest(in));
  if (!page) return tl::unexpected(page.error());
  const v1::Anomalies& all = page->answer->anomalies().anomalies();
  page->answer->FillMetadata(*out.mutable_snapshot());
  *out.mutable_phase_changes() = all.phase_changes();
  *out.mutable_episodes() = all.episodes();
  *out.mutable_statistics() = all.statistics();
  const auto fill = [&](uint64_t i, v1::Anomaly& anomaly) {
    anomaly = all.anomalies(static_cast<int>(i));
  };
  return FillPage(page->list, PageVersion(*page->answer),
                  static_cast<uint64_t>(all.anomalies_size()), fill, *out.mutable_anomalies(), out);
}

ServiceStatus Service::ListServiceLevels(const Caller& caller,
                                         const v1::ListServiceLevelsRequest& in,
                                         v1::ListServiceLevelsResponse& out) {
  if (in.has_at_time()) return PastServiceLevels(caller, in, out);
  const auto page = Page(ReadListRequest(in));
  if (!page) return tl::unexpected(page.error());
  const Snapshot& snapshot = page->answer->snapshot();
  const OwnJobs own = OwnJobsOf(caller, *page->answer);
  const auto job = JobIdOf(snapshot, own, in.job_id());
  if (!job) return tl::unexpected(job.error());
  page->answer->FillMetadata(*out.mutable_snapshot());
  std::vector<const ServiceLevel*> levels;
  if (job->empty() && !own.AreAll()) {
    levels = ServiceLevelsOf(*page->answer, own);
  } else {
    levels =
        ServiceLevelsOf(*page->answer, job->empty() ? std::nullopt : FindJob(snapshot, own, *job));
    if (!own.AreAll()) {
      const std::vector<const ServiceLevel*> readable = ServiceLevelsOf(*page->answer, own);
      std::erase_if(levels, [&](const ServiceLevel* level) {
        return std::ranges::find(readable, level) == readable.end();
      });
    }
  }
  const v1::ServiceLevels& summary = page->answer->service_levels().service_levels();
  if (job->empty() && own.AreAll()) {
    *out.mutable_indicators() = summary.indicators();
  } else {
    FillServiceIndicators(snapshot, levels, *out.mutable_indicators());
  }
  out.set_objective(summary.objective());
  out.set_short_window_count(summary.short_window_count());
  out.set_long_window_count(summary.long_window_count());
  std::ranges::stable_sort(levels, [](const auto* a, const auto* b) { return IsWorse(*a, *b); });
  const auto fill = [&](uint64_t i, v1::ServiceLevel& level) {
    FillServiceLevel(snapshot, *levels[i], level);
  };
  return FillPage(page->list, PageVersion(*page->answer), levels.size(), fill,
                  *out.mutable_service_levels(), out);
}

ServiceStatus Service::GetDependencies(const Caller&, const v1::GetDependenciesRequest& request,
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
    return Refuse(
        ServiceFault::kUnknownElement,
        fmt::format("element: unknown element \"{}\"{}; expected a node, NODE:PORT, "
                    "HOST:DEVICE, HOST:gpu:NUMBER, a link, the address of a NIC, or a job",
                    request.element(), DidYouMean(request.element(), known)));
  }
  (*answer)->FillMetadata(*out.mutable_snapshot());
  const auto question = request.question() == v1::Dependency::QUESTION_NEEDS
                            ? DependencyQuestion::kNeeds
                            : DependencyQuestion::kBlastRadius;
  FillDependency(graph, *element, question, *out.mutable_dependency());
  FillDependencyCoverage(graph.coverage(), *out.mutable_coverage());
  return {};
}

}  // namespace rocescope
