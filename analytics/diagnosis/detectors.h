// SPDX-License-Identifier: BSD-3-Clause
// The registry of detectors. Each detector adds the faults that it suspects, without regard to the
// findings of the others; diagnose.h reduces them to root causes. CONTRIBUTING.md says how to add
// a detector.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analytics/diagnosis/diagnosis_input.h"
#include "analytics/diagnosis/finding.h"
#include "analytics/diagnosis/obstacle.h"
#include "analytics/diagnosis/thresholds.h"
#include "analytics/diagnosis/time_to_detection.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {

// Each row has the function and the fields of Detector. The file NAME.cc defines the function and
// TimeToFUNCTION.
#define ROCESCOPE_DETECTORS(ROW)                                                                  \
  /* Link state, flaps and speed as both ends report them; switches and NICs with no link up. */  \
  ROW(DetectLinkState, .name = "link_state",                                                      \
      .telemetry = "state, speed or flap counters of links, as switches or NICs report them",     \
      .false_alarms_per_day = 0.001,                                                              \
      .kinds = {kLinkDown, kFlap, kDegradedRate, kSwitchCrash, kNicCrash}, .sparse = true,        \
      .forgeable = kCounters)                                                                     \
  /* Frames that one end of a link sent and the other did not receive, or received errored. */    \
  ROW(DetectLinkLoss, .name = "link_loss",                                                        \
      .telemetry =                                                                                \
          "packet counters of both ends of links; error counters of switches or "                 \
          "NICs",                                                                                 \
      .false_alarms_per_day = 0.012, .kinds = {kGrayLoss, kBitErrors}, .sparse = true,            \
      .forgeable = kCounters)                                                                     \
  /* Two links whose counters agree if their cables are exchanged. */                             \
  ROW(DetectCrossedLinks, .name = "crossed_links",                                                \
      .telemetry = "packet counters of both ends of links, read at the same time",                \
      .false_alarms_per_day = 0.001, .kinds = {kSwappedCables}, .forgeable = kCounters)           \
  /* Frames that a switch received and neither sent nor counted as dropped; MTU drops. */         \
  ROW(DetectSwitchLoss, .name = "switch_loss",                                                    \
      .telemetry =                                                                                \
          "packet and drop counters and queue lengths of all ports of a switch, "                 \
          "read at the same time; MTU drop counters",                                             \
      .false_alarms_per_day = 0.003, .kinds = {kBlackhole, kLostCnps, kMtuMismatch},              \
      .forgeable = kCounters)                                                                     \
  /* iCRC errors that NICs count although the frames had a valid FCS. */                          \
  ROW(DetectCorruption, .name = "corruption",                                                     \
      .telemetry = "iCRC error counters of NICs, and paths of flows (mirrors, INT, sFlow)",       \
      .false_alarms_per_day = 0.002, .kinds = {kCorruption}, .sparse = true, .forgeable = kPaths) \
  /* NAKs of receivers, where no counter of NICs shows a loss. */                                 \
  ROW(DetectUncountedLoss, .name = "loss_votes",                                                  \
      .telemetry = "mirrored packets, counters, and NICs that do not report iCRC errors",         \
      .false_alarms_per_day = 0.003, .kinds = {kGrayLoss, kBitErrors, kCorruption},               \
      .sparse = true, .forgeable = kPaths)                                                        \
  /* NICs that count lost packets where no port counts a loss. */                                 \
  ROW(DetectLossAtNics, .name = "nic_votes",                                                      \
      .telemetry =                                                                                \
          "counters of NICs for NAKs and packets out of sequence, and paths of "                  \
          "flows (mirrors, INT, sFlow)",                                                          \
      .false_alarms_per_day = 0.003, .kinds = {kGrayLoss}, .sparse = true, .forgeable = kPaths)   \
  /* Links on which packets of a flow overtake each other. */                                     \
  ROW(DetectReordering, .name = "reordering",                                                     \
      .telemetry = "mirrors of several switches, and counters", .false_alarms_per_day = 0.0004,   \
      .kinds = {kReordering}, .sparse = true, .forgeable = kPaths)                                \
  /* NICs that pause their switch; ports that wait for each other in a cycle. */                  \
  ROW(DetectPauses, .name = "pause", .telemetry = "durations of PFC pauses at switches or NICs",  \
      .false_alarms_per_day = 0.003, .kinds = {kPfcStorm, kSlowReceiver, kPfcDeadlock},           \
      .forgeable = kCounters)                                                                     \
  /* NICs that discard what they receive. */                                                      \
  ROW(DetectNicDiscards, .name = "nic_discards",                                                  \
      .telemetry = "discard counters of NICs, and their counters of packets out of sequence",     \
      .false_alarms_per_day = 0.0005, .kinds = {kSlowReceiver}, .forgeable = kNicCounters)        \
  /* Switches that pause or mark at other queue lengths than the rest. */                         \
  ROW(DetectThresholds, .name = "threshold",                                                      \
      .telemetry = "queue and buffer watermarks, CE marks and PFC pauses of switches",            \
      .false_alarms_per_day = 0.003, .kinds = {kMisconfiguredEcn, kMisconfiguredAlpha},           \
      .forgeable = kCounters)                                                                     \
  /* NICs that receive too much traffic from new senders. */                                      \
  ROW(DetectOverload, .name = "overload",                                                         \
      .telemetry = "mirrored packets, and bytes or CE marks of switch ports",                     \
      .false_alarms_per_day = 0.003, .kinds = {kIncast, kNoisyNeighbour},                         \
      .forgeable = kCounters | kPaths)                                                            \
  /* Switches that send flows between two NICs over one of several equal-cost links. */           \
  ROW(DetectHashing, .name = "hashing",                                                           \
      .telemetry = "paths of flows (mirrors, INT, sFlow), and counters",                          \
      .false_alarms_per_day = 0.001, .kinds = {kPolarisation}, .sparse = true,                    \
      .forgeable = kPaths)                                                                        \
  /* Links whose delay is longer than before. */                                                  \
  ROW(DetectLongerLinks, .name = "longer_links",                                                  \
      .telemetry = "mirrors of several switches, and counters", .false_alarms_per_day = 0.003,    \
      .kinds = {kAddedLatency}, .compares_with_itself = true,                                     \
      .forgeable = kQueueWatermarks | kIntReports)                                                \
  /* NICs that respond later than before, or whose link has become longer. */                     \
  ROW(DetectLateAnswers, .name = "late_answers",                                                  \
      .telemetry = "mirrors of leaf switches, and counters with queue watermarks",                \
      .false_alarms_per_day = 0.004, .kinds = {kAddedLatency, kSlowReceiver},                     \
      .compares_with_itself = true, .forgeable = kQueueWatermarks)                                \
  /* Switches in which CNPs wait behind data. */                                                  \
  ROW(DetectLateCnps, .name = "late_cnps",                                                        \
      .telemetry = "mirrors of several switches, INT or queue watermarks, and counters",          \
      .false_alarms_per_day = 0.003, .kinds = {kDeprioritisedCnps},                               \
      .forgeable = kQueueWatermarks | kIntReports)                                                \
  /* GPUs with a low clock, and GPUs that others wait for. */                                     \
  ROW(DetectStragglers, .name = "straggler",                                                      \
      .telemetry =                                                                                \
          "clocks and memory use of GPUs, or mirrored packets of several "                        \
          "iterations",                                                                           \
      .false_alarms_per_day = 0.003, .kinds = {kStraggler}, .needs_windows = false,               \
      .forgeable = kNothing)                                                                      \
  /* Cables that are not where the topology declares them. */                                     \
  ROW(DetectCables, .name = "cables",                                                             \
      .telemetry = "mirrors of several switches, or counters of both ends of links",              \
      .false_alarms_per_day = 0.001, .kinds = {kSwappedCables}, .needs_windows = false,           \
      .sparse = true, .whole_time = true, .forgeable = kPaths)

#define ROW(function, ...)                                     \
  void function(const DiagnosisInput& input, Findings& found); \
  TimeToDetection TimeTo##function(FaultKind kind, const Thresholds& thresholds);
ROCESCOPE_DETECTORS(ROW)
#undef ROW

// Parts of a detector's evidence that somebody could forge over UDP (forgeable.h).
// Detector::forgeable combines those that the detector uses.
enum Forgeable : uint8_t {
  kNothing = 0,          // mirrored packets, or what agents on hosts report
  kCounters = 1,         // counters of the place
  kNicCounters = 2,      // counters of the NIC itself
  kQueueWatermarks = 4,  // which explain delays
  kPaths = 8,            // paths of flows, and places where packets appear
  kIntReports = 16,      // if Finding::is_by_int is set
};
inline constexpr uint8_t kUnstated = UINT8_MAX;

struct Detector {
  void (*run)(const DiagnosisInput& input, Findings& found);
  // The least duration of a fault of this kind that it can detect.
  TimeToDetection (*time)(FaultKind kind, const Thresholds& thresholds);
  std::string_view name;
  std::string_view telemetry;  // required telemetry, in words
  // The rate of false findings that it is designed for: findings per day in a healthy fabric of any
  // size. `testbeds/campaign` compares it with what it counts, in every telemetry profile.
  double false_alarms_per_day;
  // Kinds that it can report. Each is detectable if the need in its registry row is met.
  FaultKindSet kinds;
  // It compares counters over several windows, and does not run without any.
  bool needs_windows = true;
  // It also runs if counters are read less often than once per window.
  bool sparse = false;
  // It compares a place with the same place at other times in the stored windows. A fault that
  // lasts longer than these is not found until it ends: see finding_history.h.
  bool compares_with_itself = false;
  // It uses all evidence since the start. If it no longer reports a fault, the finding was wrong.
  bool whole_time = false;
  uint8_t forgeable = kUnstated;  // Forgeable, required
};

#define ROW(function, ...) +1
inline constexpr size_t kDetectorCount = 0 ROCESCOPE_DETECTORS(ROW);
#undef ROW

inline constexpr std::array<Detector, kDetectorCount> kDetectors = [] {
  using enum FaultKind;
  return std::array<Detector, kDetectorCount>{{
#define ROW(function, ...) {.run = function, .time = TimeTo##function, __VA_ARGS__},
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

static_assert(std::ranges::none_of(kDetectors,
                                   [](const Detector& detector) {
                                     return detector.forgeable == kUnstated;
                                   }),
              "each detector states which parts of its evidence could be forged");

// The rate of false findings of all detectors together.
inline constexpr double kMostFalseAlarmsPerDay = 0.05;

constexpr const Detector* FindDetector(std::string_view name) {
  for (const Detector& detector : kDetectors) {
    if (detector.name == name) return &detector;
  }
  return nullptr;
}

static_assert(
    [] {
      double sum = 0;
      for (const Detector& detector : kDetectors) {
        if (detector.false_alarms_per_day <= 0) return false;
        sum += detector.false_alarms_per_day;
      }
      return sum <= kMostFalseAlarmsPerDay;
    }(),
    "each detector needs a rate of false findings, and their sum is limited");
static_assert(Thresholds{}.link_error_false_alarms <=
                  FindDetector("link_loss")->false_alarms_per_day,
              "the test for bit errors alone must not exceed the rate of its detector");

}  // namespace rocescope
