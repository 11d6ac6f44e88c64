// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <string>

#include "appliance/report/job_report.h"
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

std::string WhereOf(const v1::Finding& finding) {
  if (finding.direction().empty()) return finding.place();
  return fmt::format("{} (what {} sends)", finding.place(), finding.direction());
}

}  // namespace

void FillFindings(const Snapshot& snapshot, v1::ReplayReport& report) {
  if (!snapshot.fabric) return;
  const topology::Fabric& fabric = *snapshot.fabric;
  for (const Finding& finding : *snapshot.findings) {
    const FindingInfo& info = InfoOf(finding.kind);
    v1::Finding& out = *report.add_findings();
    out.set_kind(std::string(info.name));
    out.set_place(NameOf(fabric, finding.place));
    if (finding.place.sender != topology::kNone) {
      out.set_direction(fabric.NameOf(finding.place.sender));
    }
    out.set_confidence(finding.confidence);
    out.set_from_ns(ToNanoseconds(finding.from));
    if (finding.until) out.set_until_ns(ToNanoseconds(*finding.until));
    out.set_verdict_ns(ToNanoseconds(finding.verdict));
    out.set_sentence(fmt::format("{} {}", WhereOf(out), info.sentence));
    out.set_remedy(std::string(info.remedy));
    for (const std::string& sentence : finding.evidence) out.add_evidence(sentence);
    for (const Suspect& rival : finding.rivals) FillSuspect(fabric, rival, *out.add_rivals());
    for (const std::string& sentence : finding.further) out.add_further(sentence);
    for (const FlowKey& flow : finding.culprits) {
      v1::Culprit& culprit = *out.add_culprits();
      culprit.set_source(ToString(flow.source));
      culprit.set_destination(ToString(flow.destination));
      culprit.set_destination_qpn(flow.destination_qpn.value);
      culprit.set_rank(-1);
    }
    for (const uint32_t job : finding.victims) {
      out.add_victims(snapshot.attribution->jobs[job].job.id);
    }
    for (const topology::PortIndex port : finding.loop) out.add_loop_ports(fabric.NameOf(port));
    for (const Suspect& symptom : finding.symptoms) {
      FillSuspect(fabric, symptom, *out.add_symptoms());
    }
  }
}

}  // namespace rocescope
