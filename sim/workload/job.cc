// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace rocescope::sim {
namespace {

constexpr SimTime kLocalLatency = 2 * kMicrosecond;

// Irwin-Hall approximation of a normal distribution with mean 0 and standard deviation 1.
double Normal(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.Uniform();
  return sum;
}

}  // namespace

Job::Job(Network& network, const JobOptions& options)
    : network_(network), options_(options), random_(options.seed, "job", options.id) {}

Result<std::unique_ptr<Job>> Job::Make(Network& network, const JobOptions& options) {
  std::unique_ptr<Job> job(new Job(network, options));
  if (Status prepared = job->Prepare(); !prepared) return tl::unexpected(prepared.error());
  return job;
}

Status Job::Prepare() {
  const topology::Fabric& fabric = network_.fabric();
  for (const topology::GpuIndex index : options_.gpus) {
    const topology::Gpu& gpu = fabric.gpu(index);
    if (gpu.nic == topology::kNone) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("job {}: the nearest NIC of GPU {} of {} is unknown",
                                   options_.name, gpu.number, fabric.node(gpu.host).name));
    }
    ranks_.push_back({.nic = gpu.nic, .host = gpu.host});
  }
  if (options_.phases.empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("job {} has no phases", options_.name));
  }
  PreparePhases();
  group_of_.assign(phases_.size(), std::vector<uint32_t>(ranks_.size(), kNoMember));
  for (uint32_t phase = 0; phase < phases_.size(); ++phase) {
    if (!phases_[phase].has_collective) continue;
    std::vector<std::vector<uint32_t>> groups = phases_[phase].groups;
    if (groups.empty()) {
      groups.emplace_back(ranks_.size());
      std::iota(groups[0].begin(), groups[0].end(), 0);
    }
    for (uint32_t number = 0; number < groups.size(); ++number) {
      if (Status made = PrepareGroup(phase, number, std::move(groups[number])); !made) return made;
    }
  }
  PrepareCheckpoints();
  return {};
}

void Job::PreparePhases() {
  phases_ = options_.phases;
  for (uint32_t number = 0; number < options_.interludes.size(); ++number) {
    for (const JobOptions::Phase& phase : options_.interludes[number].phases) {
      phases_.push_back(phase);
      interlude_of_.push_back(number);
    }
  }
}

void Job::PrepareCheckpoints() {
  const JobOptions::Checkpoint& checkpoint = options_.checkpoint;
  if (checkpoint.every == 0 || checkpoint.to.empty()) return;
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    checkpoints_.push_back(std::make_unique<CheckpointWriter>(
        network_, ranks_[rank].nic, checkpoint.to[rank % checkpoint.to.size()]));
  }
}

Status Job::PrepareGroup(uint32_t phase, uint32_t number, std::vector<uint32_t> members) {
  Group group;
  group.phase = phase;
  group.number = number;
  group.place.assign(ranks_.size(), kNoMember);
  const auto where = [&] {
    return fmt::format("job {}, phase {}, group {}", options_.name, phases_[phase].name, number);
  };
  for (uint32_t member = 0; member < members.size(); ++member) {
    const uint32_t rank = members[member];
    if (rank >= ranks_.size() || group_of_[phase][rank] != kNoMember) {
      return MakeError(
          ErrorCode::kInvalidArgument,
          fmt::format("{}: rank {} is not in the job (which has {} ranks) or is in two groups",
                      where(), rank, ranks_.size()));
    }
    group.place[rank] = member;
    group_of_[phase][rank] = static_cast<uint32_t>(groups_.size());
  }
  CollectiveOptions collective = phases_[phase].collective;
  collective.ranks = static_cast<uint32_t>(members.size());
  Result<Plan> plan = MakePlan(collective);
  if (!plan) {
    return MakeError(plan.error().code, fmt::format("{}: {}", where(), plan.error().message));
  }
  group.plan = std::move(*plan);
  group.members = std::move(members);
  group.sends_of.resize(group.members.size());
  group.receives_of.resize(group.members.size());
  for (uint32_t i = 0; i < group.plan.transfers().size(); ++i) {
    const Plan::Transfer& transfer = group.plan.transfers()[i];
    group.sends_of[transfer.from].push_back(i);
    const uint32_t from = group.members[transfer.from];
    const uint32_t to = group.members[transfer.to];
    group.lane_of.push_back(ranks_[from].host == ranks_[to].host ? kWithinHost
                                                                 : LaneFor(group, from, to));
  }
  groups_.push_back(std::move(group));
  return {};
}

// Returns the channel between two ranks, numbered within the group; creates it on first use.
uint32_t Job::LaneFor(Group& group, uint32_t from, uint32_t to) {
  for (const uint32_t lane : group.receives_of[group.place[to]]) {
    if (channels_[group.lanes[lane]].from == from) return lane;
  }
  const auto lane = static_cast<uint32_t>(group.lanes.size());
  Channel channel;
  channel.phase = group.phase;
  channel.group = group.number;
  channel.from = from;
  channel.to = to;
  for (uint32_t i = 0; i < options_.queue_pairs; ++i) {
    const Network::Connection connection = network_.Connect(ranks_[from].nic, ranks_[to].nic, this);
    channel.senders.push_back(connection.first);
    channel.receivers.push_back(connection.second);
  }
  constexpr uint64_t kHeap = 0x7f00'0000'0000;
  channel.rkey = static_cast<uint32_t>(random_.Next()) | 1;
  channel.fifo_rkey = static_cast<uint32_t>(random_.Next()) | 1;
  channel.buffer = kHeap | (random_.Below(1u << 20) << 20);
  channel.fifo = kHeap | (random_.Below(1u << 20) << 16);
  group.receives_of[group.place[to]].push_back(lane);
  group.lanes.push_back(static_cast<uint32_t>(channels_.size()));
  channels_.push_back(std::move(channel));
  return lane;
}

uint32_t Job::MessagesOf(const Plan::Transfer& transfer) const {
  return static_cast<uint32_t>((transfer.bytes + options_.chunk - 1) / options_.chunk);
}

void Job::Start() {
  network_.engine().At(options_.start, [this] {
    for (uint32_t rank = 0; rank < ranks_.size(); ++rank) Compute(rank);
  });
  if (options_.end != kNever) network_.engine().At(options_.end, [this] { Stop(); });
}

void Job::Stop() {
  stopped_ = true;
  const SimTime now = network_.engine().Now();
  for (Rank& rank : ranks_) {
    rank.computed -= std::max<SimTime>(0, rank.computes_until - now);
    rank.computes_until = std::min(rank.computes_until, now);
  }
  for (const Channel& channel : channels_) {
    for (QueuePair* const sender : channel.senders) sender->Close();
    for (QueuePair* const receiver : channel.receivers) receiver->Close();
  }
  for (const auto& checkpoint : checkpoints_) checkpoint->Close();
  for (Break& each : breaks_) each.end = std::min(each.end, now);
}

uint64_t Job::frames_retransmitted() const {
  uint64_t frames = 0;
  const auto add = [&frames](const QueuePair& end) {
    frames += end.frames_resent() + end.peer().frames_resent();
  };
  for (const Channel& channel : channels_) {
    for (const QueuePair* const sender : channel.senders) add(*sender);
  }
  for (const auto& checkpoint : checkpoints_) add(*checkpoint->connection().first);
  return frames;
}

void Job::Compute(uint32_t rank) {
  Rank& one = ranks_[rank];
  const SimTime now = network_.engine().Now();
  if (one.phase == 0 && one.iteration >= done_.size()) {
    done_.push_back({.begin = now, .end = kNever});
    finished_ranks_.push_back(0);
  }
  if (one.phase >= options_.phases.size()) {
    BreakOf(one.phase, one.iteration);
    if (one.phase == phases_.size()) {
      WriteCheckpoint(rank);
      return;
    }
  }
  const double spread = std::max(0.0, 1 + options_.jitter * Normal(random_));
  const double mean = static_cast<double>(phases_[one.phase].compute) * one.slowdown * pace(rank);
  const auto time = static_cast<SimTime>(mean * spread);
  const bool slow = mean > 0 && one.slowdown > 1;
  NoteComputing(rank, time);
  network_.engine().At(now + time, [this, rank, slow] {
    if (stopped_) return;
    ranks_[rank].slow_computations += slow;
    Enter(rank);
  });
}

void Job::WriteCheckpoint(uint32_t rank) {
  const JobOptions::Checkpoint& checkpoint = options_.checkpoint;
  const uint32_t iteration = ranks_[rank].iteration;
  checkpoints_[rank]->Write(checkpoint.bytes, [this, rank, iteration] {
    AdvanceBreak(static_cast<uint32_t>(phases_.size()), iteration);
    if (options_.checkpoint.blocking) NextPhase(rank);
  });
  if (!checkpoint.blocking) NextPhase(rank);
}

bool Job::IsDue(uint32_t phase, uint32_t iteration) const {
  const auto own = static_cast<uint32_t>(options_.phases.size());
  if (phase < own) return true;
  const uint32_t completed = iteration + 1;
  if (phase == phases_.size()) {
    return !checkpoints_.empty() && completed % options_.checkpoint.every == 0;
  }
  const JobOptions::Interlude& interlude = options_.interludes[interlude_of_[phase - own]];
  const uint32_t first = interlude.after > 0 ? interlude.after : interlude.every;
  if (completed <= first || interlude.every == 0) return completed == first;
  return (completed - first) % interlude.every == 0;
}

Job::BreakKind Job::BreakKindOf(uint32_t phase) const {
  if (phase == phases_.size()) return {.name = "checkpoint", .checkpoint = true};
  const JobOptions::Interlude& interlude =
      options_.interludes[interlude_of_[phase - options_.phases.size()]];
  return {.name = interlude.name, .phases = interlude.phases.size()};
}

Job::Break& Job::BreakOf(uint32_t phase, uint32_t iteration) {
  const BreakKind kind = BreakKindOf(phase);
  for (auto each = breaks_.rbegin(); each != breaks_.rend(); ++each) {
    if (each->iteration == iteration && each->checkpoint == kind.checkpoint &&
        each->name == kind.name) {
      return *each;
    }
  }
  breaks_.push_back({.name = kind.name,
                     .checkpoint = kind.checkpoint,
                     .iteration = iteration,
                     .begin = network_.engine().Now()});
  return breaks_.back();
}

// A rank has completed a phase of a break, which ends with the last phase of the last rank.
void Job::AdvanceBreak(uint32_t phase, uint32_t iteration) {
  Break& at = BreakOf(phase, iteration);
  if (++at.done == BreakKindOf(phase).phases * ranks_.size()) at.end = network_.engine().Now();
}

// Microbatches may overlap: the time with at least one active computation counts.
void Job::NoteComputing(uint32_t rank, SimTime time) {
  Rank& one = ranks_[rank];
  const SimTime now = network_.engine().Now();
  const SimTime end = now + time;
  if (end <= one.computes_until) return;
  one.computed += end - std::max(now, one.computes_until);
  one.computes_until = end;
}

SimTime Job::ComputedFor(uint32_t rank) const {
  const Rank& one = ranks_[rank];
  return one.computed - std::max<SimTime>(0, one.computes_until - network_.engine().Now());
}

Job::Run& Job::RunOf(Group& group, uint32_t iteration) {
  const auto [at, fresh] = group.runs.try_emplace(iteration);
  Run& run = at->second;
  if (!fresh) return run;
  const auto transfers = group.plan.transfers();
  run.states.resize(transfers.size());
  run.to_grant.resize(group.lanes.size());
  run.granted.resize(group.lanes.size());
  run.started.resize(group.members.size());
  run.unfinished = static_cast<uint32_t>(group.members.size());
  for (uint32_t i = 0; i < transfers.size(); ++i) {
    run.states[i].waits = transfers[i].waits + 1;  // one more: the sender must reach this phase
    run.states[i].messages = MessagesOf(transfers[i]);
    if (group.lane_of[i] != kWithinHost) run.to_grant[group.lane_of[i]].push_back(i);
  }
  for (uint32_t member = 0; member < group.members.size(); ++member) {
    run.remaining.push_back(group.plan.InvolvedIn(member));
  }
  return run;
}

// A rank has finished computing and joins the phase's collective.
void Job::Enter(uint32_t rank) {
  const uint32_t iteration = ranks_[rank].iteration;
  const uint32_t number = group_of_[ranks_[rank].phase][rank];
  if (number == kNoMember) {  // the rank does not participate in this phase
    NextPhase(rank);
    return;
  }
  Group& group = groups_[number];
  const uint32_t member = group.place[rank];
  RunOf(group, iteration).started[member] = true;
  for (const uint32_t lane : group.receives_of[member]) Grant(number, iteration, lane);
  for (const uint32_t transfer : group.sends_of[member]) Unblock(number, iteration, transfer);
  FinishIfDone(number, iteration, member);
}

// The receiver grants buffers for the next messages.
void Job::Grant(uint32_t number, uint32_t iteration, uint32_t lane) {
  Group& group = groups_[number];
  Run& run = group.runs.at(iteration);
  Channel& channel = channels_[group.lanes[lane]];
  if (!run.started[group.place[channel.to]]) return;
  std::deque<uint32_t>& transfers = run.to_grant[lane];
  while (!transfers.empty() && run.granted[lane] < kGrantsAtOnce) {
    const uint32_t transfer = transfers.front();
    State& state = run.states[transfer];
    const uint64_t slot = channel.messages++ % kGrantsAtOnce;
    const auto queue_pair = static_cast<uint32_t>(channel.messages % channel.senders.size());
    const uint64_t address = channel.buffer + slot * options_.chunk;
    const uint64_t reference = Remember({.group = number,
                                         .iteration = iteration,
                                         .transfer = transfer,
                                         .number = state.granted,
                                         .queue_pair = queue_pair,
                                         .grant = true,
                                         .address = address});
    ++run.granted[lane];
    if (++state.granted == state.messages) transfers.pop_front();
    // NCCL posts this to the first queue pair of the device, whichever queue pair carries the data
    // (ncclIbPostFifo).
    channel.receivers.front()->Post({.verb = Verb::kWrite,
                                     .length = kClearToSendBytes,
                                     .address = channel.fifo + slot * kClearToSendBytes,
                                     .rkey = channel.fifo_rkey,
                                     .granted_address = address,
                                     .granted_rkey = channel.rkey,
                                     .context = reference});
  }
}

void Job::Unblock(uint32_t number, uint32_t iteration, uint32_t transfer) {
  Group& group = groups_[number];
  if (--group.runs.at(iteration).states[transfer].waits > 0) return;
  const SimTime delay = group.plan.transfers()[transfer].delay;
  if (delay == 0) {
    Ready(number, iteration, transfer);
    return;
  }
  const uint32_t rank = group.members[group.plan.transfers()[transfer].from];
  const auto time =
      static_cast<SimTime>(static_cast<double>(delay) * ranks_[rank].slowdown * pace(rank));
  NoteComputing(rank, time);
  network_.engine().At(network_.engine().Now() + time, [this, number, iteration, transfer] {
    if (!stopped_) Ready(number, iteration, transfer);
  });
}

// The data is ready at the sender.
void Job::Ready(uint32_t number, uint32_t iteration, uint32_t transfer) {
  Group& group = groups_[number];
  State& state = group.runs.at(iteration).states[transfer];
  if (group.lane_of[transfer] == kWithinHost) {
    const double seconds =
        static_cast<double>(group.plan.transfers()[transfer].bytes) * 8 / options_.local_rate;
    network_.engine().At(
        network_.engine().Now() + kLocalLatency + static_cast<SimTime>(seconds * kSecond),
        [this, number, iteration, transfer] {
          if (!stopped_) Arrived(number, iteration, transfer);
        });
    return;
  }
  state.ready = true;
  for (const uint64_t grant : std::exchange(state.grants, {})) SendGranted(grant);
}

void Job::SendGranted(uint64_t grant) {
  Reference reference = references_[grant];
  Forget(grant);
  const Group& group = groups_[reference.group];
  Channel& channel = channels_[group.lanes[group.lane_of[reference.transfer]]];
  const uint64_t whole = group.plan.transfers()[reference.transfer].bytes;
  const uint64_t before = uint64_t{reference.number} * options_.chunk;
  const uint64_t bytes = std::min<uint64_t>(options_.chunk, whole - before);
  const bool split = options_.split_data && channel.senders.size() > 1;
  const uint64_t share =
      split ? (bytes + channel.senders.size() - 1) / channel.senders.size() : bytes;
  reference.grant = false;
  reference.parts = static_cast<uint32_t>((bytes + share - 1) / share);
  const uint64_t context = Remember(reference);
  for (uint32_t part = 0; part < reference.parts; ++part) {
    const uint64_t offset = part * share;
    channel.senders[split ? part : reference.queue_pair]->Post(
        {.verb = Verb::kWriteWithImmediate,
         .length = std::min(share, bytes - offset),
         .address = reference.address + offset,
         .rkey = channel.rkey,
         .immediate = static_cast<uint32_t>(bytes),
         .context = context});
  }
}

void Job::Delivered(QueuePair&, const Message& message) {
  const uint64_t context = message.context;
  const Reference reference = references_[context];
  Group& group = groups_[reference.group];
  State& state = group.runs.at(reference.iteration).states[reference.transfer];
  if (reference.grant) {
    if (state.ready) {
      SendGranted(context);
    } else {
      state.grants.push_back(context);
    }
    return;
  }
  if (--references_[context].parts > 0) return;
  Forget(context);
  const uint32_t lane = group.lane_of[reference.transfer];
  --group.runs.at(reference.iteration).granted[lane];
  Grant(reference.group, reference.iteration, lane);
  if (++state.delivered == state.messages) {
    Arrived(reference.group, reference.iteration, reference.transfer);
  }
}

void Job::Arrived(uint32_t number, uint32_t iteration, uint32_t transfer) {
  Group& group = groups_[number];
  const Plan::Transfer& done = group.plan.transfers()[transfer];
  Run& run = group.runs.at(iteration);
  --run.remaining[done.from];
  --run.remaining[done.to];
  for (const uint32_t later : group.plan.DependantsOf(done)) Unblock(number, iteration, later);
  FinishIfDone(number, iteration, done.from);
  FinishIfDone(number, iteration, done.to);
}

void Job::FinishIfDone(uint32_t number, uint32_t iteration, uint32_t member) {
  Group& group = groups_[number];
  Run& run = group.runs.at(iteration);
  if (!run.started[member] || run.remaining[member] > 0) return;
  run.remaining[member] = UINT32_MAX;  // only once
  if (--run.unfinished == 0) {
    // Deferred, because callers still refer to it.
    network_.engine().At(network_.engine().Now(),
                         [this, number, iteration] { groups_[number].runs.erase(iteration); });
  }
  NextPhase(group.members[member]);
}

void Job::NextPhase(uint32_t rank) {
  Rank& one = ranks_[rank];
  if (one.phase >= options_.phases.size() && one.phase < phases_.size()) {
    AdvanceBreak(one.phase, one.iteration);
  }
  if (++one.phase == options_.phases.size() && ++finished_ranks_[one.iteration] == ranks_.size()) {
    done_[one.iteration].end = network_.engine().Now();
  }
  while (one.phase <= phases_.size() && !IsDue(one.phase, one.iteration)) ++one.phase;
  if (one.phase > phases_.size()) {
    one.phase = 0;
    if (++one.iteration == options_.iterations) {
      one.finished = true;
      return;
    }
  }
  Compute(rank);
}

uint64_t Job::Remember(const Reference& reference) {
  if (free_references_.empty()) {
    references_.push_back(reference);
    return references_.size() - 1;
  }
  const uint64_t place = free_references_.back();
  free_references_.pop_back();
  references_[place] = reference;
  return place;
}

void Job::Forget(uint64_t reference) { free_references_.push_back(reference); }

}  // namespace rocescope::sim
