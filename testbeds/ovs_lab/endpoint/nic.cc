// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/nic.h"

#include <algorithm>

namespace rocescope::endpoint {

Nic::Nic(uint32_t address, FrameSink& sink, Pacer& pacer)
    : address_(address), sink_(sink), pacer_(pacer) {}

QueuePair& Nic::Add(const QueuePair::Identity& identity, const TransportOptions& options,
                    double line_rate, Timestamp patience_ends, QueuePairObserver& observer) {
  queue_pairs_.push_back(std::make_unique<QueuePair>(identity, options, line_rate, patience_ends,
                                                     counters_, observer));
  by_number_[identity.local.value] = queue_pairs_.back().get();
  return *queue_pairs_.back();
}

void Nic::Receive(std::span<const uint8_t> frame, Timestamp now) {
  ReceivedPacket received;
  switch (ReadFrame(frame, address_, received)) {
    case Reception::kForeign:
      return;
    case Reception::kMalformed:
      ++counters_.rx_malformed;
      return;
    case Reception::kBadIcrc:
      ++counters_.rx_icrc_encapsulated;
      return;
    case Reception::kAccepted:
      break;
  }
  const auto found = by_number_.find(received.packet.destination.value);
  if (found == by_number_.end() || found->second->identity().route.destination != received.source) {
    ++counters_.rx_unknown_queue_pair;
    return;
  }
  ++counters_.received_packets;
  found->second->Receive(received.packet, now);
}

void Nic::Advance(Timestamp now) {
  SendResponses();
  for (const auto& queue_pair : queue_pairs_) queue_pair->TimeOut(now);
  while (pacer_.next() <= now) {
    QueuePair* const queue_pair = NextToSend(now);
    if (queue_pair == nullptr) return;
    pacer_.Count(Transmit(queue_pair->Send(now), *queue_pair), now);
  }
}

void Nic::SendResponses() {
  for (const auto& queue_pair : queue_pairs_) {
    if (!queue_pair->has_responses()) continue;
    for (const Packet& response : queue_pair->TakeResponses()) Transmit(response, *queue_pair);
  }
}

QueuePair* Nic::NextToSend(Timestamp now) {
  for (size_t i = 0; i < queue_pairs_.size(); ++i) {
    const size_t index = (turn_ + i) % queue_pairs_.size();
    QueuePair& queue_pair = *queue_pairs_[index];
    if (!queue_pair.HasPacket() || queue_pair.ready() > now) continue;
    turn_ = index + 1;
    return &queue_pair;
  }
  return nullptr;
}

size_t Nic::Transmit(const Packet& packet, const QueuePair& from) {
  const size_t length = WriteFrame(packet, from.identity().route, frame_);
  if (sink_.Send(std::span(frame_).first(length))) {
    ++counters_.sent_packets;
  } else {
    ++counters_.tx_errors;
  }
  return length;
}

Timestamp Nic::Next() const {
  Timestamp next = Timestamp::max();
  for (const auto& queue_pair : queue_pairs_) {
    next = std::min(next, queue_pair->deadline());
    if (queue_pair->has_responses()) return Timestamp::min();
    if (queue_pair->HasPacket()) {
      next = std::min(next, std::max(queue_pair->ready(), pacer_.next()));
    }
  }
  return next;
}

}  // namespace rocescope::endpoint
