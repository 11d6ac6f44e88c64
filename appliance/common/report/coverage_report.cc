// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/coverage_report.h"

#include <fmt/format.h>

#include <string_view>

#include "appliance/common/report/table.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

struct Row {
  std::string_view name;  // of the table, and what of it
  std::string_view meaning;
  uint64_t (*count)(const ReplayFindings&);
};

const ConnectionStatistics& Connections(const ReplayFindings& findings) {
  return findings.snapshot.connection_statistics;
}
const TrafficStatistics& Traffic(const ReplayFindings& findings) {
  return findings.snapshot.traffic_statistics;
}
const FlowTable::Statistics& Flows(const ReplayFindings& findings) {
  return findings.dataplane.flows;
}

// Name, meaning and source of each count stand here alone; the meanings follow a number in the
// text.
constexpr Row kRows[] = {
    {"flows.evicted", "flows gave way in the full flow table; their later packets count anew",
     [](const ReplayFindings& f) { return Flows(f).flows_evicted; }},
    {"flows.late_packets", "packets came after their interval had closed and count in a later one",
     [](const ReplayFindings& f) { return Flows(f).late_packets; }},
    {"flows.observations_capped", "packets were not looked at singly, beyond the budget of the moment",
     [](const ReplayFindings& f) { return Flows(f).observations_capped; }},
    {"lcore.records_dropped", "records were lost: what reads them was too slow",
     [](const ReplayFindings& f) { return f.lcores.records_dropped; }},
    {"telemetry.untracked",
     "datagrams of INT or sFlow came from senders too many to follow their losses",
     [](const ReplayFindings& f) { return f.dataplane.counters.telemetry.untracked; }},
    {"traffic.evicted", "flows are in the totals only, the table of flows was full",
     [](const ReplayFindings& f) { return Traffic(f).flows_evicted; }},
    {"traffic.late_records", "flow records came late and count for their own tap only",
     [](const ReplayFindings& f) { return Traffic(f).late_records; }},
    {"traffic.incarnations_merged",
     "owners of queue pair numbers are counted together with their successors",
     [](const ReplayFindings& f) { return Traffic(f).incarnations_merged; }},
    {"connections.flows_refused",
     "packets and records found no place: too many flows, of all or of one host pair",
     [](const ReplayFindings& f) { return Connections(f).flows_refused; }},
    {"connections.requests_evicted", "outstanding requests gave way to others: fewer PSN echoes",
     [](const ReplayFindings& f) { return Connections(f).requests_evicted; }},
    {"connections.responses_tied",
     "responses say nothing: too many flows had their PSN outstanding",
     [](const ReplayFindings& f) { return Connections(f).responses_tied; }},
    {"connections.candidates_dropped", "candidate partners gave way to better ones",
     [](const ReplayFindings& f) { return Connections(f).candidates_dropped; }},
    {"connections.grants_dropped", "clear-to-sends were overwritten before anybody used them",
     [](const ReplayFindings& f) { return Connections(f).grants_dropped; }},
    {"connections.grants_ambiguous", "WRITEs went to buffers that several flows had granted",
     [](const ReplayFindings& f) { return Connections(f).grants_ambiguous; }},
    {"connections.restarts_ignored", "signs of a restart were taken for a gap or for one known",
     [](const ReplayFindings& f) { return Connections(f).restarts_ignored; }},
    {"connections.management_unmatched", "CM messages had no counterpart",
     [](const ReplayFindings& f) { return Connections(f).management_unmatched; }},
    {"connections.closed_dropped", "closed connections are not listed, there were too many",
     [](const ReplayFindings& f) { return Connections(f).closed_dropped; }},
    {"connections.flows_evicted",
     "times that a silent flow gave way to another and is not listed until it speaks",
     [](const ReplayFindings& f) { return Connections(f).flows_evicted; }},
    {"connections.flows_expired", "flows were silent for long and are not listed",
     [](const ReplayFindings& f) { return Connections(f).flows_expired; }},
    {"connections.known_refused",
     "pairs from dumps and logs were left out, too many in all or for one number",
     [](const ReplayFindings& f) { return Connections(f).known_refused; }},
    {"connections.known_ambiguous",
     "pairs from dumps and logs fit the packets of several segments and were not used",
     [](const ReplayFindings& f) { return Connections(f).known_ambiguous; }},
    {"paths.flows_refused",
     "records are of flows of which no path is followed, there were too many",
     [](const ReplayFindings& f) { return f.snapshot.path_statistics.flows_refused; }},
    {"paths.flows_evicted", "paths of flows that were silent gave way to others and are not listed",
     [](const ReplayFindings& f) { return f.snapshot.path_statistics.flows_evicted; }},
    {"paths.stretches_dropped",
     "stretches of flows that changed their ways very often are left out",
     [](const ReplayFindings& f) { return f.snapshot.path_statistics.stretches_dropped; }},
    {"delays.impossible", "packets took longer by their stamps than any can, and say no delay",
     [](const ReplayFindings& f) { return f.snapshot.impossible_delays; }},
    {"delays.places_refused",
     "delays of packets count nowhere: too many places, or flows of CNPs or ACKs",
     [](const ReplayFindings& f) { return f.snapshot.refused.delays; }},
    {"losses.flows_refused", "records of lost packets accuse nobody: too many flows had lost some",
     [](const ReplayFindings& f) { return f.snapshot.refused.losses; }},
    {"marks.flows_refused", "records of marked packets tell of no queue: of too many flows",
     [](const ReplayFindings& f) { return f.snapshot.refused.marks; }},
    {"marks.flows_evicted", "flows that had marks long ago gave way to others that have some",
     [](const ReplayFindings& f) { return f.snapshot.refused.marks_evicted; }},
    {"queues.refused", "reports of INT tell of no queue: there were too many",
     [](const ReplayFindings& f) { return f.snapshot.refused.queues; }},
    {"counters.entities_refused",
     "counter values are of ports and devices beyond those that are followed",
     [](const ReplayFindings& f) { return f.snapshot.refused.metrics.entities_refused; }},
    {"counters.unknown_entities",
     "counter values are of ports and devices that the topology does not have",
     [](const ReplayFindings& f) { return f.snapshot.refused.metrics.unknown_entities; }},
    {"counters.told_twice",
     "counter values of sFlow agents were not used: others tell the same at better times",
     [](const ReplayFindings& f) { return f.snapshot.refused.metrics.told_twice; }},
    {"cabling.flows_refused", "records of flows say nothing of cables, there were too many flows",
     [](const ReplayFindings& f) {
       return f.snapshot.cabling ? f.snapshot.cabling->flows_refused : 0;
     }},
    {"cabling.flows_evicted", "flows that were silent gave way to others that say more of cables",
     [](const ReplayFindings& f) {
       return f.snapshot.cabling ? f.snapshot.cabling->flows_evicted : 0;
     }},
};

}  // namespace

void FillCoverage(const ReplayFindings& findings, v1::Coverage& out) {
  for (const MirrorStream& stream : findings.dataplane.mirrors) {
    v1::MirrorCoverage& mirror = *out.add_mirrors();
    mirror.set_switch_address(ToString(stream.source));
    mirror.set_session(stream.session);
    mirror.set_frames(stream.frames);
    mirror.set_lost(stream.lost);
  }
  const FlowTable::Statistics& flows = Flows(findings);
  out.set_late_packets(flows.late_packets);
  out.set_flows_evicted(flows.flows_evicted);
  out.set_observations_capped(flows.observations_capped);
  out.set_observation_exponent(findings.snapshot.largest_observation_exponent);
  out.set_cut_at(findings.dataplane.counters.cut_at);
  for (const Row& row : kRows) {
    v1::CoverageCount& count = *out.add_counts();
    count.set_name(std::string(row.name));
    count.set_count(row.count(findings));
    count.set_meaning(std::string(row.meaning));
  }
}

void AppendCoverage(const v1::Coverage& coverage, std::string& text) {
  for (const v1::MirrorCoverage& mirror : coverage.mirrors()) {
    if (mirror.lost() == 0) continue;
    text += fmt::format("  mirror session {} of {} lost {} {} on the way here\n", mirror.session(),
                        mirror.switch_address(), WithThousands(mirror.lost()),
                        mirror.lost() == 1 ? "copy" : "copies");
  }
  for (const v1::CoverageCount& row : coverage.counts()) {
    if (row.count() == 0) continue;
    text += fmt::format("  {:>12}  {}\n", WithThousands(row.count()), row.meaning());
  }
  if (coverage.observation_exponent() > 0) {
    text += fmt::format("  single packets were sampled, at the least 1 of {}\n",
                        WithThousands(uint64_t{1} << coverage.observation_exponent()));
  }
}

}  // namespace rocescope
