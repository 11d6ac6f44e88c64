// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/traffic_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "appliance/common/report/table.h"

namespace rocescope {
namespace {

// Lists the flows for which the taps agreed in this way, and these taps.
struct Concerned {
  uint64_t flows = 0;
  std::set<TapId> taps;
};

Concerned ConcernedBy(TapAgreement agreement, const FlowSummaries& flows) {
  Concerned concerned;
  for (const FlowSummary& flow : flows) {
    if (flow.agreement != agreement) continue;
    ++concerned.flows;
    for (const FlowStream& stream : flow.streams) concerned.taps.insert(stream.tap);
  }
  return concerned;
}

std::string NamesOf(const std::set<TapId>& numbers, const std::vector<Tap>& taps) {
  constexpr size_t kMaxNames = 4;
  std::string names;
  size_t named = 0;
  for (const TapId number : numbers) {
    if (named == kMaxNames) return fmt::format("{} and {} more", names, numbers.size() - named);
    names += (named++ == 0 ? "" : ", ") + taps[number].name;
  }
  return names;
}

// The notes are useless if the topology describes another fabric.
std::string NoteOnTopology(const Snapshot& snapshot) {
  if (!snapshot.fabric) return {};
  std::set<IpAddress> unknown;
  for (const FlowSummary& flow : *snapshot.flows) {
    for (const IpAddress& address : {flow.flow.source, flow.flow.destination}) {
      const topology::NicAddress nic = {.segment = flow.flow.segment, .address = address};
      if (snapshot.fabric->FindNic(nic) == topology::kNone) unknown.insert(address);
    }
  }
  if (unknown.empty()) return {};
  return fmt::format("the topology has no NIC with {}{}: paths to and from there are unknown",
                     ToString(*unknown.begin()),
                     unknown.size() == 1
                         ? std::string()
                         : fmt::format(" and {} more addresses", unknown.size() - 1));
}

std::string NoteOnStrangers(const UnknownNodes& strangers, std::string_view what,
                            std::string_view whom) {
  if (strangers.records == 0) return {};
  return fmt::format("{} of {} that the topology does not contain: {}{}",
                     Counted(strangers.records, what), whom, fmt::join(strangers.examples, ", "),
                     strangers.more ? " and others" : "");
}

}  // namespace

std::vector<std::string> NotesOnTraffic(const Snapshot& snapshot, const std::vector<Tap>& taps) {
  std::vector<std::string> notes;
  if (const auto [flows, at] = ConcernedBy(TapAgreement::kJoined, *snapshot.flows); flows > 0) {
    notes.push_back(fmt::format(
        "each tap shows only some of the packets of {}; flow counts are combined from the taps {}",
        Counted(flows, "flow"), NamesOf(at, taps)));
  }
  if (std::string note = NoteOnTopology(snapshot); !note.empty()) notes.push_back(std::move(note));
  if (snapshot.cabling) {
    for (std::string note : {NoteOnStrangers(snapshot.cabling->counters, "counter value", "nodes"),
                             NoteOnStrangers(snapshot.cabling->switches, "report",
                                             "switches (INT, sFlow, mirrors)")}) {
      if (!note.empty()) notes.push_back(std::move(note));
    }
  }
  if (const auto [flows, at] = ConcernedBy(TapAgreement::kDisagree, *snapshot.flows); flows > 0) {
    notes.push_back(
        fmt::format("taps disagree about {} ({}): one shows fewer packets without gaps for the "
                    "missing ones; the tap with the most packets is counted",
                    Counted(flows, "flow"), NamesOf(at, taps)));
  }
  const TrafficStatistics& statistics = snapshot.traffic_statistics;
  if (statistics.flows_evicted > 0) {
    notes.push_back(
        fmt::format("{} no longer listed because they were idle: only the totals include them",
                    Counted(statistics.flows_evicted, "flow")));
  }
  if (statistics.incarnations_merged > 0) {
    notes.push_back(fmt::format("{} of reused queue pair numbers are no longer counted separately",
                                Counted(statistics.incarnations_merged, "owner")));
  }
  return notes;
}

}  // namespace rocescope
