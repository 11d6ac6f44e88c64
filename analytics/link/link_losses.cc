// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/link_losses.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "analytics/link/linked_port.h"

namespace rocescope {
namespace {

constexpr uint64_t kLongestFrame = 9'300;  // bytes

}  // namespace

LinkLosses::LinkLosses(const topology::Fabric& fabric, const LinkLossOptions& options)
    : fabric_(fabric),
      options_(options),
      devices_(fabric.nodes().size()),
      ports_(fabric.ports().size()),
      directions_(fabric.ports().size()),
      trends_(fabric.links().size()) {}

void LinkLosses::OnCounter(const Entity& entity, Metric metric, const MetricSeries& series) {
  switch (metric) {
    case Metric::kTxPackets:
    case Metric::kRxPackets:
    case Metric::kTxBytes:
    case Metric::kRxBytes:
    case Metric::kFcsErrors:
    case Metric::kRxErrors:
    case Metric::kRxDiscards:
      break;
    default:
      return;
  }
  if (series.is_by_agent()) return;
  const topology::PortIndex port = LinkedPortOf(fabric_, entity);
  if (port == topology::kNone) return;
  PortState& state = ports_[port];
  if (metric == Metric::kRxDiscards) {
    state.discards = series.total();
  } else if (metric == Metric::kFcsErrors || metric == Metric::kRxErrors) {
    state.has_fcs |= metric == Metric::kFcsErrors;
    if (metric == Metric::kFcsErrors || !state.has_fcs) state.errors = series.total();
  } else if (metric == Metric::kTxBytes || metric == Metric::kRxBytes) {
    Counter& counter = metric == Metric::kTxBytes ? state.sent : state.received;
    counter.has_bytes_changed = series.total() > counter.bytes + kLongestFrame;
    counter.bytes = series.total();
  } else {
    OnPackets(port, metric == Metric::kTxPackets ? state.sent : state.received, series);
  }
}

void LinkLosses::OnPackets(topology::PortIndex port, Counter& counter, const MetricSeries& series) {
  const topology::NodeIndex node = fabric_.port(port).node;
  Device& device = devices_[node];
  const Timestamp time = series.last_reading();
  if (counter.is_read && time > device.end) FinishPoll(node);
  if (!device.begin) device.begin = device.end = time;
  device.end = std::max(device.end, time);
  counter.has_gap |= series.restarts() != std::exchange(counter.gaps, series.restarts()) ||
                     series.total() < counter.total;
  counter.has_changed = series.total() != std::exchange(counter.total, series.total());
  device.has_changed |= counter.has_changed;
  // A reading that is late belongs to an earlier poll.
  counter.is_read = time >= *device.begin;
}

std::span<const LinkLoss> LinkLosses::LossesFrom(topology::PortIndex sender) const {
  const Direction& direction = directions_[sender];
  const Direction& other = directions_[fabric_.Peer(sender)];
  if (direction.surplus > 0 || other.surplus > 0) return {};
  // If an end counts what it sends as received and the other way round, equally many frames seem
  // to be lost in both directions, except for those that the other end discards.
  const auto lost = [](const Direction& of) {
    return of.losses.empty() ? int64_t{0} : static_cast<int64_t>(of.losses.back().frames);
  };
  const PortState& port = ports_[sender];
  const PortState& peer_port = ports_[fabric_.Peer(sender)];
  const int64_t apart = std::abs(lost(direction) - lost(other));
  const auto inexact = static_cast<int64_t>(port.discards + peer_port.discards);
  if (lost(other) > 0 && apart <= inexact) return {};
  return direction.losses;
}

const LossTrend::Loss* LinkLosses::TrendOf(topology::LinkIndex link) const {
  const std::optional<LossTrend::Loss>& loss = trends_[link].loss();
  if (!loss) return nullptr;
  auto least = static_cast<double>(kLeastFrames);
  for (const topology::PortIndex end : fabric_.link(link).ends) {
    if (directions_[end].surplus > 0) return nullptr;
    least += static_cast<double>(ports_[end].discards);
  }
  return loss->frames >= least ? &*loss : nullptr;
}

// A counter that stands still while the bytes grow is stuck.
void LinkLosses::FinishPoll(Counter& counter) {
  if (counter.is_read && counter.has_bytes_changed && !counter.has_changed) {
    counter.has_gap = true;
    counter.is_read = false;
  }
  counter.has_changed = counter.has_bytes_changed = false;
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
    FinishPoll(state.sent);
    FinishPoll(state.received);
    if (state.sent.has_gap || state.received.has_gap) {
      state.last_poll.reset();
      trends_[at.link].Restart();
    }
    if (std::exchange(state.sent.has_gap, false)) Restart(directions_[port]);
    if (std::exchange(state.received.has_gap, false)) Restart(directions_[peer]);
    const bool sent = std::exchange(state.sent.is_read, false);
    const bool received = std::exchange(state.received.is_read, false);
    if (!after) continue;
    const auto moment = [&](uint64_t least, uint64_t most) {
      return CounterMoment{.after = *after, .until = device.end, .least = least, .most = most};
    };
    if (sent) {
      directions_[port].bounds.AddSent(moment(state.sent.total, state.sent.total), slack);
    }
    if (received) {
      // Not all devices count discarded frames as received.
      const uint64_t least = state.received.total + state.errors;
      directions_[peer].bounds.AddReceived(moment(least, least + state.discards), slack);
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
  const topology::LinkIndex link = fabric_.port(port).link;
  const bool is_first = fabric_.link(link).ends[0] == port;
  trends_[link].Add({.missing = is_first ? sent_here : sent_there,
                     .missing_other = is_first ? sent_there : sent_here,
                     .sent = is_first ? own.sent : others.sent,
                     .received = is_first ? own.received : others.received,
                     .time = time});
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

// What the readings since the latest restart show. `discards`: frames that the receiver discarded.
LinkLosses::Evidence LinkLosses::EvidenceOf(const Direction& direction, uint64_t discards) {
  const LossBounds& bounds = direction.bounds;
  const RepeatedReadings& repeated = direction.repeated;
  if (repeated.lost() <= discards || bounds.lost() >= kLeastFrames) {
    return {.lost = bounds.lost(), .intact = bounds.intact(), .uncertainty = bounds.uncertainty()};
  }
  return {
      .lost = repeated.lost(),
      .intact = LossBounds::Intact{.until = repeated.intact().time, .sent = repeated.intact().sent},
      .uncertainty = LossBounds::Uncertainty{.received = repeated.latest().received}};
}

void LinkLosses::Update(topology::PortIndex sender, Timestamp time) {
  Direction& direction = directions_[sender];
  const Evidence evidence = EvidenceOf(direction, ports_[fabric_.Peer(sender)].discards);
  const uint64_t sent = ports_[sender].sent.total;
  const PortState& receiver = ports_[fabric_.Peer(sender)];
  const uint64_t received = receiver.received.total + receiver.errors;
  if (direction.bounds.surplus() >= kLeastFrames) {
    direction.surplus = std::max(direction.surplus, direction.bounds.surplus());
    direction.losses.clear();
  }
  if (direction.surplus > 0) return;
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
