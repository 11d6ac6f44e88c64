// SPDX-License-Identifier: BSD-3-Clause
// What agents have said of their hosts, as analysis takes it: logs, queue pairs, addresses and GPUs
// as facts that stand until something else is said or the agent falls silent, counters as records.
// Everything here is somebody else's word and is checked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "analytics/job/host_facts.h"
#include "dataplane/host/nccl_log.h"
#include "appliance/daemon/intake/agent_intake.h"
#include "dataplane/record/record.h"

namespace rocescope {

// Facts of all hosts that have an agent.
struct AgentFacts {
  NcclLogs logs;
  std::vector<RdmaDump> rdma;
  std::vector<HostNic> nics;
  std::vector<HostGpu> gpus;
  std::vector<HostProcess> processes;
  std::vector<Allocation> allocations;  // by id: of processes that say of which Slurm job they are
};

// One thread.
class AgentFactsBuilder {
 public:
  struct Counts {
    uint64_t readings = 0;   // of counters
    uint64_t malformed = 0;  // of these, with a name or number that means nothing
    uint64_t refused = 0;    // queue pairs beyond what a host may have
    uint64_t forgotten = 0;  // logs: there was no room for them beside those written since
  };
  struct Limits {
    size_t logs = 4096;                           // of a host
    size_t queue_pairs = 1u << 20;                // likewise
    uint64_t log_bytes = uint64_t{256} << 20;    // likewise: of text that was read
    uint64_t all_log_bytes = uint64_t{2} << 30;  // of all hosts
  };

  // What the topology calls a host, whose counters go by that name; where there is none, as it
  // calls itself.
  using NameOf = std::function<std::string(const std::string& host)>;

  explicit AgentFactsBuilder(NameOf name_of) : AgentFactsBuilder(std::move(name_of), Limits{}) {}
  AgentFactsBuilder(NameOf name_of, const Limits& limits);
  ~AgentFactsBuilder();

  // Appends its readings to `counters`. True: the facts have changed.
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
  // The room that its logs took; the session is to go. Null: there is none.
  void GiveBack(const Session* session);
  bool ForgetHost(const std::string& host);
  void AddCounters(const AgentDelivery& delivery, const std::string& node,
                   std::vector<CounterRecord>& counters);

  const NameOf name_of_;
  const Limits limits_;
  std::map<std::string, std::unique_ptr<Host>> hosts_;
  uint64_t log_bytes_ = 0;  // of all sessions
  uint64_t log_pieces_ = 0;  // that were read: which log was written last
  Counts counts_;
};

}  // namespace rocescope
