// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/unseen_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "rocescope/v1/report.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

constexpr size_t kWidth = 98;

// "    TELEMETRY: name, name,", wrapped with a further indent.
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

}  // namespace

std::string UnseenFaultsText(const v1::DiagnosisCoverage& coverage) {
  if (coverage.not_seen().empty()) return {};
  struct Group {
    std::string_view telemetry;
    std::vector<std::string_view> names;
  };
  std::vector<Group> groups;  // in the order of the table
  for (const FaultInfo& info : kFaultInfos) {
    if (std::ranges::find(coverage.not_seen(), info.name) == coverage.not_seen().end()) continue;
    const std::string_view telemetry = TelemetryFor(info.need);
    auto group = std::ranges::find(groups, telemetry, &Group::telemetry);
    if (group == groups.end()) group = groups.insert(group, {telemetry, {}});
    group->names.push_back(info.plural);
  }
  std::string text =
      "  Not detectable for lack of telemetry. Missing telemetry, and the faults it would show:\n";
  for (const Group& group : groups) {
    text += Paragraph(group.telemetry, group.names);
  }
  return text + "\n";
}

}  // namespace rocescope
