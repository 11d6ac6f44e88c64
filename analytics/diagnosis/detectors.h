// SPDX-License-Identifier: BSD-3-Clause
// The registry of detectors. Each detector adds the faults that it suspects, without regard to the
// findings of the others; diagnose.h weighs them. CONTRIBUTING.md says how to add a detector.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"
#include "analytics/diagnosis/obstacle.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {

// Each row has the function, which is in the file NAME.cc, and the fields of Detector.
#define ROCESCOPE_DETECTORS(ROW)                                                                 \
  /* Link state, flaps and speed as both ends report them; switches and NICs with no link up. */ \
  ROW(DetectLinkState, .name = "link_state",                                                     \
      .kinds = {kLinkDown, kFlap, kDegradedRate, kSwitchCrash, kNicCrash}, .sparse = true)       \
  /* Frames that one end of a link sent and the other did not receive, or received errored. */   \
  ROW(DetectLinkLoss, .name = "link_loss", .kinds = {kGrayLoss, kBitErrors}, .sparse = true)     \
  /* Two links whose counters agree if their cables are exchanged. */                            \
  ROW(DetectCrossedLinks, .name = "crossed_links", .kinds = {kSwappedCables})                    \
  /* Frames that a switch received and neither sent nor counted as dropped; MTU drops. */        \
  ROW(DetectSwitchLoss, .name = "switch_loss", .kinds = {kBlackhole, kLostCnps, kMtuMismatch})   \
  /* ICRC errors that NICs count although the frames had a valid FCS. */                         \
  ROW(DetectCorruption, .name = "corruption", .kinds = {kCorruption}, .sparse = true)            \
  /* NAKs of receivers, where no counter of NICs shows a loss. */                                \
  ROW(DetectUncountedLoss, .name = "loss_votes", .kinds = {kGrayLoss, kBitErrors, kCorruption},  \
      .sparse = true)                                                                            \
  /* NICs that count lost packets where no port counts a loss. */                                \
  ROW(DetectLossAtNics, .name = "nic_votes", .kinds = {kGrayLoss}, .sparse = true)               \
  /* NICs that pause their switch; ports that wait for each other in a cycle. */                 \
  ROW(DetectPauses, .name = "pause", .kinds = {kPfcStorm, kSlowReceiver, kPfcDeadlock})          \
  /* Switches that pause or mark at other queue lengths than the rest. */                        \
  ROW(DetectThresholds, .name = "threshold", .kinds = {kMisconfiguredEcn, kMisconfiguredAlpha})  \
  /* NICs that receive too much traffic from new senders. */                                     \
  ROW(DetectOverload, .name = "overload", .kinds = {kIncast, kNoisyNeighbour})                   \
  /* Switches that send flows between two NICs over one of several equal-cost links. */          \
  ROW(DetectHashing, .name = "hashing", .kinds = {kPolarisation}, .sparse = true)                \
  /* Links whose delay is longer than before. */                                                 \
  ROW(DetectLongerLinks, .name = "longer_links", .kinds = {kAddedLatency},                       \
      .compares_with_itself = true)                                                              \
  /* NICs that respond later than before, or whose link has become longer. */                    \
  ROW(DetectLateAnswers, .name = "late_answers", .kinds = {kAddedLatency, kSlowReceiver},        \
      .compares_with_itself = true)                                                              \
  /* Switches in which CNPs wait behind data. */                                                 \
  ROW(DetectLateCnps, .name = "late_cnps", .kinds = {kDeprioritisedCnps})                        \
  /* GPUs with a low clock, and GPUs that others wait for. */                                    \
  ROW(DetectStragglers, .name = "straggler", .kinds = {kStraggler}, .needs_windows = false)      \
  /* Cables that are not where the topology declares them. */                                    \
  ROW(DetectCables, .name = "cables", .kinds = {kSwappedCables}, .needs_windows = false,         \
      .sparse = true, .whole_time = true)

#define ROW(function, ...) void function(const DiagnosisInput& input, Findings& found);
ROCESCOPE_DETECTORS(ROW)
#undef ROW

struct Detector {
  void (*run)(const DiagnosisInput& input, Findings& found);
  std::string_view name;
  // Kinds that it can report. Each is detectable if the need in its registry row is met.
  FaultKindSet kinds;
  // It compares counters over several windows, and does not run without any.
  bool needs_windows = true;
  // It does not rely on a reading of each counter in each window.
  bool sparse = false;
  // It compares a place with the same place at other times in the stored windows. A fault that
  // lasts longer than these is not found until it ends: see finding_history.h.
  bool compares_with_itself = false;
  // It uses all evidence since the start. What it does not report any more was wrong.
  bool whole_time = false;
};

#define ROW(function, ...) +1
inline constexpr size_t kDetectorCount = 0 ROCESCOPE_DETECTORS(ROW);
#undef ROW

inline constexpr std::array<Detector, kDetectorCount> kDetectors = [] {
  using enum FaultKind;
  return std::array<Detector, kDetectorCount>{{
#define ROW(function, ...) {.run = function, __VA_ARGS__},
      ROCESCOPE_DETECTORS(ROW)
#undef ROW
  }};
}();

inline bool CanRun(const Detector& detector, const DiagnosisInput& input, Obstacle obstacle) {
  if (obstacle == Obstacle::kForeignTopology || obstacle == Obstacle::kOtherTime) return false;
  if (obstacle == Obstacle::kSparseReadings && !detector.sparse) return false;
  return !detector.needs_windows || input.windows() > 0;
}

static_assert(
    [] {
      FaultKindSet kinds;
      for (const Detector& detector : kDetectors) kinds.Add(detector.kinds);
      for (size_t i = 0; i < kFaultKinds; ++i) {
        if (!kinds.Contains(static_cast<FaultKind>(i))) return false;
      }
      return true;
    }(),
    "each fault kind needs a detector");

}  // namespace rocescope
