// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/service/history_point.h"
#include "appliance/daemon/service/job_summary.h"
#include "appliance/daemon/service/page.h"
#include "appliance/daemon/service/past_answer.h"
#include "appliance/daemon/service/service.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

constexpr uint32_t kDefaultPoints = 1000;
constexpr uint32_t kMaxPoints = 10'000;
constexpr Duration kLongestStep = std::chrono::hours(24 * 3660);  // ten years

ServiceError Unreadable(const Error& error) {
  return UnreadableHistory(error, "request a shorter time range (start_time, end_time)");
}

template <typename Request, typename Query>
ServiceStatus SetRange(const Request& request, Query& query) {
  if (const auto checked = CheckTime("start_time", request.start_time()); !checked) return checked;
  if (const auto checked = CheckTime("end_time", request.end_time()); !checked) return checked;
  query.from = TimeOf(request.start_time());
  if (request.has_end_time()) query.until = TimeOf(request.end_time());
  if (query.from < query.until) return {};
  return RefuseFields({"end_time"},
                      fmt::format("{} must be after start_time ({})", ToText(request.end_time()),
                                  ToText(request.start_time())));
}

template <typename Request>
ServiceResult<SeriesQuery> SeriesQueryOf(const Request& request, const std::string& name) {
  if (const auto sound = CheckSize("max_points", request.max_points()); !sound) {
    return tl::unexpected(sound.error());
  }
  SeriesQuery query = {.name = name, .max_points = static_cast<uint32_t>(request.max_points())};
  if (const auto set = SetRange(request, query); !set) return tl::unexpected(set.error());
  if (Nanoseconds(request.step()) < 0) {
    return RefuseFields({"step"}, "expected a duration of 0 s or longer");
  }
  // A step longer than the whole history is one step.
  query.step = std::min<Duration>(Duration(Nanoseconds(request.step())), kLongestStep);
  if (query.max_points == 0) query.max_points = kDefaultPoints;
  query.max_points = std::clamp(query.max_points, 2u, kMaxPoints);
  return query;
}

// Restricts the query to the time since the start of a job. Leaves out the minute in which the job
// starts, because that minute can have data of an earlier job.
void StartAt(Timestamp start, SeriesQuery& query) {
  const int64_t minute = IntervalIndex(start + kMinute - Duration(1), kMinute);
  query.from = std::max(query.from, FromNanoseconds(minute * kMinute.count()));
  query.until = std::max(query.until, query.from);  // a range before the job is empty
}

template <typename Point, typename Response>
void FillSeries(const Series<Point>& series, Response& out) {
  *out.mutable_step() = DurationMessage(series.step);
  for (const Point& point : series.points) FillPoint(point, *out.add_points());
}

}  // namespace

ServiceStatus Service::NeedHistory() const {
  if (history_ != nullptr) return {};
  return Refuse(ServiceFault::kNoHistory,
                "the appliance stores no history: set the key `history.file` in its configuration");
}

ServiceStatus Service::ListPastEvents(const Caller&, const v1::ListPastEventsRequest& request,
                                      v1::ListPastEventsResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto list = ReadListRequest(request);
  if (!list) return tl::unexpected(list.error());
  const auto filter = ListFilter::Parse(request.filter(), *v1::Event::descriptor());
  if (!filter) return tl::unexpected(filter.error());
  if (request.kind() != v1::Event::KIND_UNSPECIFIED && WordOf(request.kind()).empty()) {
    return RefuseFields({"kind"}, "expected a value of Event.Kind");
  }
  EventQuery query = {.kind = WordOf(request.kind()),
                      .place = request.place(),
                      .job = request.job_id(),
                      .most = PageSize(request.page_size()),
                      .most_bytes = kMaxPageBytes};
  if (const auto set = SetRange(request, query); !set) return set;
  if (list->token) {
    query.after = {.at_ns = static_cast<int64_t>(list->token->version),
                   .id = static_cast<int64_t>(list->token->offset)};
  }
  const auto page = history_->Events(query);
  if (!page) return tl::unexpected(Unreadable(page.error()));
  FilterWork work;
  for (const std::string& message : page->messages) {
    v1::Event event;
    // An event that a newer version has written may have unknown fields, which are ignored.
    if (!event.ParseFromString(message)) continue;
    const auto matches = filter->Matches(event, work);
    if (!matches) return tl::unexpected(matches.error());
    if (*matches) *out.add_events() = std::move(event);
  }
  if (page->next) {
    out.set_next_page_token(ToText({.version = static_cast<uint64_t>(page->next->at_ns),
                                    .offset = static_cast<uint64_t>(page->next->id),
                                    .request = list->hash}));
  }
  return {};
}

ServiceStatus Service::GetLinkHistory(const Caller&, const v1::GetLinkHistoryRequest& request,
                                      v1::GetLinkHistoryResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto query = SeriesQueryOf(request, request.port());
  if (!query) return tl::unexpected(query.error());
  const auto series = history_->LinkSeries(*query);
  if (!series) return tl::unexpected(Unreadable(series.error()));
  if (!series->is_known) {
    return Refuse(
        ServiceFault::kUnknownElement,
        fmt::format(
            "port: no history of port \"{}\"; expected the sending port NODE:PORT of a link",
            request.port()));
  }
  out.set_port(request.port());
  FillSeries(*series, out);
  return {};
}

bool Service::FindOwnSeries(const Caller& caller, const std::string& name, SeriesQuery& query) {
  const auto answer = views_.Latest();
  if (answer) {
    const OwnJobs own = OwnJobsOf(caller, *answer);
    if (const auto job = FindJob(answer->snapshot(), own, name)) {
      query.name = answer->snapshot().attribution->jobs[*job].job.id;
      query.key = SeriesKey::kId;
      const std::optional<Timestamp> start = own.StartOf(query.name);
      if (start) StartAt(*start, query);
      return start.has_value();
    }
  }
  const std::vector<Allocation> named = registry_.Select([&](const Allocation& job) {
    return caller.IsUser(job.user) && (job.name == name || fmt::format("{}", job.id) == name);
  });
  if (named.size() != 1 || !named.front().start) return false;
  query.name = fmt::format("{}", named.front().id);
  query.key = SeriesKey::kNumber;
  StartAt(*named.front().start, query);
  return true;
}

ServiceStatus Service::GetJobHistory(const Caller& caller, const v1::GetJobHistoryRequest& request,
                                     v1::GetJobHistoryResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  auto query = SeriesQueryOf(request, request.job_id());
  if (!query) return tl::unexpected(query.error());
  ServiceError unknown = {
      .fault = ServiceFault::kUnknownJob,
      .message = fmt::format("job_id: no history of job \"{}\"; expected a job id, or the "
                             "scheduler's number or name of the job",
                             request.job_id())};
  if (!caller.MayReadAll() && !FindOwnSeries(caller, request.job_id(), *query)) {
    return tl::unexpected(std::move(unknown));
  }
  const auto series = history_->JobSeries(*query);
  if (!series) return tl::unexpected(Unreadable(series.error()));
  if (!series->is_known) return tl::unexpected(std::move(unknown));
  out.set_job_id(request.job_id());
  FillSeries(*series, out);
  return {};
}

}  // namespace rocescope
