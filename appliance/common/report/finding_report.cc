// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "analytics/dependency/dependency_graph.h"
#include "appliance/api/message_value.h"
#include "appliance/common/report/culprit_report.h"
#include "appliance/common/report/dependency_report.h"
#include "appliance/common/report/finding_sentence.h"
#include "appliance/common/report/job_report.h"
#include "base/count_text.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

void FillSuspect(const topology::Fabric& fabric, const Suspect& suspect, v1::Suspect& out) {
  out.set_kind(std::string(InfoOf(suspect.kind).name));
  out.set_place(NameOf(fabric, suspect.place));
  if (suspect.place.sender != topology::kNone)
    out.set_direction(fabric.NameOf(suspect.place.sender));
  out.set_probability(suspect.probability);
}

Element ElementAt(const Place& place) {
  switch (place.kind) {
    case PlaceKind::kLink:
      return {ElementKind::kLink, place.index};
    case PlaceKind::kSwitch:
      return {ElementKind::kSwitch, place.index};
    case PlaceKind::kNic:
      return {ElementKind::kNic, place.index};
    case PlaceKind::kGpu:
      break;
  }
  return {ElementKind::kGpu, place.index};
}

// What is wrong with the counters of the first port.
std::string ReasonOf(const UnusableCounters& unusable) {
  switch (unusable.defect) {
    case CounterDefect::kShortFrames:
      return fmt::format("they give {:.3g} bytes per packet, so the bytes have a wrong unit",
                         unusable.value);
    case CounterDefect::kLongFrames:
      return fmt::format("they give {:.3g} bytes per packet, so packets or bytes have a wrong unit",
                         unusable.value);
    case CounterDefect::kRounded:
      return fmt::format("they are rounded to multiples of {}",
                         WithThousands(static_cast<uint64_t>(unusable.value)));
    case CounterDefect::kFalls:
      return fmt::format("they decrease in {:.0f} % of the readings, so they are not totals",
                         100 * unusable.value);
    case CounterDefect::kSurplus:
      return "one end of the link received more packets than the other end sent";
    case CounterDefect::kBytesAgree:
      return "the two ends of the link count different numbers of packets, but the same bytes";
    case CounterDefect::kMostMismatch:
      return "most links of this kind seem to lose packets, so the devices count differently";
  }
  return {};
}

void FillDiagnosisCoverage(const Snapshot& snapshot, v1::DiagnosisCoverage& out) {
  const DiagnosisCoverage& coverage = *snapshot.diagnosis_coverage;
  out.set_window_count(coverage.windows);
  *out.mutable_window_duration() = DurationMessage(coverage.window);
  out.set_reporting_switch_count(coverage.switches);
  out.set_reporting_nic_count(coverage.nics);
  out.set_reporting_gpu_count(coverage.gpus);
  out.set_flow_count(coverage.flows);
  out.set_total_switch_count(coverage.switches_of);
  out.set_total_nic_count(coverage.nics_of);
  out.set_total_gpu_count(coverage.gpus_of);
  for (const Silence& silence : coverage.silences) {
    v1::Silence& one = *out.add_silences();
    one.set_node(snapshot.fabric->node(silence.node).name);
    one.set_window_count(silence.windows);
  }
  const Hindrance& hindrance = coverage.hindrance;
  out.set_obstacle(EnumOf<v1::DiagnosisCoverage::Obstacle>(
      kObstacleNames[static_cast<size_t>(hindrance.obstacle)]));
  out.set_readings(EnumOf<v1::DiagnosisCoverage::Readings>(
      kReadingClassNames[static_cast<size_t>(hindrance.readings)]));
  out.set_address_count(hindrance.addresses);
  out.set_known_address_count(hindrance.addresses_known);
  out.set_confirmed_link_count(hindrance.links_confirmed);
  out.set_contradicted_link_count(hindrance.links_contradicted);
  if (hindrance.reading_period > Duration(0)) {
    *out.mutable_polling_interval() = DurationMessage(hindrance.reading_period);
  }
  out.set_earlier_window_count(coverage.windows_before);
  out.set_topology_has_no_links(coverage.links == 0);
  for (const FaultKind kind : coverage.not_seen) {
    out.add_undetectable_kinds(std::string(InfoOf(kind).name));
  }
  for (const BlindSpot& spot : coverage.blind_spots) {
    v1::DiagnosisCoverage::BlindSpot& one = *out.add_blind_spots();
    one.set_kind(std::string(InfoOf(spot.kind).name));
    for (const topology::NodeIndex node : spot.switches)
      one.add_switches(snapshot.fabric->node(node).name);
  }
  for (const UnusableCounters& unusable : coverage.unusable_counters) {
    v1::DiagnosisCoverage::UnusableCounters& one = *out.add_unusable_counters();
    one.set_reason(ReasonOf(unusable));
    for (const topology::PortIndex port : unusable.ports) {
      one.add_ports(snapshot.fabric->NameOf(port));
    }
  }
}

v1::Finding::Persistence PersistenceOf(const Finding& finding) {
  if (finding.times > 1) return v1::Finding::PERSISTENCE_RECURRING;
  return finding.until ? v1::Finding::PERSISTENCE_SINGLE : v1::Finding::PERSISTENCE_PERMANENT;
}

// Whether a fault of this kind takes its place out of service.
bool IsOutage(FaultKind kind) {
  switch (kind) {
    case FaultKind::kLinkDown:
    case FaultKind::kSwitchCrash:
    case FaultKind::kNicCrash:
    case FaultKind::kBlackhole:
    case FaultKind::kPfcDeadlock:
    case FaultKind::kPfcStorm:
      return true;
    default:
      return false;
  }
}

v1::Finding::Severity SeverityOf(const Finding& finding) {
  constexpr double kCertain = 0.8;
  if (IsSuspected(finding)) return v1::Finding::SEVERITY_INFO;
  const bool is_serious = !finding.affected_jobs.empty() || IsOutage(finding.kind);
  return is_serious && finding.confidence >= kCertain ? v1::Finding::SEVERITY_CRITICAL
                                                      : v1::Finding::SEVERITY_WARNING;
}

std::string ActionFor(const FaultInfo& info, v1::Finding::Persistence persistence) {
  if (info.is_misconfiguration || persistence == v1::Finding::PERSISTENCE_PERMANENT) {
    return std::string(info.action);
  }
  const bool recurs = persistence == v1::Finding::PERSISTENCE_RECURRING;
  return fmt::format("{}: {}", recurs ? "schedule a repair" : "observe; if it recurs", info.action);
}

}  // namespace

void FillFinding(const Snapshot& snapshot, const Finding& finding, v1::Finding& out) {
  const topology::Fabric& fabric = *snapshot.fabric;
  out.set_kind(std::string(InfoOf(finding.kind).name));
  out.set_place(NameOf(fabric, finding.place));
  if (finding.place.sender != topology::kNone) {
    out.set_direction(fabric.NameOf(finding.place.sender));
  }
  out.set_detector(std::string(finding.detector));
  out.set_confidence(finding.confidence);
  out.set_uncalibrated_confidence(finding.uncalibrated);
  out.set_severity(SeverityOf(finding));
  *out.mutable_start_time() = TimestampMessage(finding.from);
  if (finding.until) *out.mutable_end_time() = TimestampMessage(*finding.until);
  *out.mutable_detection_time() = TimestampMessage(finding.detected_at);
  const v1::Finding::Persistence persistence = PersistenceOf(finding);
  out.set_persistence(persistence);
  out.set_active_count(finding.times);
  out.set_recommended_action(ActionFor(InfoOf(finding.kind), persistence));
  for (const std::string& sentence : finding.evidence) out.add_evidence(sentence);
  for (const Suspect& rival : finding.alternatives)
    FillSuspect(fabric, rival, *out.add_alternatives());
  for (const std::string& sentence : finding.further) out.add_missing_telemetry(sentence);
  for (const uint32_t job : finding.affected_jobs) {
    out.add_affected_job_ids(snapshot.attribution->jobs[job].job.id);
  }
  for (const uint32_t job : finding.exposed_jobs) {
    out.add_exposed_job_ids(snapshot.attribution->jobs[job].job.id);
  }
  for (const topology::PortIndex port : finding.loop) out.add_loop_ports(fabric.NameOf(port));
  for (const Suspect& symptom : finding.symptoms) {
    FillSuspect(fabric, symptom, *out.add_symptoms());
  }
}

void FillFindings(const Snapshot& snapshot, v1::ReplayReport& report) {
  if (!snapshot.fabric) return;
  FillDiagnosisCoverage(snapshot, *report.mutable_diagnosis_coverage());
  std::optional<FlowSenders> senders;
  std::optional<DependencyGraph> graph;
  for (const Finding& finding : *snapshot.findings) {
    v1::Finding& out =
        IsSuspected(finding) ? *report.add_suspected_findings() : *report.add_findings();
    FillFinding(snapshot, finding, out);
    if (!finding.culprits.empty() && !senders) senders.emplace(snapshot);
    for (const FlowKey& flow : finding.culprits) senders->Fill(flow, *out.add_culprits());
    if (!graph) {
      graph.emplace(*snapshot.fabric, *snapshot.attribution, *snapshot.connections,
                    *snapshot.paths);
    }
    const std::vector<Element> radius = graph->BlastRadiusOf(ElementAt(finding.place));
    FillReach(graph->ReachOf(radius), *out.mutable_reach());
    std::vector<std::string> dependent_job_ids;
    for (const Element& element : radius) {
      if (element.kind != ElementKind::kJob) continue;
      dependent_job_ids.push_back(snapshot.attribution->jobs[element.index].job.id);
    }
    out.set_sentence(SentenceOf(report, out, dependent_job_ids));
  }
}

}  // namespace rocescope
