// SPDX-License-Identifier: BSD-3-Clause
// The running appliance: a thread for each source, a thread for the engine, and their state for the
// servers.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "appliance/common/config/config.h"
#include "appliance/common/process/memory.h"
#include "appliance/daemon/core/answers.h"
#include "appliance/daemon/core/known_facts.h"
#include "appliance/daemon/core/node_names.h"
#include "appliance/daemon/core/record_source.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "base/result.h"

namespace rocescope {

// Counts the iterations of a thread. If the count stops, the thread hangs.
struct Heartbeat {
  std::string name;
  uint64_t beats = 0;
};

class Daemon {
 public:
  // Opens everything that the configuration names. An error says what cannot be opened and what to
  // do.
  static Result<std::unique_ptr<Daemon>> Open(const ApplianceConfig& config, Notify notify);
  // An appliance without sources that serves this answer, for example from a replay.
  static std::unique_ptr<Daemon> Holding(Answer answer,
                                         std::shared_ptr<const topology::Fabric> fabric,
                                         Duration window);
  ~Daemon();

  // Starts receiving.
  void Start();
  // Processes what has arrived, publishes the last answer and joins all threads. Returns false if
  // the analysis does not end within `most`; its thread then still runs, and another call, or the
  // destructor, waits for it. Calling it again after the end has no effect.
  bool Stop(std::chrono::milliseconds most = std::chrono::hours(24));

  // Thread-safe. The allocations that a scheduler registered, in addition to those in files.
  void SetAllocations(std::vector<Allocation> allocations);
  // Reads host_files again. On error, the previous data is kept.
  Status ReadHostFilesAgain();

  // Thread-safe.
  Answers& answers() { return answers_; }
  const Answers& answers() const { return answers_; }
  // Receives the data of agents. They are listed as a source after the first message.
  AgentIntake& agents() { return intake_; }
  std::vector<SourceState> Sources() const;
  // The senders seen by all sources in about the last second.
  Senders LastSenders() const;
  // Heartbeats of all running sources and of the analysis.
  std::vector<Heartbeat> Heartbeats() const;
  const ApplianceConfig& config() const { return config_; }
  // The configured memory budget, or three quarters of the physical memory if that is less.
  uint64_t memory_budget() const { return std::min(config_.memory, PhysicalBytes() / 4 * 3); }
  // Maximum number of counter series, which follows from the memory budget and the topology.
  size_t series_limit() const;
  // Memory that the topology and the analysis of its nodes and links used when they were loaded;
  // 0: no topology is configured.
  uint64_t topology_bytes() const { return topology_bytes_; }
  // Null if no topology is configured.
  const std::shared_ptr<const topology::Fabric>& fabric() const { return fabric_; }
  const NodeNames& node_names() const { return node_names_; }
  Timestamp started_at() const { return started_at_; }

 private:
  Daemon(const ApplianceConfig& config, Notify notify);

  Status LoadFacts();
  Status OpenSources();
  Status Add(SourceResult opened);
  RecordCounts CountRecords() const;
  void MakeEngine();
  Result<HostFiles> ReadHosts() const;
  void SetAgentFacts(AgentFacts facts);
  // The nodes of the topology that an agent's host name denotes.
  std::vector<topology::NodeIndex> NodesOfHost(std::string_view host) const;
  // The topology's name for this host, which may be a longer or shorter form. If there is none,
  // reports that and returns the name unchanged.
  std::string NodeNamed(const std::string& host) const;
  void TakeHosts(HostFiles hosts);  // requires facts_mutex_
  KnownFacts Facts();
  void FactsChanged();  // requests that the analysis read them again

  const ApplianceConfig config_;
  const Notify notify_;
  Timestamp started_at_;
  AgentIntake intake_;
  std::mutex facts_mutex_;  // guards the next member
  KnownFacts facts_;
  std::shared_ptr<const topology::Fabric> fabric_;
  uint64_t topology_bytes_ = 0;
  NodeNames node_names_;
  Answers answers_;
  std::vector<std::unique_ptr<RecordSource>> sources_;
  // The engine and its loop, declared in daemon.cc: the servers include this header, but not them.
  struct Analysis;
  std::unique_ptr<Analysis> analysis_;
  std::thread analyst_;
  std::future<void> analysed_;  // ready when `analyst_` ends
  std::atomic<bool> sources_ended_ = false;
  bool runs_ = false;
};

}  // namespace rocescope
