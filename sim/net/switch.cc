// SPDX-License-Identifier: BSD-3-Clause
#include "sim/net/switch.h"

#include <algorithm>

namespace rocescope::sim {
namespace {

constexpr uint32_t kEthernetHeader = 14;

// A pause is repeated after four fifths of its duration, before it expires.
SimTime RefreshAfter(const Port& port, uint16_t quanta) {
  return TransmitTime(uint64_t{quanta} * 64, port.bits_per_second()) / 5 * 4;
}

// The linear marking probability of RED between the thresholds.
double MarkingProbability(const EcnOptions& ecn, uint64_t queue_bytes) {
  if (queue_bytes <= ecn.minimum) return 0;
  if (queue_bytes > ecn.maximum) return 1;
  return ecn.maximum_probability * static_cast<double>(queue_bytes - ecn.minimum) /
         static_cast<double>(ecn.maximum - ecn.minimum);
}

}  // namespace

Switch::Switch(Shared& shared, Forwarding& forwarding, uint32_t number, SwitchOptions options)
    : shared_(shared),
      forwarding_(forwarding),
      number_(number),
      options_(options),
      random_(options.random_seed, "switch", number),
      buffer_(options.buffer, 0),
      refresh_timer_(shared.engine, *this),
      watchdog_(shared.engine, options.watchdog, options.buffer.lossless) {}

Port& Switch::AddPort(uint64_t bits_per_second) {
  ports_.push_back(std::make_unique<Port>(shared_, *this, static_cast<uint32_t>(ports_.size()),
                                          bits_per_second));
  return *ports_.back();
}

void Switch::Start() {
  buffer_ = SharedBuffer(options_.buffer, ports_.size());
  upstream_.resize(ports_.size() * kPriorities);
  if (options_.buffer.headroom == 0) {
    // Data that can still arrive after XOFF: what is in flight in both directions, and one frame at
    // either end.
    for (size_t i = 0; i < ports_.size(); ++i) {
      constexpr uint64_t kFramesUnderWay = 2 * 9216;
      const auto wire = static_cast<uint64_t>(
          static_cast<double>(ports_[i]->delay()) * 2 / static_cast<double>(kSecond) *
          static_cast<double>(ports_[i]->bits_per_second()) / 8);
      buffer_.SetHeadroom(i, wire + kFramesUnderWay);
    }
  }
  buffer_.Seal();
  for (const auto& port : ports_) watchdog_.Watch(*port);
  watchdog_.Start();
}

Port* Switch::Choose(const Frame& frame, HashFields fields) {
  const Forwarding::Hops hops = forwarding_.NextHops(number_, frame);
  if (hops.count == 0) return nullptr;
  if (hops.count == 1) return ports_[hops.ports[0]].get();
  uint64_t number;
  if (options_.spray) {
    number = random_.Below(hops.count);
  } else {
    const uint64_t digest =
        fields == HashFields::kFiveTuple ? frame.digest : forwarding_.Digest(frame, fields);
    number = Mix64(digest ^ options_.hash_seed * 0x9e3779b97f4a7c15ull) % hops.count;
  }
  return ports_[hops.ports[number]].get();
}

void Switch::Lose(Frame& frame, LossCause cause, const Port* out) {
  if (observer_ != nullptr && up_) observer_->Loses(*this, out, frame, cause);
  ++lost_[static_cast<size_t>(cause)];
  shared_.Lose(frame, cause);
}

void Switch::Receive(Frame& frame, Port& port) {
  if (!up_) {
    Lose(frame, LossCause::kDeviceDown);
    return;
  }
  frame.ingress = static_cast<uint16_t>(port.number());
  if (observer_ != nullptr) {
    frame.arrived = shared_.engine.Now();
    observer_->Arrives(*this, port, frame);
  }
  if (frame.ttl <= 1) {
    ++port.counters().ttl_expired;
    Lose(frame, LossCause::kTtlExpired);
    return;
  }
  if (!blackholes_.empty() &&
      std::find(blackholes_.begin(), blackholes_.end(), frame.destination) != blackholes_.end()) {
    Lose(frame, LossCause::kBlackhole);
    return;
  }
  Port* out = Choose(frame, options_.hash_fields);
  if (out == nullptr) {
    ++port.counters().no_route;
    Lose(frame, LossCause::kNoRoute);
    return;
  }
  if (frame.length > options_.mtu + kEthernetHeader) {
    ++out->counters().too_long;
    Lose(frame, LossCause::kTooLong, out);
    return;
  }
  if (options_.hash_fields != HashFields::kFiveTuple && !options_.spray) [[unlikely]] {
    misdirected_ += out != Choose(frame, HashFields::kFiveTuple);
  }
  if (frame.kind == FrameKind::kCnp) {
    if (faults_.loses_cnps > 0 && random_.Chance(faults_.loses_cnps)) {
      Lose(frame, LossCause::kSelective, out);
      return;
    }
    Reclassify(frame, *out);
  }
  if (faults_.corrupts > 0 && random_.Chance(faults_.corrupts)) {
    frame.corrupt = true;
    ++corrupted_;
  }
  --frame.ttl;
  if (observer_ != nullptr) observer_->Queues(*this, *out, frame);
  if (!buffer_.Admit(port.number(), frame.priority, frame.length, out->queued(frame.priority))) {
    ++port.counters().dropped[frame.priority];
    Lose(frame, LossCause::kBufferFull, out);
    return;
  }
  const uint32_t priority = frame.priority;
  out->Enqueue(frame);
  CheckPause(port, priority);
}

// Uses the queue length at the time at which the frame leaves.
bool Switch::Marks(uint64_t queue_bytes) {
  const double right = MarkingProbability(options_.ecn, queue_bytes);
  if (!faults_.ecn) [[likely]]
    return right > 0 && (right >= 1 || random_.Chance(right));
  const double wrong = MarkingProbability(*faults_.ecn, queue_bytes);
  const double thrown = random_.Uniform();
  marked_otherwise_ += (thrown < right) != (thrown < wrong);
  return thrown < wrong;
}

void Switch::Departs(Frame& frame, Port& port) {
  Port& from = *ports_[frame.ingress];
  buffer_.Release(frame.ingress, frame.priority, frame.length);
  const uint64_t queue = port.queued(frame.priority);
  if (frame.ecn_capable && (options_.ecn_priorities >> frame.priority & 1) != 0 && Marks(queue)) {
    if (!frame.congestion_experienced) ++port.counters().ecn_marked[frame.priority];
    frame.congestion_experienced = true;
  }
  if (observer_ != nullptr) observer_->Departs(*this, port, frame, queue);
  CheckResume(from, frame.priority);
  if (frame.kind == FrameKind::kCnp) frame.priority = frame.marked_priority;
}

void Switch::Loses(Frame& frame, Port&, LossCause cause) {
  buffer_.Release(frame.ingress, frame.priority, frame.length);
  CheckResume(*ports_[frame.ingress], frame.priority);
  ++lost_[static_cast<size_t>(cause)];
  shared_.Lose(frame, cause);
}

void Switch::Reclassify(Frame& cnp, const Port& out) {
  cnp.marked_priority = cnp.priority;
  if (!faults_.cnp_priority) return;
  cnp.priority = *faults_.cnp_priority;
  if (cnp.priority != cnp.marked_priority) held_up_cnps_ += out.queued(cnp.priority) > 0;
}

void Switch::CheckPause(Port& port, uint32_t priority) {
  Upstream& upstream = upstream_[port.number() * kPriorities + priority];
  if (upstream.paused || !buffer_.ShouldPause(port.number(), priority)) return;
  upstream.paused = true;
  early_pauses_ += !buffer_.ShouldPauseAsConfigured(port.number(), priority);
  port.SendPause(static_cast<uint8_t>(1u << priority), options_.pause_quanta);
  upstream.refresh = shared_.engine.Now() + RefreshAfter(port, options_.pause_quanta);
  if (!refresh_timer_.armed() || upstream.refresh < refresh_timer_.deadline()) {
    refresh_timer_.Arm(upstream.refresh);
  }
}

void Switch::CheckResume(Port& port, uint32_t priority) {
  Upstream& upstream = upstream_[port.number() * kPriorities + priority];
  if (!upstream.paused || !buffer_.ShouldResume(port.number(), priority)) return;
  upstream = {};
  port.SendPause(static_cast<uint8_t>(1u << priority), 0);
}

void Switch::Refresh() {
  const SimTime now = shared_.engine.Now();
  SimTime next = kNever;
  for (size_t i = 0; i < upstream_.size(); ++i) {
    Upstream& upstream = upstream_[i];
    if (!upstream.paused) continue;
    if (upstream.refresh <= now) {
      Port& port = *ports_[i / kPriorities];
      port.SendPause(static_cast<uint8_t>(1u << i % kPriorities), options_.pause_quanta);
      upstream.refresh = now + RefreshAfter(port, options_.pause_quanta);
    }
    next = std::min(next, upstream.refresh);
  }
  if (next != kNever) refresh_timer_.Arm(next);
}

void Switch::SetUp(bool up) {
  up_ = up;
  if (up) return;
  for (const auto& port : ports_) port->SetUp(false);
  std::fill(upstream_.begin(), upstream_.end(), Upstream{});
}

void Switch::SetBlackhole(uint32_t destination, bool on) {
  std::erase(blackholes_, destination);
  if (on) blackholes_.push_back(destination);
}

}  // namespace rocescope::sim
