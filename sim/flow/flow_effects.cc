// SPDX-License-Identifier: BSD-3-Clause
// CE marks and CNPs, pauses, and what is common to all effects.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/flow/flow_constants.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {

uint64_t FlowModel::Poisson(Random& random, double mean) {
  if (mean <= 0) return 0;
  constexpr double kLarge = 50;
  if (mean > kLarge) {  // normal approximation
    double normal = -6;
    for (int i = 0; i < 12; ++i) normal += random.Uniform();
    return static_cast<uint64_t>(std::max(0.0, std::round(mean + std::sqrt(mean) * normal)));
  }
  const double limit = std::exp(-mean);
  uint64_t count = 0;
  for (double product = random.Uniform(); product > limit; product *= random.Uniform()) ++count;
  return count;
}

uint64_t FlowModel::Binomial(Random& random, uint64_t number, double probability) {
  constexpr uint64_t kFew = 64;
  if (number > kFew) {
    const double mean = static_cast<double>(number) * probability;
    constexpr double kRare = 0.1;
    if (probability < kRare) return std::min(number, Poisson(random, mean));
    return std::min(number, static_cast<uint64_t>(std::llround(mean)));
  }
  uint64_t count = 0;
  for (uint64_t i = 0; i < number; ++i) count += random.Chance(probability);
  return count;
}

void FlowModel::NoteAffected(uint32_t fault, uint64_t frames) {
  constexpr uint64_t kVisibleFrom = 10;
  FaultRecord& record = fault_records_[fault];
  record.affected += frames;
  if (record.affected >= kVisibleFrom && !IsVisibleByItself(record.options.kind)) {
    NoteVisible(fault);
  }
}

void FlowModel::NoteVisible(uint32_t fault) {
  FaultRecord& record = fault_records_[fault];
  record.visible = std::min(record.visible, now_);
}

void FlowModel::AddFrames(topology::PortIndex sender, uint32_t count, int32_t frames,
                          int32_t bytes) {
  const topology::PortIndex peer = fabric().Peer(sender);
  builder_->AddToPort(sender, Metric::kTxPackets, count, frames);
  builder_->AddToPort(sender, Metric::kTxBytes, count, frames * bytes);
  builder_->AddToPort(peer, Metric::kRxPackets, count, frames);
  builder_->AddToPort(peer, Metric::kRxBytes, count, frames * bytes);
}

// After a change of the users of a port, or of whether it is full.
void FlowModel::UpdateCongestion(topology::PortIndex port) {
  const bool is_full = competition_->is_full(port);
  const Backlog before = std::exchange(backlogs_[port], is_full ? BacklogOf(port) : Backlog());
  const Backlog& backlog = backlogs_[port];
  for (const topology::PortIndex sender : before.senders) {
    ports_[sender].buffered -= before.bytes;
    ports_[sender].unlimited -= before.is_unlimited;
  }
  for (const topology::PortIndex sender : backlog.senders) {
    ports_[sender].buffered += backlog.bytes;
    ports_[sender].unlimited += backlog.is_unlimited;
  }
  SetCongestion(port, is_full);
  for (const Backlog* of : {&before, &backlog}) {
    for (const topology::PortIndex sender : of->senders) SetBuffer(sender);
  }
}

// Bytes that wait in a switch for a congested port, shared equally by its senders.
FlowModel::Backlog FlowModel::BacklogOf(topology::PortIndex port) {
  const topology::NodeIndex node = fabric().port(port).node;
  Backlog backlog = {.senders = SendersTo(port), .is_unlimited = state_.marks_factor[node] < 1};
  if (backlog.senders.empty()) return backlog;
  backlog.bytes = CongestedQueue(node) / backlog.senders.size();
  if (backlog.is_unlimited) NoteVisible(state_.fault_at.at({node, FaultKind::kMisconfiguredEcn}));
  return backlog;
}

// Whether a switch pauses the port that sends to it: because the port uses as much buffer as it
// may, or because without CE marks nothing else limits a queue.
bool FlowModel::IsPaused(topology::PortIndex sender) const {
  return ports_[sender].unlimited > 0 || ports_[sender].buffered >= PauseThreshold(sender);
}

// Bytes in the ingress buffer of the switch that receives from a port.
uint64_t FlowModel::PauseThreshold(topology::PortIndex sender) const {
  const BufferOptions& buffer = scenario_.network.switches.buffer;
  const double alpha = state_.alpha[fabric().PeerNode(sender)];
  return buffer.reserve + static_cast<uint64_t>(alpha * static_cast<double>(buffer.bytes));
}

void FlowModel::SetBuffer(topology::PortIndex sender) {
  const bool is_paused = IsPaused(sender);
  const uint64_t bytes = std::min(ports_[sender].buffered, PauseThreshold(sender));
  builder_->SetPort(fabric().Peer(sender), Metric::kBufferWatermark, now_, bytes);
  if (is_paused && ports_[sender].unlimited == 0) {
    const auto fault =
        state_.fault_at.find({fabric().PeerNode(sender), FaultKind::kMisconfiguredAlpha});
    if (fault != state_.fault_at.end()) NoteVisible(fault->second);
  }
  if (is_paused || ports_[sender].rates.paused_share > 0) {
    SetCongestion(sender, competition_->is_full(sender));
  }
}

// Bytes in the queue of a congested port.
uint64_t FlowModel::CongestedQueue(topology::NodeIndex node) const {
  const EcnOptions& ecn = scenario_.network.switches.ecn;
  if (state_.marks_factor[node] < 1) return ecn.maximum * 4;
  return ecn.minimum + (ecn.maximum - ecn.minimum) / 4;
}

// The ports that send what this port's switch queues for it.
std::vector<topology::PortIndex> FlowModel::SendersTo(topology::PortIndex port) const {
  std::vector<topology::PortIndex> senders;
  for (const uint32_t user : competition_->active_users(port)) {
    const Lane& lane = lanes_[lane_of_user_[user]];
    for (const uint32_t number : lane.senders) {
      const auto path = groups_[lane.group].senders[number].path;
      const auto at = std::ranges::find(path, port);
      if (at != path.begin() && at != path.end()) senders.push_back(*std::prev(at));
    }
  }
  std::ranges::sort(senders);
  const auto rest = std::ranges::unique(senders);
  senders.erase(rest.begin(), rest.end());
  return senders;
}

void FlowModel::SetCongestion(topology::PortIndex port, bool is_full) {
  const topology::Port& of = fabric().port(port);
  if (of.link == topology::kNone) return;
  PortRates rates;
  if (is_full) {
    const double factor = state_.marks_factor[of.node];
    rates.marks_per_second = state_.capacity[port] / kFullFrameOnWire * kMarkedShare * factor;
    rates.queue_bytes = CongestedQueue(of.node);
  }
  const topology::PortIndex peer = fabric().Peer(port);
  if (!fabric().node(fabric().port(peer).node).IsSwitch()) {
    const topology::NicIndex nic = fabric().NicOf(peer);
    const auto speed = static_cast<double>(fabric().link(of.link).bits_per_second);
    if (state_.storms[nic]) {  // although nothing passes
      rates.paused_share = 1;
    } else if (is_full && state_.receive_limit[nic] > 0) {
      NoteVisible(state_.nic_fault.at(nic));
      rates.paused_share = std::max(0.0, 1 - state_.receive_limit[nic] * 8 / speed);
    }
  }
  const bool sends_to_switch = fabric().node(fabric().PeerNode(port)).IsSwitch();
  if (rates.paused_share == 0 && sends_to_switch && IsPaused(port)) {
    rates.paused_share = kEarlyPausedShare;
  }
  SetRates(port, rates);
}

void FlowModel::SetRates(topology::PortIndex port, const PortRates& rates) {
  PortState& state = ports_[port];
  if (state.rates == rates) return;
  const double seconds = static_cast<double>(now_ - std::exchange(state.since, now_)) / kSecond;
  if (state.current != nullptr) {
    state.current->total += state.rates.marks_per_second * seconds;
    builder_->series(state.current->series).Add(now_, state.current->total);
  }
  if (rates.marks_per_second > 0 && state.current == nullptr) BeginMarks(port);
  if (rates.paused_share > 0 && state.pause_series == topology::kNone) MakePauses(port);
  if (state.pause_series != topology::kNone) {
    if (state.rates.paused_share > 0) state.pauses += kPausesPerSecond * seconds;
    state.paused_ns += state.rates.paused_share * seconds * 1e9;
    builder_->series(state.pause_series).Add(now_, state.pauses);
    builder_->series(state.paused_series).Add(now_, state.paused_ns);
  }
  if (fabric().node(fabric().port(port).node).IsSwitch() &&
      rates.queue_bytes != state.rates.queue_bytes) {
    SetQueue(port);
  }
  state.rates = rates;
}

// After a change of the queue's length. A port that was full for a shorter time than one CE mark
// takes had no long queue either.
void FlowModel::SetQueue(topology::PortIndex port) {
  PortState& state = ports_[port];
  const SimTime begin = std::exchange(state.queue_since, now_);
  const double marks_per_second = state_.capacity[port] / kFullFrameOnWire * kMarkedShare;
  const auto set = [&](SimTime time, uint64_t bytes) {
    builder_->SetPort(port, Metric::kQueueBytes, time, bytes);
    builder_->SetPort(port, Metric::kQueueWatermark, time, bytes);
  };
  if (state.rates.queue_bytes > 0 && marks_per_second > 0) {
    const SimTime grown =
        begin + static_cast<SimTime>(static_cast<double>(kSecond) / marks_per_second);
    if (grown < now_) set(grown, state.rates.queue_bytes);
  }
  set(now_, 0);
}

// Marks of this port arrive at the receivers of its flows, which send CNPs to the senders.
void FlowModel::BeginMarks(topology::PortIndex port) {
  PortState& state = ports_[port];
  double sum = 0;
  std::vector<const Sender*> users;
  std::vector<uint32_t> key;
  for (const uint32_t index : groups_at_[port]) {
    const std::vector<Sender>& senders = groups_[index].senders;
    for (uint32_t i = 0; i < senders.size(); ++i) {
      if (std::ranges::find(senders[i].path, port) == senders[i].path.end()) continue;
      users.push_back(&senders[i]);
      sum += senders[i].traffic.data_frames;
      key.insert(key.end(), {index, i, senders[i].path_number, senders[i].way_back_number});
    }
  }
  for (topology::NodeIndex node = 0; node < state_.loses_cnps.size(); ++node) {
    constexpr double kPrecision = 1e9;
    if (state_.loses_cnps[node] <= 0) continue;
    key.insert(key.end(), {node, static_cast<uint32_t>(state_.loses_cnps[node] * kPrecision)});
  }
  const auto [known, is_new] = state.marks.try_emplace(std::move(key));
  state.current = &known->second;
  if (is_new) {
    state.current->series = builder_->AddSeries();
    if (sum > 0) CountMarks(port, state.current->series, users, sum);
  }
  builder_->series(state.current->series).Add(now_, state.current->total);
}

void FlowModel::CountMarks(topology::PortIndex port, uint32_t series,
                           std::span<const Sender* const> users, double data_frames) {
  builder_->AddToPort(port, Metric::kEcnMarked, builder_->AddCount(series, 1));
  for (const Sender* sender : users) {
    const QueuePair& from = *sender->queue_pair;
    const topology::PortIndex from_nic = fabric().nic(from.nic().number()).port;
    const topology::PortIndex to_nic = fabric().nic(from.peer().nic().number()).port;
    const double part = sender->traffic.data_frames / data_frames;
    builder_->AddToPort(to_nic, Metric::kEcnMarkedRoce, builder_->AddCount(series, part));
    const uint32_t cnps = builder_->AddCount(series, part * kCnpsPerMark);
    builder_->AddToPort(to_nic, Metric::kCnpSent, cnps);
    // A switch on the way may lose them.
    topology::NodeIndex loser = topology::kNone;
    for (size_t i = 1; i < sender->way_back.size(); ++i) {
      const topology::NodeIndex node = fabric().port(sender->way_back[i]).node;
      if (state_.loses_cnps[node] > 0) loser = node;
    }
    if (loser != topology::kNone) NoteVisible(state_.fault_at.at({loser, FaultKind::kLostCnps}));
    const double arriving = loser == topology::kNone ? 1 : 1 - state_.loses_cnps[loser];
    const uint32_t handled = builder_->AddCount(series, part * kCnpsPerMark * arriving);
    builder_->AddToPort(from_nic, Metric::kCnpHandled, handled);
    bool is_past = false;
    for (const topology::PortIndex hop : sender->way_back) {
      is_past |= fabric().port(hop).node == loser;
      AddFrames(hop, is_past ? handled : cnps, 1, kCnpFrame);
    }
  }
}

void FlowModel::MakePauses(topology::PortIndex port) {
  const topology::PortIndex peer = fabric().Peer(port);
  PortState& state = ports_[port];
  state.pause_series = builder_->AddSeries();
  state.paused_series = builder_->AddSeries();
  state.pauses = state.paused_ns = 0;
  const uint32_t pauses = builder_->AddCount(state.pause_series, 1);
  const uint32_t paused = builder_->AddCount(state.paused_series, 1);
  builder_->AddToPort(port, Metric::kPfcRx, pauses);
  builder_->AddToPort(port, Metric::kPfcRxTime, paused);
  builder_->AddToPort(peer, Metric::kPfcTx, pauses);
  builder_->AddToPort(peer, Metric::kPfcTxTime, paused);
}

}  // namespace rocescope::sim
