// SPDX-License-Identifier: BSD-3-Clause
#include "testbeds/ovs_lab/endpoint/queue_pair.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dataplane/wire/opcode.h"

namespace rocescope::endpoint {
namespace {

constexpr uint8_t kSequenceNak = 0x60 | wire::kNakPsnSequenceError;
constexpr uint8_t kInvalidRequestNak = 0x60 | wire::kNakInvalidRequest;
constexpr size_t kLongestPayload = 4096;
// Ethernet, IPv4, UDP, BTH, iCRC, and FCS, preamble and gap.
constexpr uint32_t kWireOverhead = 14 + 20 + 8 + 12 + 4 + 24;
// After a late wake-up, so many packets may be sent at once, but not more than those of this time.
constexpr int kBurstPackets = 4;
constexpr Duration kLongestBurst = std::chrono::milliseconds(2);

constexpr auto kFiller = [] {
  std::array<uint8_t, kLongestPayload> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  return bytes;
}();

// Returns the sequence number with this PSN that is nearest to `near`.
uint64_t Extend(uint64_t near, uint32_t psn) {
  const auto low = static_cast<uint32_t>(near) & k24BitMask;
  return near + static_cast<uint64_t>(int64_t{PsnDistance(low, psn)});
}

uint32_t PsnOf(uint64_t sequence) { return static_cast<uint32_t>(sequence) & k24BitMask; }

// One turn of the PSN space, so that Extend never gets below 0.
constexpr uint64_t kFirstTurn = uint64_t{1} << 24;

uint8_t OpcodeOf(bool first, bool last, bool immediate) {
  if (first && last) return immediate ? wire::kOpcodeWriteOnlyImmediate : wire::kOpcodeWriteOnly;
  if (first) return wire::kOpcodeWriteFirst;
  if (!last) return wire::kOpcodeWriteMiddle;
  return immediate ? wire::kOpcodeWriteLastImmediate : wire::kOpcodeWriteLast;
}

}  // namespace

QueuePair::QueuePair(const Identity& identity, const TransportOptions& options, double line_rate,
                     Timestamp patience_ends, Counters& counters, QueuePairObserver& observer)
    : identity_(identity),
      options_(options),
      patience_ends_(patience_ends),
      counters_(counters),
      observer_(observer),
      rate_control_(options.dcqcn, line_rate),
      unacknowledged_(kFirstTurn + identity.first_psn),
      next_(unacknowledged_),
      furthest_(unacknowledged_),
      end_(unacknowledged_),
      requested_(unacknowledged_),
      expected_(kFirstTurn + identity.remote_first_psn) {}

void QueuePair::Post(WorkRequest request) {
  if (closed()) return;
  const uint64_t packets =
      std::max<uint64_t>(1, (request.length + options_.mtu - 1) / options_.mtu);
  messages_.push_back({.request = std::move(request), .first = end_, .packets = packets});
  end_ += packets;
}

void QueuePair::Close() {
  if (state_ == State::kReadyToSend) state_ = State::kClosed;
  messages_.clear();
  responses_.clear();
  deadline_ = kNever;
}

void QueuePair::Fail(FailureCause cause) {
  Close();
  state_ = State::kError;
  if (cause == FailureCause::kRetriesExceeded) {
    ++counters_.req_transport_retries_exceeded;
  } else {
    ++counters_.req_remote_invalid_request;
  }
  observer_.Failed(*this, cause);
}

// --- Requester

bool QueuePair::HasPacket() const {
  if (closed() || next_ == end_) return false;
  const uint64_t outstanding = next_ - unacknowledged_;
  // Until the peer answers for the first time, only one packet is in flight.
  if (!peer_seen_) return outstanding == 0;
  return options_.window == 0 || outstanding < options_.window;
}

size_t QueuePair::IndexOf(uint64_t sequence) const {
  const auto behind = std::upper_bound(
      messages_.begin(), messages_.end(), sequence,
      [](uint64_t value, const Message& message) { return value < message.first; });
  return static_cast<size_t>(behind - messages_.begin()) - 1;
}

std::span<const uint8_t> QueuePair::PayloadOf(const Message& message, uint64_t index) const {
  const uint64_t offset = index * options_.mtu;
  const uint64_t bytes = std::min<uint64_t>(options_.mtu, message.request.length - offset);
  const std::vector<uint8_t>& data = message.request.data;
  return data.empty() ? std::span(kFiller).first(bytes) : std::span(data).subspan(offset, bytes);
}

Packet QueuePair::Send(Timestamp now) {
  const Message& message = messages_[IndexOf(next_)];
  const WorkRequest& request = message.request;
  const uint64_t index = next_ - message.first;
  const bool first = index == 0;
  const bool last = index + 1 == message.packets;
  Packet packet{.opcode = OpcodeOf(first, last, request.immediate.has_value()),
                .destination = identity_.remote,
                .psn = PsnOf(next_),
                .payload = PayloadOf(message, index)};
  if (first) {
    packet.reth = {.virtual_address = request.address,
                   .rkey = request.rkey,
                   .dma_length = static_cast<uint32_t>(request.length)};
  }
  if (last) packet.immediate = request.immediate.value_or(0);
  // At a low rate, `ack_every` packets can take longer than the timeout.
  const bool overdue = now - last_ack_request_ >= options_.ack_timeout / 4;
  packet.ack_request = last || !peer_seen_ || std::exchange(ask_at_once_, false) || overdue ||
                       ++since_ack_request_ >= options_.ack_every;
  if (next_ < furthest_) {
    ++(Waits(now) ? counters_.connecting_packets : counters_.retransmitted_packets);
  }
  ++next_;
  furthest_ = std::max(furthest_, next_);
  if (packet.ack_request) {
    since_ack_request_ = 0;
    last_ack_request_ = now;
    requested_ = std::max(requested_, next_);
    if (deadline_ == kNever) deadline_ = now + options_.ack_timeout;
  }
  const double bits = static_cast<double>(packet.payload.size() + kWireOverhead) * 8;
  const auto gap = Duration(static_cast<int64_t>(bits / rate_control_.RateAt(now) * 1e9));
  ready_ = std::max(ready_, now - std::min(kLongestBurst, kBurstPackets * gap)) + gap;
  return packet;
}

void QueuePair::ReceiveAcknowledge(const Packet& packet, Timestamp now) {
  const uint64_t sequence = Extend(unacknowledged_, packet.psn);
  switch (KindOf(packet.aeth)) {
    case wire::AethKind::kAck:
      if (sequence < furthest_) Progress(sequence + 1, now);
      return;
    case wire::AethKind::kNak:
      if (sequence < unacknowledged_ || sequence >= furthest_) return;  // outdated
      if (packet.aeth.syndrome != kSequenceNak) {
        Fail(FailureCause::kRemoteInvalidRequest);
        return;
      }
      ++counters_.packet_seq_err;
      Progress(sequence, now);
      GoBack(sequence);
      return;
    default:
      return;  // RNR NAKs do not occur: receives of WRITEs need no posted buffers here
  }
}

// Everything below `acknowledged` has arrived.
void QueuePair::Progress(uint64_t acknowledged, Timestamp now) {
  if (acknowledged <= unacknowledged_) return;
  unacknowledged_ = acknowledged;
  retries_ = 0;
  deadline_ = requested_ > unacknowledged_ ? now + options_.ack_timeout : kNever;
  next_ = std::max(next_, unacknowledged_);  // a retransmission turned out to be unnecessary
  while (!messages_.empty() &&
         messages_.front().first + messages_.front().packets <= unacknowledged_) {
    const uint64_t context = messages_.front().request.context;
    messages_.pop_front();
    observer_.Completed(*this, context);
  }
}

void QueuePair::GoBack(uint64_t sequence) {
  if (closed() || sequence >= next_) return;
  next_ = sequence;
  since_ack_request_ = 0;
  ask_at_once_ = true;
}

void QueuePair::TimeOut(Timestamp now) {
  if (now < deadline_) return;
  if (!Waits(now)) {
    ++counters_.local_ack_timeout_err;
    if (++retries_ > options_.retries) {
      Fail(FailureCause::kRetriesExceeded);
      return;
    }
  }
  deadline_ = now + options_.ack_timeout;
  GoBack(unacknowledged_);
}

// --- Responder

void QueuePair::Receive(const Packet& packet, Timestamp now) {
  if (closed()) return;
  peer_seen_ = true;
  if (packet.opcode == wire::kOpcodeCnp) {
    ++counters_.rp_cnp_handled;
    rate_control_.ReceiveCnp(now);
  } else if (packet.opcode == wire::kOpcodeAcknowledge) {
    ReceiveAcknowledge(packet, now);
  } else {
    ReceiveRequest(packet, now);
  }
}

void QueuePair::ReceiveRequest(const Packet& packet, Timestamp now) {
  if (packet.congestion_experienced) NoteCongestion(now);
  const uint64_t sequence = Extend(expected_, packet.psn);
  if (sequence > expected_) {
    ++counters_.out_of_sequence;
    if (std::exchange(nak_sent_, true)) return;
    ++counters_.naks_sent;
    Respond(kSequenceNak, expected_);
    return;
  }
  if (sequence < expected_) {
    ++counters_.duplicate_request;
    if (packet.ack_request) Respond(kAckSyndrome, expected_ - 1);
    return;
  }
  nak_sent_ = false;
  ++expected_;
  if (!Accept(packet)) {
    Respond(kInvalidRequestNak, sequence);
    incoming_.reset();
  }
}

// Returns whether the packet continues the messages correctly.
bool QueuePair::Accept(const Packet& packet) {
  const wire::OpcodeTraits& traits = wire::TraitsOf(packet.opcode);
  const bool starts = traits.Is(wire::kOpcodeStarts);
  const bool ends = traits.Is(wire::kOpcodeEnds);
  if (traits.operation != wire::Operation::kWrite || starts == incoming_.has_value()) return false;
  if (starts) {
    ++counters_.rx_write_requests;
    incoming_ = Incoming{
        .delivery = {.address = packet.reth.virtual_address, .length = packet.reth.dma_length}};
  }
  const uint64_t before = incoming_->received;
  incoming_->received += packet.payload.size();
  if (ends ? incoming_->received != incoming_->delivery.length
           : packet.payload.size() != options_.mtu) {
    return false;
  }
  observer_.Written(*this, incoming_->delivery.address + before, packet.payload);
  if (ends) messages_received_ = (messages_received_ + 1) & k24BitMask;
  if (packet.ack_request) Respond(kAckSyndrome, expected_ - 1);
  if (!ends) return true;
  Delivery delivery = incoming_->delivery;
  incoming_.reset();
  if ((wire::InfoOf(packet.opcode).headers & wire::kHasImmDt) != 0) {
    delivery.immediate = packet.immediate;
  }
  delivery.last_payload = packet.payload;
  observer_.Delivered(*this, delivery);
  return true;
}

void QueuePair::Respond(uint8_t syndrome, uint64_t sequence) {
  const Packet response{.opcode = wire::kOpcodeAcknowledge,
                        .destination = identity_.remote,
                        .psn = PsnOf(sequence),
                        .aeth = {.syndrome = syndrome, .msn = messages_received_}};
  if (syndrome == kAckSyndrome && !responses_.empty() &&
      responses_.back().opcode == wire::kOpcodeAcknowledge &&
      responses_.back().aeth.syndrome == kAckSyndrome) {
    responses_.back() = response;
    return;
  }
  responses_.push_back(response);
}

// Notification point of DCQCN.
void QueuePair::NoteCongestion(Timestamp now) {
  ++counters_.np_ecn_marked_roce_packets;
  if (now < next_cnp_) return;
  next_cnp_ = now + options_.dcqcn.cnp_interval;
  ++counters_.np_cnp_sent;
  responses_.push_back({.opcode = wire::kOpcodeCnp, .destination = identity_.remote});
}

std::vector<Packet> QueuePair::TakeResponses() { return std::exchange(responses_, {}); }

}  // namespace rocescope::endpoint
