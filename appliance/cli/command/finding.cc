// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/finding.h"

#include <fmt/format.h>

#include <string_view>

#include "appliance/api/message_value.h"
#include "appliance/cli/command/client_call.h"
#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/message.h"
#include "appliance/common/report/message_json.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/utc_text.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/finding_review.pb.h"

namespace rocescope {
namespace {

// Prints what changed, and a message if the change is not on disk.
template <typename Response>
int ReportChange(const std::string& text, const Response& response) {
  if (!response.durable()) {
    Message(fmt::format("the change is lost if the appliance restarts: {}",
                        response.storage_problem().empty() ? "the appliance gave no reason"
                                                           : Visible(response.storage_problem())));
  }
  return PrintAnswer(text);
}

template <typename Element>
std::string FaultText(const Element& element) {
  return fmt::format("{} at {}{}", Visible(element.kind()), Visible(element.place()),
                     element.direction().empty()
                         ? ""
                         : fmt::format(", direction {}", Visible(element.direction())));
}

template <typename Request>
Request RequestOf(const FindingOptions& options) {
  Request request;
  request.set_kind(options.kind);
  request.set_place(options.place);
  request.set_direction(options.direction);
  return request;
}

std::string TimeOfReview(const google::protobuf::Timestamp& time) {
  return UtcDayAndTime(Nanoseconds(time));
}

std::string AcknowledgementTable(const v1::ListAcknowledgementsResponse& listed) {
  if (listed.acknowledgements().empty()) return "No findings are acknowledged.\n";
  TextTable table({{.title = "KIND"},
                   {.title = "PLACE"},
                   {.title = "DIRECTION"},
                   {.title = "SINCE (UTC)"},
                   {.title = "STATE"},
                   {.title = "ACKNOWLEDGED BY"},
                   {.title = "AT (UTC)"},
                   {.title = "COMMENT"}});
  for (const v1::Acknowledgement& one : listed.acknowledgements()) {
    table.Add({one.kind(), one.place(), one.direction(), TimeOfReview(one.start_time()),
               one.ongoing() ? "active" : "ended", one.user(), TimeOfReview(one.acknowledge_time()),
               one.comment()});
  }
  return table.Render(0);
}

std::string MuteTable(const v1::ListMutesResponse& listed) {
  if (listed.mutes().empty()) return "No findings are muted.\n";
  TextTable table({{.title = "KIND"},
                   {.title = "PLACE"},
                   {.title = "DIRECTION"},
                   {.title = "STATE"},
                   {.title = "UNTIL (UTC)"},
                   {.title = "MUTED BY"},
                   {.title = "AT (UTC)"},
                   {.title = "COMMENT"}});
  for (const v1::Mute& one : listed.mutes()) {
    table.Add({one.kind(), one.place(), one.direction(), one.expired() ? "expired" : "active",
               TimeOfReview(one.expire_time()), one.user(), TimeOfReview(one.mute_time()),
               one.comment()});
  }
  return table.Render(0);
}

}  // namespace

int RunFindingAcknowledge(const FindingOptions& options) {
  auto request = RequestOf<v1::AcknowledgeFindingRequest>(options);
  request.set_comment(options.comment);
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::AcknowledgeFindingResponse response;
  if (const auto done = client->Acknowledge(request, response); !done) {
    return FailCall(done.error());
  }
  const v1::Acknowledgement& one = response.acknowledgement();
  return ReportChange(fmt::format("{} since {} UTC: acknowledged by {}\n", FaultText(one),
                                  TimeOfReview(one.start_time()), Visible(one.user())),
                      response);
}

int RunFindingUnacknowledge(const FindingOptions& options) {
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::UnacknowledgeFindingResponse response;
  const auto done =
      client->Unacknowledge(RequestOf<v1::UnacknowledgeFindingRequest>(options), response);
  if (!done) return FailCall(done.error());
  std::string text;
  for (const v1::Acknowledgement& one : response.acknowledgements()) {
    text += fmt::format("{} since {} UTC: no longer acknowledged\n", FaultText(one),
                        TimeOfReview(one.start_time()));
  }
  return ReportChange(text, response);
}

int RunFindingMute(const FindingOptions& options) {
  auto request = RequestOf<v1::MuteFindingsRequest>(options);
  request.set_comment(options.comment);
  if (options.duration != Duration::zero()) {
    *request.mutable_duration() = DurationMessage(options.duration);
  }
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::MuteFindingsResponse response;
  if (const auto done = client->Mute(request, response); !done) return FailCall(done.error());
  if (response.finding_count() == 0) {
    Message(
        "the mute matches no current finding; check kind, place and direction, or ignore this "
        "message if the mute is for maintenance");
  }
  const v1::Mute& one = response.mute();
  return ReportChange(fmt::format("{}: muted by {} until {} UTC\n", FaultText(one),
                                  Visible(one.user()), TimeOfReview(one.expire_time())),
                      response);
}

int RunFindingUnmute(const FindingOptions& options) {
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::UnmuteFindingsResponse response;
  const auto done = client->Unmute(RequestOf<v1::UnmuteFindingsRequest>(options), response);
  if (!done) return FailCall(done.error());
  return ReportChange(fmt::format("{}: no longer muted\n", FaultText(response.mute())), response);
}

int RunFindingList(const FindingListOptions& options) {
  const auto client = OpenClient(options.client);
  if (!client) return kExitUsage;
  v1::ListAcknowledgementsResponse acknowledgements;
  if (const auto done = client->ListAcknowledgements(acknowledgements); !done) {
    return FailCall(done.error());
  }
  v1::ListMutesResponse mutes;
  if (const auto done = client->ListMutes(options.expired_too, mutes); !done) {
    return FailCall(done.error());
  }
  if (options.format == ReportFormat::kText) {
    return PrintAnswer(AcknowledgementTable(acknowledgements) + "\n" + MuteTable(mutes));
  }
  std::string json = "{\"acknowledgements\":";
  AppendJson(acknowledgements, false, json);
  json += ",\"mutes\":";
  AppendJson(mutes, false, json);
  return PrintAnswer(json + "}\n");
}

}  // namespace rocescope
