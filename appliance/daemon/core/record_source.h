// SPDX-License-Identifier: BSD-3-Clause
// A source as the appliance sees it: receives telemetry and makes records in threads of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/common/config/config.h"
#include "appliance/common/process/notice.h"
#include "appliance/common/scrape/foreign_nodes.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "appliance/daemon/intake/agent_loop.h"
#include "base/result.h"
#include "dataplane/pipeline/frame_processor.h"
#include "dataplane/pipeline/frame_worker.h"
#include "dataplane/pipeline/record_exchange.h"
#include "dataplane/pipeline/source_statistics.h"
#include "dataplane/port/port_findings.h"

namespace rocescope {

enum class SourceKind { kInterface, kUdp, kDpdk, kScrape, kAgents };
// "interface", "udp", "dpdk", "scrape", "agents".
std::string_view NameOf(SourceKind kind);

// The state of a source.
struct SourceState {
  std::string name;
  SourceKind kind = SourceKind::kInterface;
  std::vector<ListenAddress> listens;  // for sockets
  SourceStatistics statistics;         // updated every 50 ms; for DPDK, the sum of all lcores
  std::vector<PortFindings> ports;     // for DPDK
  std::string error;                   // why the source stopped; empty: running
  std::vector<std::string> problems;   // current problems, as sentences
  std::vector<AgentState> agents;      // agents that report
  std::vector<ForeignNodes> foreign;   // scrape targets with samples of other nodes
};

class RecordSource {
 public:
  virtual ~RecordSource() = default;

  // Returns one exchange for each thread that produces records. Call it before Start.
  virtual std::vector<RecordExchange*> Records() = 0;

  // Starts to receive. Call it once.
  virtual void Start() = 0;
  // Ends receiving; returns immediately. Call it after Start.
  virtual void Stop() = 0;
  // Waits until all records are handed over, so their reader must continue until then. Call it once
  // after Stop.
  virtual void Join() = 0;

  // Thread-safe, as are all functions below.
  virtual SourceState State() const = 0;
  virtual SourceStatistics Statistics() const = 0;
  // Returns the senders observed in the last second.
  virtual Senders LastSenders() const { return {}; }
  // Returns a counter for each thread; each counter increases several times per second.
  virtual std::vector<uint64_t> Beats() const = 0;
  // Whether the list of sources contains this source.
  virtual bool IsListed() const { return true; }
};

using SourceResult = Result<std::unique_ptr<RecordSource>>;

// `notify` receives the reason if the source stops because of a failure.
SourceResult OpenInterfaceSource(const InterfaceConfig& config,
                                 const FrameProcessor::Options& processor, TapId tap,
                                 Notify notify);
// `first_tap` is the tap of the first socket: INT reports come before sFlow.
SourceResult OpenUdpSource(const UdpConfig& config, const FrameProcessor::Options& processor,
                           TapId first_tap);
// The responses in progress take at most an eighth of the memory budget, but at least one response
// of the maximum size is possible.
SourceResult OpenScrapeSource(const ScrapeConfig& config, uint64_t memory_budget);
// The source is listed only after an agent has sent its first message. `intake` must outlive it.
std::unique_ptr<RecordSource> MakeAgentSource(AgentIntake& intake, std::unique_ptr<AgentLoop> loop);

}  // namespace rocescope
