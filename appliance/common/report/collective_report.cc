// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/collective_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "appliance/api/message_value.h"
#include "appliance/common/report/table.h"
#include "appliance/common/report/text_section.h"
#include "appliance/common/report/visible_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

v1::Collective::Kind MessageOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kUnknown:
      return v1::Collective::KIND_UNKNOWN;
    case CollectiveKind::kRing:
      return v1::Collective::KIND_RING;
    case CollectiveKind::kTree:
      return v1::Collective::KIND_TREE;
    case CollectiveKind::kAllToAll:
      return v1::Collective::KIND_ALL_TO_ALL;
    case CollectiveKind::kHalvingDoubling:
      return v1::Collective::KIND_HALVING_DOUBLING;
    case CollectiveKind::kPipeline:
      return v1::Collective::KIND_PIPELINE;
  }
  return v1::Collective::KIND_UNKNOWN;
}

// Returns "4 NICs", "8 groups of 4 NICs" or "8 groups of 2 to 4 NICs".
std::string GroupsText(const v1::Collective& collective) {
  int least = INT32_MAX;
  int most = 0;
  for (const v1::Group& group : collective.groups()) {
    least = std::min(least, group.member_indexes_size());
    most = std::max(most, group.member_indexes_size());
  }
  if (collective.groups_size() == 1) return fmt::format("{} NICs", most);
  if (least == most) return fmt::format("{} groups of {} NICs", collective.groups_size(), most);
  return fmt::format("{} groups of {} to {} NICs", collective.groups_size(), least, most);
}

}  // namespace

void FillIterationPattern(const JobIterationPattern& iteration_pattern, v1::IterationPattern& out) {
  *out.mutable_period() = DurationMessage(iteration_pattern.period);
  out.set_strength(iteration_pattern.strength);
  out.set_iteration_count(iteration_pattern.iterations);
  *out.mutable_start_time() = TimestampMessage(iteration_pattern.first);
  *out.mutable_end_time() = TimestampMessage(iteration_pattern.last);
  for (const CollectiveMember& member : iteration_pattern.members) {
    v1::IterationPatternMember& one = *out.add_members();
    one.set_address(ToString(member.address));
    one.set_host(member.host);
    one.set_device(member.device);
  }
  for (const Collective& collective : iteration_pattern.collectives) {
    v1::Collective& one = *out.add_collectives();
    one.set_kind(MessageOf(collective.kind));
    if (collective.alternative) {
      one.set_alternative(MessageOf(*collective.alternative));
    }
    one.set_confidence(collective.confidence);
    for (const std::vector<uint32_t>& group : collective.groups) {
      v1::Group& members = *one.add_groups();
      for (const uint32_t member : group) members.add_member_indexes(member);
    }
    *one.mutable_offset() = DurationMessage(collective.offset);
    *one.mutable_duration() = DurationMessage(collective.duration);
    one.set_payload_bytes(collective.bytes);
  }
  if (!iteration_pattern.straggler) return;
  v1::Straggler& waited = *out.mutable_straggler();
  waited.set_member_index(iteration_pattern.straggler->member);
  *waited.mutable_delay() = DurationMessage(iteration_pattern.straggler->lateness);
  waited.set_late_iteration_count(iteration_pattern.straggler->iterations);
  waited.set_total_iteration_count(iteration_pattern.straggler->of);
  *waited.mutable_start_time() = TimestampMessage(iteration_pattern.straggler->from);
  *waited.mutable_end_time() = TimestampMessage(iteration_pattern.straggler->until);
  waited.set_confidence(iteration_pattern.straggler->confidence);
}

void AppendIterationPattern(const v1::IterationPattern& iteration_pattern, std::string& text) {
  text += fmt::format(
      "\n"
      "  iteration period {}, {} observed; similarity {:.2f} (1: identical "
      "iterations)\n",
      HumanDuration(Nanoseconds(iteration_pattern.period())),
      Counted(iteration_pattern.iteration_count(), "complete iteration"),
      iteration_pattern.strength());
  TextTable steps({{"STEP", Align::kRight},
                   {"COLLECTIVE"},
                   {"PARTICIPANTS"},
                   {"START", Align::kRight},
                   {"DURATION", Align::kRight},
                   {"BYTES", Align::kRight},
                   {"CONFIDENCE", Align::kRight}});
  for (int i = 0; i < std::min(iteration_pattern.collectives_size(), kMaxRows); ++i) {
    const v1::Collective& step = iteration_pattern.collectives(i);
    std::string kind = WordOf(step.kind());
    if (step.alternative() != v1::Collective::KIND_UNSPECIFIED) {
      kind += " or " + WordOf(step.alternative());
    }
    steps.Add({std::to_string(i + 1), kind, GroupsText(step),
               "+" + HumanDuration(Nanoseconds(step.offset())),
               HumanDuration(Nanoseconds(step.duration())), HumanBytes(step.payload_bytes()),
               ConfidenceText(step.confidence())});
  }
  if (!steps.empty()) text += "\n" + steps.Deferred(2);
  AppendMore(iteration_pattern.collectives_size(), "step", text);
  if (!iteration_pattern.has_straggler()) return;
  const v1::Straggler& waited = iteration_pattern.straggler();
  if (waited.member_index() >= static_cast<uint32_t>(iteration_pattern.members_size())) return;
  const v1::IterationPatternMember& member =
      iteration_pattern.members(static_cast<int>(waited.member_index()));
  const std::string name =
      member.device().empty() ? member.host() : member.host() + "/" + member.device();
  text += fmt::format(
      "\n  straggler: {} ({}) starts {} after the other ranks in {} of {} iterations\n",
      Visible(name), Visible(member.address()), HumanDuration(Nanoseconds(waited.delay())),
      waited.late_iteration_count(), waited.total_iteration_count());
}

}  // namespace rocescope
