// SPDX-License-Identifier: BSD-3-Clause
// Calls with at_time: past answers from the history.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/service/own_jobs.h"
#include "appliance/daemon/service/page.h"
#include "appliance/daemon/service/past_answer.h"
#include "appliance/daemon/service/service.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

PastQuery QueryOf(AnswerPart part, const google::protobuf::Timestamp& at_time,
                  const ListRequest& list) {
  return {.part = part, .at_time = at_time, .version = list.token ? list.token->version : 0};
}

// Returns the id of the job with this id, or of the only one with this number or name in the
// scheduler; empty for an empty name. Jobs that are not in `own` do not count.
ServiceResult<std::string> PastJobId(const HistoryStore& history, const OwnJobs& own,
                                     const google::protobuf::Timestamp& at_time,
                                     const std::string& name) {
  if (name.empty()) return name;
  v1::ListJobsResponse jobs;
  const auto read = ReadPast(history, {.part = AnswerPart::kJobs, .at_time = at_time}, jobs);
  if (!read) return tl::unexpected(read.error());
  std::vector<std::string> found;
  for (const v1::JobSummary& job : jobs.jobs()) {
    if (!own.HasId(job.job_id())) continue;
    if (job.job_id() == name) return name;
    if (!job.has_allocation()) continue;
    if (name == job.allocation().name() ||
        name == fmt::format("{}", job.allocation().scheduler_job_id())) {
      found.push_back(job.job_id());
    }
  }
  if (found.size() == 1) return found.front();
  return Refuse(ServiceFault::kUnknownJob,
                fmt::format("no unique job \"{}\" at {}: expected the id, number or name of a job "
                            "in the list of jobs at that time",
                            name, ToText(at_time)));
}

// Whether the job of a past answer is the client's own: the id may belong to another job now.
template <typename Job>
bool IsJobOf(const OwnJobs& own, const Job& job) {
  return own.AreAll() || (job.has_allocation() && own.IsUser(job.allocation().user()));
}

// Keeps the levels of the jobs, and of the GPUs and NICs of their hosts.
void KeepLevelsOf(const std::vector<v1::Job>& jobs, v1::ListServiceLevelsResponse& levels) {
  std::set<std::string_view> ids;
  std::set<std::string_view> hosts;
  for (const v1::Job& job : jobs) {
    ids.insert(job.job_id());
    for (const v1::Rank& rank : job.ranks()) hosts.insert(rank.host());
  }
  auto& all = *levels.mutable_service_levels();
  const auto is_other = [&](const v1::ServiceLevel& level) {
    const std::string_view entity = level.entity();
    switch (level.layer()) {
      case v1::SERVICE_LAYER_APPLICATION:
      case v1::SERVICE_LAYER_COLLECTIVE:
        return !ids.contains(entity);
      case v1::SERVICE_LAYER_GPU:
      case v1::SERVICE_LAYER_NIC:
        return !hosts.contains(entity.substr(0, entity.find(':')));
      default:
        return true;
    }
  };
  all.erase(std::remove_if(all.begin(), all.end(), is_other), all.end());
}

// Counts the levels again. They are sorted, the worst first.
void CountLevels(v1::ListServiceLevelsResponse& out) {
  auto& indicators = *out.mutable_indicators();
  for (v1::ServiceIndicator& indicator : indicators) {
    indicator.clear_met_count();
    indicator.clear_at_risk_count();
    indicator.clear_missed_count();
    indicator.clear_no_data_count();
    indicator.clear_worst();
  }
  for (const v1::ServiceLevel& level : out.service_levels()) {
    const auto at = std::ranges::find(indicators, level.indicator(), &v1::ServiceIndicator::name);
    if (at == indicators.end()) continue;
    switch (level.state()) {
      case v1::ServiceLevel::STATE_MET:
        at->set_met_count(at->met_count() + 1);
        break;
      case v1::ServiceLevel::STATE_AT_RISK:
        at->set_at_risk_count(at->at_risk_count() + 1);
        break;
      case v1::ServiceLevel::STATE_MISSED:
        at->set_missed_count(at->missed_count() + 1);
        break;
      default:
        at->set_no_data_count(at->no_data_count() + 1);
        continue;
    }
    if (!at->has_worst() && level.long_window_ratio() < 1) *at->mutable_worst() = level;
  }
  const auto is_empty = [](const v1::ServiceIndicator& indicator) {
    return indicator.met_count() + indicator.at_risk_count() + indicator.missed_count() +
               indicator.no_data_count() ==
           0;
  };
  indicators.erase(std::remove_if(indicators.begin(), indicators.end(), is_empty),
                   indicators.end());
}

void FillPastLoad(const LinkMinute& link, v1::LinkLoad& out) {
  out.set_port(link.port);
  if (link.use_windows > 0) out.set_utilization(link.use_sum / link.use_windows);
  out.set_bytes(link.bytes);
  out.set_ce_marked_packets(link.marked);
  out.set_dropped_packets(link.dropped);
  *out.mutable_paused_duration() = DurationMessage(static_cast<int64_t>(link.paused_ns));
  if (link.peak_bytes != 0) out.set_peak_queue_bytes(link.peak_bytes);
  out.set_error_frames(link.errors);
}

// Requests are processed on one thread; each job of the client is read separately.
constexpr std::chrono::seconds kLongestReading(2);

ServiceError TakesTooLong() {
  return {.fault = ServiceFault::kTooLong,
          .message = "at_time: reading all of your jobs takes too long; try again later"};
}

// Returns the findings of this time; none if there are none, as without a topology.
v1::ListFindingsResponse FindingsAt(const HistoryStore& history,
                                    const google::protobuf::Timestamp& at_time) {
  v1::ListFindingsResponse findings;
  const PastQuery query = {.part = AnswerPart::kFindings, .at_time = at_time};
  if (!ReadPast(history, query, findings)) findings.Clear();
  return findings;
}

// Fills a page from all elements of a past answer.
template <typename Element, typename Response>
ServiceStatus FillPastPage(const ListRequest& list, uint64_t version,
                           const std::vector<const Element*>& elements,
                           google::protobuf::RepeatedPtrField<Element>& out, Response& response) {
  const auto fill = [&](uint64_t i, Element& element) { element = *elements[i]; };
  return FillPage(list, version, elements.size(), fill, out, response);
}

template <typename Element>
std::vector<const Element*> PointersTo(const google::protobuf::RepeatedPtrField<Element>& all) {
  return {all.pointer_begin(), all.pointer_end()};
}

}  // namespace

ServiceResult<google::protobuf::Timestamp> Service::PastTime(
    const Caller& caller, const google::protobuf::Timestamp& at_time) const {
  if (caller.MayReadAll()) return at_time;
  const auto found = FindPast(*history_, {.part = AnswerPart::kJobs, .at_time = at_time});
  if (!found) return tl::unexpected(found.error());
  return TimestampMessage(found->data_ns);
}

ServiceResult<OwnJobs> Service::PastOwnJobs(const Caller& caller,
                                            const google::protobuf::Timestamp& at_time,
                                            const google::protobuf::Timestamp& data_time) const {
  OwnJobs own(caller, daemon_.fabric().get(), daemon_.node_names());
  if (own.AreAll()) return own;
  v1::ListJobsResponse later;
  const auto read = ReadPast(*history_, {.part = AnswerPart::kJobs, .at_time = at_time}, later);
  if (!read) return tl::unexpected(read.error());
  v1::ListJobsResponse earlier;
  const bool are_same = Nanoseconds(at_time) == Nanoseconds(data_time);
  if (!are_same) {
    const PastQuery query = {.part = AnswerPart::kJobs, .at_time = data_time};
    const auto read_earlier = ReadPast(*history_, query, earlier);
    if (!read_earlier) return tl::unexpected(read_earlier.error());
  }
  std::map<std::string, uint64_t> numbers;  // scheduler_job_id of each own job in `later`, by id
  for (const v1::JobSummary& job : later.jobs()) {
    if (!IsJobOf(own, job)) continue;
    numbers.emplace(job.job_id(), job.allocation().scheduler_job_id());
  }
  const auto end = std::chrono::steady_clock::now() + kLongestReading;
  for (const v1::JobSummary& job : are_same ? later.jobs() : earlier.jobs()) {
    const auto number = numbers.find(job.job_id());
    if (number == numbers.end() || !IsJobOf(own, job)) continue;
    if (number->second != job.allocation().scheduler_job_id()) continue;
    if (std::chrono::steady_clock::now() > end) return tl::unexpected(TakesTooLong());
    own.Add(job.job_id(), &job.allocation());
    const std::optional<Timestamp> start = StartOf(nullptr, job.allocation());
    // A later start is that of another job with this number.
    if (start && *start <= TimeOf(data_time)) own.SetStart(job.job_id(), *start);
    v1::GetJobResponse details;
    const PastQuery query = {.part = AnswerPart::kJob, .name = job.job_id(), .at_time = data_time};
    if (!ReadPast(*history_, query, details) || !IsJobOf(own, details.job())) continue;
    for (const v1::Rank& rank : details.job().ranks()) own.AddHost(rank.host());
  }
  return own;
}

ServiceStatus Service::RestrictPast(const Caller& caller,
                                    const google::protobuf::Timestamp& at_time,
                                    const std::vector<v1::JobSummary*>& jobs) const {
  if (caller.MayReadAll()) return {};
  const v1::ListFindingsResponse findings = FindingsAt(*history_, at_time);
  const auto own = PastOwnJobs(caller, at_time,
                               findings.has_snapshot() ? findings.snapshot().data_time() : at_time);
  if (!own) return tl::unexpected(own.error());
  for (v1::JobSummary* job : jobs) own->Restrict(findings.findings(), *job);
  return {};
}

ServiceStatus Service::PastJobs(const Caller& caller, const v1::ListJobsRequest& in,
                                v1::ListJobsResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  v1::ListJobsResponse past;
  const auto version = ReadPast(*history_, QueryOf(AnswerPart::kJobs, in.at_time(), *list), past);
  if (!version) return tl::unexpected(version.error());
  if (!caller.MayReadAll()) {
    auto& jobs = *past.mutable_jobs();
    const auto is_other = [&](const v1::JobSummary& job) {
      return !job.has_allocation() || !caller.IsUser(job.allocation().user());
    };
    jobs.erase(std::remove_if(jobs.begin(), jobs.end(), is_other), jobs.end());
    const auto restricted = RestrictPast(caller, past.snapshot().data_time(),
                                         {jobs.pointer_begin(), jobs.pointer_end()});
    if (!restricted) return restricted;
  }
  *out.mutable_snapshot() = past.snapshot();
  return FillPastPage(*list, *version, PointersTo(past.jobs()), *out.mutable_jobs(), out);
}

ServiceStatus Service::PastJob(const Caller& caller, const v1::GetJobRequest& in,
                               v1::GetJobResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto at_time = PastTime(caller, in.at_time());
  if (!at_time) return tl::unexpected(at_time.error());
  const auto own = PastOwnJobs(caller, *at_time, *at_time);
  if (!own) return tl::unexpected(own.error());
  const auto job = PastJobId(*history_, *own, *at_time, in.job_id());
  if (!job) return tl::unexpected(job.error());
  v1::GetJobResponse past;
  const auto version =
      ReadPast(*history_, {.part = AnswerPart::kJob, .name = *job, .at_time = *at_time}, past);
  if (!version) return tl::unexpected(version.error());
  // The answer is older than the list of jobs if it is stored less often.
  if (!IsJobOf(*own, past.job())) return tl::unexpected(NoDataAt(in.at_time(), 0, 0));
  own->Restrict(*past.mutable_job());
  const auto restricted = RestrictPast(caller, *at_time, {past.mutable_summary()});
  if (!restricted) return restricted;
  out = std::move(past);
  return {};
}

ServiceStatus Service::PastLinkLoads(const v1::ListLinkLoadsRequest& in,
                                     v1::ListLinkLoadsResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  if (const auto checked = CheckTime("at_time", in.at_time()); !checked) return checked;
  const int64_t asked = IntervalIndex(TimeOf(in.at_time()), kMinute);
  const MinuteQuery query = {
      .minute = list->token ? static_cast<int64_t>(list->token->version) : asked,
      .is_exact = list->token.has_value()};
  const auto found = history_->LinksAt(query);
  if (!found) return tl::unexpected(UnreadableHistory(found.error(), "try again later"));
  if (!found->is_found && query.is_exact) {
    return Refuse(ServiceFault::kPageForgotten,
                  "page_token: the history no longer has the minute of this list; start again with "
                  "the first page");
  }
  if (!found->is_found || (asked - found->minute) * kMinute > kOldAnswer) {
    return tl::unexpected(NoDataAt(in.at_time(),
                                   std::max<int64_t>(0, found->oldest) * kMinute.count(),
                                   (found->newest + 1) * kMinute.count()));
  }
  const Timestamp start = FromNanoseconds(found->minute * kMinute.count());
  *out.mutable_snapshot()->mutable_data_time() = TimestampMessage(start + kMinute);
  *out.mutable_start_time() = TimestampMessage(start);
  *out.mutable_end_time() = TimestampMessage(start + kMinute);
  const auto fill = [&](uint64_t i, v1::LinkLoad& load) { FillPastLoad(found->links[i], load); };
  return FillPage(*list, static_cast<uint64_t>(found->minute), found->links.size(), fill,
                  *out.mutable_link_loads(), out);
}

ServiceStatus Service::PastHotspots(const Caller& caller, const v1::ListHotspotsRequest& in,
                                    v1::ListHotspotsResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  const auto at_time = PastTime(caller, in.at_time());
  if (!at_time) return tl::unexpected(at_time.error());
  v1::ListHotspotsResponse past;
  const auto version = ReadPast(*history_, QueryOf(AnswerPart::kHotspots, *at_time, *list), past);
  if (!version) return tl::unexpected(version.error());
  const auto own = PastOwnJobs(caller, *at_time, past.snapshot().data_time());
  if (!own) return tl::unexpected(own.error());
  const auto job = PastJobId(*history_, *own, *at_time, in.job_id());
  if (!job) return tl::unexpected(job.error());
  std::vector<const v1::Hotspot*> hotspots = PointersTo(past.hotspots());
  std::erase_if(hotspots, [&](const v1::Hotspot* hotspot) {
    const auto& lost = hotspot->lost_times();
    return !job->empty() && std::ranges::find(lost, *job, &v1::LostTime::job_id) == lost.end();
  });
  *out.mutable_snapshot() = past.snapshot();
  for (v1::Hotspot& hotspot : *past.mutable_hotspots()) own->Restrict(hotspot);
  return FillPastPage(*list, *version, hotspots, *out.mutable_hotspots(), out);
}

ServiceStatus Service::PastFindings(const Caller& caller, const v1::ListFindingsRequest& in,
                                    v1::ListFindingsResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  const auto at_time = PastTime(caller, in.at_time());
  if (!at_time) return tl::unexpected(at_time.error());
  v1::ListFindingsResponse past;
  const auto version = ReadPast(*history_, QueryOf(AnswerPart::kFindings, *at_time, *list), past);
  if (!version) return tl::unexpected(version.error());
  const auto own = PastOwnJobs(caller, *at_time, past.snapshot().data_time());
  if (!own) return tl::unexpected(own.error());
  const auto job = PastJobId(*history_, *own, *at_time, in.job_id());
  if (!job) return tl::unexpected(job.error());
  std::vector<const v1::Finding*> findings = PointersTo(past.findings());
  std::erase_if(findings, [&](const v1::Finding* finding) {
    const auto& affected = finding->affected_job_ids();
    return !own->IsAffectedBy(*finding) ||
           (!job->empty() && std::ranges::find(affected, *job) == affected.end());
  });
  // The elements of `findings` stay where they are.
  for (v1::Finding& finding : *past.mutable_findings()) own->Restrict(finding);
  *out.mutable_snapshot() = past.snapshot();
  *out.mutable_coverage() = past.coverage();
  own->Restrict(*out.mutable_coverage());
  for (v1::Finding& finding : *past.mutable_suspected_findings()) {
    if (!own->IsAffectedBy(finding)) continue;
    own->Restrict(finding);
    *out.add_suspected_findings() = std::move(finding);
  }
  return FillPastPage(*list, *version, findings, *out.mutable_findings(), out);
}

ServiceStatus Service::PastAnomalies(const v1::ListAnomaliesRequest& in,
                                     v1::ListAnomaliesResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  v1::ListAnomaliesResponse past;
  const auto version =
      ReadPast(*history_, QueryOf(AnswerPart::kAnomalies, in.at_time(), *list), past);
  if (!version) return tl::unexpected(version.error());
  *out.mutable_snapshot() = past.snapshot();
  *out.mutable_phase_changes() = past.phase_changes();
  *out.mutable_episodes() = past.episodes();
  *out.mutable_statistics() = past.statistics();
  return FillPastPage(*list, *version, PointersTo(past.anomalies()), *out.mutable_anomalies(), out);
}

ServiceStatus Service::PastServiceLevels(const Caller& caller,
                                         const v1::ListServiceLevelsRequest& in,
                                         v1::ListServiceLevelsResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  const auto at_time = PastTime(caller, in.at_time());
  if (!at_time) return tl::unexpected(at_time.error());
  v1::ListServiceLevelsResponse past;
  const auto version =
      ReadPast(*history_, QueryOf(AnswerPart::kServiceLevels, *at_time, *list), past);
  if (!version) return tl::unexpected(version.error());
  const auto own = PastOwnJobs(caller, *at_time, past.snapshot().data_time());
  if (!own) return tl::unexpected(own.error());
  const auto job = PastJobId(*history_, *own, *at_time, in.job_id());
  if (!job) return tl::unexpected(job.error());
  if (!job->empty() || !own->AreAll()) {
    std::set<std::string, std::less<>> ids = {*job};
    if (job->empty()) ids = own->ids();
    std::vector<v1::Job> jobs;
    const auto end = std::chrono::steady_clock::now() + kLongestReading;
    for (const std::string& id : ids) {
      if (std::chrono::steady_clock::now() > end) return tl::unexpected(TakesTooLong());
      v1::GetJobResponse details;
      const auto read =
          ReadPast(*history_, {.part = AnswerPart::kJob, .name = id, .at_time = *at_time}, details);
      if (!read) return tl::unexpected(read.error());
      if (!IsJobOf(*own, details.job())) continue;
      jobs.push_back(std::move(*details.mutable_job()));
    }
    KeepLevelsOf(jobs, past);
    CountLevels(past);
  }
  *out.mutable_snapshot() = past.snapshot();
  *out.mutable_indicators() = past.indicators();
  out.set_objective(past.objective());
  out.set_short_window_count(past.short_window_count());
  out.set_long_window_count(past.long_window_count());
  return FillPastPage(*list, *version, PointersTo(past.service_levels()),
                      *out.mutable_service_levels(), out);
}

}  // namespace rocescope
