// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/past_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "appliance/common/report/job_report.h"
#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/page.h"
#include "base/hash.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

// Adds the answer. `changing` has the fields that change with every snapshot, which do not count as
// content.
template <typename Response>
void AddPart(const AnswerView& answer, AnswerPart part, std::string name, const Response& content,
             Response changing, std::vector<PastAnswer>& out) {
  answer.FillMetadata(*changing.mutable_snapshot());
  changing.mutable_snapshot()->clear_version();  // it is unique in one process only
  std::string message = content.SerializeAsString();
  const uint64_t hash = HashText(message);
  // Protobuf merges messages whose bytes follow each other.
  changing.AppendToString(&message);
  out.push_back({.part = part,
                 .name = std::move(name),
                 .at_ns = ToNanoseconds(answer.answer().reached),
                 .content = hash,
                 .message = std::move(message)});
}

void AddJobs(const AnswerView& answer, std::vector<PastAnswer>& out) {
  v1::ListJobsResponse jobs;
  for (int i = 0; i < answer.jobs().jobs_size(); ++i) {
    v1::GetJobResponse job;
    *job.mutable_job() = answer.jobs().jobs(i);
    FillJobSummary(answer, static_cast<size_t>(i), *job.mutable_summary());
    *jobs.add_jobs() = job.summary();
    AddPart(answer, AnswerPart::kJob, job.job().job_id(), job, {}, out);
  }
  AddPart(answer, AnswerPart::kJobs, "", jobs, {}, out);
}

void AddFindings(const AnswerView& answer, std::vector<PastAnswer>& out) {
  const v1::ReplayReport& report = answer.findings();
  v1::ListFindingsResponse findings;
  *findings.mutable_findings() = report.findings();
  *findings.mutable_suspected_findings() = report.suspected_findings();
  v1::ListFindingsResponse changing;
  if (report.has_diagnosis_coverage()) {
    v1::DiagnosisCoverage& coverage = *findings.mutable_coverage();
    coverage = report.diagnosis_coverage();
    changing.mutable_coverage()->set_window_count(coverage.window_count());
    changing.mutable_coverage()->set_earlier_window_count(coverage.earlier_window_count());
    coverage.clear_window_count();
    coverage.clear_earlier_window_count();
  }
  AddPart(answer, AnswerPart::kFindings, "", findings, std::move(changing), out);
}

void AddAnomalies(const AnswerView& answer, std::vector<PastAnswer>& out) {
  const v1::Anomalies& all = answer.anomalies().anomalies();
  v1::ListAnomaliesResponse anomalies;
  *anomalies.mutable_anomalies() = all.anomalies();
  *anomalies.mutable_phase_changes() = all.phase_changes();
  *anomalies.mutable_episodes() = all.episodes();
  v1::ListAnomaliesResponse changing;
  *changing.mutable_statistics() = all.statistics();
  AddPart(answer, AnswerPart::kAnomalies, "", anomalies, std::move(changing), out);
}

void AddServiceLevels(const AnswerView& answer, std::vector<PastAnswer>& out) {
  const v1::ServiceLevels& summary = answer.service_levels().service_levels();
  v1::ListServiceLevelsResponse levels;
  *levels.mutable_indicators() = summary.indicators();
  levels.set_objective(summary.objective());
  levels.set_short_window_count(summary.short_window_count());
  levels.set_long_window_count(summary.long_window_count());
  std::vector<const ServiceLevel*> sorted = ServiceLevelsOf(answer, std::nullopt);
  std::ranges::stable_sort(sorted, [](const auto* a, const auto* b) { return IsWorse(*a, *b); });
  for (const ServiceLevel* level : sorted) {
    FillServiceLevel(answer.snapshot(), *level, *levels.add_service_levels());
  }
  AddPart(answer, AnswerPart::kServiceLevels, "", levels, {}, out);
}

}  // namespace

std::vector<PastAnswer> PastAnswersOf(const AnswerView& answer) {
  std::vector<PastAnswer> out;
  AddJobs(answer, out);
  v1::ListHotspotsResponse hotspots;
  *hotspots.mutable_hotspots() = answer.hotspots().hotspots();
  AddPart(answer, AnswerPart::kHotspots, "", hotspots, {}, out);
  AddFindings(answer, out);
  AddAnomalies(answer, out);
  AddServiceLevels(answer, out);
  return out;
}

ServiceError NoDataAt(const google::protobuf::Timestamp& at_time, int64_t oldest, int64_t newest) {
  std::string message =
      fmt::format("at_time: the history has no readable answer for {}", ToText(at_time));
  if (newest > 0) {
    message += fmt::format(
        " or the {} minutes before; it has answers from {} to {}, perhaps with "
        "gaps",
        std::chrono::duration_cast<std::chrono::minutes>(kOldAnswer).count(),
        ToText(TimestampMessage(oldest)), ToText(TimestampMessage(newest)));
  }
  return {.fault = ServiceFault::kNoDataAtTime, .message = std::move(message)};
}

ServiceError UnreadableHistory(const Error& error, std::string_view advice) {
  if (error.code == ErrorCode::kResourceExhausted) {
    return {.fault = ServiceFault::kTooLong,
            .message = fmt::format("{}: {}", error.message, advice)};
  }
  return {.fault = ServiceFault::kNoDataYet,
          .message = fmt::format("{}: the history cannot be read at the moment; try again later",
                                 error.message)};
}

ServiceResult<FoundAnswer> FindPast(const HistoryStore& history, const PastQuery& query) {
  if (const auto checked = CheckTime("at_time", query.at_time); !checked) {
    return tl::unexpected(checked.error());
  }
  auto found = history.AnswerAt({.part = query.part,
                                 .name = query.name,
                                 .at_ns = Nanoseconds(query.at_time),
                                 .version = static_cast<int64_t>(query.version)});
  if (!found) return tl::unexpected(UnreadableHistory(found.error(), "try again later"));
  // A page token of ours never names a version that is later than the requested time.
  if (query.version != 0 &&
      (!found->is_found || found->version != static_cast<int64_t>(query.version) ||
       found->version > Nanoseconds(query.at_time))) {
    return Refuse(ServiceFault::kPageForgotten,
                  "page_token: the history no longer has the answer of this list; start again with "
                  "the first page");
  }
  const bool is_old = Nanoseconds(query.at_time) - found->data_ns > kOldAnswer.count();
  if (!found->is_found || is_old || !found->damage.empty()) {
    return tl::unexpected(NoDataAt(query.at_time, found->oldest_ns, found->newest_ns));
  }
  return *std::move(found);
}

}  // namespace rocescope
