// SPDX-License-Identifier: BSD-3-Clause
// Converts and validates the data of agents for the analysis: logs, queue pairs, addresses and GPUs
// as facts that last until they change or the agent falls silent, and counters as records.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analytics/job/host_facts.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "dataplane/host/nccl_log.h"
#include "dataplane/record/record.h"

namespace rocescope {

// The facts of all hosts with an agent.
struct AgentFacts {
  NcclLogs logs;
  std::vector<RdmaDump> rdma;
  std::vector<HostNic> nics;
  std::vector<HostGpu> gpus;
  std::vector<HostProcess> processes;
  std::vector<Allocation> allocations;  // by ID: from processes that name their Slurm job
};

// Not thread-safe.
class AgentFactsBuilder {
 public:
  struct Counts {
    uint64_t readings = 0;   // counter readings
    uint64_t malformed = 0;  // readings with an unknown name or an invalid value
    uint64_t refused = 0;    // queue pairs beyond the limit per host
    uint64_t forgotten = 0;  // logs that were evicted for more recently written ones
  };
  struct Limits {
    size_t logs = 4096;                          // per host
    size_t queue_pairs = 1u << 18;               // per host
    uint64_t log_bytes = uint64_t{256} << 20;    // per host: bytes of log text, and of processes
    uint64_t process_bytes = 4096;               // what a process in a log counts as
    uint64_t all_log_bytes = uint64_t{2} << 30;  // for all hosts
  };
  // The default limits, or lower ones if the appliance has little memory, so that agents cannot use
  // up its budget. In memory, a log takes about three times its text, because the analysis has a
  // copy of what was read.
  static Limits LimitsFor(uint64_t memory);

  // Maps a host's own name to its name in the topology, which its counters then use. Returns the
  // name unchanged if there is none.
  using NameOf = std::function<std::string(const std::string& host)>;

  explicit AgentFactsBuilder(NameOf name_of) : AgentFactsBuilder(std::move(name_of), Limits{}) {}
  AgentFactsBuilder(NameOf name_of, const Limits& limits);
  ~AgentFactsBuilder();

  // Appends the batch's readings to `counters`. Returns true if the facts changed.
  bool Add(const AgentDelivery& delivery, std::vector<CounterRecord>& counters);

  AgentFacts Facts();
  const Counts& counts() const { return counts_; }

 private:
  struct Log;
  struct Session;
  struct Host;

  Host& HostOf(const AgentDelivery& delivery);
  Session& SessionOf(const AgentDelivery& delivery, Host& host);
  bool AddBatch(const AgentDelivery& delivery, Host& host);
  bool AddLogs(const v1::AgentBatch& batch, const std::string& host, Session& session);
  Log& LogOf(const v1::LogLines& lines, const std::string& host, Session& session);
  void ForgetLog(Session& session, uint64_t number);
  void MakeRoomAmongAll();
  // Releases the space of a session's logs before it is destroyed. The session may be null.
  void GiveBack(const Session* session);
  bool ForgetHost(const std::string& host);
  void AddCounters(const AgentDelivery& delivery, const std::string& node,
                   std::vector<CounterRecord>& counters);

  const NameOf name_of_;
  const Limits limits_;
  std::map<std::string, std::unique_ptr<Host>> hosts_;
  uint64_t log_bytes_ = 0;   // sum over all sessions
  uint64_t log_pieces_ = 0;  // pieces received so far; orders the writes of logs
  Counts counts_;
};

}  // namespace rocescope
