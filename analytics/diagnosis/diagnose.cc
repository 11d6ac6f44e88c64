// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/diagnose.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "analytics/diagnosis/detectors.h"
#include "analytics/diagnosis/obstacle.h"
#include "analytics/diagnosis/affected_jobs.h"

namespace rocescope {
namespace {

using topology::Fabric;
using topology::kNone;
using topology::NodeIndex;

// Where a symptom is, seen from its cause.
enum class Nearness : uint8_t {
  kThere,     // the same element, or one that it touches: a link's ends, a switch's links
  kAnywhere,  // the fabric carries it on
};

struct Rule {
  FindingKind cause;
  FindingKind symptom;
  Nearness nearness;
};

using enum FindingKind;
using enum Nearness;

// What makes what look like a fault. A cause may be a symptom in turn.
constexpr auto kRules = std::to_array<Rule>({
    {kSwitchCrash, kLinkDown, kThere},
    {kSwitchCrash, kFlap, kThere},
    {kSwitchCrash, kNicCrash, kThere},
    {kSwitchCrash, kGrayLoss, kThere},
    {kSwitchCrash, kBlackhole, kThere},
    {kLinkDown, kGrayLoss, kThere},
    {kLinkDown, kBlackhole, kThere},
    {kLinkDown, kDegradedRate, kThere},
    {kFlap, kGrayLoss, kThere},
    {kFlap, kBlackhole, kThere},
    {kFlap, kLinkDown, kThere},
    {kFlap, kDegradedRate, kThere},
    {kLinkDown, kSlowReceiver, kThere},
    {kLinkDown, kAddedLatency, kThere},
    {kFlap, kSlowReceiver, kThere},
    {kFlap, kAddedLatency, kThere},
    {kNicCrash, kSlowReceiver, kThere},
    {kNicCrash, kAddedLatency, kThere},
    {kDegradedRate, kAddedLatency, kThere},
    {kDegradedRate, kSlowReceiver, kThere},
    {kGrayLoss, kSlowReceiver, kThere},
    {kBitErrors, kSlowReceiver, kThere},
    {kCorruption, kSlowReceiver, kThere},
    {kSwappedCables, kAddedLatency, kThere},
    {kIncast, kSlowReceiver, kThere},
    {kNoisyNeighbour, kSlowReceiver, kThere},
    {kLostCnps, kDeprioritisedCnps, kAnywhere},
    {kAddedLatency, kDeprioritisedCnps, kAnywhere},
    {kDegradedRate, kDeprioritisedCnps, kAnywhere},
    {kGrayLoss, kDeprioritisedCnps, kThere},
    {kBitErrors, kDeprioritisedCnps, kThere},
    {kPfcDeadlock, kDeprioritisedCnps, kAnywhere},
    {kPfcStorm, kDeprioritisedCnps, kAnywhere},
    {kPfcStorm, kAddedLatency, kAnywhere},
    {kPfcStorm, kSlowReceiver, kAnywhere},
    {kPfcDeadlock, kAddedLatency, kAnywhere},
    {kPfcDeadlock, kSlowReceiver, kAnywhere},
    {kNicCrash, kGrayLoss, kThere},
    {kNicCrash, kBlackhole, kThere},
    {kBitErrors, kGrayLoss, kThere},
    {kMtuMismatch, kBlackhole, kThere},
    {kSwappedCables, kGrayLoss, kThere},
    {kSwappedCables, kBitErrors, kThere},
    {kSwappedCables, kLinkDown, kThere},
    {kPfcDeadlock, kMisconfiguredEcn, kAnywhere},
    {kPfcDeadlock, kMisconfiguredAlpha, kAnywhere},
    {kPfcDeadlock, kBlackhole, kAnywhere},
    {kPfcDeadlock, kIncast, kAnywhere},
    {kPfcDeadlock, kNoisyNeighbour, kAnywhere},
    // The route that goes down and up again sends flows by few links.
    {kPfcDeadlock, kPolarisation, kThere},
    {kPfcStorm, kPfcDeadlock, kAnywhere},
    {kPfcStorm, kMisconfiguredEcn, kAnywhere},
    {kPfcStorm, kMisconfiguredAlpha, kAnywhere},
    {kPfcStorm, kBlackhole, kAnywhere},
    {kSlowReceiver, kMisconfiguredEcn, kAnywhere},
    {kSlowReceiver, kMisconfiguredAlpha, kAnywhere},
});

// What makes packets be sent again.
bool LosesPackets(const Finding& finding) {
  switch (finding.kind) {
    case kLinkDown:
    case kFlap:
    case kGrayLoss:
    case kBitErrors:
    case kCorruption:
    case kBlackhole:
    case kSwitchCrash:
    case kPfcStorm:
    case kPfcDeadlock:
    case kNicCrash:
    case kMtuMismatch:
    case kSwappedCables:
      return finding.basis == Basis::kItself;
    default:
      return false;
  }
}

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

constexpr int kAfter = 10;  // windows within which an effect shows

// A symptom cannot be there long before its cause, nor begin long after it.
bool MayFollow(const Finding& cause, const Finding& symptom, Duration window) {
  constexpr int kBefore = 2;
  return symptom.from >= cause.from - kBefore * window &&
         (!cause.until || symptom.from <= *cause.until + kAfter * window);
}

// They hurt the same job. What a fault does to others, by way of queues and of paths that change,
// it does as it begins: of what comes long after, it is no cause.
bool MayHurtTheSame(const Finding& cause, const Finding& symptom, Duration window) {
  return symptom.from <= cause.from + kAfter * window ||
         std::ranges::any_of(symptom.affected_jobs, [&](uint32_t job) {
           return std::ranges::binary_search(cause.affected_jobs, job);
         });
}

bool Explains(const Fabric& fabric, const Finding& cause, const Finding& symptom, Duration window) {
  if (!MayFollow(cause, symptom, window)) return false;
  if (symptom.basis == Basis::kWaiting) {
    return cause.basis != Basis::kWaiting && MayHurtTheSame(cause, symptom, window);
  }
  if (symptom.basis == Basis::kVotes && LosesPackets(cause) &&
      MayHurtTheSame(cause, symptom, window)) {
    return true;
  }
  return std::ranges::any_of(kRules, [&](const Rule& rule) {
    return rule.cause == cause.kind && rule.symptom == symptom.kind &&
           (rule.nearness == kAnywhere || AreLinked(fabric, cause.place, symptom.place) ||
            std::ranges::any_of(cause.symptoms,
                                [&](const Suspect& also) {
                                  return AreLinked(fabric, also.place, symptom.place);
                                }) ||
            std::ranges::any_of(cause.loop, [&](topology::PortIndex port) {
              const Place link{.kind = PlaceKind::kLink, .index = fabric.port(port).link};
              return AreLinked(fabric, link, symptom.place);
            }));
  });
}

}  // namespace

Findings FoldSymptoms(const Fabric& fabric, Findings found, Duration window) {
  std::ranges::sort(found, {}, [](const Finding& finding) {
    return std::tuple(finding.from, finding.kind, finding.place);
  });
  std::vector<size_t> cause(found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    cause[i] = i;
    double best = 0;
    for (size_t j = 0; j < found.size(); ++j) {
      if (j == i || found[j].confidence <= best) continue;
      if (!Explains(fabric, found[j], found[i], window)) continue;
      // Two that would explain each other: the earlier one does.
      if (j > i && Explains(fabric, found[i], found[j], window)) continue;
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
    Finding& of = roots[place[root]];
    of.symptoms.push_back(
        {.kind = found[i].kind, .place = found[i].place, .probability = found[i].confidence});
  }
  return roots;
}

Findings Diagnose(const Scene& scene) {
  const Obstacle obstacle = HindranceTo(scene).obstacle;
  if (obstacle != Obstacle::kNone && obstacle != Obstacle::kFewWindows) return {};
  Findings found;
  if (scene.windows() > 0) {
    DetectLinkState(scene, found);
    DetectLinkLoss(scene, found);
    DetectCrossedLinks(scene, found);
    DetectSwitchLoss(scene, found);
    DetectCorruption(scene, found);
    DetectUncountedLoss(scene, found);
    DetectPauses(scene, found);
    DetectThresholds(scene, found);
    DetectOverload(scene, found);
    DetectHashing(scene, found);
    DetectLongerLinks(scene, found);
    DetectLateAnswers(scene, found);
    DetectLateNotices(scene, found);
  }
  DetectStragglers(scene, found);
  DetectCables(scene, found);
  FillVictims(scene, found);
  return FoldSymptoms(scene.fabric(), std::move(found), scene.parts().metrics.window());
}

}  // namespace rocescope
