// SPDX-License-Identifier: BSD-3-Clause
// The running appliance: a thread for each source, a thread for the engine, and their state for the
// servers.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "appliance/common/config/config.h"
#include "appliance/daemon/core/answers.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "base/result.h"
#include "dataplane/host/allocation.h"
#include "dataplane/pipeline/frame_worker.h"
#include "dataplane/pipeline/source_statistics.h"
#include "dataplane/port/port_findings.h"

namespace rocescope {

namespace topology {
class Fabric;
}

enum class SourceKind { kInterface, kUdp, kDpdk, kScrape, kAgents };
// "interface", "udp", "dpdk", "scrape", "agents".
std::string_view NameOf(SourceKind kind);

// The state of a record source.
struct SourceState {
  std::string name;
  SourceKind kind = SourceKind::kInterface;
  std::vector<ListenAddress> listens;  // for sockets
  SourceStatistics statistics;         // updated every 50 ms; for DPDK, the sum of all lcores
  std::vector<PortFindings> ports;     // for DPDK
  std::string error;                   // why the source stopped; empty: running
  std::vector<std::string> problems;   // current problems, as sentences
  std::vector<AgentState> agents;      // agents that report
};

// Counts the iterations of a thread. If the count stops, the thread hangs.
struct Heartbeat {
  std::string name;
  uint64_t beats = 0;
};

class Box {
 public:
  // Opens everything that the configuration names. An error says what cannot be opened and what to
  // do. `tell` receives messages for the user; any thread may call it.
  static Result<std::unique_ptr<Box>> Open(const ApplianceConfig& config,
                                           std::function<void(const std::string&)> tell);
  // An appliance without sources that serves this answer, for example from a replay.
  static std::unique_ptr<Box> Holding(Answer answer, std::shared_ptr<const topology::Fabric> fabric,
                                      Duration window);
  ~Box();

  // Starts receiving.
  void Start();
  // Processes what has arrived, publishes the last answer and joins all threads. Calling it again
  // has no effect.
  void Stop();

  // Thread-safe. The allocations that a scheduler registered, in addition to those in files.
  void SetAllocations(std::vector<Allocation> allocations);
  // Reads host_files again. On error, the previous data is kept.
  Status ReadHostFilesAgain();

  // Thread-safe.
  Answers& answers();
  const Answers& answers() const;
  // Receives the data of agents. They are listed as a source after the first message.
  AgentIntake& agents();
  std::vector<SourceState> Sources() const;
  // The senders seen by all sources in about the last second.
  Senders LastSenders() const;
  // Heartbeats of all running sources and of the analysis.
  std::vector<Heartbeat> Heartbeats() const;
  const ApplianceConfig& config() const;
  // Null if no topology is configured.
  const std::shared_ptr<const topology::Fabric>& fabric() const;
  Timestamp started_at() const;

 private:
  struct Parts;
  explicit Box(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
