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

constexpr size_t kWidth = 98;

// Appends "    FEED: name, name," and continuation lines with a deeper indent.
std::string Paragraph(std::string_view telemetry, const std::vector<std::string_view>& names) {
  std::string text;
  std::string line = fmt::format("    {}:", telemetry);
  for (const std::string_view& name : names) {
    if (line.size() + 2 + name.size() > kWidth) {
      text += line + "\n";
      line = "     ";
    }
    line += fmt::format(" {}{}", name, &name == &names.back() ? "" : ",");
  }
  return text + line + "\n";
}

struct Group {
  std::string_view telemetry;
  std::vector<std::string_view> names;
};

// Missing telemetry in the order of the fault kinds, with the fault types that need it.
std::vector<Group> GroupsOf(const v1::DiagnosisCoverage& coverage) {
  std::vector<Group> groups;
  for (const FaultInfo& info : kFaultInfos) {
    if (std::ranges::find(coverage.undetectable_kinds(), info.name) ==
        coverage.undetectable_kinds().end())
      continue;
    const std::string_view telemetry = TelemetryFor(info.need);
    auto group = std::ranges::find(groups, telemetry, &Group::telemetry);
    if (group == groups.end()) group = groups.insert(group, {telemetry, {}});
    group->names.push_back(info.plural);
  }
  return groups;
}

}  // namespace

std::string UnseenFaultsText(const v1::DiagnosisCoverage& coverage) {
  const std::vector<Group> groups = GroupsOf(coverage);
  if (groups.empty()) return {};
  std::string text = "  Missing telemetry, and the fault types that it would make detectable:\n";
  for (const Group& group : groups) text += Paragraph(group.telemetry, group.names);
  return text + "\n";
}

std::string MissingTelemetryText(const v1::DiagnosisCoverage& coverage) {
  constexpr size_t kMost = 3;
  std::vector<Group> groups = GroupsOf(coverage);
  if (groups.empty()) return {};
  std::ranges::stable_sort(groups, std::greater<>(),
                           [](const Group& group) { return group.names.size(); });
  std::string text =
      fmt::format("  Missing telemetry: {} of {} fault types are not detectable without\n",
                  coverage.undetectable_kinds_size(), kFaultKinds);
  for (size_t i = 0; i < std::min(groups.size(), kMost); ++i) {
    text += fmt::format("    {} ({})\n", groups[i].telemetry,
                        Counted(groups[i].names.size(), "fault type"));
  }
  if (groups.size() > kMost) text += fmt::format("    and {} more\n", groups.size() - kMost);
  return text + "\n";
}

}  // namespace rocescope
