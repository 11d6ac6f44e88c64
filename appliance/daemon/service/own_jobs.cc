// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/own_jobs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "appliance/api/message_value.h"
#include "appliance/common/report/finding_sentence.h"
#include "appliance/daemon/core/node_names.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/service.pb.h"

namespace rocescope {
namespace {

using topology::kNone;

// In sentences, in place of the name of a host.
constexpr const char* kElsewhere = "at a host of other jobs";

std::string_view NodeOf(std::string_view place) { return place.substr(0, place.find(':')); }

// Latest time that the finding is about.
Timestamp LastTimeOf(const v1::Finding& finding) {
  return finding.has_end_time() ? TimeOf(finding.end_time()) : kLatestTime;
}

}  // namespace

OwnJobs::OwnJobs(const Caller& caller, const topology::Fabric* fabric, const NodeNames& names)
    : caller_(caller),
      fabric_(fabric),
      node_names_(names),
      names_(std::make_unique<v1::ReplayReport>()) {}
OwnJobs::OwnJobs(OwnJobs&&) noexcept = default;
OwnJobs::~OwnJobs() = default;

bool OwnJobs::Add(const std::string& id, const v1::Allocation* allocation,
                  std::optional<size_t> index) {
  if (AreAll()) return true;
  if (allocation == nullptr || !caller_.IsUser(allocation->user())) return false;
  ids_.insert(id);
  if (index) indexes_.insert(*index);
  v1::Job& named = *names_->add_jobs();
  named.set_job_id(id);
  *named.mutable_allocation() = *allocation;
  return true;
}

void OwnJobs::AddHost(const std::string& host) {
  if (fabric_ == nullptr) return;
  const topology::NodeIndex node = fabric_->FindNode(host);
  if (node != kNone) {
    hosts_.insert(node);
    return;
  }
  const std::vector<topology::NodeIndex> found = node_names_.Find(host);
  if (found.size() == 1) hosts_.insert(found.front());
}

std::optional<Timestamp> OwnJobs::StartOf(std::string_view id) const {
  const auto at = starts_.find(id);
  if (at == starts_.end()) return std::nullopt;
  return at->second;
}

bool OwnJobs::HadId(std::string_view job_id, Timestamp last) const {
  // With an unknown start, only what is current concerns the own job for certain.
  return HasId(job_id) && StartOf(job_id).value_or(kLatestTime) <= last;
}

bool OwnJobs::IsAffectedBy(const v1::Finding& finding) const {
  return IsAffectedBy(finding, LastTimeOf(finding));
}

bool OwnJobs::IsAffectedBy(const v1::Finding& finding, Timestamp last) const {
  return AreAll() || std::ranges::any_of(finding.affected_job_ids(),
                                         [&](const std::string& id) { return HadId(id, last); });
}

bool OwnJobs::HasPath(const FlowPath& path) const {
  const auto is_own = [&](topology::NicIndex nic) {
    return nic == kNone || (fabric_ != nullptr && hosts_.contains(fabric_->nic(nic).host));
  };
  return AreAll() || (is_own(path.source) && is_own(path.destination));
}

bool OwnJobs::IsNodeNamed(std::string_view node) const {
  const topology::NodeIndex index = fabric_->FindNode(node);
  return index != kNone && (fabric_->node(index).IsSwitch() || hosts_.contains(index));
}

bool OwnJobs::MayName(std::string_view place) const {
  if (AreAll() || place.empty()) return true;
  if (fabric_ == nullptr) return false;
  const auto is_port = [&](std::string_view text) {
    return text.find(':') != std::string_view::npos && fabric_->FindNode(NodeOf(text)) != kNone;
  };
  // A link NODE:PORT-NODE:PORT. Names may contain hyphens.
  for (size_t at = place.find('-'); at != std::string_view::npos; at = place.find('-', at + 1)) {
    const std::string_view a = place.substr(0, at);
    const std::string_view b = place.substr(at + 1);
    if (is_port(a) && is_port(b)) return IsNodeNamed(NodeOf(a)) && IsNodeNamed(NodeOf(b));
  }
  return IsNodeNamed(NodeOf(place));
}

void OwnJobs::Restrict(v1::Finding& finding) const { Restrict(finding, LastTimeOf(finding)); }

void OwnJobs::Restrict(v1::Finding& finding, Timestamp last) const {
  if (AreAll()) return;
  const v1::Finding whole = std::exchange(finding, {});
  finding.set_kind(whole.kind());
  finding.set_confidence(whole.confidence());
  finding.set_uncalibrated_confidence(whole.uncalibrated_confidence());
  finding.set_detector(whole.detector());
  finding.set_severity(whole.severity());
  finding.set_persistence(whole.persistence());
  finding.set_active_count(whole.active_count());
  finding.set_recommended_action(whole.recommended_action());  // depends on the kind only
  if (whole.has_start_time()) *finding.mutable_start_time() = whole.start_time();
  if (whole.has_end_time()) *finding.mutable_end_time() = whole.end_time();
  if (whole.has_detection_time()) *finding.mutable_detection_time() = whole.detection_time();
  for (const std::string& id : whole.affected_job_ids()) {
    if (HadId(id, last)) finding.add_affected_job_ids(id);
  }
  for (const std::string& id : whole.exposed_job_ids()) {
    if (HadId(id, last)) finding.add_exposed_job_ids(id);
  }
  for (const v1::Culprit& culprit : whole.culprits()) {
    if (HadId(culprit.job_id(), last)) *finding.add_culprits() = culprit;
  }
  const auto is_known = [&](const v1::Suspect& suspect) {
    return MayName(suspect.place()) && MayName(suspect.direction());
  };
  for (const v1::Suspect& suspect : whole.alternatives()) {
    if (is_known(suspect)) *finding.add_alternatives() = suspect;
  }
  for (const v1::Suspect& suspect : whole.symptoms()) {
    if (is_known(suspect)) *finding.add_symptoms() = suspect;
  }
  if (std::ranges::all_of(whole.loop_ports(), [&](const auto& port) { return MayName(port); })) {
    *finding.mutable_loop_ports() = whole.loop_ports();
  }
  const bool may_name_place = MayName(whole.place()) && MayName(whole.direction());
  finding.set_place(may_name_place ? whole.place() : kElsewhere);
  if (may_name_place) finding.set_direction(whole.direction());
  finding.set_sentence(SentenceOf(*names_, finding));
  if (!may_name_place) finding.clear_place();
}

void OwnJobs::Restrict(v1::Hotspot& hotspot) const {
  if (AreAll()) return;
  const v1::Hotspot whole = std::exchange(hotspot, {});
  if (MayName(whole.port())) hotspot.set_port(whole.port());
  if (whole.has_priority()) hotspot.set_priority(whole.priority());
  if (whole.has_start_time()) *hotspot.mutable_start_time() = whole.start_time();
  if (whole.has_end_time()) *hotspot.mutable_end_time() = whole.end_time();
  if (whole.has_peak_queue_bytes()) hotspot.set_peak_queue_bytes(whole.peak_queue_bytes());
  hotspot.set_ce_marked_packets(whole.ce_marked_packets());
  hotspot.set_dropped_packets(whole.dropped_packets());
  if (whole.has_paused_duration()) *hotspot.mutable_paused_duration() = whole.paused_duration();
  hotspot.set_source(whole.source());
  hotspot.set_cause(whole.cause());
  for (const v1::Culprit& culprit : whole.culprits()) {
    if (HasId(culprit.job_id())) *hotspot.add_culprits() = culprit;
  }
  for (const v1::LostTime& lost : whole.lost_times()) {
    if (HasId(lost.job_id())) *hotspot.add_lost_times() = lost;
  }
}

void OwnJobs::Restrict(v1::FlowPath& path) const {
  if (AreAll()) return;
  for (v1::PathInterval& interval : *path.mutable_intervals()) {
    if (!MayName(interval.change_place())) interval.clear_change_place();
  }
}

void OwnJobs::Restrict(v1::DiagnosisCoverage& coverage) const {
  if (AreAll()) return;
  const v1::DiagnosisCoverage whole = std::exchange(coverage, {});
  coverage.set_window_count(whole.window_count());
  coverage.set_earlier_window_count(whole.earlier_window_count());
  if (whole.has_window_duration()) *coverage.mutable_window_duration() = whole.window_duration();
  *coverage.mutable_undetectable_kinds() = whole.undetectable_kinds();
  coverage.set_obstacle(whole.obstacle());
  coverage.set_readings(whole.readings());
  if (whole.has_polling_interval()) *coverage.mutable_polling_interval() = whole.polling_interval();
  coverage.set_dropped_records_note(whole.dropped_records_note());
  coverage.set_topology_has_no_links(whole.topology_has_no_links());
}

void OwnJobs::Restrict(v1::Health& health) const {
  if (AreAll()) return;
  health.clear_problems();  // they name hosts, exporters and files
  health.clear_external_problems();
}

void OwnJobs::Restrict(v1::Job& job) const {
  if (AreAll()) return;
  job.clear_notes();  // notes about contradictory logs can name other jobs
}

void OwnJobs::Restrict(const google::protobuf::RepeatedPtrField<v1::Finding>& findings,
                       v1::JobSummary& job) const {
  if (AreAll()) return;
  job.clear_finding_sentences();
  if (!HasId(job.job_id())) return;
  for (const v1::Finding& finding : findings) {
    const auto& affected = finding.affected_job_ids();
    if (finding.has_end_time() || std::ranges::find(affected, job.job_id()) == affected.end()) {
      continue;
    }
    v1::Finding own = finding;
    Restrict(own);
    job.add_finding_sentences(own.sentence());
  }
}

bool OwnJobs::Restrict(v1::Event& event) const {
  if (AreAll()) return true;
  switch (event.kind()) {
    case v1::Event::KIND_SNAPSHOT:
    case v1::Event::KIND_GAP:
      return true;
    case v1::Event::KIND_FAULT_STARTED:
    case v1::Event::KIND_FAULT_RESOLVED:
    case v1::Event::KIND_FAULT_WITHDRAWN:
      return RestrictFault(TimeOf(event.event_time()), event);
    case v1::Event::KIND_FAULT_ACTIVE:  // a finding of the current snapshot
      return RestrictFault(kLatestTime, event);
    default:
      return false;
  }
}

bool OwnJobs::RestrictFault(Timestamp reported, v1::Event& event) const {
  const Timestamp last = std::min(reported, LastTimeOf(event.finding()));
  if (!IsAffectedBy(event.finding(), last)) return false;
  Restrict(*event.mutable_finding(), last);
  event.set_sentence(event.finding().sentence());
  return true;
}

}  // namespace rocescope
