// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/diagnose.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "analytics/diagnosis/affected_jobs.h"
#include "analytics/diagnosis/calibration.h"
#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/forgeable.h"
#include "analytics/diagnosis/obstacle.h"
#include "analytics/diagnosis/pause_reach.h"

namespace rocescope {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::NodeIndex;

std::vector<NodeIndex> NodesOf(const Fabric& fabric, const Place& place) {
  switch (place.kind) {
    case PlaceKind::kLink: {
      const auto& ends = fabric.link(place.index).ends;
      return {fabric.port(ends[0]).node, fabric.port(ends[1]).node};
    }
    case PlaceKind::kSwitch:
      return {place.index};
    case PlaceKind::kNic:
      return {fabric.nic(place.index).host};
    case PlaceKind::kGpu:
      return {fabric.gpu(place.index).host};
  }
  return {};
}

bool AreLinked(const Fabric& fabric, const Place& a, const Place& b) {
  if (a.kind == b.kind) return a.index == b.index;
  const auto of_nic = [&](const Place& nic, const Place& other) {
    return other.kind == PlaceKind::kLink &&
           fabric.port(fabric.nic(nic.index).port).link == other.index;
  };
  if (a.kind == PlaceKind::kNic && of_nic(a, b)) return true;
  if (b.kind == PlaceKind::kNic && of_nic(b, a)) return true;
  if (a.kind == PlaceKind::kNic && b.kind == PlaceKind::kSwitch) {
    return fabric.PeerNode(fabric.nic(a.index).port) == b.index;
  }
  if (b.kind == PlaceKind::kNic && a.kind == PlaceKind::kSwitch) return AreLinked(fabric, b, a);
  const std::vector<NodeIndex> nodes = NodesOf(fabric, a);
  const std::vector<NodeIndex> others = NodesOf(fabric, b);
  return std::ranges::any_of(
      nodes, [&](NodeIndex node) { return std::ranges::find(others, node) != others.end(); });
}

struct Limits {
  Duration before;  // by which a symptom may start before its cause
  Duration after;   // by which it may start after the last sign of its cause
};

// A symptom neither starts long before its cause nor long after it. A link that came up again at
// a lower speed has another fault.
bool MayFollow(const Finding& cause, const Finding& symptom, const Limits& limits) {
  const bool is_speed = InfoOf(symptom.kind).need == Need::kLinkSpeeds;
  const Duration after = is_speed ? limits.before : limits.after;
  return symptom.from >= cause.from - limits.before &&
         (!cause.until || symptom.from <= *cause.until + after);
}

// Whether traffic of the job passes the place.
bool IsJobThere(const Finding& finding, uint32_t job) {
  return std::ranges::binary_search(finding.affected_jobs, job) ||
         std::ranges::binary_search(finding.exposed_jobs, job);
}

bool ShareJobs(const Finding& cause, const Finding& symptom) {
  const auto is_at_cause = [&](uint32_t job) { return IsJobThere(cause, job); };
  return std::ranges::any_of(symptom.affected_jobs, is_at_cause) ||
         std::ranges::any_of(symptom.exposed_jobs, is_at_cause);
}

// Both affect the same job. A fault affects other jobs, through queues and changed paths, only when
// it starts: it does not explain what happens to them long afterwards.
bool MayAffectTheSameJobs(const Finding& cause, const Finding& symptom, const Limits& limits) {
  return symptom.from <= cause.from + limits.after || ShareJobs(cause, symptom);
}

// The place touches the cause's place, that of one of its symptoms, or a link of its loop.
bool IsNear(const Fabric& fabric, const Finding& cause, const Place& place) {
  return AreLinked(fabric, cause.place, place) ||
         std::ranges::any_of(
             cause.symptoms,
             [&](const Suspect& other) { return AreLinked(fabric, other.place, place); }) ||
         std::ranges::any_of(cause.loop, [&](topology::PortIndex port) {
           const Place link{.kind = PlaceKind::kLink, .index = fabric.port(port).link};
           return AreLinked(fabric, link, place);
         });
}

// Which kinds explain which is in the registry of fault kinds. A cause may itself be a symptom.
bool Explains(const Fabric& fabric, const Finding& cause, const Finding& symptom,
              const Limits& limits) {
  if (!MayFollow(cause, symptom, limits)) return false;
  if (symptom.basis == Basis::kWaiting) {
    return cause.basis != Basis::kWaiting && MayAffectTheSameJobs(cause, symptom, limits);
  }
  const FaultInfo& info = InfoOf(cause.kind);
  // A fault that acts through PFC pauses explains only symptoms at switches that were paused.
  const bool is_by_pauses =
      cause.kind == FaultKind::kPfcStorm || cause.kind == FaultKind::kPfcDeadlock ||
      (cause.kind == FaultKind::kSlowReceiver && cause.basis == Basis::kItself);
  if (is_by_pauses && symptom.is_free_of_pauses) return false;
  if (symptom.basis == Basis::kVotes && info.loses_packets && cause.basis == Basis::kItself &&
      MayAffectTheSameJobs(cause, symptom, limits)) {
    return true;
  }
  // A NIC that pauses its switch is slow, whatever else delays its responses.
  const bool is_pausing =
      symptom.kind == FaultKind::kSlowReceiver && symptom.basis == Basis::kItself;
  return info.explains_anywhere.Contains(symptom.kind) ||
         (!is_pausing && info.explains_nearby.Contains(symptom.kind) &&
          IsNear(fabric, cause, symptom.place));
}

// A lasting finding already has the symptoms that the previous diagnosis found.
void AddSymptom(const Finding& symptom, Finding& cause) {
  const Suspect added = {
      .kind = symptom.kind, .place = symptom.place, .probability = symptom.confidence};
  const auto known = std::ranges::find_if(cause.symptoms, [&](const Suspect& other) {
    return other.kind == added.kind && other.place == added.place;
  });
  if (known == cause.symptoms.end()) {
    cause.symptoms.push_back(added);
  } else {
    *known = added;
  }
}

}  // namespace

Findings GroupByRootCause(const Fabric& fabric, Findings found, Duration window,
                          const Thresholds& thresholds) {
  const Limits limits = {.before = thresholds.cause_delay_windows * window,
                         .after = thresholds.effect_windows * window};
  std::ranges::sort(found, {}, [](const Finding& finding) {
    return std::tuple(finding.from, finding.kind, finding.place);
  });
  std::vector<size_t> cause(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    cause[i] = i;
    double best = 0;
    for (size_t j = 0; j < found.size(); ++j) {
      if (j == i || found[j].confidence <= best) continue;
      if (!Explains(fabric, found[j], found[i], limits)) continue;
      // If both explain each other, the earlier one is the cause.
      if (j > i && Explains(fabric, found[i], found[j], limits)) continue;
      best = found[j].confidence;
      cause[i] = j;
    }
  }
  Findings roots;
  std::vector<size_t> place(found.size(), found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (cause[i] != i) continue;
    place[i] = roots.size();
    roots.push_back(found[i]);
  }
  for (size_t i = 0; i < found.size(); ++i) {
    if (cause[i] == i) continue;
    size_t root = i;
    for (size_t step = 0; step < found.size() && cause[root] != root; ++step) root = cause[root];
    if (place[root] == found.size()) continue;
    Finding& root_cause = roots[place[root]];
    const bool is_same = root_cause.kind == found[i].kind && root_cause.place == found[i].place;
    if (!is_same) AddSymptom(found[i], root_cause);
  }
  return roots;
}

Findings Diagnose(const DiagnosisInput& input, Findings lasting) {
  const Hindrance hindrance = HindranceTo(input);
  Findings found;
  for (const Detector& detector : kDetectors) {
    if (!CanRun(detector, input, hindrance.obstacle)) continue;
    const size_t before = found.size();
    detector.run(input, found);
    for (size_t i = before; i < found.size(); ++i) {
      found[i].detector = detector.name;
      found[i].uncalibrated = found[i].confidence;
    }
  }
  for (Finding& finding : lasting) {
    const bool is_found = std::ranges::any_of(found, [&](const Finding& other) {
      return other.kind == finding.kind && other.place == finding.place;
    });
    if (is_found) continue;
    finding.confidence = finding.uncalibrated;  // as that of the others
    found.push_back(std::move(finding));
  }
  for (Finding& finding : found) finding.is_free_of_pauses = IsFreeOfPauses(input, finding);
  FillVictims(input, found);
  Findings roots = GroupByRootCause(input.fabric(), std::move(found),
                                    input.parts().metrics.window(), input.thresholds());
  CalibrateFindings(hindrance.readings, roots);
  if (input.parts().is_udp_forgeable) LimitForgeable(input, roots);
  return roots;
}

}  // namespace rocescope
