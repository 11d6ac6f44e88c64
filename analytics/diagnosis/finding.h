// SPDX-License-Identifier: BSD-3-Clause
// The answer of the diagnosis: what is broken, where, since when, whom it hurts, and how sure that
// is. Hotspots are observations; findings are faults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analytics/diagnosis/finding_kind.h"
#include "base/time.h"
#include "dataplane/record/record.h"
#include "topology/fabric.h"

namespace rocescope {

struct Place {
  PlaceKind kind = PlaceKind::kLink;
  uint32_t index = topology::kNone;  // LinkIndex, NodeIndex, NicIndex, GpuIndex
  // Of a link: the port that sends, if one direction alone is meant.
  topology::PortIndex sender = topology::kNone;

  friend auto operator<=>(const Place&, const Place&) = default;
};

// "leaf0:Ethernet4-spine1:Ethernet2", "leaf0", "host3:mlx5_1", "host3:gpu:5".
std::string NameOf(const topology::Fabric& fabric, const Place& place);

// What a finding stands on.
enum class Basis : uint8_t {
  kItself,   // signs of the place itself
  kVotes,    // whose packets were lost: another loss would cast the same votes
  kWaiting,  // who waits for whom: whatever is wrong elsewhere makes somebody wait
};

struct Suspect {
  FindingKind kind = FindingKind::kLinkDown;
  Place place;
  double probability = 0;

  friend bool operator==(const Suspect&, const Suspect&) = default;
};

struct Finding {
  FindingKind kind = FindingKind::kLinkDown;
  Place place;
  Basis basis = Basis::kItself;
  double confidence = 0;        // that kind and place are right, 0 to 1
  std::vector<Suspect> alternatives;  // what else would explain it, the likeliest first

  Timestamp from;                  // first sign
  std::optional<Timestamp> until;  // last sign; unset: it goes on
  Timestamp verdict;               // from when on what had been seen sufficed

  std::vector<std::string> evidence;      // sentences, the strongest first
  std::vector<std::string> further;       // telemetry that would tell rivals apart
  std::vector<FlowKey> culprits;          // flows that cause it, ascending
  std::vector<uint32_t> affected_jobs;          // indices into Attribution::jobs, ascending
  std::vector<topology::PortIndex> loop;  // of a deadlock: each waits for the next one
  std::vector<Suspect> symptoms;          // what looked like a fault and follows from this one

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Root causes, in order of time.
using Findings = std::vector<Finding>;

}  // namespace rocescope
