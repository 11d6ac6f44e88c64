// SPDX-License-Identifier: BSD-3-Clause
// What keeps a box from seeing what it should: its sources, its topology, its hosts and clocks, not
// the fabric's faults.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "appliance/daemon/core/box.h"
#include "base/time.h"

namespace rocescope {

struct Problem {
  std::string kind;      // for programs: "silent_source"
  std::string place;     // of whom
  std::string sentence;  // what is wrong
  std::string recommended_action;    // what to do
};

struct DoctorInput {
  std::vector<SourceState> sources;
  Senders senders;
  const Snapshot* answer = nullptr;  // null: there is none yet
  Timestamp started;
  Timestamp now;
  std::filesystem::path sys = "/sys";  // elsewhere in tests
};

// Those that cost most first; at most a few of a kind, the last of which says how many more.
std::vector<Problem> Doctor(const DoctorInput& input);

}  // namespace rocescope
