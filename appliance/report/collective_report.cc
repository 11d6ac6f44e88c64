// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/collective_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "appliance/report/table.h"
#include "appliance/report/text_section.h"
#include "appliance/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

std::string_view NameOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kUnknown:
      return "unknown";
    case CollectiveKind::kRing:
      return "ring";
    case CollectiveKind::kTree:
      return "tree";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kHalvingDoubling:
      return "halving_doubling";
    case CollectiveKind::kPipeline:
      return "pipeline";
  }
  return "unknown";
}

// "4 NICs", "8 groups of 4 NICs", "8 groups of 2 to 4 NICs".
std::string GroupsText(const v1::Collective& collective) {
  int least = INT32_MAX;
  int most = 0;
  for (const v1::Group& group : collective.groups()) {
    least = std::min(least, group.members_size());
    most = std::max(most, group.members_size());
  }
  if (collective.groups_size() == 1) return fmt::format("{} NICs", most);
  if (least == most) return fmt::format("{} groups of {} NICs", collective.groups_size(), most);
  return fmt::format("{} groups of {} to {} NICs", collective.groups_size(), least, most);
}

}  // namespace

void FillRhythm(const JobRhythm& rhythm, v1::Rhythm& out) {
  out.set_period_ns(rhythm.period.count());
  out.set_strength(rhythm.strength);
  out.set_iterations(rhythm.iterations);
  out.set_first_ns(ToNanoseconds(rhythm.first));
  out.set_last_ns(ToNanoseconds(rhythm.last));
  for (const CollectiveMember& member : rhythm.members) {
    v1::RhythmMember& one = *out.add_members();
    one.set_address(ToString(member.address));
    one.set_host(member.host);
    one.set_device(member.device);
  }
  for (const Collective& collective : rhythm.collectives) {
    v1::Collective& one = *out.add_collectives();
    one.set_kind(std::string(NameOf(collective.kind)));
    if (collective.or_else) one.set_or_else(std::string(NameOf(*collective.or_else)));
    one.set_confidence(collective.confidence);
    for (const std::vector<uint32_t>& group : collective.groups) {
      v1::Group& members = *one.add_groups();
      for (const uint32_t member : group) members.add_members(member);
    }
    one.set_offset_ns(collective.offset.count());
    one.set_duration_ns(collective.duration.count());
    one.set_bytes(collective.bytes);
  }
  if (!rhythm.waited_for) return;
  v1::WaitedFor& waited = *out.mutable_waited_for();
  waited.set_member(rhythm.waited_for->member);
  waited.set_lateness_ns(rhythm.waited_for->lateness.count());
  waited.set_iterations(rhythm.waited_for->iterations);
  waited.set_of(rhythm.waited_for->of);
  waited.set_from_ns(ToNanoseconds(rhythm.waited_for->from));
  waited.set_until_ns(ToNanoseconds(rhythm.waited_for->until));
  waited.set_confidence(rhythm.waited_for->confidence);
}

void AppendRhythm(const v1::Rhythm& rhythm, std::string& text) {
  text += fmt::format(
      "\n  repeats every {}, {} seen from beginning to end; alike to {:.2f} (1: each as the "
      "next)\n",
      HumanDuration(rhythm.period_ns()), Counted(rhythm.iterations(), "iteration"),
      rhythm.strength());
  TextTable steps({{"STEP", Align::kRight},
                   {"COLLECTIVE"},
                   {"AMONG"},
                   {"BEGINS", Align::kRight},
                   {"TAKES", Align::kRight},
                   {"CARRIES", Align::kRight},
                   {"SURE", Align::kRight}});
  for (int i = 0; i < std::min(rhythm.collectives_size(), kMostRows); ++i) {
    const v1::Collective& step = rhythm.collectives(i);
    std::string kind = step.kind();
    if (!step.or_else().empty()) kind += " or " + step.or_else();
    steps.Add({std::to_string(i + 1), kind, GroupsText(step), "+" + HumanDuration(step.offset_ns()),
               HumanDuration(step.duration_ns()), HumanBytes(step.bytes()),
               SureText(step.confidence())});
  }
  if (!steps.empty()) text += "\n" + steps.Render(2);
  AppendMore(rhythm.collectives_size(), "step", text);
  if (!rhythm.has_waited_for()) return;
  const v1::WaitedFor& waited = rhythm.waited_for();
  if (waited.member() >= static_cast<uint32_t>(rhythm.members_size())) return;
  const v1::RhythmMember& member = rhythm.members(static_cast<int>(waited.member()));
  const std::string name =
      member.device().empty() ? member.host() : member.host() + "/" + member.device();
  text += fmt::format(
      "\n  the others wait for {} ({}): it enters {} after them in {} of {} iterations\n",
      Visible(name), Visible(member.address()), HumanDuration(waited.lateness_ns()),
      waited.iterations(), waited.of());
}

}  // namespace rocescope
