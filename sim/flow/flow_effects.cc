// SPDX-License-Identifier: BSD-3-Clause
// Losses and retransmissions, CE marks and CNPs, pauses.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/flow/flow_constants.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {

uint64_t FlowModel::Poisson(double mean) {
  if (mean <= 0) return 0;
  constexpr double kLarge = 50;
  if (mean > kLarge) {  // normal approximation
    double normal = -6;
    for (int i = 0; i < 12; ++i) normal += random_.Uniform();
    return static_cast<uint64_t>(std::max(0.0, std::round(mean + std::sqrt(mean) * normal)));
  }
  const double limit = std::exp(-mean);
  uint64_t count = 0;
  for (double product = random_.Uniform(); product > limit; product *= random_.Uniform()) ++count;
  return count;
}

// Which losses of faults and of healthy links to expect in one iteration.
void FlowModel::FindLosses(Group& group) {
  const topology::Fabric& fabric = simulation_->real_fabric();
  group.losses.clear();
  group.benign_losses = 0;
  for (uint32_t i = 0; i < group.senders.size(); ++i) {
    const Sender& sender = group.senders[i];
    if (sender.is_cut) continue;
    const double frames = sender.traffic.data_frames;
    for (uint32_t position = 0; position < sender.path.size(); ++position) {
      const topology::PortIndex port = sender.path[position];
      group.benign_losses += frames * kFullFrame * 8 * bit_error_ratio_[port];
      for (uint32_t source = 0; source < sources_.size(); ++source) {
        const LossSource& of = sources_[source];
        if (!of.is_active || of.cuts) continue;
        const bool matches = of.sender != topology::kNone
                                 ? of.sender == port
                                 : position > 0 && of.node == fabric.port(port).node;
        if (matches) {
          group.losses.push_back({.sender = i,
                                  .position = position,
                                  .source = source,
                                  .frames = frames * of.probability});
        }
      }
    }
  }
}

// Draws the losses of the run of a collective that begins now. Returns the time that they add.
SimTime FlowModel::SampleLosses(uint32_t index) {
  Group& group = groups_[index];
  if (group.benign_losses <= 0 && group.losses.empty()) return 0;
  const auto timeout =
      static_cast<double>(scenario_.network.nics.ack_timeout) * scenario_.time_scale;
  // Losses of one channel delay it one after another; channels are delayed at the same time.
  std::vector<double> delays;
  const SimTime until = now_ + group.cost->Duration(std::max(1.0, group.limit), group.slowdown);
  const auto lose = [&](Sender& sender, uint32_t position, const LossSource* source,
                        uint64_t frames) {
    // Nothing follows the last frame of a transfer, so only a timeout reveals its loss.
    const double last = std::min(1.0, sender.bursts / sender.traffic.data_frames);
    const uint64_t late = std::min(frames, Poisson(static_cast<double>(frames) * last));
    AddLoss(group, sender, position, source, frames - late, late, now_, until);
    if (delays.size() <= sender.lane) delays.resize(sender.lane + 1, 0);
    const double repeat = static_cast<double>(sender.round_trip) +
                          sender.frames_in_flight * kFullFrameOnWire / group.limit * kSecond;
    delays[sender.lane] +=
        static_cast<double>(frames - late) * repeat + static_cast<double>(late) * timeout;
  };
  for (const ExpectedLoss& loss : group.losses) {
    const uint64_t frames = Poisson(loss.frames);
    if (frames == 0) continue;
    lose(group.senders[loss.sender], loss.position, &sources_[loss.source], frames);
  }
  for (uint64_t left = Poisson(group.benign_losses); left > 0; --left) {
    Sender& sender = group.senders[random_.Below(group.senders.size())];
    double sum = 0;
    for (const topology::PortIndex port : sender.path) sum += bit_error_ratio_[port];
    if (sum <= 0 || sender.traffic.data_frames <= 0) continue;
    double at = random_.Uniform() * sum;
    uint32_t position = 0;
    while (position + 1 < sender.path.size() && at >= bit_error_ratio_[sender.path[position]]) {
      at -= bit_error_ratio_[sender.path[position++]];
    }
    lose(sender, position, nullptr, 1);
  }
  if (delays.empty()) return 0;
  return static_cast<SimTime>(*std::max_element(delays.begin(), delays.end()));
}

// The queue pairs of a lane that cannot pass send one frame after each timeout.
void FlowModel::LoseCut(uint32_t index) {
  const topology::Fabric& fabric = simulation_->real_fabric();
  Lane& lane = lanes_[index];
  Group& group = groups_[lane.group];
  const auto timeout = static_cast<SimTime>(
      static_cast<double>(scenario_.network.nics.ack_timeout) * scenario_.time_scale);
  for (const uint32_t number : lane.senders) {
    Sender& sender = group.senders[number];
    const std::optional<uint32_t> position = CutOf(sender);
    if (!position || *position >= sender.path.size()) continue;
    const topology::PortIndex port = sender.path[*position];
    for (const LossSource& source : sources_) {
      if (!source.is_active || !source.cuts) continue;
      if (source.sender != port && source.node != fabric.port(port).node) continue;
      AddLoss(group, sender, *position, &source, 0, 1, now_, now_ + timeout);
      break;
    }
  }
  At(now_ + timeout, [this, index, version = lane.version] {
    if (lanes_[index].version == version) LoseCut(index);
  });
}

// Counts lost frames, what follows from them, and what the sender repeats. `source` is null for bit
// errors of a healthy link.
void FlowModel::AddLoss(Group& group, Sender& sender, uint32_t position, const LossSource* source,
                        uint64_t frames, uint64_t late, SimTime from, SimTime until) {
  const topology::Fabric& fabric = simulation_->real_fabric();
  const QueuePair& queue_pair = *sender.queue_pair;
  const uint32_t kind = source == nullptr ? 0 : 1 + static_cast<uint32_t>(source - sources_.data());
  LossSeries& loss = losses_[{queue_pair.identity().number, position, kind}];
  const topology::PortIndex from_nic = fabric.nic(queue_pair.nic().number()).port;
  const topology::PortIndex to_nic = fabric.nic(queue_pair.peer().nic().number()).port;
  const bool in_switch = source != nullptr && source->sender == topology::kNone;
  const bool reaches_nic = source != nullptr && source->counted_icrc;
  const auto make = [&](bool is_late) {
    const uint32_t series = builder_->AddSeries();
    const uint32_t count = builder_->AddCount(series, 1);
    const auto more = static_cast<int32_t>(is_late ? 0 : sender.frames_in_flight);
    for (uint32_t i = 0; i < sender.path.size(); ++i) {
      const bool before = reaches_nic || (in_switch ? i < position : i <= position);
      AddFrames(sender.path[i], count, before ? more + 1 : more, static_cast<int32_t>(kFullFrame));
    }
    if (!in_switch) {
      AddLostFrames(sender.path[position], count);
      if (source == nullptr || source->counted_fcs) {
        builder_->AddToPort(fabric.Peer(sender.path[position]), Metric::kFcsErrors, count);
      }
    }
    if (source != nullptr && source->counted_mtu) {
      builder_->AddToPort(sender.path[position], Metric::kMtuDrops, count);
    }
    if (reaches_nic) builder_->AddToPort(to_nic, Metric::kIcrcErrors, count);
    if (is_late) {
      builder_->AddToPort(from_nic, Metric::kLocalAckTimeout, count);
    } else {
      builder_->AddToPort(from_nic, Metric::kPacketSequenceError, count);
      builder_->AddToPort(to_nic, Metric::kOutOfSequence, count, more);
      for (const topology::PortIndex port : sender.way_back) AddFrames(port, count, 1, kAckFrame);
    }
    return series;
  };
  const auto add = [&](uint32_t& number, double& total, uint64_t by, bool is_late) {
    if (by == 0) return;
    if (number == topology::kNone) number = make(is_late);
    builder_->series(number).Add(from, total);
    total += static_cast<double>(by);
    builder_->series(number).Add(until, total);
  };
  add(loss.frames, loss.count, frames, false);
  add(loss.late, loss.late_count, late, true);
  if (group.job != topology::kNone) {
    job_records_[group.job].retransmitted += frames * (sender.frames_in_flight + 1) + late;
  }
  if (source == nullptr) {
    lost_["bit_error"] += frames + late;
    return;
  }
  lost_[source->cause] += frames + late;
  NoteAffected(source->fault, frames + late);
}

void FlowModel::NoteAffected(uint32_t fault, uint64_t frames) {
  constexpr uint64_t kVisibleFrom = 10;
  FaultRecord& record = fault_records_[fault];
  record.affected += frames;
  if (record.visible == kNever && record.affected >= kVisibleFrom) record.visible = now_;
}

void FlowModel::AddFrames(topology::PortIndex sender, uint32_t count, int32_t frames,
                          int32_t bytes) {
  const topology::PortIndex peer = simulation_->real_fabric().Peer(sender);
  builder_->AddToPort(sender, Metric::kTxPackets, count, frames);
  builder_->AddToPort(sender, Metric::kTxBytes, count, frames * bytes);
  builder_->AddToPort(peer, Metric::kRxPackets, count, frames);
  builder_->AddToPort(peer, Metric::kRxBytes, count, frames * bytes);
}

// The link from this port loses the counted frames.
void FlowModel::AddLostFrames(topology::PortIndex sender, uint32_t count) {
  const topology::PortIndex peer = simulation_->real_fabric().Peer(sender);
  builder_->AddToPort(peer, Metric::kRxPackets, count, -1);
  builder_->AddToPort(peer, Metric::kRxBytes, count, -static_cast<int32_t>(kFullFrame));
}

void FlowModel::UpdateCongestion(const Component& component, const std::vector<uint32_t>& full) {
  const topology::Fabric& fabric = simulation_->real_fabric();
  std::vector<topology::PortIndex> pausing;
  std::map<topology::PortIndex, bool> congested;
  for (const topology::PortIndex port : component.ports) congested[port] = false;
  for (const uint32_t link : full) congested[component.ports[link]] = true;
  for (const auto& [port, is_congested] : congested) {
    if (!is_congested) {
      SetCongestion(port, 0, 0, 0, 0);
      continue;
    }
    const topology::NodeIndex node = fabric.port(port).node;
    const topology::PortIndex peer = fabric.Peer(port);
    const double frames = CapacityOf(port) / kFullFrameOnWire;
    const EcnOptions& ecn = scenario_.network.switches.ecn;
    const bool marks_late = marks_factor_[node] < 1;
    double share = 0;
    double pauses = 0;
    if (!fabric.node(fabric.port(peer).node).IsSwitch()) {
      const topology::NicIndex nic = fabric.NicOf(peer);
      const auto speed = static_cast<double>(fabric.link(fabric.port(port).link).bits_per_second);
      if (receive_limit_[nic] > 0) {
        NoteAffected(nic_fault_.at(nic), kOwnMeasure);
        share = std::max(0.0, 1 - receive_limit_[nic] * 8 / speed);
        pauses = kPausesPerSecond;
      }
    }
    const uint64_t queue = marks_late ? static_cast<uint64_t>(ecn.maximum) * 4
                                      : ecn.minimum + (ecn.maximum - ecn.minimum) / 4;
    SetCongestion(port, frames * kMarkedShare * marks_factor_[node], pauses, share, queue);
    if (pauses_early_[node] || marks_late) {
      pausing.push_back(port);
      NoteAffected(node_fault_.at(node), kOwnMeasure);
    }
  }
  for (const topology::PortIndex port : pausing) PauseSenders(component, port);
}

// The switch of this full port pauses those who send to it.
void FlowModel::PauseSenders(const Component& component, topology::PortIndex port) {
  std::vector<topology::PortIndex> upstream;
  for (size_t i = 0; i < component.lanes.size(); ++i) {
    if (!component.active[i]) continue;
    const Lane& lane = lanes_[component.lanes[i]];
    for (const uint32_t number : lane.senders) {
      const Sender& sender = groups_[lane.group].senders[number];
      const auto at = std::find(sender.path.begin(), sender.path.end(), port);
      if (at != sender.path.begin() && at != sender.path.end()) upstream.push_back(*std::prev(at));
    }
  }
  std::sort(upstream.begin(), upstream.end());
  upstream.erase(std::unique(upstream.begin(), upstream.end()), upstream.end());
  for (const topology::PortIndex sender : upstream) {
    SetCongestion(sender, ports_[sender].marks_per_second, kPausesPerSecond, kEarlyPausedShare,
                  ports_[sender].queue_bytes);
    paused_by_[port].push_back(sender);
  }
}

void FlowModel::SetCongestion(topology::PortIndex port, double marks, double pauses, double share,
                              uint64_t queue_bytes) {
  PortState& state = ports_[port];
  if (marks == 0) {  // what this port's switch paused goes on
    for (const topology::PortIndex sender : std::exchange(paused_by_[port], {})) {
      SetCongestion(sender, ports_[sender].marks_per_second, 0, 0, ports_[sender].queue_bytes);
    }
  }
  if (state.marks_per_second == marks && state.pauses_per_second == pauses &&
      state.paused_share == share) {
    return;
  }
  const double seconds = static_cast<double>(now_ - state.since) / kSecond;
  state.marks += state.marks_per_second * seconds;
  state.pauses += state.pauses_per_second * seconds;
  state.paused_ns += state.paused_share * seconds * 1e9;
  if (marks > 0 && state.marks_series == topology::kNone) MakeMarks(port);
  if (pauses > 0 && state.pause_series == topology::kNone) MakePauses(port);
  if (state.marks_series != topology::kNone) {
    builder_->series(state.marks_series).Add(now_, state.marks);
  }
  if (state.pause_series != topology::kNone) {
    builder_->series(state.pause_series).Add(now_, state.pauses);
    builder_->series(state.paused_series).Add(now_, state.paused_ns);
  }
  const bool is_switch =
      simulation_->real_fabric().node(simulation_->real_fabric().port(port).node).IsSwitch();
  if (is_switch && queue_bytes != state.queue_bytes) {
    builder_->SetPort(port, Metric::kQueueBytes, now_, queue_bytes);
    builder_->SetPort(port, Metric::kQueueWatermark, now_, queue_bytes);
  }
  state.marks_per_second = marks;
  state.pauses_per_second = pauses;
  state.paused_share = share;
  state.queue_bytes = queue_bytes;
  state.since = now_;
}

// Marks of this port arrive at the receivers of its flows, which send CNPs to the senders.
void FlowModel::MakeMarks(topology::PortIndex port) {
  const topology::Fabric& fabric = simulation_->real_fabric();
  PortState& state = ports_[port];
  state.marks_series = builder_->AddSeries();
  state.marks = 0;
  builder_->AddToPort(port, Metric::kEcnMarked, builder_->AddCount(state.marks_series, 1));
  double sum = 0;
  std::vector<const Sender*> users;
  for (const Group& group : groups_) {
    for (const Sender& sender : group.senders) {
      if (std::find(sender.path.begin(), sender.path.end(), port) == sender.path.end()) continue;
      users.push_back(&sender);
      sum += sender.traffic.data_frames;
    }
  }
  for (const Sender* sender : users) {
    if (sum <= 0) break;
    const QueuePair& from = *sender->queue_pair;
    const topology::PortIndex from_nic = fabric.nic(from.nic().number()).port;
    const topology::PortIndex to_nic = fabric.nic(from.peer().nic().number()).port;
    const double part = sender->traffic.data_frames / sum;
    builder_->AddToPort(to_nic, Metric::kEcnMarkedRoce,
                        builder_->AddCount(state.marks_series, part));
    const uint32_t cnps = builder_->AddCount(state.marks_series, part * kCnpsPerMark);
    builder_->AddToPort(to_nic, Metric::kCnpSent, cnps);
    // A switch on the way may lose them.
    topology::NodeIndex loser = topology::kNone;
    for (size_t i = 1; i < sender->way_back.size(); ++i) {
      const topology::NodeIndex node = fabric.port(sender->way_back[i]).node;
      if (loses_cnps_[node] > 0) loser = node;
    }
    if (loser != topology::kNone) NoteAffected(node_fault_.at(loser), kOwnMeasure);
    const double arriving = loser == topology::kNone ? 1 : 1 - loses_cnps_[loser];
    const uint32_t handled = builder_->AddCount(state.marks_series, part * kCnpsPerMark * arriving);
    builder_->AddToPort(from_nic, Metric::kCnpHandled, handled);
    bool is_past = false;
    for (const topology::PortIndex hop : sender->way_back) {
      is_past |= fabric.port(hop).node == loser;
      AddFrames(hop, is_past ? handled : cnps, 1, kCnpFrame);
    }
  }
}

void FlowModel::MakePauses(topology::PortIndex port) {
  const topology::PortIndex peer = simulation_->real_fabric().Peer(port);
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
