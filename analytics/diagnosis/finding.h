// SPDX-License-Identifier: BSD-3-Clause
// The answer of the diagnosis: each finding is a fault with its place, time, affected jobs and
// confidence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "dataplane/record/record.h"
#include "topology/fabric.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {

struct Place {
  PlaceKind kind = PlaceKind::kLink;
  uint32_t index = topology::kNone;  // LinkIndex, NodeIndex, NicIndex, GpuIndex
  // Sending port, if one direction of a link is meant.
  topology::PortIndex sender = topology::kNone;

  friend auto operator<=>(const Place&, const Place&) = default;
};

// "leaf0:Ethernet4-spine1:Ethernet2", "leaf0", "host3:mlx5_1", "host3:gpu:5".
std::string NameOf(const topology::Fabric& fabric, const Place& place);

// The kind of evidence for a finding.
enum class Basis : uint8_t {
  kItself,   // telemetry of the place itself
  kVotes,    // which flows lost packets; a loss elsewhere can give the same evidence
  kWaiting,  // which rank waits for which; any other fault can make a rank wait
  kDelays,   // how long packets took; losses and queues elsewhere can delay them, too
};

struct Suspect {
  FaultKind kind = FaultKind::kLinkDown;
  Place place;
  double probability = 0;

  friend bool operator==(const Suspect&, const Suspect&) = default;
};

struct Finding {
  FaultKind kind = FaultKind::kLinkDown;
  Place place;
  Basis basis = Basis::kItself;
  double confidence = 0;              // probability that kind and place are correct, 0 to 1
  double uncalibrated = 0;            // the confidence that the detector stated: calibration.h
  std::string_view detector;          // name of its row in detectors.h
  std::vector<Suspect> alternatives;  // alternative explanations, the most likely first

  Timestamp from;                  // first sign
  std::optional<Timestamp> until;  // last sign; unset while the fault is active
  Timestamp detected_at;           // time of detection: the evidence sufficed from then on
  uint32_t times = 1;              // how often it was active, with short pauses between

  std::vector<std::string> evidence;      // the strongest first
  std::vector<std::string> further;       // missing telemetry that could confirm the finding
  std::vector<FlowKey> culprits;          // flows that cause the fault, ascending
  std::vector<uint32_t> affected_jobs;    // indices into Attribution::jobs, ascending
  std::vector<uint32_t> exposed_jobs;     // other jobs with traffic through the place
  std::vector<topology::PortIndex> loop;  // pfc_deadlock: each port waits for the next one
  std::vector<Suspect> symptoms;          // other suspected faults that this one explains
  bool is_free_of_pauses = false;         // so that no pauses explain it: pause_reach.h
  bool is_by_int = false;                 // INT reports alone show it
  bool is_contradicted = false;           // an earlier, higher confidence is void

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Confidence in a finding that other telemetry contradicts.
inline constexpr double kContradicted = 0.3;
// Lowers the confidence, and appends the reason to the first line of evidence, which is all that
// lists of suspicions show.
void Contradict(Finding& finding, std::string_view reason);

// Root causes, in order of time.
using Findings = std::vector<Finding>;

// A finding with a lower confidence is more likely wrong than right: it is listed apart as
// suspected, and causes no event and no alert.
inline constexpr double kLeastConfidence = 0.5;
inline bool IsSuspected(const Finding& finding) {
  return !(finding.confidence >= kLeastConfidence);
}

}  // namespace rocescope
