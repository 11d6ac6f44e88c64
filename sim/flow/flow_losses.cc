// SPDX-License-Identifier: BSD-3-Clause
// Lost frames, what follows from them, and what senders repeat. README.md describes the model.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "sim/flow/flow_constants.h"
#include "sim/flow/flow_model.h"

namespace rocescope::sim {
namespace {

constexpr double kGrantsAtOnce = Job::kGrantsAtOnce;

// Frames that a sender sends behind a lost one until its receiver grants nothing more, or until the
// end of the run: the mean over the places of the lost frame.
double FramesUntilStall(const Exchange& traffic) {
  const double messages = std::max(1.0, traffic.messages);
  const double message = traffic.data_frames / messages;
  if (traffic.GrantBytes() <= 0 || messages <= kGrantsAtOnce) return traffic.data_frames / 2;
  // Before the last messages, all grants are used, half of the first of them on average.
  const double sum =
      (messages - kGrantsAtOnce) * (kGrantsAtOnce - 0.5) + kGrantsAtOnce * kGrantsAtOnce / 2;
  return message * sum / messages;
}

}  // namespace

bool FlowModel::Loses(const LossSource& source, std::span<const topology::PortIndex> path,
                      uint32_t position) const {
  if (source.cuts || !fault_records_[source.fault].is_active) return false;
  const topology::PortIndex port = path[position];
  return source.sender != topology::kNone ? source.sender == port
                                          : position > 0 && source.node == fabric().port(port).node;
}

// Which losses of faults and of healthy links to expect in one run.
void FlowModel::FindLosses(Group& group) {
  group.losses.clear();
  group.benign_losses.clear();
  double benign = 0;
  for (uint32_t i = 0; i < group.senders.size(); ++i) {
    const Sender& sender = group.senders[i];
    const Exchange& traffic = sender.traffic;
    if (!sender.is_cut) {
      double damage = 0;
      for (const topology::PortIndex port : sender.path) damage += damage_[port];
      benign += traffic.data_frames * kFullFrame * 8 * damage;
    }
    group.benign_losses.push_back(benign);
    if (sender.is_cut) continue;
    const auto find = [&](std::span<const topology::PortIndex> path, double data, double control,
                          bool is_answer) {
      for (uint32_t position = 0; position < path.size(); ++position) {
        for (uint32_t source = 0; source < sources_.size(); ++source) {
          const LossSource& of = sources_[source];
          if (!Loses(of, path, position) || kFullFrame < of.least_length) continue;
          const bool loses_short = static_cast<uint32_t>(kAckFrame) >= of.least_length;
          if (is_answer && !loses_short) continue;
          group.losses.push_back({.sender = i,
                                  .position = position,
                                  .source = source,
                                  .data_frames = data,
                                  .control_frames = loses_short ? control : 0,
                                  .is_answer = is_answer});
        }
      }
    };
    // Lost answers follow, because NAKs for lost data are among them.
    find(sender.path, traffic.data_frames, traffic.frames - traffic.data_frames, false);
    find(sender.way_back, 0, traffic.answer_frames, true);
  }
}

// Draws the losses of the run of a collective that begins now. Returns the time that they add.
SimTime FlowModel::SampleLosses(uint32_t index) {
  Group& group = groups_[index];
  const double benign = group.benign_losses.empty() ? 0 : group.benign_losses.back();
  if (benign <= 0 && group.losses.empty()) return 0;
  LossDraw draw{.group = group, .losses = {}, .delays = {}, .naks = {}};
  for (const ExpectedLoss& loss : group.losses) {
    const LossSource& source = sources_[loss.source];
    const double probability =
        std::min(0.9, source.probability * fault_records_[source.fault].severity);
    if (loss.is_answer) {
      LoseAnswers(draw, loss, probability);
      continue;
    }
    Sender& sender = group.senders[loss.sender];
    const double losses = loss.data_frames * probability / (1 - probability) / source.burst;
    LoseData(draw, sender, loss.position, &source, Poisson(draw.group.random, losses), probability);
    // A later acknowledgement replaces a lost one.
    AddLoss(draw, sender, loss.position, &source, LossEffect::kControl,
            Poisson(draw.group.random, loss.control_frames * probability));
  }
  for (uint64_t left = Poisson(group.random, benign); left > 0; --left) {
    const auto at = std::ranges::upper_bound(group.benign_losses, group.random.Uniform() * benign);
    if (at == group.benign_losses.end()) continue;
    Sender& sender = group.senders[static_cast<size_t>(at - group.benign_losses.begin())];
    LoseData(draw, sender, BenignPlaceOf(sender, group.random), nullptr, 1, 0);
  }
  const SimTime added =
      draw.delays.empty() ? 0 : static_cast<SimTime>(*std::ranges::max_element(draw.delays));
  const SimTime until = now_ + TimeOfRun(group, std::max(1.0, group.limit)) - group.added + added;
  for (const LossDraw::Losses& each : draw.losses) {
    AddLoss(group, each.sender, each.position, each.source, each.effect, each.count, now_, until);
  }
  return added;
}

uint32_t FlowModel::BenignPlaceOf(const Sender& sender, Random& random) {
  double sum = 0;
  for (const topology::PortIndex port : sender.path) sum += damage_[port];
  double at = random.Uniform() * sum;
  uint32_t position = 0;
  while (position + 1 < sender.path.size() && at >= damage_[sender.path[position]]) {
    at -= damage_[sender.path[position++]];
  }
  return position;
}

// `count` losses of data frames, each of the next one that its receiver expects. `probability`:
// that this place loses a frame.
void FlowModel::LoseData(LossDraw& draw, Sender& sender, uint32_t position,
                         const LossSource* source, uint64_t count, double probability) {
  if (count == 0) return;
  // Nothing follows the last frame before a wait, so only a timeout reveals its loss.
  const double last = std::min(1.0, sender.bursts / sender.traffic.data_frames);
  const uint64_t late = Binomial(draw.group.random, count, last);
  // A receiver sends one NAK only: if the repeated frame is lost, the sender notices it by timeout.
  const uint64_t stalled = Binomial(draw.group.random, count - late, probability);
  const uint64_t repeated = count - late - stalled;
  AddLoss(draw, sender, position, source, LossEffect::kRepeated, repeated);
  AddLoss(draw, sender, position, source, LossEffect::kLate, late);
  // Frames behind a lost one that are lost too have no effect.
  const double more = source == nullptr ? 0 : source->burst - 1;
  const uint64_t behind =
      Poisson(draw.group.random,
              static_cast<double>(repeated) * (sender.frames_in_flight * probability + more));
  AddLoss(draw, sender, position, source, LossEffect::kBehind,
          std::min(behind, static_cast<uint64_t>(static_cast<double>(repeated) *
                                                 std::floor(sender.frames_in_flight))));
  AddLoss(draw, sender, position, source, LossEffect::kStalled, stalled);
  draw.naks[&sender] += repeated;
}

// Lost on the way from the receiver: acknowledgements, clear-to-sends and NAKs.
void FlowModel::LoseAnswers(LossDraw& draw, const ExpectedLoss& loss, double probability) {
  Sender& sender = draw.group.senders[loss.sender];
  const LossSource* const source = &sources_[loss.source];
  const Exchange& traffic = sender.traffic;
  const double grants = traffic.GrantBytes() > 0 ? traffic.messages : 0;
  AddLoss(draw, sender, loss.position, source, LossEffect::kAnswer,
          Poisson(draw.group.random, (loss.control_frames - grants) * probability));
  const uint64_t lost_grants = Poisson(draw.group.random, grants * probability);
  // The next clear-to-send reveals the loss of one, except after the last one of the run.
  const uint64_t late = Binomial(draw.group.random, lost_grants, 1 / std::max(1.0, grants));
  AddLoss(draw, sender, loss.position, source, LossEffect::kGrant, lost_grants - late);
  AddLoss(draw, sender, loss.position, source, LossEffect::kLateGrant, late);
  const uint64_t naks = draw.naks[&sender];
  AddLoss(draw, sender, loss.position, source, LossEffect::kNak,
          Binomial(draw.group.random, naks, probability));
}

// Adds losses of one kind and the time that they cost. Losses of one channel delay it one after
// another; channels are delayed at the same time.
void FlowModel::AddLoss(LossDraw& draw, Sender& sender, uint32_t position, const LossSource* source,
                        LossEffect effect, uint64_t count) {
  if (count == 0) return;
  draw.losses.push_back({sender, position, source, effect, count});
  double each = 0;
  switch (effect) {
    case LossEffect::kRepeated:
      each = (sender.frames_in_flight + 1) * kFullFrameOnWire / draw.group.limit * kSecond;
      break;
    case LossEffect::kLate:
    case LossEffect::kStalled:
    case LossEffect::kNak:
    case LossEffect::kLateGrant:
      each = static_cast<double>(AckTimeout());
      break;
    case LossEffect::kBehind:
    case LossEffect::kControl:
    case LossEffect::kAnswer:
    case LossEffect::kGrant:
      return;
  }
  if (draw.delays.size() <= sender.channel) draw.delays.resize(sender.channel + 1, 0);
  draw.delays[sender.channel] += static_cast<double>(count) * each;
}

// What a sender does not send any more is not lost: its losses were spread over the time that it
// would have taken.
void FlowModel::StopLosses(const Sender& sender) {
  const uint32_t number = sender.queue_pair->identity().number;
  for (auto at = losses_.lower_bound({.queue_pair = number});
       at != losses_.end() && at->first.queue_pair == number; ++at) {
    Series& series = builder_->series(at->second.series);
    if (series.empty() || series.points().back().time <= now_) continue;
    series.CutAt(now_);
    at->second.frames = series.At(now_);
  }
}

// The queue pairs of a lane that cannot pass send one frame after each timeout.
void FlowModel::LoseCut(uint32_t index) {
  Lane& lane = lanes_[index];
  Group& group = groups_[lane.group];
  const SimTime timeout = AckTimeout();
  for (const uint32_t number : lane.senders) {
    Sender& sender = group.senders[number];
    const std::optional<uint32_t> position = CutOf(sender);
    if (!position || *position >= sender.path.size()) continue;
    const topology::PortIndex port = sender.path[*position];
    for (const LossSource& source : sources_) {
      if (!source.cuts || !fault_records_[source.fault].is_active) continue;
      if (source.sender != port && source.node != fabric().port(port).node) continue;
      AddLoss(group, sender, *position, &source, LossEffect::kLate, 1, now_, now_ + timeout);
      break;
    }
  }
  At(now_ + timeout, [this, index, version = lane.version] {
    if (lanes_[index].version == version) LoseCut(index);
  });
}

// Frames that are sent in addition to those of an undisturbed run, on the sender's path.
double FlowModel::RepeatedAfter(LossEffect effect, const Sender& sender) const {
  switch (effect) {
    case LossEffect::kRepeated:
      return sender.frames_in_flight + 1;
    case LossEffect::kLate:
      return 1;
    case LossEffect::kStalled:
    case LossEffect::kNak: {
      const double by_timeout =
          static_cast<double>(AckTimeout()) / kSecond *
          static_cast<double>(fabric().link(fabric().port(sender.path[0]).link).bits_per_second) /
          8 / kFullFrameOnWire;
      return 1 + std::min(FramesUntilStall(sender.traffic), by_timeout);
    }
    case LossEffect::kGrant:
      return 2;
    case LossEffect::kLateGrant:
      return 1;
    case LossEffect::kBehind:
    case LossEffect::kControl:
    case LossEffect::kAnswer:
      return 0;
  }
  return 0;
}

// Counts lost frames, what follows from them, and what is repeated. `source` is null for bit errors
// of a healthy link.
void FlowModel::AddLoss(Group& group, Sender& sender, uint32_t position, const LossSource* source,
                        LossEffect effect, uint64_t frames, SimTime from, SimTime until) {
  const uint32_t kind = source == nullptr ? 0 : 1 + static_cast<uint32_t>(source - sources_.data());
  const bool is_answer = IsAnswer(effect);
  LossSeries& loss = losses_[{sender.queue_pair->identity().number, position, kind,
                              is_answer ? sender.way_back_number : sender.path_number, effect}];
  if (loss.series == topology::kNone) loss.series = CountLoss(sender, position, source, effect);
  builder_->series(loss.series).Add(from, loss.frames);
  loss.frames += static_cast<double>(frames);
  builder_->series(loss.series).Add(until, loss.frames);
  if (group.job != topology::kNone) {
    const double repeated = static_cast<double>(frames) * RepeatedAfter(effect, sender);
    job_records_[group.job].retransmitted += static_cast<uint64_t>(std::llround(repeated));
  }
  if (source == nullptr) {
    NoteBroken(sender.path[position], frames);
  } else {
    NoteAffected(source->fault, frames);
  }
}

// Creates a series for these losses and attaches every counter that a lost frame changes.
// Undisturbed, each frame passes its whole path, and the lost frame does so when it is repeated.
uint32_t FlowModel::CountLoss(Sender& sender, uint32_t position, const LossSource* source,
                              LossEffect effect) {
  const QueuePair& queue_pair = *sender.queue_pair;
  const topology::PortIndex from_nic = fabric().nic(queue_pair.nic().number()).port;
  const topology::PortIndex to_nic = fabric().nic(queue_pair.peer().nic().number()).port;
  const bool is_answer = IsAnswer(effect);
  const std::span<const topology::PortIndex> path = is_answer ? sender.way_back : sender.path;
  const bool in_switch = source != nullptr && source->sender == topology::kNone;
  const bool reaches_nic = source != nullptr && source->counted_icrc;
  const uint32_t series = builder_->AddSeries();
  const uint32_t count = builder_->AddCount(series, 1);
  // The lost frame, which the undisturbed run counts on the whole path.
  int32_t bytes = static_cast<int32_t>(kFullFrame);
  if (effect == LossEffect::kGrant || effect == LossEffect::kLateGrant) bytes = kGrantFrame;
  if (effect == LossEffect::kControl || effect == LossEffect::kAnswer ||
      effect == LossEffect::kNak) {
    bytes = kAckFrame;
  }
  // Frames in addition to the undisturbed run: up to the place of the loss, the lost frame, unless
  // it is not repeated; on the whole path, the frames that are repeated with it.
  const double repeated = RepeatedAfter(effect, sender);
  const bool is_repeated = repeated > 0 && effect != LossEffect::kNak;
  for (uint32_t i = 0; i < path.size(); ++i) {
    const bool comes_here = reaches_nic || (in_switch ? i < position : i <= position);
    AddFrames(path[i], count, static_cast<int32_t>(comes_here) - static_cast<int32_t>(!is_repeated),
              bytes);
  }
  const double with_it = effect == LossEffect::kNak ? repeated : repeated - 1;
  const bool has_more = with_it > 0;
  const uint32_t more = has_more ? builder_->AddCount(series, with_it) : 0;
  if (has_more) {
    const bool are_grants = effect == LossEffect::kGrant;
    for (const topology::PortIndex port : are_grants ? sender.way_back : sender.path) {
      AddFrames(port, more, 1, are_grants ? kGrantFrame : static_cast<int32_t>(kFullFrame));
    }
    builder_->AddToPort(are_grants ? from_nic : to_nic, Metric::kOutOfSequence, more);
  }
  if (!in_switch) {
    AddLostFrames(path[position], count, bytes);
    if (source == nullptr || source->counted_fcs) {
      const topology::PortIndex receiver = fabric().Peer(path[position]);
      builder_->AddToPort(receiver, Metric::kFcsErrors, count);
      // A broken frame was in a codeword that FEC could not correct.
      if (scenario_.benign.pre_fec_bit_error_ratio.on()) {
        builder_->AddToPort(receiver, Metric::kFecUncorrected, count);
      }
    }
  }
  if (source != nullptr && source->counted_mtu) {
    builder_->AddToPort(path[position], Metric::kMtuDrops, count);
  }
  if (reaches_nic) {
    builder_->AddToPort(is_answer ? from_nic : to_nic, Metric::kIcrcErrors, count);
  }
  switch (effect) {
    case LossEffect::kRepeated:
      builder_->AddToPort(from_nic, Metric::kPacketSequenceError, count);
      for (const topology::PortIndex port : sender.way_back) AddFrames(port, count, 1, kAckFrame);
      break;
    case LossEffect::kBehind:
      // The lost frames are not subtracted from the counter of frames out of sequence, which could
      // then decrease.
      break;
    case LossEffect::kNak:
      // The lost NAK is not subtracted from the counter of sequence errors either.
      builder_->AddToPort(from_nic, Metric::kLocalAckTimeout, count);
      break;
    case LossEffect::kStalled:
    case LossEffect::kLate:
      builder_->AddToPort(from_nic, Metric::kLocalAckTimeout, count);
      break;
    case LossEffect::kGrant:
      builder_->AddToPort(to_nic, Metric::kPacketSequenceError, count);
      for (const topology::PortIndex port : sender.path) AddFrames(port, count, 1, kAckFrame);
      break;
    case LossEffect::kLateGrant:
      builder_->AddToPort(to_nic, Metric::kLocalAckTimeout, count);
      break;
    case LossEffect::kControl:
    case LossEffect::kAnswer:
      break;
  }
  return series;
}

// Losses that were drawn for a time after the end of the simulation do not count.
void FlowModel::CountLosses() {
  std::map<uint32_t, uint64_t> drawn;  // by fault: frames that belong to its sources
  std::map<uint32_t, uint64_t> lost;   // until the end
  for (const auto& [key, loss] : losses_) {
    const auto frames = static_cast<uint64_t>(WholeCount(builder_->series(loss.series).At(end_)));
    if (key.kind == 0) {
      if (frames > 0) lost_["bit_error"] += frames;
      continue;
    }
    const LossSource& source = sources_[key.kind - 1];
    if (frames > 0) lost_[source.cause] += frames;
    drawn[source.fault] += loss.frames;
    lost[source.fault] += frames;
  }
  for (const auto& [fault, frames] : drawn) {
    fault_records_[fault].affected -= frames - lost[fault];
  }
}

// The link from this port loses the counted frames.
void FlowModel::AddLostFrames(topology::PortIndex sender, uint32_t count, int32_t bytes) {
  const topology::PortIndex peer = fabric().Peer(sender);
  builder_->AddToPort(peer, Metric::kRxPackets, count, -1);
  builder_->AddToPort(peer, Metric::kRxBytes, count, -bytes);
}

}  // namespace rocescope::sim
