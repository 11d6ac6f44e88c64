// SPDX-License-Identifier: BSD-3-Clause
// Generates random scenarios: a campaign of faults and healthy controls. Each scenario is a text
// that LoadScenario reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/draw/priors.h"
#include "sim/fault/fault.h"
#include "sim/scenario/scenario.h"

namespace rocescope::sim {

struct DrawOptions {
  Model model = Model::kPacket;  // kFlow: runs of hours, without kinds that need packets
  uint64_t seed = 1;
  Priors priors;
  bool stratified = false;  // draw all kinds equally often instead of by weight
  double healthy = 0.3;     // fraction of healthy controls, 0 to 1

  // 0: one fault that telemetry of milliseconds can show. 1 to 4: up to this number of concurrent
  // faults as in the field, with magnitudes over the whole range.
  uint32_t most_faults = 0;
  bool lift = false;          // with most_faults: raise loss rates until they are visible
  bool benign = false;        // add benign events
  bool default_logs = false;  // all NCCL logs without queue pair numbers
  uint32_t windows = 0;       // length of the run in analysis windows; 0: as the jobs need
};
inline constexpr uint32_t kMaxConcurrent = 4;
inline constexpr uint32_t kMinWindows = 10;
inline constexpr uint32_t kMaxWindows = kMostPacketWindows;

struct DrawnScenario {
  std::string name;  // "0001-gray_loss", "0002-flap-gray_loss", "0003-healthy"
  std::string yaml;
  std::vector<FaultKind> kinds;  // empty: healthy
};

// Returns the fault kind of scenario `number`, which counts from 1. Of the first n scenarios,
// `healthy` times n (rounded down) are controls, spread evenly. With `stratified`, the other
// scenarios form rounds that contain each kind of the model once in random order, so that the
// counts of two kinds never differ by more than one.
std::optional<FaultKind> KindOf(const DrawOptions& options, uint32_t number);

// The result depends on the seed and the number only, not on how many scenarios are drawn. The
// function creates a network to find out where traffic goes, so no other sim::Engine may exist
// during the call.
Result<DrawnScenario> DrawScenario(const DrawOptions& options, uint32_t number);

}  // namespace rocescope::sim
