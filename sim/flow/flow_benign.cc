// SPDX-License-Identifier: BSD-3-Clause
// Errors and events of a healthy fabric.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/flow/flow_model.h"

namespace rocescope::sim {

void FlowModel::PrepareBenign() {
  const BenignOptions& benign = scenario_.benign;
  const bool fec = benign.pre_fec_bit_error_ratio.on();
  for (topology::PortIndex port = 0; port < fabric().ports().size(); ++port) {
    const topology::LinkIndex link = fabric().port(port).link;
    if (link == topology::kNone) continue;
    // Each direction of a link draws the same ratio as in the packet model.
    const auto speed = static_cast<double>(fabric().link(link).bits_per_second);
    if (benign.bit_error_ratio.on()) {
      damage_[port] =
          DamageRate(DrawRatio(benign.bit_error_ratio, scenario_.seed, "bit errors", port), speed,
                     fec) /
          speed;
    }
    Random random(scenario_.seed, "frame errors", port);
    if (!random.Chance(benign.frame_errors.ports)) continue;
    for (uint32_t i = 0; i < benign.frame_errors.frames; ++i) {
      const auto time =
          static_cast<SimTime>(random.Below(static_cast<uint64_t>(scenario_.duration)));
      At(time, [this, port] { Strike(port); });
    }
  }
  for (const BenignLife::Burst& burst : simulation_->benign().bursts()) {
    At(burst.time, [this, &burst] { AddBurst(burst); });
  }
  AddHarmlessDiscards();
}

// Breaks the next frame on a link.
void FlowModel::Strike(topology::PortIndex port) {
  struct Candidate {
    uint32_t group;
    uint32_t sender;
    uint32_t position;
  };
  std::vector<Candidate> candidates;
  for (const uint32_t index : groups_at_[port]) {
    const Group& group = groups_[index];
    for (const uint32_t lane : group.lanes) {
      if (!lanes_[lane].is_active || lanes_[lane].is_cut) continue;
      for (const uint32_t i : lanes_[lane].senders) {
        const auto& path = group.senders[i].path;
        const auto at = std::ranges::find(path, port);
        if (at == path.end() || group.senders[i].traffic.data_frames <= 0) continue;
        candidates.push_back({index, i, static_cast<uint32_t>(at - path.begin())});
      }
    }
  }
  if (candidates.empty()) {  // the link is idle
    if (idle_strikes_[port]++ > 0) return;
    const SimTime step = std::max<SimTime>(kMicrosecond, scenario_.duration / 10'000);
    At(now_ + step, [this, port] { RepeatStrikes(port); });
    return;
  }
  const Candidate& hit = candidates[random_.Below(candidates.size())];
  AddLoss(groups_[hit.group], groups_[hit.group].senders[hit.sender], hit.position, nullptr,
          LossEffect::kRepeated, 1, now_, now_ + kMicrosecond);
}

// One event for all strikes that wait for the link, which may be idle for the whole run.
void FlowModel::RepeatStrikes(topology::PortIndex port) {
  const uint32_t waiting = std::exchange(idle_strikes_[port], 0);
  Strike(port);
  if (idle_strikes_[port] > 0) {
    idle_strikes_[port] = waiting;
    return;
  }
  for (uint32_t i = 1; i < waiting; ++i) Strike(port);
}

// Frames that healthy links broke, one event for each direction of a link.
void FlowModel::NoteBroken(topology::PortIndex sender, uint64_t frames) {
  BenignEvent& event = broken_[sender];
  if (event.count == 0) {
    event.kind = BenignKind::kFrameError;
    event.place = fabric().NameOfLink(fabric().port(sender).link);
    event.direction = fabric().NameOf(sender);
    event.start = now_;
  }
  event.end = now_;
  event.count += frames;
}

// Many NICs send a few frames of a lossy class to one NIC. The last switch drops what its queue
// cannot hold.
void FlowModel::AddBurst(const BenignLife::Burst& burst) {
  constexpr int32_t kFrame = 1'514;  // bytes
  const auto each = static_cast<int32_t>(scenario_.benign.microbursts.frames);
  const topology::PortIndex to = fabric().Peer(fabric().nic(burst.to).port);
  const uint32_t series = builder_->AddSeries();
  builder_->series(series).Add(now_, 0);
  builder_->series(series).Add(now_ + kMicrosecond, 1);
  const uint32_t count = builder_->AddCount(series, 1);
  uint32_t senders = 0;
  for (const QueuePair* const sender : burst.senders) {
    const auto path = paths_->ports(paths_->Of(sender->identity().number));
    const bool passes = std::ranges::all_of(
        path, [&](topology::PortIndex port) { return state_.capacity[port] > 0; });
    if (!passes || path.back() != to) continue;
    for (const topology::PortIndex port : path.subspan(0, path.size() - 1)) {
      AddFrames(port, count, each, kFrame);
    }
    ++senders;
  }
  if (senders == 0) return;
  const uint64_t arriving = uint64_t{senders} * static_cast<uint64_t>(each);
  const double bytes = static_cast<double>(arriving) * kFrame;
  const double queued = bytes * (1 - 1 / static_cast<double>(senders));
  const BufferOptions& buffer = scenario_.network.switches.buffer;
  const double room =
      static_cast<double>(buffer.bytes) * buffer.egress_alpha / (1 + buffer.egress_alpha);
  const auto dropped = static_cast<uint64_t>(std::max(0.0, std::ceil((queued - room) / kFrame)));
  for (uint64_t left = dropped, i = 0; i < senders; ++i) {
    const auto lost = static_cast<int32_t>(std::min(left, static_cast<uint64_t>(each)));
    left -= static_cast<uint64_t>(lost);
    AddFrames(to, count, each - lost, kFrame);
    builder_->AddToPort(to, Metric::kTxDiscards, count, lost);
  }
  lost_["buffer_full"] += dropped;
  const auto length =
      static_cast<SimTime>(bytes / state_.capacity[to] * static_cast<double>(kSecond));
  benign_events_.push_back({.kind = BenignKind::kMicroburst,
                            .place = fabric().NameOfLink(fabric().port(to).link),
                            .direction = fabric().NameOf(to),
                            .start = now_,
                            .end = std::min(scenario_.duration, now_ + length),
                            .count = arriving});
}

void FlowModel::AddHarmlessDiscards() {
  const BenignOptions::HarmlessDiscards& own = scenario_.benign.harmless_discards;
  if (own.ports <= 0) return;
  for (topology::PortIndex port = 0; port < fabric().ports().size(); ++port) {
    const topology::LinkIndex link = fabric().port(port).link;
    if (link == topology::kNone || !fabric().node(fabric().port(port).node).IsSwitch()) continue;
    Random random(scenario_.seed, "harmless discards", port);
    if (!random.Chance(own.ports)) continue;
    const auto phase = static_cast<SimTime>(random.Below(static_cast<uint64_t>(own.period)));
    if (phase >= scenario_.duration) continue;
    const double count =
        1 + static_cast<double>(scenario_.duration - phase) / static_cast<double>(own.period);
    const uint32_t series = builder_->AddSeries();
    builder_->series(series).Add(phase, 1);
    builder_->series(series).Add(scenario_.duration, count);
    builder_->AddToPort(port, Metric::kRxDiscards, builder_->AddCount(series, 1));
    benign_events_.push_back({.kind = BenignKind::kHarmlessDiscards,
                              .place = fabric().NameOfLink(link),
                              .direction = fabric().NameOf(fabric().Peer(port)),
                              .start = 0,
                              .end = scenario_.duration,
                              .count = static_cast<uint64_t>(count)});
  }
}

// Codewords that FEC corrected, and those that it could not correct while the link was idle. The
// others broke frames, which AddLoss counts.
void FlowModel::AddFecCounts() {
  for (const auto& [port, event] : broken_) benign_events_.push_back(event);
  const RatioRange& ratio = scenario_.benign.pre_fec_bit_error_ratio;
  if (!ratio.on()) return;
  const double seconds = static_cast<double>(scenario_.duration) / kSecond;
  for (topology::PortIndex port = 0; port < fabric().ports().size(); ++port) {
    const topology::LinkIndex link = fabric().port(port).link;
    if (link == topology::kNone) continue;
    const topology::PortIndex receiver = fabric().Peer(port);
    const auto speed = static_cast<double>(fabric().link(link).bits_per_second);
    const double corrected =
        CorrectedRate(DrawRatio(ratio, scenario_.seed, "bit errors before FEC", port), speed);
    const uint32_t series = builder_->AddSeries();
    builder_->series(series).Add(0, 0);
    builder_->series(series).Add(scenario_.duration, corrected * seconds);
    builder_->AddToPort(receiver, Metric::kFecCorrected, builder_->AddCount(series, 1));
    const double sent = static_cast<double>(builder_->ValueAt(port, Metric::kTxBytes, end_)) * 8;
    const double idle = std::max(0.0, 1 - sent / (speed * seconds));
    std::vector<SimTime> times(Poisson(random_, damage_[port] * speed * seconds * idle));
    if (times.empty()) continue;
    for (SimTime& time : times) {
      time = static_cast<SimTime>(random_.Below(static_cast<uint64_t>(scenario_.duration)));
    }
    std::ranges::sort(times);
    const uint32_t idle_series = builder_->AddSeries();
    for (size_t i = 0; i < times.size(); ++i) {
      builder_->series(idle_series).Add(times[i], static_cast<double>(i));
      builder_->series(idle_series).Add(times[i] + 1, static_cast<double>(i + 1));
    }
    builder_->AddToPort(receiver, Metric::kFecUncorrected, builder_->AddCount(idle_series, 1));
  }
}

}  // namespace rocescope::sim
