// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/report/unseen_faults.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "analytics/diagnosis/finding_kind.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

constexpr size_t kWidth = 98;

// What a kind takes to be found (analytics/diagnosis/coverage.cc), in the words of those who can
// provide it.
constexpr std::string_view kEitherEnd = "counters of switches or of NICs";
constexpr std::string_view kSwitches = "counters of switches";
constexpr std::string_view kPauses = "counters of PFC, of switches or of NICs";
constexpr std::string_view kQueues = "counters of switches, with how full queues and buffers are";
constexpr std::string_view kNics = "counters of NICs, with the ways of flows (mirrors, INT, sFlow)";
constexpr std::string_view kWays = "the ways of flows (mirrors, INT, sFlow), with counters";
constexpr std::string_view kTraffic = "mirrored packets, with counters of switches";
constexpr std::string_view kPlaces = "mirrors of several switches, with counters";
constexpr std::string_view kCopies = "mirrors of several switches, or counters of both ends";
constexpr std::string_view kGpus = "counters of GPUs, or mirrors of several iterations";

struct Unseen {
  FindingKind kind;
  std::string_view takes;
  std::string_view name;  // of several such faults
};

using enum FindingKind;

constexpr std::array<Unseen, kFindingKinds> kUnseen = {{
    {kLinkDown, kEitherEnd, "links that are down"},
    {kFlap, kEitherEnd, "links that flap"},
    {kDegradedRate, kEitherEnd, "links at a lower speed"},
    {kBitErrors, kEitherEnd, "bit errors"},
    {kSwitchCrash, kEitherEnd, "switches that are gone"},
    {kNicCrash, kEitherEnd, "NICs that are gone"},
    {kSlowReceiver, kPauses, "receivers that pause"},
    {kPfcStorm, kPauses, "PFC storms"},
    {kPfcDeadlock, kPauses, "PFC deadlocks"},
    {kGrayLoss, kSwitches, "links that lose packets silently"},
    {kBlackhole, kQueues, "destinations forwarded to nowhere"},
    {kLostCnps, kQueues, "lost congestion notifications"},
    {kMtuMismatch, kSwitches, "a wrong MTU"},
    {kMisconfiguredEcn, kQueues, "wrong ECN thresholds"},
    {kMisconfiguredAlpha, kQueues, "wrong buffer thresholds"},
    {kIncast, kTraffic, "incast"},
    {kNoisyNeighbour, kTraffic, "noisy neighbours"},
    {kCorruption, kNics, "switches that damage packets"},
    {kPolarisation, kWays, "hashes that spread too little"},
    {kAddedLatency, kPlaces, "links that take longer"},
    {kDeprioritisedCnps, kPlaces, "congestion notifications behind data"},
    {kSwappedCables, kCopies, "swapped cables"},
    {kStraggler, kGpus, "GPUs that are slower than their peers"},
}};

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
  for (const Unseen& unseen : kUnseen) {
    const std::string_view kind = InfoOf(unseen.kind).name;
    if (std::ranges::find(coverage.not_seen(), kind) == coverage.not_seen().end()) continue;
    auto group = std::ranges::find(groups, unseen.takes, &Group::takes);
    if (group == groups.end()) group = groups.insert(group, {unseen.takes, {}});
    group->names.push_back(unseen.name);
  }
  std::string text =
      "  Not looked for, as nothing at hand would show it. What would, and which faults:\n";
  for (const Group& group : groups) {
    text += Paragraph(group.takes, group.names);
  }
  return text + "\n";
}

}  // namespace rocescope
