// SPDX-License-Identifier: BSD-3-Clause
// Finds missing or faulty telemetry: problems of sources, topology, hosts, clocks and the history,
// not faults of the fabric.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "analytics/engine/snapshot.h"
#include "appliance/daemon/core/daemon.h"
#include "appliance/daemon/history/history_store.h"
#include "base/time.h"

namespace rocescope {

struct Problem {
  std::string kind;                // machine-readable, for example "silent_source"
  std::string place;               // source, switch, address, host, clock or file
  std::string sentence;            // description
  std::string recommended_action;  // recommended action
};

// State of the history file.
struct HistoryHealth {
  std::string file;
  HistoryCounts counts;
};

struct DoctorInput {
  std::vector<SourceState> sources;
  Senders senders;
  const Snapshot* answer = nullptr;  // null: no snapshot yet
  Timestamp started;
  Timestamp now;
  std::optional<HistoryHealth> history = std::nullopt;  // nullopt: no history
  std::vector<std::string> memory = {};                 // problems of the memory budget
  std::filesystem::path sys = "/sys";                   // another folder in tests
};

// Returns the senders whose telemetry was refused within the last ten minutes.
std::vector<RefusedSender> RecentlyRefused(const Senders& senders, Timestamp now);

// Returns the scrape targets with samples of other nodes than their own within the last ten
// minutes.
std::vector<ForeignNodes> RecentlyForeign(const std::vector<SourceState>& sources, Timestamp now);

// Returns the agents that lost batches within the last ten minutes.
std::vector<AgentState> LosingAgents(const std::vector<SourceState>& sources, Timestamp now);

// Returns the problems, the most severe first. At most a few of each kind are returned; the last
// one of a kind states how many more there are.
std::vector<Problem> Doctor(const DoctorInput& input);

}  // namespace rocescope
