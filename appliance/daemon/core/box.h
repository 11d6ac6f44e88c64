// SPDX-License-Identifier: BSD-3-Clause
// The appliance at work: sources, each on a thread of its own, the engine on another, and what they
// know for whoever serves it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/host/allocation.h"
#include "appliance/daemon/core/answers.h"
#include "appliance/common/config/config.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "base/result.h"
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

// Where records come from.
struct SourceState {
  std::string name;
  SourceKind kind = SourceKind::kInterface;
  std::vector<ListenAddress> listens;  // on which sockets
  SourceStatistics statistics;          // as of the last 50 ms; of DPDK, of all lcores
  std::vector<PortFindings> ports;     // of DPDK
  std::string error;                   // why it has ended; empty: it has not
  std::vector<std::string> problems;   // what it cannot do now, as sentences
  std::vector<AgentState> agents;      // of hosts, that report
};

// How often a thread of the box has come round so far: one that does not any more hangs.
struct Heartbeat {
  std::string name;
  uint64_t beats = 0;
};

class Box {
 public:
  // Opens all that the configuration names: what cannot be opened is the error, which says what to
  // do. `tell` is for sentences to people, by any thread.
  static Result<std::unique_ptr<Box>> Open(const ApplianceConfig& config,
                                           std::function<void(const std::string&)> tell);
  // One that receives nothing and has this answer for ever: a replay's, to be served.
  static std::unique_ptr<Box> Holding(Answer answer, std::shared_ptr<const topology::Fabric> fabric,
                                      Duration window);
  ~Box();

  // Begins to receive.
  void Start();
  // Takes what has arrived, works out the last answers, ends all threads. Again is nothing.
  void Stop();

  // Any thread, any time. What a scheduler says now, beside what its files said.
  void SetAllocations(std::vector<Allocation> allocations);
  // Reads host_files anew. The error leaves all as it was.
  Status ReadHostFilesAgain();

  // Any thread, any time.
  Answers& answers();
  const Answers& answers() const;
  // What agents say goes there; they are a source once the first one has said something.
  AgentIntake& agents();
  std::vector<SourceState> Sources() const;
  // Of all sources, as of the last second or so.
  Senders LastSenders() const;
  // Of sources that have not ended, and of analysis.
  std::vector<Heartbeat> Heartbeats() const;
  const ApplianceConfig& config() const;
  // Null: none was given.
  const std::shared_ptr<const topology::Fabric>& fabric() const;
  Timestamp started_at() const;

 private:
  struct Parts;
  explicit Box(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace rocescope
