// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/unseen_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "appliance/common/report/table.h"
#include "rocescope/v1/report.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

struct Group {
  std::string_view telemetry;
  std::vector<std::string_view> names;
};

// Returns "Without MTU drop counters of switches, MTU mismatches cannot be found."
std::string SentenceOf(const Group& group) {
  std::string sentence = fmt::format("Without {}, ", group.telemetry);
  for (size_t i = 0; i < group.names.size(); ++i) {
    if (i > 0) sentence += i + 1 == group.names.size() ? " and " : ", ";
    sentence += group.names[i];
  }
  return sentence + " cannot be found.";
}

// Returns "leaf0, leaf1 and 7 more switches".
std::string ListOf(const google::protobuf::RepeatedPtrField<std::string>& names,
                   std::string_view plural) {
  constexpr int kMost = 4;
  std::string list;
  const int shown = names.size() <= kMost + 1 ? names.size() : kMost;
  for (int i = 0; i < shown; ++i) {
    if (i > 0) list += i + 1 == names.size() ? " and " : ", ";
    list += names[i];
  }
  if (shown < names.size()) list += fmt::format(" and {} more {}", names.size() - shown, plural);
  return list;
}

// Returns "At leaf7, MTU mismatches cannot be found without MTU drop counters of switches."
std::string SentenceOf(const v1::DiagnosisCoverage::BlindSpot& spot) {
  const auto info = std::ranges::find(kFaultInfos, spot.kind(), &FaultInfo::name);
  if (info == std::end(kFaultInfos)) return {};
  return fmt::format("At {}, {} cannot be found without {}.", ListOf(spot.switches(), "switches"),
                     info->plural, TelemetryFor(info->need));
}

// Returns "The counters of leaf1:Ethernet3 seem to be wrong: they are rounded to multiples of
// 1,000."
std::string SentenceOf(const v1::DiagnosisCoverage::UnusableCounters& unusable) {
  return fmt::format("The counters of {} seem to be wrong: {}.", ListOf(unusable.ports(), "ports"),
                     unusable.reason());
}

// FitText wraps it.
std::string Paragraph(const std::string& sentence) { return "  " + sentence + "\n"; }

// Missing telemetry in the order of the fault kinds, with the fault types that need it. If the
// topology has no links, telemetry cannot help with the types that require links.
std::vector<Group> GroupsOf(const v1::DiagnosisCoverage& coverage) {
  std::vector<Group> groups;
  for (const FaultInfo& info : kFaultInfos) {
    if (std::ranges::find(coverage.undetectable_kinds(), info.name) ==
        coverage.undetectable_kinds().end())
      continue;
    const std::string_view telemetry = coverage.topology_has_no_links() && RequiresLinks(info.need)
                                           ? "the links of the fabric in the topology (--topology)"
                                           : TelemetryFor(info.need);
    auto group = std::ranges::find(groups, telemetry, &Group::telemetry);
    if (group == groups.end()) group = groups.insert(group, {telemetry, {}});
    group->names.push_back(info.plural);
  }
  return groups;
}

}  // namespace

std::string UnseenFaultsText(const v1::DiagnosisCoverage& coverage) {
  std::string text;
  for (const Group& group : GroupsOf(coverage)) text += Paragraph(SentenceOf(group));
  for (const auto& spot : coverage.blind_spots()) text += Paragraph(SentenceOf(spot));
  return text.empty() ? text : text + "\n";
}

std::string UnusableCountersText(const v1::DiagnosisCoverage& coverage) {
  std::string text;
  for (const auto& unusable : coverage.unusable_counters()) {
    text += Paragraph(SentenceOf(unusable));
  }
  return text.empty() ? text : text + "\n";
}

std::string MissingTelemetryText(const v1::DiagnosisCoverage& coverage) {
  constexpr size_t kMost = 3;
  std::vector<Group> groups = GroupsOf(coverage);
  if (groups.empty()) return {};
  std::ranges::stable_sort(groups, std::greater<>(),
                           [](const Group& group) { return group.names.size(); });
  std::string text =
      fmt::format("  {} of {} fault types cannot be found; --section faults lists them.\n",
                  coverage.undetectable_kinds_size(), kFaultKinds);
  // A line that says that there is one more would not be shorter.
  const size_t most = groups.size() == kMost + 1 ? kMost + 1 : std::min(groups.size(), kMost);
  for (size_t i = 0; i < most; ++i) {
    const std::string types = groups[i].names.size() == 1
                                  ? std::string(groups[i].names[0])
                                  : Counted(groups[i].names.size(), "fault type");
    text += fmt::format("    Finding {} requires {}.\n", types, groups[i].telemetry);
  }
  if (groups.size() > most) {
    size_t others = 0;
    for (size_t i = most; i < groups.size(); ++i) others += groups[i].names.size();
    text += fmt::format("    Finding the other {} requires yet other telemetry.\n", others);
  }
  return text + "\n";
}

}  // namespace rocescope
