// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/finding_sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/utc_text.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

// Returns the other end of a link named A-B. Names may contain hyphens.
std::string_view OtherEnd(std::string_view link, std::string_view end) {
  if (link.size() <= end.size() + 1) return {};
  if (link.starts_with(end) && link[end.size()] == '-') return link.substr(end.size() + 1);
  const size_t rest = link.size() - end.size() - 1;
  if (link.ends_with(end) && link[rest] == '-') return link.substr(0, rest);
  return {};
}

std::string PlaceText(PlaceKind kind, std::string_view place, std::string_view direction) {
  switch (kind) {
    case PlaceKind::kLink: {
      const std::string_view other = OtherEnd(place, direction);
      if (direction.empty() || other.empty()) return fmt::format("link {}", place);
      return fmt::format("link from {} to {}", direction, other);
    }
    case PlaceKind::kSwitch:
      break;
    case PlaceKind::kNic:
      return fmt::format("NIC {}", place);
    case PlaceKind::kGpu:
      break;
  }
  return std::string(place);
}

std::string NameOfJob(const v1::ReplayReport& report, const std::string& id) {
  const auto job = std::ranges::find(report.jobs(), id, &v1::Job::job_id);
  return job == report.jobs().end() ? Visible(id) : JobName(*job);
}

std::vector<std::string> NamesOfJobs(const v1::ReplayReport& report, const auto& ids) {
  std::vector<std::string> names;
  for (const std::string& id : ids) names.push_back(NameOfJob(report, id));
  return names;
}

std::string AffectedText(const v1::ReplayReport& report, const v1::Finding& finding,
                         const std::vector<std::string>& dependent_job_ids) {
  const std::vector<std::string> affected = NamesOfJobs(report, finding.affected_job_ids());
  if (!affected.empty()) return fmt::format("it affects {}", ListText(affected, "other jobs"));
  const std::vector<std::string> exposed = NamesOfJobs(report, finding.exposed_job_ids());
  if (!exposed.empty()) {
    return fmt::format("no effect on a job was measured; {} {} traffic through it",
                       ListText(exposed, "other jobs"), exposed.size() == 1 ? "sends" : "send");
  }
  if (report.diagnosis_coverage().flow_count() > 0) return "no known job sent traffic through it";
  std::string text =
      "the affected jobs are unknown, because no packets of their flows were received";
  const std::vector<std::string> dependent = NamesOfJobs(report, dependent_job_ids);
  if (!dependent.empty()) {
    text += fmt::format("; {} {} ranks there", ListText(dependent, "other jobs"),
                        dependent.size() == 1 ? "has" : "have");
  }
  return text;
}

}  // namespace

std::string FaultText(std::string_view kind, std::string_view place, std::string_view direction) {
  const auto info = std::ranges::find(kFaultInfos, kind, &FaultInfo::name);
  if (info == kFaultInfos.end()) return fmt::format("{} at {}", kind, place);
  return fmt::format("{}: {}", PlaceText(info->place, place, direction), info->sentence);
}

std::string WhenText(const v1::ReplayReport& report, int64_t from_ns, int64_t until_ns) {
  const int64_t zero = Nanoseconds(report.reference_time());
  const auto clock = [&](int64_t ns) {
    return zero != 0 && IsSameUtcDay(zero, ns) ? UtcTime(ns, DigitsOf(report))
                                               : UtcDayAndTime(ns, DigitsOf(report));
  };
  const std::string offset = OffsetText(report, from_ns);
  if (until_ns == 0) {
    return fmt::format("since {} UTC{}", clock(from_ns),
                       offset.empty() ? "" : fmt::format(" ({})", offset));
  }
  return fmt::format("from {} to {} UTC ({}for {})", clock(from_ns), clock(until_ns),
                     offset.empty() ? "" : offset + ", ", HumanDuration(until_ns - from_ns));
}

std::string ListText(const std::vector<std::string>& names, std::string_view others) {
  constexpr size_t kMost = 3;  // printing one more name is no longer than "1 other"
  const size_t shown = names.size() > kMost + 1 ? kMost : names.size();
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  if (shown < names.size()) text += fmt::format(" and {} {}", names.size() - shown, others);
  return text;
}

std::string Capitalised(std::string sentence) {
  if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z') sentence[0] -= 'a' - 'A';
  return sentence;
}

std::string SentenceOf(const v1::ReplayReport& report, const v1::Finding& finding,
                       const std::vector<std::string>& dependent_job_ids) {
  const std::string times =
      finding.active_count() > 1 ? fmt::format("{} times ", finding.active_count()) : "";
  std::string when;
  if (finding.has_start_time()) {
    when = fmt::format(
        "{}{}; ", times,
        WhenText(report, Nanoseconds(finding.start_time()), Nanoseconds(finding.end_time())));
  }
  std::string text =
      fmt::format("{}; {}{}", FaultText(finding.kind(), finding.place(), finding.direction()), when,
                  AffectedText(report, finding, dependent_job_ids));
  // Names of nodes keep their case.
  if (text.starts_with("link ")) text[0] = 'L';
  return text;
}

}  // namespace rocescope
