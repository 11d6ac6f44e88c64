// SPDX-License-Identifier: BSD-3-Clause
// A training job: ranks that compute, then take part in collectives, again and again. What it does
// on the wire is what NCCL does (net_ib): the receiver grants a buffer by a small WRITE, its
// clear-to-send, and the sender fills it by a WRITE whose last packet carries an immediate.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/random.h"
#include "sim/host/network.h"
#include "sim/workload/collective.h"
#include "topology/fabric.h"

namespace rocescope::sim {

struct JobOptions {
  // What all ranks do one behind the other in each iteration.
  struct Phase {
    std::string name;                           // of the communicator: "dp", "pp"
    SimTime compute = 0;                        // before it, by each rank
    CollectiveOptions collective;               // its ranks are those of a group
    std::vector<std::vector<uint32_t>> groups;  // of the job's ranks; empty: one with all of them
  };

  std::string name;
  uint64_t id = 1;                       // the scheduler's
  std::vector<topology::GpuIndex> gpus;  // of rank 0, 1, ...
  std::vector<Phase> phases;
  uint32_t iterations = 0;  // 0: until the run ends
  SimTime start = 0;
  double jitter = 0.02;         // standard deviation of a compute time, as a share of it
  uint32_t queue_pairs = 1;     // of a connection (NCCL_IB_QPS_PER_CONNECTION)
  bool split_data = false;      // over them (NCCL_IB_SPLIT_DATA_ON_QPS), not message by message
  uint32_t chunk = 512u << 10;  // octets: longer transfers become several messages
  double local_rate = 1.6e12;   // bit/s between GPUs of one host
  uint64_t seed = 1;
};

class Job final : public QueuePairObserver {
 public:
  // The network must outlive it.
  static Result<std::unique_ptr<Job>> Make(Network& network, const JobOptions& options);

  void Start();  // schedules its beginning

  // The GPU computes so much slower from now on: 2 is half as fast.
  void SetSlowdown(uint32_t rank, double factor) { ranks_[rank].slowdown = factor; }

  double slowdown(uint32_t rank) const { return ranks_[rank].slowdown; }
  // Time that its GPU has computed so far, not waited for others.
  SimTime ComputedFor(uint32_t rank) const;

  // Computations that it ended while slow.
  uint64_t SlowComputations(uint32_t rank) const { return ranks_[rank].slow_computations; }

  // One direction of a rank pair, for one communicator.
  struct Channel {
    uint32_t phase;
    uint32_t group;
    uint32_t from;  // ranks of the job
    uint32_t to;
    std::vector<QueuePair*> senders;    // of data
    std::vector<QueuePair*> receivers;  // their peers
    uint32_t rkey = 0;                  // of the receive buffer
    uint32_t fifo_rkey = 0;             // of the sender's memory that clear-to-sends go to
    uint64_t buffer = 0;                // address
    uint64_t fifo = 0;
    uint64_t messages = 0;  // granted so far
  };
  struct Iteration {
    SimTime begin;
    SimTime end;
  };

  const JobOptions& options() const { return options_; }
  const std::vector<Channel>& channels() const { return channels_; }
  const std::vector<Iteration>& iterations() const { return done_; }
  topology::NicIndex NicOf(uint32_t rank) const { return ranks_[rank].nic; }
  bool failed() const { return failed_; }

  void Delivered(QueuePair& receiver, const Message& message) override;
  void Completed(QueuePair&, const Message&) override {}
  void Failed(QueuePair&) override { failed_ = true; }

 private:
  static constexpr uint32_t kGrantsAtOnce = 8;  // NCCL_STEPS
  static constexpr uint32_t kWithinHost = UINT32_MAX;
  static constexpr uint32_t kNoMember = UINT32_MAX;

  struct Rank {
    topology::NicIndex nic = 0;
    topology::NodeIndex host = 0;
    double slowdown = 1;
    uint64_t slow_computations = 0;
    SimTime computed = 0;        // of all computations begun
    SimTime computes_until = 0;  // the last of them
    uint32_t phase = 0;
    uint32_t iteration = 0;
    bool finished = false;
  };
  // A transfer of the group's plan, cut into messages.
  struct State {
    uint32_t waits = 0;  // for other transfers, and for its sender to have come so far
    uint32_t messages = 1;
    uint32_t granted = 0;  // messages
    uint32_t delivered = 0;
    bool ready = false;            // the sender has the data
    std::vector<uint64_t> grants;  // that have arrived before it had: references
  };
  // One execution of a phase by a group.
  struct Run {
    uint32_t iteration = 0;
    std::vector<State> states;
    std::vector<uint32_t> remaining;             // by member: transfers it is part in
    std::vector<std::deque<uint32_t>> to_grant;  // by lane: transfers in order
    std::vector<uint32_t> granted;               // by lane: messages not yet delivered
    std::vector<bool> started;                   // by member
    uint32_t unfinished = 0;                     // members
  };
  struct Group {
    uint32_t phase = 0;
    uint32_t number = 0;
    std::vector<uint32_t> members;
    std::vector<uint32_t> place;  // by rank of the job
    Plan plan;
    // By transfer: where in `lanes`; kWithinHost for one between GPUs of a host.
    std::vector<uint32_t> lane_of;
    std::vector<uint32_t> lanes;                     // numbers of channels
    std::vector<std::vector<uint32_t>> sends_of;     // by member: transfers
    std::vector<std::vector<uint32_t>> receives_of;  // by member: lanes
    std::map<uint32_t, Run> runs;  // by iteration: one, or two while ranks are apart
  };
  // A message on its way.
  struct Reference {
    uint32_t group = 0;
    uint32_t iteration = 0;
    uint32_t transfer = 0;
    uint32_t number = 0;      // among the transfer's messages
    uint32_t parts = 1;       // still missing
    uint32_t queue_pair = 0;  // of the channel's
    bool grant = false;
    uint64_t address = 0;
  };

  Job(Network& network, const JobOptions& options);
  Status Prepare();
  Status PrepareGroup(uint32_t phase, uint32_t number, std::vector<uint32_t> members);
  uint32_t LaneFor(Group& group, uint32_t from, uint32_t to);
  uint32_t MessagesOf(const Plan::Transfer& transfer) const;

  void Compute(uint32_t rank);
  void NoteComputing(uint32_t rank, SimTime time);
  void Enter(uint32_t rank);
  Run& RunOf(Group& group, uint32_t iteration);
  void Grant(uint32_t group, uint32_t iteration, uint32_t lane);
  void Unblock(uint32_t group, uint32_t iteration, uint32_t transfer);
  void Ready(uint32_t group, uint32_t iteration, uint32_t transfer);
  void SendGranted(uint64_t grant);
  void Arrived(uint32_t group, uint32_t iteration, uint32_t transfer);
  void FinishIfDone(uint32_t group, uint32_t iteration, uint32_t member);
  void NextPhase(uint32_t rank);
  uint64_t Remember(const Reference& reference);
  void Forget(uint64_t reference);

  Network& network_;
  const JobOptions options_;
  Random random_;
  std::vector<Rank> ranks_;
  std::vector<Group> groups_;
  std::vector<std::vector<uint32_t>> group_of_;  // by phase and rank: in groups_
  std::vector<Channel> channels_;
  std::vector<Reference> references_;
  std::vector<uint64_t> free_references_;
  std::vector<Iteration> done_;
  std::vector<uint32_t> finished_ranks_;  // by iteration
  bool failed_ = false;
};

}  // namespace rocescope::sim
