// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/score_findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "appliance/api/message_value.h"
#include "appliance/cli/score/assignment.h"
#include "appliance/cli/score/cause.h"
#include "appliance/cli/score/fabric_time.h"
#include "appliance/cli/score/place.h"
#include "appliance/cli/score/score_jobs.h"
#include "appliance/cli/score/suspicion.h"
#include "rocescope/v1/report.pb.h"
#include "rocescope/v1/score.pb.h"
#include "rocescope/v1/truth.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

constexpr std::array<std::string_view, 4> kPfcKinds = {"slow_receiver", "pfc_storm", "pfc_deadlock",
                                                       "misconfigured_alpha"};

// The best one last.
enum class Grade : uint8_t { kNone, kKind, kPlace, kAlternative, kBoth };

struct Match {
  int fault = 0;
  int finding = 0;
  Grade grade = Grade::kNone;
};

// A finding with indistinguishable alternatives answers with a set.
bool HasRightAlternative(const v1::TruthFault& fault, const v1::Finding& finding) {
  return std::ranges::any_of(finding.alternatives(), [&](const v1::Suspect& rival) {
    return rival.kind() == fault.kind() && IsRightPlace(fault, rival.place(), rival.direction());
  });
}

// How much earlier than its event a reading may seem to be. A profile reads devices at their own
// phases and with their own clocks, so that a reading is in one window with events of the next one.
int64_t ReadingError(const v1::Truth& truth, int64_t window_ns) {
  if (!truth.has_profile()) return 0;
  int64_t clock_error = 0;
  for (const v1::TruthPoller& poller : truth.profile().pollers()) {
    clock_error = std::max(clock_error, std::abs(poller.clock_offset_ns()));
  }
  return window_ns + clock_error;
}

// One direction of a connection.
using FlowKey = std::tuple<std::string, std::string, uint32_t>;

class FindingScorer {
 public:
  FindingScorer(const v1::Truth& truth, const v1::ReplayReport& report,
                std::span<const v1::Finding> reported, int64_t window_ns, v1::FindingScore& score)
      : truth_(truth),
        report_(report),
        reported_(reported),
        window_ns_(std::max<int64_t>(window_ns, 1)),
        score_(score),
        jobs_(CompareJobs(truth, report).true_job),
        reading_error_ns_(ReadingError(truth, window_ns_)),
        causes_(truth, kEarly * window_ns_ + reading_error_ns_),
        finding_of_(static_cast<size_t>(truth.faults_size()), -1),
        is_matched_(static_cast<size_t>(report.findings_size()), false) {
    for (int i = 0; i < truth.connections_size(); ++i) {
      const v1::TruthEnd& first = truth.connections(i).first();
      const v1::TruthEnd& second = truth.connections(i).second();
      connections_[{first.address(), second.address(), second.qpn()}] = i;
      connections_[{second.address(), first.address(), first.qpn()}] = i;
    }
  }

  std::vector<StatedFinding> Score() {
    const std::vector<Match> matches = FindMatches();
    Assign(matches);
    for (int i = 0; i < truth_.faults_size(); ++i) AddFault(i);
    AddRest(matches);
    AddSuspicions();
    AddVerdicts();
    AddHotspots();
    AddAnomalies();
    AddExposure();
    return std::move(stated_);
  }

 private:
  // Number of windows that a finding may start before its fault: the window in which the fault
  // starts, and the previous one, whose reading the counter's increment refers to.
  static constexpr int64_t kEarly = 2;

  bool IsStated(int finding) const { return !IsSuspicion(report_.findings(finding)); }
  int64_t EndOf(const v1::Finding& finding) const {
    return !finding.has_end_time() ? std::max(truth_.end_ns(), Nanoseconds(finding.start_time()))
                                   : Nanoseconds(finding.end_time());
  }
  // Without a detection time, use the end of the run.
  int64_t VerdictOf(const v1::Finding& finding) const {
    return !finding.has_detection_time() ? truth_.end_ns() : Nanoseconds(finding.detection_time());
  }
  bool LastsInto(const v1::Finding& finding, int64_t from_ns) const {
    return EndOf(finding) >= from_ns && Nanoseconds(finding.start_time()) <= truth_.end_ns();
  }
  // A finding can match if it starts with the fault or later and was not detected before it.
  bool MayBeOf(const v1::Finding& finding, const v1::TruthFault& fault) const {
    const int64_t start_ns = fault.start_ns() - reading_error_ns_;
    return Nanoseconds(finding.start_time()) >= start_ns - kEarly * window_ns_ &&
           VerdictOf(finding) >= start_ns && LastsInto(finding, start_ns);
  }
  // Faults that were visible by then.
  bool IsOfVisible(const v1::Finding& finding, const v1::TruthFault& fault) const {
    return fault.visible_ns() != 0 && LastsInto(finding, fault.visible_ns() - reading_error_ns_);
  }
  const v1::TruthFault& Fault(const Match& match) const { return truth_.faults(match.fault); }
  const v1::Finding& Finding(const Match& match) const { return report_.findings(match.finding); }

  FindingTime TimeOf(const v1::Finding& finding) const {
    return {.start_ns = Nanoseconds(finding.start_time()), .end_ns = EndOf(finding)};
  }
  bool IsRight(const v1::Finding& finding, const v1::TruthFault& fault) const {
    return finding.kind() == fault.kind() &&
           IsRightPlace(fault, finding.place(), finding.direction());
  }

  Grade GradeOf(int fault_number, const v1::Finding& finding) const;
  std::vector<Match> FindMatches() const;
  void Assign(const std::vector<Match>& matches);
  bool IsAssignedElsewhere(const v1::Finding& finding, int fault) const;
  int64_t FirstDetection(int fault) const;
  bool IsTooShort(const v1::TruthFault& fault) const;
  void AddFault(int number);
  void AddStatedInstead(const v1::TruthFault& fault, v1::FaultScore& out) const;
  void AddCulprits(const v1::TruthFault& fault, const v1::Finding* finding, v1::Hits& hits) const;
  void AddVictims(const v1::TruthFault& fault, const v1::Finding* finding, v1::Hits& hits) const;
  void AddRest(const std::vector<Match>& matches);
  void AddFalse(const v1::Finding& finding);
  void AddSuspicions();
  void AddVerdicts();
  void AddJudged(const v1::Finding& finding, bool is_right);
  void AddHotspots();
  void AddAnomalies();
  void AddExposure();

  const v1::Truth& truth_;
  const v1::ReplayReport& report_;
  const std::span<const v1::Finding> reported_;
  const int64_t window_ns_;
  v1::FindingScore& score_;
  const std::map<std::string, std::string> jobs_;
  const int64_t reading_error_ns_;
  CauseFinder causes_;
  std::map<FlowKey, int> connections_;
  std::vector<int> finding_of_;  // by fault; -1: none
  std::vector<StatedFinding> stated_;
  std::vector<bool> is_matched_;  // by finding: not false
};

Grade FindingScorer::GradeOf(int fault_number, const v1::Finding& finding) const {
  const v1::TruthFault& fault = truth_.faults(fault_number);
  if (IsRight(finding, fault)) return Grade::kBoth;
  if (HasRightAlternative(fault, finding)) return Grade::kAlternative;
  if (IsRightPlace(fault, finding.place(), finding.direction())) return Grade::kPlace;
  if (finding.kind() != fault.kind()) return Grade::kNone;
  // Elsewhere, and the expected effect of another fault.
  const bool is_effect = causes_.FaultBehind(finding, TimeOf(finding), fault_number) != nullptr;
  return is_effect ? Grade::kNone : Grade::kKind;
}

std::vector<Match> FindingScorer::FindMatches() const {
  std::vector<Match> matches;
  for (int f = 0; f < truth_.faults_size(); ++f) {
    for (int i = 0; i < report_.findings_size(); ++i) {
      const v1::Finding& finding = report_.findings(i);
      if (!IsStated(i) || !MayBeOf(finding, truth_.faults(f))) continue;
      const Grade grade = GradeOf(f, finding);
      if (grade != Grade::kNone) matches.push_back({.fault = f, .finding = i, .grade = grade});
    }
  }
  return matches;
}

// Weights are powers of a number above the number of faults, so that all worse matches together
// weigh less than a better one, and all confidences together less than the worst match.
void FindingScorer::Assign(const std::vector<Match>& matches) {
  const auto faults = static_cast<size_t>(truth_.faults_size());
  const auto base = static_cast<double>(faults + 2);
  std::vector<std::vector<double>> weights(
      faults, std::vector<double>(static_cast<size_t>(report_.findings_size()), 0));
  for (const Match& match : matches) {
    if (!IsOfVisible(Finding(match), Fault(match))) continue;
    const double confidence = std::clamp(Finding(match).confidence(), 0.0, 1.0);
    weights[match.fault][match.finding] =
        std::pow(base, static_cast<double>(match.grade) - 1) + confidence / base;
  }
  finding_of_ = AssignByWeight(weights);
  for (const int finding : finding_of_) {
    if (finding >= 0) is_matched_[finding] = true;
  }
}

bool IsSameElement(const v1::Finding& a, const v1::Finding& b) {
  return a.kind() == b.kind() && a.place() == b.place() && a.direction() == b.direction();
}

bool FindingScorer::IsAssignedElsewhere(const v1::Finding& finding, int fault) const {
  if (IsSameElement(finding, report_.findings(finding_of_[fault]))) return false;
  return std::ranges::any_of(finding_of_, [&](int assigned) {
    return assigned >= 0 && IsSameElement(finding, report_.findings(assigned));
  });
}

// A fault may have several findings, such as one for each episode. The operator knows of it with
// the first one that is as right as the assigned one and is not assigned to another fault.
int64_t FindingScorer::FirstDetection(int fault) const {
  const v1::Finding& assigned = report_.findings(finding_of_[fault]);
  const Grade grade = GradeOf(fault, assigned);
  int64_t first = std::numeric_limits<int64_t>::max();
  const auto take = [&](const auto& findings) {
    for (const v1::Finding& finding : findings) {
      if (VerdictOf(finding) >= first || IsSuspicion(finding)) continue;
      if (!MayBeOf(finding, truth_.faults(fault)) || !IsOfVisible(finding, truth_.faults(fault))) {
        continue;
      }
      if (GradeOf(fault, finding) < grade || IsAssignedElsewhere(finding, fault)) continue;
      first = VerdictOf(finding);
    }
  };
  if (!reported_.empty()) take(reported_);
  if (reported_.empty() || first == std::numeric_limits<int64_t>::max()) take(report_.findings());
  return first;
}

// What was reported instead: the most confident finding that matches no fault.
void FindingScorer::AddStatedInstead(const v1::TruthFault& fault, v1::FaultScore& out) const {
  double highest = -1;
  for (int i = 0; i < report_.findings_size(); ++i) {
    const v1::Finding& finding = report_.findings(i);
    if (!IsStated(i) || is_matched_[i] || finding.confidence() <= highest) continue;
    if (!LastsInto(finding, fault.visible_ns())) continue;
    highest = finding.confidence();
    out.set_stated_kind(finding.kind());
    out.set_stated_place(finding.place());
    out.set_detector(finding.detector());
  }
}

uint32_t RankOfPlace(const v1::TruthFault& fault, const v1::Finding& finding) {
  std::set<std::string> seen = {finding.place()};
  if (IsRightPlace(fault, finding.place(), finding.direction())) return 1;
  for (const v1::Suspect& rival : finding.alternatives()) {
    seen.insert(rival.place());
    if (IsRightPlace(fault, rival.place(), rival.direction())) {
      return static_cast<uint32_t>(seen.size());
    }
  }
  return 0;
}

// Whether the fault was visible for less time than each detector of its kind states that it needs.
bool FindingScorer::IsTooShort(const v1::TruthFault& fault) const {
  const auto kind = FindFaultKind(fault.kind());
  if (!kind) return false;
  const v1::DiagnosisCoverage& coverage = report_.diagnosis_coverage();
  const bool is_at_ends = coverage.readings() == v1::DiagnosisCoverage::READINGS_SIMULTANEOUS;
  const int64_t period = std::max(window_ns_, Nanoseconds(coverage.polling_interval()));
  return std::ranges::none_of(kDetectors, [&](const Detector& detector) {
    if (!detector.kinds.Contains(*kind)) return false;
    const TimeToDetection time = detector.time(*kind, Thresholds{});
    const uint32_t windows =
        is_at_ends ? time.windows : std::max(time.windows, time.interpolated_windows);
    const int64_t from =
        std::max(fault.visible_ns(), truth_.start_ns() + time.warm_up_windows * window_ns_);
    return fault.end_ns() - from >= windows * period;
  });
}

void FindingScorer::AddFault(int number) {
  const v1::TruthFault& fault = truth_.faults(number);
  v1::FaultScore& out = *score_.add_faults();
  out.set_kind(fault.kind());
  out.set_place(fault.place());
  out.set_direction(fault.direction());
  out.set_visible(fault.visible_ns() != 0);
  out.set_affected_frames(fault.affected_frames());
  out.set_detection_limit_frames(fault.detection_limit_frames());
  if (!out.visible()) return;
  out.set_too_short(IsTooShort(fault));
  const v1::DiagnosisCoverage& coverage = report_.diagnosis_coverage();
  const auto contains = [](const auto& all, const std::string& one) {
    return std::ranges::find(all, one) != all.end();
  };
  out.set_undetectable(contains(coverage.undetectable_kinds(), fault.kind()) ||
                       std::ranges::any_of(coverage.blind_spots(), [&](const auto& spot) {
                         return spot.kind() == fault.kind() &&
                                contains(spot.switches(), fault.place());
                       }));
  const v1::Finding* finding = nullptr;
  if (finding_of_[number] < 0) {
    AddStatedInstead(fault, out);
  } else {
    finding = &report_.findings(finding_of_[number]);
    out.set_detected(true);
    out.set_stated_kind(finding->kind());
    out.set_stated_place(finding->place());
    out.set_detector(finding->detector());
    out.set_kind_right(finding->kind() == fault.kind());
    out.set_place_rank(RankOfPlace(fault, *finding));
    out.set_place_right(out.place_rank() == 1);
    const int64_t late = std::max<int64_t>(FirstDetection(number) - fault.visible_ns(), 0);
    out.set_delay_windows(static_cast<double>(late) / static_cast<double>(window_ns_));
    out.set_delay_seconds(FabricSeconds(truth_, late).value_or(0));
  }
  AddCulprits(fault, finding, *out.mutable_culprits());
  if (!fault.affected_jobs_unknown()) AddVictims(fault, finding, *out.mutable_affected_jobs());
}

// Both directions of a connection are one flow.
void FindingScorer::AddCulprits(const v1::TruthFault& fault, const v1::Finding* finding,
                                v1::Hits& hits) const {
  if (fault.culprits().empty()) return;
  const std::set<int> truly(fault.culprits().begin(), fault.culprits().end());
  hits.set_of(truly.size());
  if (finding == nullptr) return;
  std::set<int> stated;
  std::set<FlowKey> unknown;
  for (const v1::Culprit& culprit : finding->culprits()) {
    const FlowKey key = {culprit.source(), culprit.destination(), culprit.destination_qpn()};
    const auto at = connections_.find(key);
    if (at == connections_.end()) {
      unknown.insert(key);
    } else {
      stated.insert(at->second);
    }
  }
  const auto right = static_cast<uint64_t>(
      std::ranges::count_if(stated, [&](int connection) { return truly.contains(connection); }));
  hits.set_stated(stated.size() + unknown.size());
  hits.set_right(right);
  hits.set_found(right);
}

void FindingScorer::AddVictims(const v1::TruthFault& fault, const v1::Finding* finding,
                               v1::Hits& hits) const {
  const std::set<std::string> truly(fault.affected_jobs().begin(), fault.affected_jobs().end());
  hits.set_of(truly.size());
  if (finding == nullptr) return;
  std::set<std::string> stated;  // by the true names; unassigned ones keep their own
  for (const std::string& id : finding->affected_job_ids()) {
    const auto at = jobs_.find(id);
    // The truth does not know whether the fault affects traffic that is of no job.
    if (at != jobs_.end() && at->second.empty()) continue;
    stated.insert(at == jobs_.end() ? " " + id : at->second);
  }
  const auto right = static_cast<uint64_t>(
      std::ranges::count_if(stated, [&](const std::string& job) { return truly.contains(job); }));
  hits.set_stated(stated.size());
  hits.set_right(right);
  hits.set_found(right);
}

void FindingScorer::AddRest(const std::vector<Match>& matches) {
  for (const Match& match : matches) {
    if (is_matched_[match.finding]) continue;
    const bool showed = IsOfVisible(Finding(match), Fault(match));
    const bool is_there =
        IsRightPlace(Fault(match), Finding(match).place(), Finding(match).direction());
    const bool is_alternative_there = !showed && match.grade == Grade::kAlternative;
    if (!is_there && !is_alternative_there) continue;
    is_matched_[match.finding] = true;
    if (showed) score_.set_further_count(score_.further_count() + 1);
  }
  for (int i = 0; i < report_.findings_size(); ++i) {
    if (IsStated(i) && !is_matched_[i]) AddFalse(report_.findings(i));
  }
}

void FindingScorer::AddFalse(const v1::Finding& finding) {
  v1::FalseFinding& out = *score_.add_false_findings();
  out.set_kind(finding.kind());
  out.set_place(finding.place());
  out.set_direction(finding.direction());
  out.set_confidence(finding.confidence());
  out.set_detector(finding.detector());
  const FindingTime time = TimeOf(finding);
  if (const auto* benign = causes_.BenignEvent(finding, time)) {
    out.set_benign_kind(benign->kind());
    out.set_benign_place(benign->place());
  }
  if (const auto* fault = causes_.FaultBehind(finding, time)) {
    out.set_cause_kind(fault->kind());
    out.set_cause_place(fault->place());
  }
}

void FindingScorer::AddSuspicions() {
  v1::Hits& hits = *score_.mutable_suspicions();
  for (const v1::Finding& finding : report_.findings()) {
    if (!IsSuspicion(finding)) continue;
    const bool is_right = std::ranges::any_of(truth_.faults(), [&](const v1::TruthFault& fault) {
      return IsRight(finding, fault) && MayBeOf(finding, fault) && IsOfVisible(finding, fault);
    });
    hits.set_stated(hits.stated() + 1);
    hits.set_right(hits.right() + is_right);
    AddJudged(finding, is_right);
  }
}

void FindingScorer::AddExposure() {
  const int64_t length = std::max<int64_t>(truth_.end_ns() - truth_.start_ns(), 0);
  score_.set_window_count(static_cast<double>(length) / static_cast<double>(window_ns_));
  score_.set_fabric_seconds(FabricSeconds(truth_, length).value_or(0));
}

// Matches by type and place; several correct findings may match: a deadlock has several links.
void FindingScorer::AddVerdicts() {
  v1::Hits& pfc = *score_.mutable_pfc_verdicts();
  for (const v1::Finding& finding : report_.findings()) {
    if (IsSuspicion(finding)) continue;
    bool is_right = false;
    bool is_of_hidden = false;
    for (const v1::TruthFault& fault : truth_.faults()) {
      if (!MayBeOf(finding, fault)) continue;
      if (IsOfVisible(finding, fault)) {
        is_right |= IsRight(finding, fault);
      } else {
        is_of_hidden |= IsRightPlace(fault, finding.place(), finding.direction()) ||
                        HasRightAlternative(fault, finding);
      }
    }
    if (is_of_hidden && !is_right) continue;
    stated_.push_back({.confidence = finding.confidence(), .right = is_right});
    AddJudged(finding, is_right);
    if (!IsPfcKind(finding.kind())) continue;
    pfc.set_stated(pfc.stated() + 1);
    pfc.set_right(pfc.right() + is_right);
  }
  for (const v1::FaultScore& fault : score_.faults()) {
    if (!fault.visible() || !IsPfcKind(fault.kind())) continue;
    pfc.set_of(pfc.of() + 1);
    pfc.set_found(pfc.found() + (fault.kind_right() && fault.place_right()));
  }
}

void FindingScorer::AddJudged(const v1::Finding& finding, bool is_right) {
  v1::JudgedFinding& out = *score_.add_judged();
  out.set_detector(finding.detector());
  out.set_readings(WordOf(report_.diagnosis_coverage().readings()));
  out.set_uncalibrated_confidence(finding.uncalibrated_confidence());
  out.set_suspected(IsSuspicion(finding));
  out.set_right(is_right);
}

void FindingScorer::AddHotspots() {
  if (truth_.congested_unknown()) return;
  v1::Hits& hits = *score_.mutable_hotspots();
  const auto overlap = [](const v1::Hotspot& hotspot, const v1::TruthQueue& queue) {
    return hotspot.port() == queue.port() && Nanoseconds(hotspot.start_time()) <= queue.end_ns() &&
           Nanoseconds(hotspot.end_time()) >= queue.start_ns();
  };
  hits.set_stated(static_cast<uint64_t>(report_.hotspots_size()));
  hits.set_of(static_cast<uint64_t>(truth_.congested_size()));
  std::set<int> found;
  for (const v1::Hotspot& hotspot : report_.hotspots()) {
    bool is_right = false;
    for (int i = 0; i < truth_.congested_size(); ++i) {
      if (!overlap(hotspot, truth_.congested(i))) continue;
      is_right = true;
      found.insert(i);
    }
    hits.set_right(hits.right() + is_right);
  }
  hits.set_found(found.size());
}

void FindingScorer::AddAnomalies() {
  const v1::Anomalies& anomalies = report_.anomalies();
  v1::Hits& hits = *score_.mutable_anomaly_windows();
  hits.set_right(anomalies.statistics().stable_count());
  hits.set_stated(anomalies.statistics().stable_count() + anomalies.statistics().unstable_count());
}

}  // namespace

bool IsPfcKind(std::string_view kind) {
  return std::ranges::find(kPfcKinds, kind) != kPfcKinds.end();
}

std::vector<StatedFinding> ScoreFindings(const v1::Truth& truth, const v1::ReplayReport& report,
                                         std::span<const v1::Finding> reported, int64_t window_ns,
                                         v1::FindingScore& score) {
  return FindingScorer(truth, report, reported, window_ns, score).Score();
}

}  // namespace rocescope
