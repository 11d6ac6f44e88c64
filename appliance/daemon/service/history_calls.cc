// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "appliance/daemon/history/history_store.h"
#include "appliance/daemon/service/history_point.h"
#include "appliance/daemon/service/page.h"
#include "appliance/daemon/service/service.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

constexpr uint32_t kDefaultPoints = 1000;
constexpr uint32_t kMaxPoints = 10'000;

ServiceError Unreadable(const Error& error) {
  if (error.code == ErrorCode::kResourceExhausted) {
    return {.fault = ServiceFault::kTooLong,
            .message =
                fmt::format("{}: request a shorter time range (from_ns, until_ns)", error.message)};
  }
  return {.fault = ServiceFault::kNoDataYet,
          .message = fmt::format("{}: the history cannot be read at the moment; try again later",
                                 error.message)};
}

template <typename Request, typename Query>
ServiceStatus SetRange(const Request& request, Query& query) {
  if (request.from_ns() < 0 || request.until_ns() < 0) {
    return RefuseFields({"from_ns", "until_ns"},
                        "expected nanoseconds since the Unix epoch, 0 or greater");
  }
  query.from = WithinBounds(FromNanoseconds(request.from_ns()));
  if (request.until_ns() > 0) query.until = WithinBounds(FromNanoseconds(request.until_ns()));
  if (query.from < query.until) return {};
  return RefuseFields({"until_ns"}, fmt::format("{} must be greater than from_ns ({})",
                                                request.until_ns(), request.from_ns()));
}

template <typename Request>
ServiceResult<SeriesQuery> SeriesQueryOf(const Request& request, const std::string& name) {
  SeriesQuery query = {.name = name, .max_points = request.max_points()};
  if (const auto set = SetRange(request, query); !set) return tl::unexpected(set.error());
  if (request.step_ns() < 0) {
    return RefuseFields({"step_ns"}, "expected a duration in nanoseconds, 0 or greater");
  }
  // A step longer than the whole history is one step.
  query.step = std::min<Duration>(Duration(request.step_ns()), std::chrono::hours(24 * 3660));
  if (query.max_points == 0) query.max_points = kDefaultPoints;
  query.max_points = std::clamp(query.max_points, 2u, kMaxPoints);
  return query;
}

// Formats the cursor as "AT_NS.ID", which is opaque to clients.
std::string ToText(const EventCursor& cursor) {
  return fmt::format("{}.{}", cursor.at_ns, cursor.id);
}

std::optional<EventCursor> ParseCursor(std::string_view text) {
  EventCursor cursor;
  const char* const end = text.data() + text.size();
  const auto at = std::from_chars(text.data(), end, cursor.at_ns);
  if (at.ec != std::errc() || at.ptr == end || *at.ptr != '.') return std::nullopt;
  const auto id = std::from_chars(at.ptr + 1, end, cursor.id);
  if (id.ec != std::errc() || id.ptr != end) return std::nullopt;
  return cursor;
}

template <typename Point, typename Response>
void FillSeries(const Series<Point>& series, Response& out) {
  out.set_step_ns(series.step.count());
  for (const Point& point : series.points) FillPoint(point, *out.add_points());
}

}  // namespace

ServiceStatus Service::NeedHistory() const {
  if (history_ != nullptr) return {};
  return Refuse(ServiceFault::kNoHistory,
                "the appliance stores no history: set the key `history.file` in its configuration");
}

ServiceStatus Service::ListPastEvents(const v1::ListPastEventsRequest& request,
                                      v1::ListPastEventsResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  EventQuery query = {.kind = request.kind(),
                      .place = request.place(),
                      .job = request.job(),
                      .most = PageSize(request.page_size())};
  if (const auto set = SetRange(request, query); !set) return set;
  if (!request.page_token().empty()) {
    query.after = ParseCursor(request.page_token());
    if (!query.after) {
      return RefuseFields({"page_token"},
                          "not a token of this appliance; leave it empty for the first page");
    }
  }
  const auto page = history_->Events(query);
  if (!page) return tl::unexpected(Unreadable(page.error()));
  for (const std::string& message : page->messages) {
    // Unknown fields of a newer version are ignored.
    (void)out.add_events()->ParseFromString(message);
  }
  if (page->next) out.set_next_page_token(ToText(*page->next));
  return {};
}

ServiceStatus Service::GetLinkHistory(const v1::GetLinkHistoryRequest& request,
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

ServiceStatus Service::GetJobHistory(const v1::GetJobHistoryRequest& request,
                                     v1::GetJobHistoryResponse& out) {
  if (const auto there = NeedHistory(); !there) return there;
  const auto query = SeriesQueryOf(request, request.job());
  if (!query) return tl::unexpected(query.error());
  const auto series = history_->JobSeries(*query);
  if (!series) return tl::unexpected(Unreadable(series.error()));
  if (!series->is_known) {
    return Refuse(ServiceFault::kUnknownJob,
                  fmt::format("job: no history of job \"{}\"; expected a job id, or the "
                              "scheduler's number or name of the job",
                              request.job()));
  }
  out.set_job(request.job());
  FillSeries(*series, out);
  return {};
}

}  // namespace rocescope
