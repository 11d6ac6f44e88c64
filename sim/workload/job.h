// SPDX-License-Identifier: BSD-3-Clause
// A training job: its ranks repeatedly compute and then take part in collectives. Its traffic
// follows NCCL's net_ib: the receiver grants a buffer with a small WRITE (the clear-to-send), and
// the sender fills it with a WRITE whose last packet carries an immediate.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/random.h"
#include "sim/host/network.h"
#include "sim/workload/checkpoint.h"
#include "sim/workload/collective.h"
#include "topology/fabric.h"

namespace rocescope::sim {

struct JobOptions {
  // One phase of an iteration; all ranks run the phases in sequence.
  struct Phase {
    std::string name;              // name of the communicator: "dp", "pp"
    SimTime compute = 0;           // compute time of each rank before the collective
    CollectiveOptions collective;  // the group determines its ranks
    // Groups of the job's ranks; empty: one group with all ranks.
    std::vector<std::vector<uint32_t>> groups;
    bool has_collective = true;  // false: the ranks only compute or pause
  };
  // Phases that follow some of the iterations: an evaluation, a compilation, a pause.
  struct Interlude {
    std::string name;
    uint32_t after = 0;  // number of iterations before the first time
    uint32_t every = 0;  // iterations from one time to the next; 0: only once
    std::vector<Phase> phases;
  };
  // Each rank writes to a storage NIC after every `every` iterations.
  struct Checkpoint {
    uint32_t every = 0;                  // 0: no checkpoints
    uint64_t bytes = 0;                  // of each rank
    std::vector<topology::NicIndex> to;  // rank r writes to the NIC r modulo their number
    bool blocking = true;                // the rank continues when its write is complete
  };
  // The job crashes, and starts again with new processes and queue pairs.
  struct Restart {
    SimTime at = 0;
    SimTime downtime = 0;
  };

  std::string name;
  uint64_t id = 1;                       // job id of the scheduler
  std::vector<topology::GpuIndex> gpus;  // indexed by rank
  std::vector<Phase> phases;
  uint32_t iterations = 0;  // 0: until the end of the run
  SimTime start = 0;
  SimTime end = kNever;  // the job stops at this time, even within an iteration
  std::vector<Interlude> interludes;
  Checkpoint checkpoint;
  std::vector<Restart> restarts;  // in ascending order
  double jitter = 0.02;           // standard deviation of the compute time, relative to its mean
  uint32_t queue_pairs = 1;       // per connection (NCCL_IB_QPS_PER_CONNECTION)
  bool split_data = false;  // split each message over the queue pairs (NCCL_IB_SPLIT_DATA_ON_QPS)
  // Maximum message size in bytes; longer transfers use several messages.
  uint32_t chunk = 512u << 10;
  double local_rate = 1.6e12;  // bit/s between GPUs of the same host
  uint64_t seed = 1;
  // Set by the simulation, which runs each start of a job as a Job of its own.
  uint32_t incarnation = 0;   // 0: the first start
  std::vector<double> paces;  // by rank: factor of the GPU's compute time; empty: 1
};

class Job final : public QueuePairObserver {
 public:
  static constexpr uint32_t kGrantsAtOnce = 8;       // messages (NCCL_STEPS)
  static constexpr uint32_t kClearToSendBytes = 64;  // sizeof(ncclIbSendFifo)

  // The network must outlive it.
  static Result<std::unique_ptr<Job>> Make(Network& network, const JobOptions& options);

  void Start();  // schedules the start, and the end if there is one

  // From now on the compute time of the rank's GPU is multiplied by `factor`: 2 is half as fast.
  void SetSlowdown(uint32_t rank, double factor) { ranks_[rank].slowdown = factor; }

  double slowdown(uint32_t rank) const { return ranks_[rank].slowdown; }
  // Time that the rank's GPU has computed so far, without waiting.
  SimTime ComputedFor(uint32_t rank) const;

  // Factor by which the rank's GPU always needs more time than a nominal one.
  double pace(uint32_t rank) const { return options_.paces.empty() ? 1 : options_.paces[rank]; }

  // Number of computations that finished while slowed down.
  uint64_t SlowComputations(uint32_t rank) const { return ranks_[rank].slow_computations; }

  // One direction between two ranks, for one communicator.
  struct Channel {
    uint32_t phase;
    uint32_t group;
    uint32_t from;  // ranks of the job
    uint32_t to;
    std::vector<QueuePair*> senders;    // send the data
    std::vector<QueuePair*> receivers;  // their peers
    uint32_t rkey = 0;                  // of the receive buffer
    uint32_t fifo_rkey = 0;             // of the sender's memory that receives clear-to-sends
    uint64_t buffer = 0;                // address of the receive buffer
    uint64_t fifo = 0;
    uint64_t messages = 0;  // number of granted messages
  };
  struct Iteration {
    SimTime begin;
    SimTime end;
  };

  // An interlude or a checkpoint that took place.
  struct Break {
    std::string name;
    bool checkpoint = false;
    uint32_t iteration = 0;  // after which it came
    SimTime begin = 0;
    SimTime end = kNever;
    uint64_t done = 0;  // completed phases of all ranks
  };

  const JobOptions& options() const { return options_; }
  // The phases of an iteration, then those of the interludes; Channel::phase is an index.
  const std::vector<JobOptions::Phase>& phases() const { return phases_; }
  const std::vector<Break>& breaks() const { return breaks_; }
  // Whether the ranks run this phase in this iteration, which counts from 0. The checkpoint has the
  // phase phases().size().
  bool IsDue(uint32_t phase, uint32_t iteration) const;
  // The interlude of a phase of phases() after those of options(), or the checkpoint.
  struct BreakKind {
    std::string name;
    bool checkpoint = false;
    uint64_t phases = 1;  // number that each rank runs
  };
  BreakKind BreakKindOf(uint32_t phase) const;
  const std::vector<std::unique_ptr<CheckpointWriter>>& checkpoints() const { return checkpoints_; }
  bool stopped() const { return stopped_; }
  // Frames that its queue pairs retransmitted.
  uint64_t frames_retransmitted() const;
  const std::vector<Channel>& channels() const { return channels_; }
  const std::vector<Iteration>& iterations() const { return done_; }
  topology::NicIndex NicOf(uint32_t rank) const { return ranks_[rank].nic; }
  bool failed() const { return failed_; }

  void Delivered(QueuePair& receiver, const Message& message) override;
  void Completed(QueuePair&, const Message&) override {}
  void Failed(QueuePair&) override { failed_ = true; }

 private:
  static constexpr uint32_t kWithinHost = UINT32_MAX;
  static constexpr uint32_t kNoMember = UINT32_MAX;

  struct Rank {
    topology::NicIndex nic = 0;
    topology::NodeIndex host = 0;
    double slowdown = 1;
    uint64_t slow_computations = 0;
    SimTime computed = 0;        // total of all started computations
    SimTime computes_until = 0;  // end of the last computation
    uint32_t phase = 0;
    uint32_t iteration = 0;
    bool finished = false;
  };
  // The state of one transfer of the group's plan, split into messages.
  struct State {
    // Number of open dependencies, including the sender's arrival in this phase.
    uint32_t waits = 0;
    uint32_t messages = 1;
    uint32_t granted = 0;  // number of granted messages
    uint32_t delivered = 0;
    bool ready = false;            // the data is ready at the sender
    std::vector<uint64_t> grants;  // grants that arrived before the data was ready: references
  };
  // One execution of a phase by a group.
  struct Run {
    uint32_t iteration = 0;
    std::vector<State> states;
    std::vector<uint32_t> remaining;             // by member: remaining transfers
    std::vector<std::deque<uint32_t>> to_grant;  // by lane: transfers in order
    std::vector<uint32_t> granted;  // by lane: granted messages that are not yet delivered
    std::vector<bool> started;      // by member
    uint32_t unfinished = 0;        // number of unfinished members
  };
  struct Group {
    uint32_t phase = 0;
    uint32_t number = 0;
    std::vector<uint32_t> members;
    std::vector<uint32_t> place;  // by rank of the job
    Plan plan;
    // One per transfer: index in `lanes`; kWithinHost for a transfer between GPUs of one host.
    std::vector<uint32_t> lane_of;
    std::vector<uint32_t> lanes;                     // channel numbers
    std::vector<std::vector<uint32_t>> sends_of;     // by member: transfers
    std::vector<std::vector<uint32_t>> receives_of;  // by member: lanes
    // Keyed by iteration; two while ranks are in different iterations.
    std::map<uint32_t, Run> runs;
  };
  // A message in flight.
  struct Reference {
    uint32_t group = 0;
    uint32_t iteration = 0;
    uint32_t transfer = 0;
    uint32_t number = 0;      // index within the transfer
    uint32_t parts = 1;       // remaining parts
    uint32_t queue_pair = 0;  // index within the channel
    bool grant = false;
    uint64_t address = 0;
  };

  Job(Network& network, const JobOptions& options);
  Status Prepare();
  void PreparePhases();
  void PrepareCheckpoints();
  Status PrepareGroup(uint32_t phase, uint32_t number, std::vector<uint32_t> members);
  uint32_t LaneFor(Group& group, uint32_t from, uint32_t to);
  uint32_t MessagesOf(const Plan::Transfer& transfer) const;

  void Stop();
  void Compute(uint32_t rank);
  void WriteCheckpoint(uint32_t rank);
  Break& BreakOf(uint32_t phase, uint32_t iteration);
  void AdvanceBreak(uint32_t phase, uint32_t iteration);
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
  std::vector<JobOptions::Phase> phases_;
  // Indexed by phase, from options_.phases.size() on: its interlude.
  std::vector<uint32_t> interlude_of_;
  std::vector<Break> breaks_;
  std::vector<std::unique_ptr<CheckpointWriter>> checkpoints_;  // by rank; empty: none
  std::vector<Group> groups_;
  std::vector<std::vector<uint32_t>> group_of_;  // by phase and rank: index in groups_
  std::vector<Channel> channels_;
  std::vector<Reference> references_;
  std::vector<uint64_t> free_references_;
  std::vector<Iteration> done_;
  std::vector<uint32_t> finished_ranks_;  // indexed by iteration
  bool failed_ = false;
  bool stopped_ = false;
};

}  // namespace rocescope::sim
