// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/link_losses.h"

#include <algorithm>
#include <utility>

#include "analytics/link/linked_port.h"

namespace rocescope {
LinkLosses::LinkLosses(const topology::Fabric& fabric, const LinkLossOptions& options)
    : fabric_(fabric),
      options_(options),
      devices_(fabric.nodes().size()),
      ports_(fabric.ports().size()),
      directions_(fabric.ports().size()) {}

void LinkLosses::OnCounter(const Entity& entity, Metric metric, const MetricSeries& series) {
  const bool counts_errors = metric == Metric::kFcsErrors || metric == Metric::kRxErrors;
  if (metric != Metric::kTxPackets && metric != Metric::kRxPackets && !counts_errors) return;
  if (series.is_by_agent()) return;
  const topology::PortIndex port = LinkedPortOf(fabric_, entity);
  if (port == topology::kNone) return;
  PortState& state = ports_[port];
  if (counts_errors) {
    state.has_fcs |= metric == Metric::kFcsErrors;
    if (metric == Metric::kFcsErrors || !state.has_fcs) state.errors = series.total();
    return;
  }
  const topology::NodeIndex node = fabric_.port(port).node;
  Device& device = devices_[node];
  const Timestamp time = series.last_reading();
  Counter& counter = metric == Metric::kTxPackets ? state.sent : state.received;
  if (counter.is_read && time > device.end) FinishPoll(node);
  if (!device.begin) device.begin = device.end = time;
  device.end = std::max(device.end, time);
  counter.has_gap |= series.restarts() != std::exchange(counter.gaps, series.restarts()) ||
                     series.total() < counter.total;
  device.has_changed |= series.total() != std::exchange(counter.total, series.total());
  // A reading that is late belongs to an earlier poll.
  counter.is_read = time >= *device.begin;
}

std::span<const LinkLoss> LinkLosses::LossesFrom(topology::PortIndex sender) const {
  const topology::PortIndex peer = fabric_.Peer(sender);
  if (directions_[sender].is_inconsistent || directions_[peer].is_inconsistent) return {};
  return directions_[sender].losses;
}

void LinkLosses::FinishPoll(topology::NodeIndex node) {
  Device& device = devices_[node];
  std::optional<Timestamp> after;
  if (device.has_changed) {
    after = device.before;
    device.same_since = *device.begin;
  } else if (*device.begin - device.same_since > options_.longest_cache) {
    after = *device.begin - options_.longest_cache;
  }
  for (const topology::Port& at : fabric_.PortsOf(node)) {
    if (at.link == topology::kNone) continue;
    const auto port = static_cast<topology::PortIndex>(&at - fabric_.ports().data());
    PortState& state = ports_[port];
    const topology::PortIndex peer = fabric_.Peer(port);
    const Duration slack = options_.clock_error + fabric_.link(at.link).delay;
    if (state.sent.has_gap || state.received.has_gap) state.last_poll.reset();
    if (std::exchange(state.sent.has_gap, false)) Restart(directions_[port]);
    if (std::exchange(state.received.has_gap, false)) Restart(directions_[peer]);
    const bool sent = std::exchange(state.sent.is_read, false);
    const bool received = std::exchange(state.received.is_read, false);
    if (!after) continue;
    const auto moment = [&](uint64_t value) {
      return CounterMoment{.after = *after, .until = device.end, .least = value, .most = value};
    };
    if (sent) directions_[port].bounds.AddSent(moment(state.sent.total), slack);
    if (received) {
      directions_[peer].bounds.AddReceived(moment(state.received.total + state.errors), slack);
    }
    if (sent && received) {
      state.last_poll = {.sent = state.sent.total, .received = state.received.total + state.errors};
      CompareEnds(port, device.end);
    }
    if (sent) Update(port, device.end);
    if (received) Update(peer, device.end);
  }
  device.before = device.begin;
  device.begin.reset();
  device.has_changed = false;
}

// Compares the last polls of both ends of a link.
void LinkLosses::CompareEnds(topology::PortIndex port, Timestamp time) {
  const topology::PortIndex peer = fabric_.Peer(port);
  if (!ports_[peer].last_poll) return;
  const PortState::Poll& own = *ports_[port].last_poll;
  const PortState::Poll& others = *ports_[peer].last_poll;
  const auto sent_here = static_cast<int64_t>(own.sent - others.received);
  const auto sent_there = static_cast<int64_t>(others.sent - own.received);
  directions_[port].repeated.Add({.missing = sent_here,
                                  .missing_other = sent_there,
                                  .time = time,
                                  .sent = own.sent,
                                  .received = others.received});
  directions_[peer].repeated.Add({.missing = sent_there,
                                  .missing_other = sent_here,
                                  .time = time,
                                  .sent = others.sent,
                                  .received = own.received});
  for (const topology::PortIndex sender : {port, peer}) {
    Direction& direction = directions_[sender];
    const auto missing = direction.bounds.difference();
    if (!missing || !direction.repeated.OnIdle(*missing)) continue;
    std::erase_if(direction.losses,
                  [](const LinkLoss& loss) { return !loss.is_certain && !loss.is_over; });
  }
}

void LinkLosses::Restart(Direction& direction) {
  direction.lost_before += direction.bounds.lost();
  direction.bounds.Restart();
  direction.repeated.Restart();
}

// What the readings since the latest restart show.
LinkLosses::Evidence LinkLosses::EvidenceOf(const Direction& direction) {
  const LossBounds& bounds = direction.bounds;
  const RepeatedReadings& repeated = direction.repeated;
  if (repeated.lost() == 0 || bounds.lost() >= kLeastFrames) {
    return {.lost = bounds.lost(), .intact = bounds.intact(), .uncertainty = bounds.uncertainty()};
  }
  return {
      .lost = repeated.lost(),
      .intact = LossBounds::Intact{.until = repeated.intact().time, .sent = repeated.intact().sent},
      .uncertainty = LossBounds::Uncertainty{.received = repeated.latest().received}};
}

void LinkLosses::Update(topology::PortIndex sender, Timestamp time) {
  Direction& direction = directions_[sender];
  const Evidence evidence = EvidenceOf(direction);
  const uint64_t sent = ports_[sender].sent.total;
  const PortState& receiver = ports_[fabric_.Peer(sender)];
  const uint64_t received = receiver.received.total + receiver.errors;
  if (direction.bounds.surplus() >= kLeastFrames) {
    direction.is_inconsistent = true;
    direction.losses.clear();
  }
  if (direction.is_inconsistent) return;
  if (direction.losses.empty() || direction.losses.back().is_over) {
    if (evidence.lost < kLeastFrames || !evidence.intact) return;
    if (direction.losses.size() == kMaxLosses) direction.losses.erase(direction.losses.begin());
    direction.losses.push_back({.from = evidence.intact->until, .detected_at = time});
    direction.sent_when_intact = evidence.intact->sent;
  }
  LinkLoss& loss = direction.losses.back();
  const uint64_t frames = direction.lost_before + evidence.lost;
  if (!loss.is_certain && direction.bounds.lost() >= kLeastFrames) {
    loss.is_certain = true;
    loss.frames = 0;  // the estimate may have been too high
  }
  if (frames > loss.frames) {
    loss.frames = frames;
    loss.sent = sent - direction.sent_when_intact;
    loss.last = time;
    direction.received_at_last = received;
    return;
  }
  const auto& uncertain = evidence.uncertainty;
  if (!uncertain || loss.sent == 0) return;
  if (uncertain->received <= direction.received_at_last) return;
  const double ratio = static_cast<double>(loss.frames) / static_cast<double>(loss.sent);
  const double expected =
      ratio * static_cast<double>(uncertain->received - direction.received_at_last);
  loss.is_over = expected > static_cast<double>(kLeastFrames + 2 * uncertain->frames);
  if (!loss.is_over) return;
  // A loss that returns is compared with the time after this one.
  direction.bounds.Restart();
  direction.repeated.Restart();
  direction.lost_before = 0;
}

}  // namespace rocescope
