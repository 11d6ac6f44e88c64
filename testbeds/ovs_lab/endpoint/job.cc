// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/job.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "dataplane/wire/clear_to_send.h"

namespace rocescope::endpoint {
namespace {

constexpr double kLocalRate = 2.4e12;  // bit/s: NVLink
constexpr Duration kLocalLatency = std::chrono::microseconds(2);
constexpr uint64_t kNoContext = 0;  // clear-to-sends have no context

// Irwin-Hall approximation of a normal distribution with mean 0 and standard deviation 1.
double Normal(sim::Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.Uniform();
  return sum;
}

Duration Scaled(Duration time, double factor) {
  return Duration(static_cast<int64_t>(static_cast<double>(time.count()) * factor));
}

}  // namespace

Job::Job(const JobPlan& plan, topology::NodeIndex host, Timers& timers, JobObserver& observer)
    : plan_(plan), host_(host), timers_(timers), observer_(observer) {
  index_of_.assign(plan.hosts.size(), UINT32_MAX);
  for (uint32_t rank = 0; rank < plan.hosts.size(); ++rank) {
    if (!IsLocal(rank)) continue;
    index_of_[rank] = static_cast<uint32_t>(ranks_.size());
    ranks_.push_back({.number = rank, .random = sim::Random(plan.seed, "rank", rank)});
  }
}

void Job::Connect(const Connections& connections) {
  for (uint32_t channel = 0; channel < plan_.channels.size(); ++channel) {
    const Channel& each = plan_.channels[channel];
    if (IsLocal(each.from)) AddLane(channel, true, connections);
    if (IsLocal(each.to)) AddLane(channel, false, connections);
  }
}

void Job::AddLane(uint32_t channel, bool sends, const Connections& connections) {
  const Channel& of = plan_.channels[channel];
  const topology::NicIndex own = plan_.nics[sends ? of.from : of.to];
  const topology::NicIndex peer = plan_.nics[sends ? of.to : of.from];
  Lane lane{.sends = sends};
  lane.expected.resize(of.pairs.size());
  for (uint32_t i = 0; i < of.pairs.size(); ++i) {
    const QueuePairEnd& local = sends ? of.pairs[i].sender : of.pairs[i].receiver;
    const QueuePairEnd& remote = sends ? of.pairs[i].receiver : of.pairs[i].sender;
    const QueuePair::Identity identity{.number = static_cast<uint32_t>(ends_.size()),
                                       .local = local.qpn,
                                       .remote = remote.qpn,
                                       .first_psn = local.first_psn,
                                       .remote_first_psn = remote.first_psn,
                                       .route = {.source = connections.address(own),
                                                 .destination = connections.address(peer),
                                                 .udp_source_port = local.udp_source_port}};
    ends_.push_back({.channel = channel, .index = i});
    lane.queue_pairs.push_back(&connections.nic(own).Add(identity, *connections.transport,
                                                         connections.line_rate(own),
                                                         connections.patience_ends, *this));
  }
  lanes_.emplace(channel, std::move(lane));
}

void Job::Start() {
  for (Rank& rank : ranks_) Compute(rank);
}

// --- Ranks

double Job::SpreadOf(Rank& rank) {
  return std::max(0.0, 1 + plan_.options.jitter * Normal(rank.random)) * slowdown_;
}

void Job::Compute(Rank& rank) {
  if (rank.phase == 0) {
    const auto [at, fresh] = iterations_.try_emplace(rank.iteration);
    if (fresh) at->second.begin = timers_.Now();
  }
  const Duration time = Scaled(plan_.options.phases[rank.phase].compute, SpreadOf(rank));
  timers_.At(timers_.Now() + time, [this, &rank] {
    if (!failed_) Enter(rank);
  });
}

// The rank has finished computing and joins the phase's collective.
void Job::Enter(Rank& rank) {
  const uint32_t number = plan_.group_of[rank.phase][rank.number];
  if (number == JobPlan::kNoGroup) {
    NextPhase(rank);
    return;
  }
  const auto& members = plan_.groups[number].members;
  const auto member = static_cast<uint32_t>(std::find(members.begin(), members.end(), rank.number) -
                                            members.begin());
  EnterTransfers({number, rank.iteration}, member);
}

void Job::NextPhase(Rank& rank) {
  if (++rank.phase == plan_.options.phases.size()) {
    rank.phase = 0;
    FinishIteration(rank.iteration);
    if (++rank.iteration == plan_.options.iterations) {
      if (++finished_ranks_ == ranks_.size()) observer_.JobFinished(*this);
      return;
    }
  }
  Compute(rank);
}

void Job::FinishIteration(uint32_t iteration) {
  const auto at = iterations_.find(iteration);
  if (++at->second.finished < ranks_.size()) return;
  observer_.IterationFinished(*this, iteration, at->second.begin, timers_.Now());
  iterations_.erase(at);
}

// --- Collectives

Job::Run& Job::RunOf(RunKey key) {
  const auto [at, fresh] = runs_.try_emplace(key);
  Run& run = at->second;
  if (!fresh) return run;
  const Group& group = plan_.groups[key.first];
  for (const auto& transfer : group.plan.transfers()) {
    run.states.push_back({.waits = transfer.waits + 1,
                          .messages = static_cast<uint32_t>(
                              (transfer.bytes + plan_.options.chunk - 1) / plan_.options.chunk)});
  }
  run.started.resize(group.members.size());
  for (uint32_t member = 0; member < group.members.size(); ++member) {
    run.remaining.push_back(group.plan.InvolvedIn(member));
    run.unfinished += IsLocal(group.members[member]);
  }
  return run;
}

void Job::EnterTransfers(RunKey key, uint32_t member) {
  const Group& group = plan_.groups[key.first];
  Run& run = RunOf(key);
  run.started[member] = true;
  std::vector<uint32_t> own;  // sends
  for (uint32_t i = 0; i < group.plan.transfers().size(); ++i) {
    const auto& transfer = group.plan.transfers()[i];
    if (transfer.from == member) own.push_back(i);
    if ((transfer.from != member && transfer.to != member) ||
        group.channel_of[i] == Group::kWithinHost) {
      continue;
    }
    for (uint32_t number = 0; number < run.states[i].messages; ++number) {
      LaneOf(group, i).waiting.push_back({.run = key, .transfer = i, .number = number});
    }
    if (transfer.to == member) GrantWaiting(group.channel_of[i]);
  }
  for (const uint32_t transfer : own) Unblock(key, transfer);
  FinishIfDone(key, member);
}

void Job::Unblock(RunKey key, uint32_t transfer) {
  if (--runs_.at(key).states[transfer].waits > 0) return;
  const Group& group = plan_.groups[key.first];
  const auto& of = group.plan.transfers()[transfer];
  if (of.delay == 0) {
    Ready(key, transfer);
    return;
  }
  const Duration delay(of.delay / sim::kNanosecond);
  timers_.At(timers_.Now() + Scaled(delay, slowdown_), [this, key, transfer] {
    if (!failed_) Ready(key, transfer);
  });
}

// The data is ready at the sender.
void Job::Ready(RunKey key, uint32_t transfer) {
  const Group& group = plan_.groups[key.first];
  const auto& of = group.plan.transfers()[transfer];
  if (group.channel_of[transfer] != Group::kWithinHost) {
    runs_.at(key).states[transfer].ready = true;
    SendWaiting(group.channel_of[transfer]);
    return;
  }
  const double seconds = static_cast<double>(of.bytes) * 8 / kLocalRate;
  const Duration time = kLocalLatency + Duration(static_cast<int64_t>(seconds * 1e9));
  timers_.At(timers_.Now() + time, [this, key, transfer, from = of.from, to = of.to] {
    if (failed_) return;
    RunOf(key);  // the receiver may not have entered it yet
    Done(key, transfer, from);
    Done(key, transfer, to);
  });
}

// The transfer is complete at this member, its sender or its receiver.
void Job::Done(RunKey key, uint32_t transfer, uint32_t member) {
  const Group& group = plan_.groups[key.first];
  --runs_.at(key).remaining[member];
  for (const uint32_t later : group.plan.DependantsOf(group.plan.transfers()[transfer])) {
    if (group.plan.transfers()[later].from == member) Unblock(key, later);
  }
  FinishIfDone(key, member);
}

void Job::FinishIfDone(RunKey key, uint32_t member) {
  Run& run = runs_.at(key);
  if (!run.started[member] || run.remaining[member] > 0) return;
  run.remaining[member] = UINT32_MAX;  // only once
  // Deferred, because callers still refer to it.
  if (--run.unfinished == 0) timers_.At(timers_.Now(), [this, key] { runs_.erase(key); });
  NextPhase(ranks_[index_of_[plan_.groups[key.first].members[member]]]);
}

// --- Messages

uint64_t Job::BytesOf(const Message& message) const {
  const Group& group = plan_.groups[message.run.first];
  const uint64_t before = uint64_t{message.number} * plan_.options.chunk;
  return std::min(plan_.options.chunk, group.plan.transfers()[message.transfer].bytes - before);
}

uint64_t Job::PartSize(uint64_t bytes) const {
  const uint64_t parts = plan_.options.split_data ? plan_.options.queue_pairs : 1;
  return (bytes + parts - 1) / parts;
}

// Both ends use the queue pairs in turn. The parts of a split message use all of them.
uint32_t Job::FirstQueuePair(const Lane& lane) const {
  if (plan_.options.split_data) return 0;
  return static_cast<uint32_t>(lane.messages % lane.queue_pairs.size());
}

void Job::SendWaiting(uint32_t channel) {
  Lane& lane = lanes_.at(channel);
  while (!failed_ && !lane.waiting.empty() && !lane.grants.empty()) {
    const Message& next = lane.waiting.front();
    if (!runs_.at(next.run).states[next.transfer].ready) return;
    const Message message = next;
    const Grant grant = lane.grants.front();
    lane.waiting.pop_front();
    lane.grants.pop_front();
    ++lane.messages;
    Post(channel, message, grant);
  }
}

void Job::Post(uint32_t channel, Message message, const Grant& grant) {
  const Lane& lane = lanes_.at(channel);
  const uint64_t bytes = BytesOf(message);
  const uint64_t share = PartSize(bytes);
  const uint64_t context = ++last_message_;
  message.parts = static_cast<uint32_t>((bytes + share - 1) / share);
  messages_.emplace(context, message);
  for (uint32_t part = 0; part < message.parts; ++part) {
    const uint64_t offset = part * share;
    lane.queue_pairs[FirstQueuePair(lane) + part]->Post({.length = std::min(share, bytes - offset),
                                                         .address = grant.address + offset,
                                                         .rkey = grant.rkey,
                                                         .immediate = static_cast<uint32_t>(bytes),
                                                         .context = context});
  }
}

// The receiver grants buffers for the next messages.
void Job::GrantWaiting(uint32_t channel) {
  Lane& lane = lanes_.at(channel);
  const Channel& of = plan_.channels[channel];
  while (!failed_ && !lane.waiting.empty() && lane.outstanding < kGrantsAtOnce) {
    Message message = lane.waiting.front();
    lane.waiting.pop_front();
    const uint64_t slot = lane.messages++ % kGrantsAtOnce;
    ++lane.outstanding;
    const uint64_t bytes = BytesOf(message);
    const uint64_t share = PartSize(bytes);
    message.parts = static_cast<uint32_t>((bytes + share - 1) / share);
    messages_.emplace(++last_message_, message);
    for (uint32_t part = 0; part < message.parts; ++part) {
      lane.expected[FirstQueuePair(lane) + part].push_back(last_message_);
    }
    std::vector<uint8_t> data(kClearToSendBytes);
    wire::ByteWriter out(data);
    Write(out, wire::ClearToSend{.address = of.buffer + slot * plan_.options.chunk,
                                 .length = static_cast<uint32_t>(bytes),
                                 .rkey = of.rkey,
                                 .index = lane.messages});
    // NCCL posts it to the first queue pair, whichever queue pair carries the data
    // (ncclIbPostFifo).
    lane.queue_pairs.front()->Post({.length = kClearToSendBytes,
                                    .address = of.fifo + slot * kClearToSendBytes,
                                    .rkey = of.fifo_rkey,
                                    .data = std::move(data),
                                    .context = kNoContext});
  }
}

void Job::ReceiveGrant(uint32_t channel, const Delivery& delivery) {
  wire::ByteReader in(delivery.last_payload);
  wire::ClearToSend grant;
  Read(in, grant);
  lanes_.at(channel).grants.push_back({.address = grant.address, .rkey = grant.rkey});
  SendWaiting(channel);
}

void Job::Delivered(QueuePair& at, const Delivery& delivery) {
  if (failed_) return;
  const End end = ends_[at.identity().number];
  Lane& lane = lanes_.at(end.channel);
  if (lane.sends) {
    ReceiveGrant(end.channel, delivery);
    return;
  }
  std::deque<uint64_t>& expected = lane.expected[end.index];
  const auto found = expected.empty() ? messages_.end() : messages_.find(expected.front());
  const Channel& channel = plan_.channels[end.channel];
  if (found == messages_.end() || delivery.immediate != BytesOf(found->second)) {
    Fail({.rank = channel.to, .peer_rank = channel.from, .local = at.identity().local});
    return;
  }
  expected.pop_front();
  if (--found->second.parts > 0) return;
  const Message message = found->second;
  messages_.erase(found);
  --lane.outstanding;
  GrantWaiting(end.channel);
  State& state = runs_.at(message.run).states[message.transfer];
  if (++state.received < state.messages) return;
  const Group& group = plan_.groups[message.run.first];
  Done(message.run, message.transfer, group.plan.transfers()[message.transfer].to);
}

void Job::Completed(QueuePair&, uint64_t context) {
  if (failed_ || context == kNoContext) return;
  const auto found = messages_.find(context);
  if (--found->second.parts > 0) return;
  const Message message = found->second;
  messages_.erase(found);
  State& state = runs_.at(message.run).states[message.transfer];
  if (++state.sent < state.messages) return;
  const Group& group = plan_.groups[message.run.first];
  Done(message.run, message.transfer, group.plan.transfers()[message.transfer].from);
}

void Job::Failed(QueuePair& at, FailureCause cause) {
  const End end = ends_[at.identity().number];
  const Channel& channel = plan_.channels[end.channel];
  const bool sends = lanes_.at(end.channel).sends;
  Fail({.cause = cause,
        .rank = sends ? channel.from : channel.to,
        .peer_rank = sends ? channel.to : channel.from,
        .sends = sends,
        .local = at.identity().local});
}

// As NCCL does, the job's processes on this host end.
void Job::Fail(const JobFailure& failure) {
  if (failed_) return;
  failed_ = true;
  for (const auto& [channel, lane] : lanes_) {
    for (QueuePair* const queue_pair : lane.queue_pairs) queue_pair->Close();
  }
  observer_.JobFailed(*this, failure);
}

}  // namespace rocescope::endpoint
