// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/unseen_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "analytics/diagnosis/finding_kind.h"
#include "analytics/diagnosis/need.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

constexpr size_t kWidth = 98;

// "    takes: name, name,", and as many lines further in as it needs.
std::string Paragraph(std::string_view takes, const std::vector<std::string_view>& names) {
  std::string text;
  std::string line = fmt::format("    {}:", takes);
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
    std::string_view takes;
    std::vector<std::string_view> names;
  };
  std::vector<Group> groups;  // in the order of the table
  for (const KindNeed& need : kKindNeeds) {
    const std::string_view kind = InfoOf(need.kind).name;
    if (std::ranges::find(coverage.not_seen(), kind) == coverage.not_seen().end()) continue;
    const std::string_view takes = WordsOf(need.need);
    auto group = std::ranges::find(groups, takes, &Group::takes);
    if (group == groups.end()) group = groups.insert(group, {takes, {}});
    group->names.push_back(need.several);
  }
  std::string text =
      "  Not looked for, as nothing at hand would show it. What would, and which faults:\n";
  for (const Group& group : groups) {
    text += Paragraph(group.takes, group.names);
  }
  return text + "\n";
}

}  // namespace rocescope
