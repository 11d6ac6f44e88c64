// SPDX-License-Identifier: BSD-3-Clause
// Finds missing or faulty telemetry: problems of sources, topology, hosts and clocks, not faults of
// the fabric.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "appliance/daemon/core/daemon.h"
#include "base/time.h"

namespace rocescope {

struct Problem {
  std::string kind;                // machine-readable, for example "silent_source"
  std::string place;               // source, switch, address, host or clock
  std::string sentence;            // description
  std::string recommended_action;  // recommended action
};

struct DoctorInput {
  std::vector<SourceState> sources;
  Senders senders;
  const Snapshot* answer = nullptr;  // null: no snapshot yet
  Timestamp started;
  Timestamp now;
  std::filesystem::path sys = "/sys";  // another folder in tests
};

// Returns the problems, the most severe first. At most a few of each kind are returned; the last
// one of a kind states how many more there are.
std::vector<Problem> Doctor(const DoctorInput& input);

}  // namespace rocescope
