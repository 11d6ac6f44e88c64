// SPDX-License-Identifier: BSD-3-Clause
#include "sim/host/nic.h"

#include <algorithm>

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/icrc.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/roce.h"
#include "sim/host/queue_pair.h"

namespace rocescope::sim {
namespace {

constexpr uint16_t kLongestPause = 0xffff;
constexpr uint32_t kBytesPerQuantum = 64;   // IEEE 802.3 clause 31B
constexpr uint32_t kCnpReservedBytes = 16;  // IBTA Annex A17.9.3

}  // namespace

void FrameSizes::Set(Frame& frame) const {
  const bool data = frame.kind == FrameKind::kRequest || frame.kind == FrameKind::kReadResponse;
  if (data && payload_overhead != 0) {
    frame.length = frame.wire_bytes = frame.payload + payload_overhead;
    return;
  }
  if (!data && control_bytes != 0) {
    frame.length = frame.wire_bytes = control_bytes;
    return;
  }
  const uint32_t padded = (frame.payload + 3) & ~3u;
  const uint32_t extended =
      frame.kind == FrameKind::kCnp ? kCnpReservedBytes : wire::TraitsOf(frame.opcode).header_bytes;
  frame.length =
      static_cast<uint32_t>(wire::EthernetHeader::kSize + wire::Ipv4Header::kSize +
                            wire::UdpHeader::kSize + wire::Bth::kSize + wire::kIcrcSize) +
      extended + padded;
  frame.wire_bytes = frame.length + wire_overhead;
}

Nic::Nic(Shared& shared, uint32_t number, NicOptions options, uint64_t bits_per_second)
    : shared_(shared),
      number_(number),
      options_(options),
      port_(shared, *this, 0, bits_per_second),
      wake_timer_(shared.engine, *this),
      drain_timer_(shared.engine, *this),
      storm_timer_(shared.engine, *this) {}

Nic::~Nic() = default;

void Nic::Schedule(QueuePair& queue_pair, uint8_t priority, SimTime ready) {
  turns_[priority].push({.ready = ready, .order = order_++, .queue_pair = &queue_pair});
  ++scheduled_;
  if (pulling_) return;  // asked again when the transmitter is idle
  if (ready <= shared_.engine.Now()) {
    port_.Wake();
  } else if (!wake_timer_.armed() || ready < wake_timer_.deadline()) {
    wake_timer_.Arm(ready);
  }
}

void Nic::Answer(Frame& frame) {
  options_.sizes.Set(frame);
  frame.sent = shared_.engine.Now();
  ++counters_.tx_frames;
  port_.Enqueue(frame);
}

void Nic::SendForeign(Frame& frame) {
  frame.sent = shared_.engine.Now();
  ++counters_.tx_frames;
  port_.Enqueue(frame);
}

void Nic::Departs(Frame&, Port&) {}

void Nic::Loses(Frame& frame, Port&, LossCause cause) { shared_.Lose(frame, cause); }

// Serves the queue pair that has waited longest, which is round robin if all are ready.
Frame* Nic::Pull(Port&) {
  if (!up_) return nullptr;
  const SimTime now = shared_.engine.Now();
  SimTime next = kNever;
  for (uint32_t priority = kPriorities; priority-- > 0;) {
    Turns& turns = turns_[priority];
    if (turns.empty() || port_.IsPaused(priority)) continue;
    while (!turns.empty() && turns.top().ready <= now) {
      QueuePair& queue_pair = *turns.top().queue_pair;
      turns.pop();
      --scheduled_;
      pulling_ = true;
      Frame* frame = queue_pair.Send();
      pulling_ = false;
      if (frame != nullptr) {
        ++counters_.tx_frames;
        return frame;
      }
    }
    if (!turns.empty()) next = std::min(next, turns.top().ready);
  }
  if (next != kNever && (!wake_timer_.armed() || next < wake_timer_.deadline())) {
    wake_timer_.Arm(next);
  }
  return nullptr;
}

void Nic::Receive(Frame& frame, Port&) {
  if (!up_) {
    shared_.Lose(frame, LossCause::kDeviceDown);
    return;
  }
  ++counters_.rx_frames;
  if (options_.receive_rate <= 0 && received_.empty()) {
    Deliver(frame);
    return;
  }
  kept_waiting_ += !received_.empty();
  if (received_bytes_ + frame.length > options_.receive_buffer) {
    ++counters_.rx_discards;
    shared_.Lose(frame, LossCause::kBufferFull);
    return;
  }
  received_bytes_ += frame.length;
  received_.Push(frame);
  if (!holds_ && received_bytes_ > options_.receive_buffer / 2) {
    holds_ = true;
    SayPause();
  }
  if (!drain_timer_.armed()) drain_timer_.Arm(shared_.engine.Now() + TakingTime(frame));
}

SimTime Nic::TakingTime(const Frame& frame) const {
  const double rate = options_.receive_rate > 0 ? options_.receive_rate
                                                : static_cast<double>(port_.bits_per_second());
  return TransmitTime(frame.length, static_cast<uint64_t>(rate));
}

void Nic::SayPause() {
  port_.SendPause(static_cast<uint8_t>(1u << options_.data_priority), kLongestPause);
  storm_timer_.Arm(
      shared_.engine.Now() +
      TransmitTime(uint64_t{kLongestPause} * kBytesPerQuantum, port_.bits_per_second()) / 2);
}

void Nic::SayResume() {
  if (holds_ || storm_) return;
  port_.SendPause(static_cast<uint8_t>(1u << options_.data_priority), 0);
}

void Nic::Drain() {
  Frame& frame = received_.Pop();
  received_bytes_ -= frame.length;
  if (holds_ && received_bytes_ < options_.receive_buffer / 4) {
    holds_ = false;
    SayResume();
  }
  if (!received_.empty()) drain_timer_.Arm(shared_.engine.Now() + TakingTime(received_.front()));
  Deliver(frame);
}

void Nic::SetStorm(bool on) {
  storm_ = on;
  if (on) {
    SayPause();
  } else {
    SayResume();
  }
}

void Nic::Storm() {
  if (storm_ || holds_) SayPause();
}

void Nic::Deliver(Frame& frame) {
  if (frame.corrupt) {
    counters_.rx_icrc_encapsulated += frame.kind != FrameKind::kForeign;  // a checksum fails
    shared_.Lose(frame, LossCause::kBadIcrc);
    return;
  }
  ++delivered_;
  if (QueuePair* receiver = find_(frame.queue_pair); receiver != nullptr) receiver->Receive(frame);
  shared_.frames.GiveBack(frame);
}

void Nic::SetUp(bool up) {
  up_ = up;
  if (!up) port_.SetUp(false);
}

}  // namespace rocescope::sim
