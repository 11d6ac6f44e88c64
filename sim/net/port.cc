// SPDX-License-Identifier: BSD-3-Clause
#include "sim/net/port.h"

#include <algorithm>
#include <bit>

namespace rocescope::sim {
namespace {

// IEEE 802.3 clause 31B: 64 bytes with FCS; preamble and gap add 20.
constexpr uint32_t kPauseLength = 60;
constexpr uint32_t kPauseWireBytes = 84;
constexpr uint32_t kBitsPerQuantum = 512;

}  // namespace

void Port::Connect(Port& a, Port& b, SimTime delay) {
  a.peer_ = &b;
  b.peer_ = &a;
  a.delay_ = b.delay_ = delay;
  for (Port* port : {&a, &b}) {
    port->up_ = true;
    port->shut_ = port->dropping_;
  }
}

void Port::Enqueue(Frame& frame) {
  const uint32_t priority = frame.priority;
  if ((shut_ >> priority & 1) != 0) [[unlikely]] {
    Refuse(frame);
    return;
  }
  queues_[priority].Push(frame);
  waiting_ |= static_cast<uint8_t>(1u << priority);
  queued_[priority] += frame.length;
  queued_all_ += frame.length;
  counters_.watermark[priority] = std::max(counters_.watermark[priority], queued_[priority]);
  TryTransmit();
}

void Port::Refuse(Frame& frame) {
  ++counters_.discarded;
  device_.Loses(frame, *this, up_ ? LossCause::kWatchdog : LossCause::kLinkDown);
}

void Port::Empty(uint32_t priority) {
  waiting_ &= static_cast<uint8_t>(~(1u << priority));
  while (!queues_[priority].empty()) {
    Frame& frame = queues_[priority].Pop();
    queued_[priority] -= frame.length;
    queued_all_ -= frame.length;
    Refuse(frame);
  }
}

void Port::SetDropping(uint32_t priority, bool on) {
  const auto bit = static_cast<uint8_t>(1u << priority);
  dropping_ = static_cast<uint8_t>(on ? dropping_ | bit : dropping_ & ~bit);
  if (up_) shut_ = dropping_;
  if (on) Empty(priority);
}

void Port::NotePausing(uint32_t priority, bool on) {
  const auto bit = static_cast<uint8_t>(1u << priority);
  if (((pausing_ & bit) != 0) == on) return;
  pausing_ ^= bit;
  const SimTime now = shared_.engine.Now();
  if (on) {
    pausing_since_[priority] = now;
  } else {
    counters_.pausing[priority] += now - pausing_since_[priority];
  }
}

SimTime Port::PausingFor(uint32_t priority) const {
  const bool on = (pausing_ >> priority & 1) != 0;
  return counters_.pausing[priority] +
         (on ? shared_.engine.Now() - pausing_since_[priority] : SimTime{0});
}

void Port::SendPause(uint8_t priorities, uint16_t quanta) {
  if (!up_) return;
  Frame& frame = shared_.frames.Take();
  ++shared_.pauses_out;
  frame.kind = FrameKind::kPause;
  frame.pause_priorities = priorities;
  frame.pause_quanta = quanta;
  frame.length = kPauseLength;
  frame.wire_bytes = kPauseWireBytes;
  for (uint32_t i = 0; i < kPriorities; ++i) {
    if ((priorities >> i & 1) == 0) continue;
    ++counters_.pause_tx[i];
    NotePausing(i, quanta > 0);
  }
  urgent_.Push(frame);
  TryTransmit();
}

void Port::Wake() { TryTransmit(); }

void Port::TryTransmit() {
  const SimTime now = shared_.engine.Now();
  if (now < busy_until_) {
    if (!wakes_) {
      wakes_ = true;
      shared_.engine.At(busy_until_, free_);
    }
    return;
  }
  if (!up_) return;
  if (Frame* frame = Next(); frame != nullptr) Transmit(*frame);
}

void Port::Free() {
  wakes_ = false;
  TryTransmit();
}

// Selects the next frame: pause frames first, then strict priorities, then round robin.
Frame* Port::Next() {
  if (!urgent_.empty()) return &urgent_.Pop();
  const uint32_t ready = waiting_ & ~paused_ & 0xffu;
  if (ready == 0) return device_.Pull(*this);
  uint32_t priority;
  if (ready >> kStrict != 0) {
    priority = static_cast<uint32_t>(std::bit_width(ready)) - 1;
  } else {
    // The next ready priority after the last served one.
    const uint32_t behind = ready & ~((2u << turn_) - 1);
    priority = static_cast<uint32_t>(std::countr_zero(behind != 0 ? behind : ready));
    turn_ = static_cast<uint8_t>(priority);
  }
  Frame& frame = queues_[priority].Pop();
  if (queues_[priority].empty()) waiting_ &= static_cast<uint8_t>(~(1u << priority));
  queued_[priority] -= frame.length;
  queued_all_ -= frame.length;
  device_.Departs(frame, *this);
  return &frame;
}

void Port::Transmit(Frame& frame) {
  const SimTime now = shared_.engine.Now();
  busy_until_ = now + TransmitTime(frame.wire_bytes, bits_per_second_);
  if (frame.kind != FrameKind::kPause) {
    ++counters_.tx_frames;
    counters_.tx_bytes += frame.length;
  }
  // A delay that became shorter must not reorder frames.
  last_arrival_ = std::max(last_arrival_, busy_until_ + delay_);
  in_flight_.Push(frame);
  shared_.engine.At(last_arrival_, arrival_);
  // Devices are asked for more frames when the transmitter becomes idle.
  if (!wakes_ && (waiting_ != 0 || !urgent_.empty() || device_.Pulls())) {
    wakes_ = true;
    shared_.engine.At(busy_until_, free_);
  }
}

// The sender schedules the event; the frame arrives at its peer.
void Port::Arrive() {
  Frame& frame = in_flight_.Pop();
  Port& receiver = *peer_;
  if (!up_ || !receiver.up_) {
    shared_.Lose(frame, LossCause::kLinkDown);
    return;
  }
  if (frame.kind == FrameKind::kPause) {
    receiver.ReceivePause(frame);
    shared_.RetirePause(frame);
    return;
  }
  if (fault_ != nullptr) {
    const WireFault::Fate fate = fault_->FateOf(frame);
    if (fate == WireFault::Fate::kDelayed) {
      shared_.engine.At(shared_.engine.Now() + fault_->delay(), [this, &frame] { Deliver(frame); });
      return;
    }
    if (fate != WireFault::Fate::kPasses) {
      const bool bit_error = fate == WireFault::Fate::kBitError;
      receiver.counters_.fcs_errors += bit_error;
      shared_.Lose(frame, bit_error ? LossCause::kBitError : LossCause::kWireFault);
      return;
    }
  }
  Deliver(frame);
}

void Port::Deliver(Frame& frame) {
  Port& receiver = *peer_;
  if (!up_ || !receiver.up_) {
    shared_.Lose(frame, LossCause::kLinkDown);
    return;
  }
  ++receiver.counters_.rx_frames;
  receiver.counters_.rx_bytes += frame.length;
  receiver.device_.Receive(frame, receiver);
}

void Port::ReceivePause(const Frame& frame) {
  const SimTime length =
      TransmitTime(uint64_t{frame.pause_quanta} * kBitsPerQuantum / 8, bits_per_second_);
  for (uint32_t priority = 0; priority < kPriorities; ++priority) {
    if ((frame.pause_priorities >> priority & 1) == 0) continue;
    ++counters_.pause_rx[priority];
    if (frame.pause_quanta == 0) {
      Release(priority);
    } else {
      Hold(priority, shared_.engine.Now() + length);
    }
  }
  TryTransmit();
}

void Port::Hold(uint32_t priority, SimTime until) {
  if (!IsPaused(priority)) paused_since_[priority] = shared_.engine.Now();
  paused_ |= static_cast<uint8_t>(1u << priority);
  paused_until_[priority] = until;
  pause_timer_.Arm(pause_timer_.armed() ? std::min(until, pause_timer_.deadline()) : until);
}

void Port::Release(uint32_t priority) {
  if (!IsPaused(priority)) return;
  paused_ &= static_cast<uint8_t>(~(1u << priority));
  counters_.paused[priority] += shared_.engine.Now() - paused_since_[priority];
}

SimTime Port::PausedFor(uint32_t priority) const {
  const SimTime now = IsPaused(priority) ? shared_.engine.Now() - paused_since_[priority] : 0;
  return counters_.paused[priority] + now;
}

void Port::PauseEnds() {
  const SimTime now = shared_.engine.Now();
  SimTime next = kNever;
  for (uint32_t priority = 0; priority < kPriorities; ++priority) {
    if (!IsPaused(priority)) continue;
    if (paused_until_[priority] <= now) {
      Release(priority);
    } else {
      next = std::min(next, paused_until_[priority]);
    }
  }
  if (next != kNever) pause_timer_.Arm(next);
  TryTransmit();
}

// A port that goes down drops its queued frames and clears its pause state.
void Port::SetUp(bool up) {
  if (up == up_ || peer_ == nullptr) return;  // a port without a cable stays down
  up_ = up;
  shut_ = up ? dropping_ : uint8_t{0xff};
  if (up) {
    TryTransmit();
    return;
  }
  ++counters_.went_down;
  for (uint32_t priority = 0; priority < kPriorities; ++priority) {
    Release(priority);
    NotePausing(priority, false);
    Empty(priority);
  }
  while (!urgent_.empty()) shared_.RetirePause(urgent_.Pop());
}

}  // namespace rocescope::sim
