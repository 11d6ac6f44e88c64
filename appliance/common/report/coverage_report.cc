// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/coverage_report.h"

#include <fmt/format.h>

#include <string_view>

#include "appliance/common/report/table.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

struct Row {
  std::string_view name;  // the limited resource and the count
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

// Name, meaning and source of each count are defined only here. Each meaning follows a number in
// the text.
constexpr Row kRows[] = {
    {"flows.evicted",
     "flows were evicted from the full flow table; their later packets are counted as new flows",
     [](const ReplayFindings& f) { return Flows(f).flows_evicted; }},
    {"flows.late_packets",
     "packets arrived after the end of their interval and are counted in a later one",
     [](const ReplayFindings& f) { return Flows(f).late_packets; }},
    {"flows.observations_capped",
     "packet observations were skipped because the per-packet budget was exceeded",
     [](const ReplayFindings& f) { return Flows(f).observations_capped; }},
    {"lcore.records_dropped", "records were dropped because the analysis was too slow",
     [](const ReplayFindings& f) { return f.lcores.records_dropped; }},
    {"telemetry.untracked",
     "INT or sFlow datagrams came from too many senders to track their losses",
     [](const ReplayFindings& f) { return f.dataplane.counters.telemetry.untracked; }},
    {"traffic.evicted", "flows are included in the totals only because the flow table was full",
     [](const ReplayFindings& f) { return Traffic(f).flows_evicted; }},
    {"traffic.late_records", "flow records arrived late and are counted for their own tap only",
     [](const ReplayFindings& f) { return Traffic(f).late_records; }},
    {"traffic.incarnations_merged",
     "owners of reused queue pair numbers are counted together with their successors",
     [](const ReplayFindings& f) { return Traffic(f).incarnations_merged; }},
    {"connections.flows_refused",
     "packets and records were ignored because there were too many flows, in all or for one host "
     "pair",
     [](const ReplayFindings& f) { return Connections(f).flows_refused; }},
    {"connections.requests_evicted",
     "unanswered requests were evicted from a full table, so that there is less psn_echo evidence",
     [](const ReplayFindings& f) { return Connections(f).requests_evicted; }},
    {"connections.responses_tied",
     "responses were ambiguous: their PSN was outstanding on too many flows",
     [](const ReplayFindings& f) { return Connections(f).responses_tied; }},
    {"connections.candidates_dropped", "peer candidates were evicted by more likely ones",
     [](const ReplayFindings& f) { return Connections(f).candidates_dropped; }},
    {"connections.grants_dropped", "clear-to-send messages were overwritten before they were used",
     [](const ReplayFindings& f) { return Connections(f).grants_dropped; }},
    {"connections.grants_ambiguous", "WRITEs used buffers that several flows had advertised",
     [](const ReplayFindings& f) { return Connections(f).grants_ambiguous; }},
    {"connections.restarts_ignored",
     "restarts of a queue pair were counted as gaps or as known restarts",
     [](const ReplayFindings& f) { return Connections(f).restarts_ignored; }},
    {"connections.management_unmatched", "CM messages had no counterpart",
     [](const ReplayFindings& f) { return Connections(f).management_unmatched; }},
    {"connections.closed_dropped", "closed connections are not listed because there were too many",
     [](const ReplayFindings& f) { return Connections(f).closed_dropped; }},
    {"connections.flows_evicted",
     "evictions of idle flows, which are not listed until they send again",
     [](const ReplayFindings& f) { return Connections(f).flows_evicted; }},
    {"connections.flows_expired", "idle flows expired and are not listed",
     [](const ReplayFindings& f) { return Connections(f).flows_expired; }},
    {"connections.known_refused",
     "queue pair entries of dumps and logs were ignored: too many in all or for one number",
     [](const ReplayFindings& f) { return Connections(f).known_refused; }},
    {"connections.known_ambiguous",
     "queue pair entries of dumps and logs matched several segments and were ignored",
     [](const ReplayFindings& f) { return Connections(f).known_ambiguous; }},
    {"paths.flows_refused",
     "records belong to flows without path tracking because there were too many flows",
     [](const ReplayFindings& f) { return f.snapshot.path_statistics.flows_refused; }},
    {"paths.flows_evicted", "paths of idle flows were evicted and are not listed",
     [](const ReplayFindings& f) { return f.snapshot.path_statistics.flows_evicted; }},
    {"paths.stretches_dropped",
     "path segments of flows with very frequent path changes were dropped",
     [](const ReplayFindings& f) { return f.snapshot.path_statistics.stretches_dropped; }},
    {"delays.impossible", "packets have impossible timestamps and give no delay",
     [](const ReplayFindings& f) { return f.snapshot.impossible_delays; }},
    {"delays.places_refused",
     "packet delays were ignored: too many places, or too many flows of CNPs or ACKs",
     [](const ReplayFindings& f) { return f.snapshot.refused.delays; }},
    {"losses.flows_refused",
     "records of lost packets were ignored because too many flows had losses",
     [](const ReplayFindings& f) { return f.snapshot.refused.losses; }},
    {"marks.flows_refused",
     "records of CE-marked packets were ignored because there were too many flows",
     [](const ReplayFindings& f) { return f.snapshot.refused.marks; }},
    {"marks.flows_evicted", "flows with old CE marks were evicted by flows with recent ones",
     [](const ReplayFindings& f) { return f.snapshot.refused.marks_evicted; }},
    {"queues.refused", "INT reports were ignored because there were too many queues",
     [](const ReplayFindings& f) { return f.snapshot.refused.queues; }},
    {"counters.entities_refused",
     "counter values were ignored because there are too many ports and devices",
     [](const ReplayFindings& f) { return f.snapshot.refused.metrics.entities_refused; }},
    {"counters.series_refused",
     "counter values were ignored because there are too many counter series",
     [](const ReplayFindings& f) { return f.snapshot.refused.metrics.series_refused; }},
    {"counters.unknown_entities",
     "counter values are for ports and devices that are not in the topology",
     [](const ReplayFindings& f) { return f.snapshot.refused.metrics.unknown_entities; }},
    {"counters.told_twice",
     "sFlow counter values were ignored: another source reports them with better timestamps",
     [](const ReplayFindings& f) { return f.snapshot.refused.metrics.told_twice; }},
    {"cabling.flows_refused",
     "flow records were not used to verify cabling because there were too many flows",
     [](const ReplayFindings& f) {
       return f.snapshot.cabling ? f.snapshot.cabling->flows_refused : 0;
     }},
    {"cabling.flows_evicted", "idle flows were evicted from the cabling check",
     [](const ReplayFindings& f) {
       return f.snapshot.cabling ? f.snapshot.cabling->flows_evicted : 0;
     }},
};

}  // namespace

void FillCoverage(const ReplayFindings& findings, v1::Coverage& out) {
  for (const MirrorStream& stream : findings.dataplane.mirrors) {
    v1::MirrorCoverage& mirror = *out.add_mirrors();
    mirror.set_switch_address(ToString(stream.source));
    mirror.set_session_id(stream.session);
    mirror.set_frames(stream.frames);
    mirror.set_lost_frames(stream.lost);
  }
  const FlowTable::Statistics& flows = Flows(findings);
  out.set_late_packets(flows.late_packets);
  out.set_evicted_flow_count(flows.flows_evicted);
  out.set_capped_observation_count(flows.observations_capped);
  out.set_observation_exponent(findings.snapshot.largest_observation_exponent);
  out.set_longest_truncated_frame_bytes(findings.dataplane.counters.cut_at);
  for (const Row& row : kRows) {
    v1::CoverageCount& count = *out.add_counts();
    count.set_name(std::string(row.name));
    count.set_count(row.count(findings));
    count.set_meaning(std::string(row.meaning));
  }
}

void AppendCoverage(const v1::Coverage& coverage, std::string& text) {
  for (const v1::MirrorCoverage& mirror : coverage.mirrors()) {
    if (mirror.lost_frames() == 0) continue;
    text += fmt::format("  mirror session {} of {} lost {} {} between switch and collector\n",
                        mirror.session_id(), mirror.switch_address(),
                        WithThousands(mirror.lost_frames()),
                        mirror.lost_frames() == 1 ? "copy" : "copies");
  }
  for (const v1::CoverageCount& row : coverage.counts()) {
    if (row.count() == 0) continue;
    text += fmt::format("  {:>12}  {}\n", WithThousands(row.count()), row.meaning());
  }
  if (coverage.observation_exponent() > 0) {
    text += fmt::format("  packet observations were sampled, at worst 1 in {}\n",
                        WithThousands(uint64_t{1} << coverage.observation_exponent()));
  }
}

}  // namespace rocescope
