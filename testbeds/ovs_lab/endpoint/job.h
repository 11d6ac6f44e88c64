// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a job on one host. They repeatedly compute and then take part in collectives with
// the ranks on other hosts. The traffic follows NCCL's net_ib: the receiver grants a buffer with a
// small WRITE (the clear-to-send), and the sender fills it with a WRITE with immediate.
//
// Hosts exchange nothing but this traffic. Both ends of a channel therefore handle its messages in
// the same order: iteration by iteration, and in the order of the transfers in the plan.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/engine/random.h"
#include "testbeds/ovs_lab/endpoint/job_plan.h"
#include "testbeds/ovs_lab/endpoint/nic.h"
#include "testbeds/ovs_lab/endpoint/queue_pair.h"
#include "testbeds/ovs_lab/endpoint/timers.h"

namespace rocescope::endpoint {

class Job;

// Why a job stopped early.
struct JobFailure {
  // The queue pair that failed; unset if the peer sent something that the plan does not contain.
  std::optional<FailureCause> cause;
  uint32_t rank = 0;  // the local rank
  uint32_t peer_rank = 0;
  bool sends = false;  // the local rank is the sender of the channel
  Qpn local;
};

class JobObserver {
 public:
  virtual ~JobObserver() = default;
  // All ranks of this host have finished the iteration, which counts from 0.
  virtual void IterationFinished(const Job& job, uint32_t iteration, Timestamp begin,
                                 Timestamp end) = 0;
  // All ranks of this host have finished all iterations.
  virtual void JobFinished(const Job& job) = 0;
  virtual void JobFailed(const Job& job, const JobFailure& failure) = 0;
};

class Job final : public QueuePairObserver {
 public:
  static constexpr uint32_t kGrantsAtOnce = 8;       // messages (NCCL_STEPS)
  static constexpr uint32_t kClearToSendBytes = 64;  // sizeof(ncclIbSendFifo)

  // All references must outlive it.
  Job(const JobPlan& plan, topology::NodeIndex host, Timers& timers, JobObserver& observer);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  struct Connections {
    std::function<Nic&(topology::NicIndex)> nic;
    std::function<uint32_t(topology::NicIndex)> address;  // IPv4, of any NIC of the fabric
    std::function<double(topology::NicIndex)> line_rate;  // bit/s
    const TransportOptions* transport = nullptr;
    Timestamp patience_ends;
  };
  // Creates the queue pairs of this host. Call it once.
  void Connect(const Connections& connections);
  // Starts the first computation of all ranks of this host.
  void Start();

  // Factor by which computations that start from now on last longer.
  void SetSlowdown(double factor) { slowdown_ = factor; }

  const JobPlan& plan() const { return plan_; }
  bool has_ranks() const { return !ranks_.empty(); }
  bool failed() const { return failed_; }
  bool finished() const { return finished_ranks_ == ranks_.size(); }

  void Delivered(QueuePair& at, const Delivery& delivery) override;
  void Completed(QueuePair& at, uint64_t context) override;
  void Failed(QueuePair& at, FailureCause cause) override;

 private:
  struct Rank {
    uint32_t number = 0;  // rank of the job
    sim::Random random;   // for its compute times
    uint32_t phase = 0;
    uint32_t iteration = 0;
  };
  // One execution of a phase by a group.
  using RunKey = std::pair<uint32_t, uint32_t>;  // group, iteration
  struct State {                                 // one for each transfer
    // Number of open dependencies, including the sender's arrival in this phase.
    uint32_t waits = 0;
    uint32_t messages = 0;
    bool ready = false;     // the data is ready at the sender
    uint32_t sent = 0;      // acknowledged messages
    uint32_t received = 0;  // delivered messages
  };
  struct Run {
    std::vector<State> states;
    std::vector<uint32_t> remaining;  // by member: transfers
    std::vector<bool> started;        // by member
    uint32_t unfinished = 0;          // local members
  };
  struct Message {
    RunKey run;
    uint32_t transfer = 0;
    uint32_t number = 0;  // within the transfer
    uint32_t parts = 0;   // that have not been acknowledged or delivered
  };
  struct Grant {
    uint64_t address = 0;
    uint32_t rkey = 0;
  };
  // The local end of a channel.
  struct Lane {
    bool sends = false;
    std::vector<QueuePair*> queue_pairs;
    std::deque<Message> waiting;  // to send, or to grant
    uint64_t messages = 0;        // that were sent, or granted
    std::deque<Grant> grants;     // of the sender: unused ones
    uint32_t outstanding = 0;     // of the receiver: granted messages that have not arrived
    std::vector<std::deque<uint64_t>> expected;  // of the receiver: messages by queue pair
  };
  struct End {
    uint32_t channel = 0;
    uint32_t index = 0;  // number of the queue pair in the channel
  };

  void AddLane(uint32_t channel, bool sends, const Connections& connections);
  Lane& LaneOf(const Group& group, uint32_t transfer) {
    return lanes_.at(group.channel_of[transfer]);
  }
  bool IsLocal(uint32_t rank) const { return plan_.hosts[rank] == host_; }
  uint64_t BytesOf(const Message& message) const;
  uint64_t PartSize(uint64_t bytes) const;
  uint32_t FirstQueuePair(const Lane& lane) const;

  void Compute(Rank& rank);
  void Enter(Rank& rank);
  void NextPhase(Rank& rank);
  Run& RunOf(RunKey key);
  void EnterTransfers(RunKey key, uint32_t member);
  void Unblock(RunKey key, uint32_t transfer);
  void Ready(RunKey key, uint32_t transfer);
  void SendWaiting(uint32_t channel);
  void Post(uint32_t channel, Message message, const Grant& grant);
  void GrantWaiting(uint32_t channel);
  void ReceiveGrant(uint32_t channel, const Delivery& delivery);
  void Done(RunKey key, uint32_t transfer, uint32_t member);
  void FinishIfDone(RunKey key, uint32_t member);
  void FinishIteration(uint32_t iteration);
  double SpreadOf(Rank& rank);
  void Fail(const JobFailure& failure);

  struct Iteration {
    Timestamp begin{};
    uint32_t finished = 0;  // local ranks
  };

  const JobPlan& plan_;
  const topology::NodeIndex host_;
  Timers& timers_;
  JobObserver& observer_;
  std::vector<Rank> ranks_;                   // local ones
  std::vector<uint32_t> index_of_;            // by rank of the job: index in ranks_
  std::unordered_map<uint32_t, Lane> lanes_;  // by channel
  std::vector<End> ends_;                     // by QueuePair::Identity::number
  std::map<RunKey, Run> runs_;
  std::unordered_map<uint64_t, Message> messages_;  // in flight
  uint64_t last_message_ = 0;
  std::map<uint32_t, Iteration> iterations_;
  double slowdown_ = 1;
  uint32_t finished_ranks_ = 0;
  bool failed_ = false;
};

}  // namespace rocescope::endpoint
