// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/traffic_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "appliance/common/report/table.h"

namespace rocescope {
namespace {

// The flows about which the taps agreed in this way, and the taps that showed them.
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

// Another fabric's description explains nothing of this one.
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
  return fmt::format("the topology has no NIC with {}{}: paths from and to there are not known",
                     ToString(*unknown.begin()),
                     unknown.size() == 1
                         ? std::string()
                         : fmt::format(" and {} addresses more", unknown.size() - 1));
}

std::string NoteOnStrangers(const UnknownNodes& strangers, std::string_view what,
                            std::string_view whom) {
  if (strangers.records == 0) return {};
  return fmt::format("{} of {} that the topology does not name: {}{}",
                     Counted(strangers.records, what), whom, fmt::join(strangers.examples, ", "),
                     strangers.more ? " and others" : "");
}

}  // namespace

std::vector<std::string> NotesOnTraffic(const Snapshot& snapshot, const std::vector<Tap>& taps) {
  std::vector<std::string> notes;
  if (const auto [flows, at] = ConcernedBy(TapAgreement::kJoined, *snapshot.flows); flows > 0) {
    notes.push_back(
        fmt::format("no single tap shows all of {}: their counts are put together from {}",
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
    notes.push_back(fmt::format(
        "taps contradict each other about {} ({}): one shows fewer packets, and no gaps for the "
        "others; the one that shows most is counted",
        Counted(flows, "flow"), NamesOf(at, taps)));
  }
  const TrafficStatistics& statistics = snapshot.traffic_statistics;
  if (statistics.flows_evicted > 0) {
    notes.push_back(fmt::format("{} gave way to others in a full table: only the totals have them",
                                Counted(statistics.flows_evicted, "flow")));
  }
  if (statistics.incarnations_merged > 0) {
    notes.push_back(
        fmt::format("{} of queue pair numbers that came back are no longer counted apart",
                    Counted(statistics.incarnations_merged, "owner")));
  }
  return notes;
}

}  // namespace rocescope
