// SPDX-License-Identifier: BSD-3-Clause
// Acknowledgements and mutes of findings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/visible_text.h"
#include "appliance/daemon/service/service.h"
#include "base/nearest.h"
#include "rocescope/v1/finding_review.pb.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

constexpr size_t kLongestPlace = 1024;  // bytes; the longest names of a topology are shorter
// Pauses of at most this length do not end a finding.
constexpr int64_t kPauseNs = 300'000'000'000;

// Returns the name under which a change is stored. Only a loopback listener without certificates
// and tokens has clients without a name, and these have all roles.
ServiceResult<std::string> UserOf(const Caller& caller) {
  if (!caller.name.empty()) return caller.name;
  if (caller.roles == kAllRoles) return "local";
  return Refuse(ServiceFault::kNotAllowed,
                "the client has no name that could be stored with the change: use a certificate or "
                "a token with a name");
}

template <typename Request>
ServiceStatus CheckFinding(const Request& in) {
  std::vector<std::string_view> known;
  for (const FaultInfo& kind : kFaultInfos) known.push_back(kind.name);
  if (std::ranges::find(known, in.kind()) == known.end()) {
    return RefuseFields({"kind"}, fmt::format("expected a fault kind, found \"{}\"{}",
                                              Visible(in.kind()), DidYouMean(in.kind(), known)));
  }
  if (in.place().empty() || std::max(in.place().size(), in.direction().size()) > kLongestPlace) {
    return RefuseFields({"place", "direction"},
                        fmt::format("expected the place of a finding, and at most {} bytes in each",
                                    kLongestPlace));
  }
  return {};
}

ServiceStatus CheckComment(const std::string& comment) {
  if (comment.size() <= kLongestComment) return {};
  return RefuseFields({"comment"}, fmt::format("expected at most {} bytes, found {}",
                                               kLongestComment, comment.size()));
}

template <typename Request>
bool IsAt(const v1::Finding& finding, const Request& in) {
  return finding.kind() == in.kind() && finding.place() == in.place() &&
         (in.direction().empty() || finding.direction() == in.direction());
}

// Whether the finding was active at this time, or within five minutes of it.
bool WasActive(const v1::Finding& finding, int64_t ns) {
  return ns >= Nanoseconds(finding.start_time()) - kPauseNs &&
         (!finding.has_end_time() || ns <= Nanoseconds(finding.end_time()) + kPauseNs);
}

// Current and suspected findings.
std::vector<const v1::Finding*> AllFindings(const v1::ReplayReport& report) {
  std::vector<const v1::Finding*> all;
  for (const v1::Finding& finding : report.findings()) all.push_back(&finding);
  for (const v1::Finding& finding : report.suspected_findings()) all.push_back(&finding);
  return all;
}

ServiceResult<const v1::Finding*> FindFinding(const v1::ReplayReport& report,
                                              const v1::AcknowledgeFindingRequest& in) {
  std::vector<const v1::Finding*> found;
  std::set<std::string> directions;
  for (const v1::Finding* finding : AllFindings(report)) {
    if (!IsAt(*finding, in)) continue;
    if (in.has_start_time() && !WasActive(*finding, Nanoseconds(in.start_time()))) continue;
    found.push_back(finding);
    directions.insert(finding->direction());
  }
  if (found.empty()) {
    return Refuse(
        ServiceFault::kUnknownFinding,
        fmt::format("no finding \"{}\" at \"{}\"{}: expected kind, place, direction and "
                    "start_time of a finding in the list of findings",
                    in.kind(), Visible(in.place()), in.has_start_time() ? " at this time" : ""));
  }
  if (directions.size() > 1) {
    if (!directions.contains("")) {
      return RefuseFields({"direction"},
                          fmt::format("several directions have a finding; expected one of {}",
                                      fmt::join(directions, ", ")));
    }
    std::erase_if(found, [](const auto* finding) { return !finding->direction().empty(); });
  }
  // The nearest to the requested time, or the latest.
  const auto distance = [&](const v1::Finding* finding) {
    const int64_t start = Nanoseconds(finding->start_time());
    if (!in.has_start_time()) return -start;
    const int64_t wanted = Nanoseconds(in.start_time());
    return std::max(start, wanted) - std::min(start, wanted);
  };
  return *std::ranges::min_element(found, {}, distance);
}

template <typename Response>
void FillStored(FindingReviews& reviews, Response& out) {
  out.set_storage_problem(reviews.WaitUntilStored());
  out.set_durable(out.storage_problem().empty());
}

}  // namespace

ServiceStatus Service::AcknowledgeFinding(const Caller& caller,
                                          const v1::AcknowledgeFindingRequest& in,
                                          v1::AcknowledgeFindingResponse& out) {
  const auto user = UserOf(caller);
  if (!user) return tl::unexpected(user.error());
  if (const auto sound = CheckFinding(in); !sound) return sound;
  if (const auto sound = CheckComment(in.comment()); !sound) return sound;
  if (const auto sound = CheckTime("start_time", in.start_time()); !sound) return sound;
  const auto answer = AnsweredWithTopology();
  if (!answer) return tl::unexpected(answer.error());
  const auto finding = FindFinding((*answer)->findings(), in);
  if (!finding) return tl::unexpected(finding.error());
  const auto stored =
      reviews_.Acknowledge(**finding, (*answer)->answer().reached, *user, in.comment());
  if (!stored) return tl::unexpected(stored.error());
  reviews_.Fill(*stored, *out.mutable_acknowledgement());
  FillStored(reviews_, out);
  return {};
}

ServiceStatus Service::UnacknowledgeFinding(const Caller& caller,
                                            const v1::UnacknowledgeFindingRequest& in,
                                            v1::UnacknowledgeFindingResponse& out) {
  const auto user = UserOf(caller);
  if (!user) return tl::unexpected(user.error());
  if (const auto sound = CheckFinding(in); !sound) return sound;
  if (const auto sound = CheckTime("start_time", in.start_time()); !sound) return sound;
  const auto time = in.has_start_time() ? std::optional(TimeOf(in.start_time())) : std::nullopt;
  const auto removed = reviews_.Unacknowledge(in.kind(), in.place(), in.direction(), time, *user);
  if (removed.empty()) {
    return Refuse(ServiceFault::kUnknownFinding,
                  fmt::format("no acknowledgement of \"{}\" at \"{}\": see the list of "
                              "acknowledgements",
                              in.kind(), Visible(in.place())));
  }
  for (const Acknowledgement& one : removed) reviews_.Fill(one, *out.add_acknowledgements());
  FillStored(reviews_, out);
  return {};
}

ServiceStatus Service::MuteFindings(const Caller& caller, const v1::MuteFindingsRequest& in,
                                    v1::MuteFindingsResponse& out) {
  const auto user = UserOf(caller);
  if (!user) return tl::unexpected(user.error());
  if (const auto sound = CheckFinding(in); !sound) return sound;
  if (const auto sound = CheckComment(in.comment()); !sound) return sound;
  const Duration duration = in.has_duration() ? Duration(Nanoseconds(in.duration())) : kDefaultMute;
  if (duration <= Duration::zero() || duration > kLongestMute) {
    return RefuseFields({"duration"}, fmt::format("expected more than 0 s and at most {} s (30 "
                                                  "days): mutes always expire",
                                                  kLongestMute / std::chrono::seconds(1)));
  }
  const auto stored =
      reviews_.AddMute(in.kind(), in.place(), in.direction(), duration, *user, in.comment());
  if (!stored) return tl::unexpected(stored.error());
  reviews_.Fill(*stored, *out.mutable_mute());
  if (const auto answer = views_.Latest(); answer && daemon_.fabric()) {
    const auto all = AllFindings(answer->findings());
    out.set_finding_count(static_cast<uint32_t>(
        std::ranges::count_if(all, [&](const auto* finding) { return IsAt(*finding, in); })));
  }
  FillStored(reviews_, out);
  return {};
}

ServiceStatus Service::UnmuteFindings(const Caller& caller, const v1::UnmuteFindingsRequest& in,
                                      v1::UnmuteFindingsResponse& out) {
  const auto user = UserOf(caller);
  if (!user) return tl::unexpected(user.error());
  if (const auto sound = CheckFinding(in); !sound) return sound;
  const auto removed = reviews_.Unmute(in.kind(), in.place(), in.direction(), *user);
  if (!removed) {
    return Refuse(ServiceFault::kUnknownFinding,
                  fmt::format("no mute of \"{}\" at \"{}\" with this direction: see the list of "
                              "mutes",
                              in.kind(), Visible(in.place())));
  }
  reviews_.Fill(*removed, *out.mutable_mute());
  FillStored(reviews_, out);
  return {};
}

ServiceStatus Service::ListAcknowledgements(const Caller&,
                                            const v1::ListAcknowledgementsRequest& in,
                                            v1::ListAcknowledgementsResponse& out) {
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  const std::vector<Acknowledgement> all = reviews_.Acknowledgements();
  const auto fill = [&](uint64_t i, v1::Acknowledgement& one) { reviews_.Fill(all[i], one); };
  return FillPage(*list, 0, all.size(), fill, *out.mutable_acknowledgements(), out);
}

ServiceStatus Service::ListMutes(const Caller&, const v1::ListMutesRequest& in,
                                 v1::ListMutesResponse& out) {
  const auto list = ReadListRequest(in);
  if (!list) return tl::unexpected(list.error());
  const std::vector<Mute> all = reviews_.Mutes(in.show_expired());
  const auto fill = [&](uint64_t i, v1::Mute& one) { reviews_.Fill(all[i], one); };
  return FillPage(*list, 0, all.size(), fill, *out.mutable_mutes(), out);
}

}  // namespace rocescope
