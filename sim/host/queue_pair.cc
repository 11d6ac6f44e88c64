// SPDX-License-Identifier: BSD-3-Clause
#include "sim/host/queue_pair.h"

#include <algorithm>
#include <utility>

#include "dataplane/wire/opcode.h"
#include "dataplane/wire/roce.h"

namespace rocescope::sim {
namespace {

constexpr uint8_t kNakSyndrome = 0x60 | wire::kNakPsnSequenceError;

uint8_t RequestOpcode(const Message& message, bool first, bool last) {
  switch (message.verb) {
    case Verb::kRead:
      return wire::kOpcodeReadRequest;
    case Verb::kSend:
      if (first) return last ? wire::kOpcodeSendOnly : wire::kOpcodeSendFirst;
      return last ? wire::kOpcodeSendLast : wire::kOpcodeSendMiddle;
    case Verb::kWrite:
      if (first) return last ? wire::kOpcodeWriteOnly : wire::kOpcodeWriteFirst;
      return last ? wire::kOpcodeWriteLast : wire::kOpcodeWriteMiddle;
    case Verb::kWriteWithImmediate:
      if (first) return last ? wire::kOpcodeWriteOnlyImmediate : wire::kOpcodeWriteFirst;
      return last ? wire::kOpcodeWriteLastImmediate : wire::kOpcodeWriteMiddle;
  }
  return wire::kOpcodeWriteOnly;
}

uint8_t ResponseOpcode(bool first, bool last) {
  if (first) return last ? wire::kOpcodeReadResponseOnly : wire::kOpcodeReadResponseFirst;
  return last ? wire::kOpcodeReadResponseLast : wire::kOpcodeReadResponseMiddle;
}

// Payload bytes of packet `index` of a message.
uint32_t PayloadAt(const Message& message, uint64_t index, uint32_t mtu) {
  const uint64_t before = index * mtu;
  return static_cast<uint32_t>(std::min<uint64_t>(mtu, message.length - before));
}

}  // namespace

QueuePair::QueuePair(Nic& nic, const Identity& identity, QueuePairObserver* observer)
    : nic_(nic),
      identity_(identity),
      observer_(observer),
      dcqcn_(nic.shared().engine, nic.options().dcqcn,
             static_cast<double>(nic.port().bits_per_second())),
      timeout_(nic.shared().engine, *this) {}

void QueuePair::Connect(QueuePair& a, QueuePair& b) {
  a.peer_ = &b;
  b.peer_ = &a;
}

void QueuePair::Close() {
  closed_ = failed_ = true;
  messages_.clear();
  responses_.clear();
  cursor_ = 0;
  next_ = end_;
  timeout_.Disarm();
}

Frame& QueuePair::NewForeignFrame(uint32_t payload, uint32_t header_bytes, uint8_t priority) {
  Frame& frame = NewFrame(FrameKind::kForeign);
  frame.payload = payload;
  frame.length = std::max(kShortestFrame, header_bytes + payload);
  frame.wire_bytes = frame.length + nic_.options().sizes.wire_overhead;
  frame.priority = priority;
  return frame;
}

void QueuePair::Post(Message message) {
  if (closed_) return;
  const uint32_t mtu = nic_.options().mtu;
  message.first = end_;
  message.packets = static_cast<uint32_t>(std::max<uint64_t>(1, (message.length + mtu - 1) / mtu));
  end_ += message.packets;
  messages_.push_back(message);
  ScheduleIfReady();
}

bool QueuePair::HasWork() const {
  if (!responses_.empty()) return true;
  if (failed_ || next_ == end_) return false;
  const uint32_t window = nic_.options().window;
  return window == 0 || Outstanding() < window;
}

void QueuePair::ScheduleIfReady() {
  if (scheduled_ || !HasWork()) return;
  scheduled_ = true;
  nic_.Schedule(*this, nic_.options().data_priority, std::max(ready_, nic_.shared().engine.Now()));
}

Frame& QueuePair::NewFrame(FrameKind kind) {
  Frame& frame = nic_.shared().frames.Take();
  frame.kind = kind;
  frame.queue_pair = identity_.number;
  frame.destination = peer_->nic_.number();
  frame.digest = digest_;
  frame.ttl = identity_.ttl;
  frame.priority = nic_.options().data_priority;
  return frame;
}

Frame* QueuePair::Send() {
  scheduled_ = false;
  if (!HasWork()) return nullptr;
  Frame* frame = responses_.empty() ? SendRequest() : SendResponse();
  nic_.options().sizes.Set(*frame);
  const SimTime now = nic_.shared().engine.Now();
  frame->sent = now;
  frame->ecn_capable = true;
  ++frames_sent_;
  bytes_sent_ += frame->length;
  ready_ = now + TransmitTime(frame->wire_bytes, static_cast<uint64_t>(dcqcn_.rate()));
  dcqcn_.CountSent(frame->length);
  ScheduleIfReady();
  return frame;
}

Frame* QueuePair::SendRequest() {
  const Message& message = messages_[cursor_];
  const bool read = message.verb == Verb::kRead;
  const uint32_t mtu = nic_.options().mtu;
  // For a READ, the first packet that is requested again.
  const uint64_t index = next_ - message.first;
  const bool first = index == 0 || read;
  const bool last = read || index + 1 == message.packets;
  Frame& frame = NewFrame(FrameKind::kRequest);
  frame.sequence = message.first + index;
  frame.opcode = RequestOpcode(message, first, last);
  frame.payload = read ? 0 : PayloadAt(message, index, mtu);
  frame.ack_request = last || ++since_ack_request_ >= nic_.options().ack_every;
  if (frame.ack_request) since_ack_request_ = 0;
  if (first) {
    frame.address = message.address + index * mtu;
    frame.rkey = message.rkey;
    frame.dma_length = static_cast<uint32_t>(message.length - index * mtu);
    frame.granted_address = message.granted_address;
    frame.granted_rkey = message.granted_rkey;
  }
  if (last) frame.immediate = message.immediate;
  if (next_ < furthest_) ++frames_retransmitted_;
  next_ = read ? message.first + message.packets : next_ + 1;
  furthest_ = std::max(furthest_, next_);
  if (last) ++cursor_;
  if (!timeout_.armed()) {
    timeout_.Arm(nic_.shared().engine.Now() + nic_.options().ack_timeout);
  }
  return &frame;
}

Frame* QueuePair::SendResponse() {
  Response& response = responses_.front();
  const Message& message = response.message;
  const uint64_t index = response.next - message.first;
  Frame& frame = NewFrame(FrameKind::kReadResponse);
  frame.sequence = response.next;
  frame.opcode = ResponseOpcode(response.next == response.from, index + 1 == message.packets);
  frame.payload = PayloadAt(message, index, nic_.options().mtu);
  frame.syndrome = kAckSyndrome;
  frame.message_sequence = messages_received_;
  if (++response.next == message.first + message.packets) responses_.pop_front();
  return &frame;
}

size_t QueuePair::IndexOf(uint64_t sequence) const {
  const auto behind = std::upper_bound(
      messages_.begin(), messages_.end(), sequence,
      [](uint64_t value, const Message& message) { return value < message.first; });
  if (behind == messages_.begin()) return messages_.size();
  const auto at = std::prev(behind);
  if (sequence >= at->first + at->packets) return messages_.size();
  return static_cast<size_t>(at - messages_.begin());
}

const Message* QueuePair::Find(uint64_t sequence) const {
  const size_t index = IndexOf(sequence);
  return index < messages_.size() ? &messages_[index] : nullptr;
}

void QueuePair::Receive(const Frame& frame) {
  if (closed_) [[unlikely]]
    return;
  switch (frame.kind) {
    case FrameKind::kRequest:
      ReceiveRequest(frame);
      return;
    case FrameKind::kReadResponse:
      ReceiveResponse(frame);
      return;
    case FrameKind::kAcknowledge:
      ReceiveAcknowledge(frame);
      return;
    case FrameKind::kCnp:
      ++nic_.counters().rp_cnp_handled;
      dcqcn_.ReceiveCnp();
      return;
    case FrameKind::kPause:
      return;
    case FrameKind::kForeign:
      if (foreign_ != nullptr) foreign_->ReceiveForeign(*this, frame);
      return;
  }
}

// --- Responder

void QueuePair::ReceiveRequest(const Frame& frame) {
  if (frame.congestion_experienced) NotePointOfCongestion(frame);
  if (frame.sequence > expected_) {
    ++nic_.counters().out_of_sequence;
    if (nak_sent_) return;
    nak_sent_ = true;
    if (nic_.options().recovery == Recovery::kGoBackZero) {
      if (const Message* message = peer_->Find(expected_)) expected_ = message->first;
    }
    Acknowledge(expected_, kNakSyndrome);
    return;
  }
  if (frame.sequence < expected_) {
    ++nic_.counters().duplicate_request;
    if (frame.ack_request && frame.opcode != wire::kOpcodeReadRequest) {
      Acknowledge(expected_ - 1, kAckSyndrome);
      return;
    }
    if (frame.opcode != wire::kOpcodeReadRequest) return;
    // A retransmitted READ request: responds again from the requested packet on.
    if (const Message* message = peer_->Find(frame.sequence); message != nullptr) {
      Respond(*message, frame.sequence);
    }
    return;
  }
  nak_sent_ = false;
  Accept(frame);
}

void QueuePair::Accept(const Frame& frame) {
  const Message* message = peer_->Find(frame.sequence);
  if (message == nullptr) return;
  if (frame.opcode == wire::kOpcodeReadRequest) {
    ++nic_.counters().rx_read_requests;
    expected_ += message->packets;
    messages_received_ = (messages_received_ + 1) & k24BitMask;
    Respond(*message, message->first);
    return;
  }
  ++expected_;
  const wire::OpcodeTraits& opcode = wire::TraitsOf(frame.opcode);
  const bool ends = opcode.Is(wire::kOpcodeEnds);
  if (opcode.Is(wire::kOpcodeStarts) && opcode.operation == wire::Operation::kWrite) {
    ++nic_.counters().rx_write_requests;
  }
  if (ends) messages_received_ = (messages_received_ + 1) & k24BitMask;
  if (frame.ack_request) Acknowledge(frame.sequence, kAckSyndrome);
  if (ends && observer_ != nullptr) observer_->Delivered(*this, *message);
}

void QueuePair::Respond(const Message& message, uint64_t from) {
  responses_.push_back({.message = message, .from = from, .next = from});
  ScheduleIfReady();
}

void QueuePair::Acknowledge(uint64_t sequence, uint8_t syndrome) {
  Frame& frame = NewFrame(FrameKind::kAcknowledge);
  frame.opcode = wire::kOpcodeAcknowledge;
  frame.sequence = sequence;
  frame.syndrome = syndrome;
  frame.message_sequence = messages_received_;
  nic_.Answer(frame);
}

// Notification point of DCQCN.
void QueuePair::NotePointOfCongestion(const Frame& frame) {
  ++nic_.counters().np_ecn_marked_roce_packets;
  const SimTime now = nic_.shared().engine.Now();
  if (now < next_cnp_ || frame.kind == FrameKind::kCnp) return;
  next_cnp_ = now + nic_.options().dcqcn.cnp_interval;
  ++nic_.counters().np_cnp_sent;
  Frame& cnp = NewFrame(FrameKind::kCnp);
  cnp.opcode = wire::kOpcodeCnp;
  cnp.priority = nic_.options().cnp_priority;
  nic_.Answer(cnp);
}

// --- Requester

void QueuePair::ReceiveAcknowledge(const Frame& frame) {
  if (frame.syndrome == kNakSyndrome) {
    ++nic_.counters().packet_seq_err;
    Progress(frame.sequence);
    GoBack(frame.sequence);
    return;
  }
  Progress(frame.sequence + 1);
}

void QueuePair::ReceiveResponse(const Frame& frame) {
  if (frame.congestion_experienced) NotePointOfCongestion(frame);
  const Message* message = Find(frame.sequence);
  if (message == nullptr || message->verb != Verb::kRead) return;
  expected_response_ = std::max(expected_response_, message->first);
  if (frame.sequence != expected_response_) {
    // A response is missing: request again from there (IBTA 9.7.5.2.8, an implied NAK), but only
    // once while later responses are in flight.
    if (frame.sequence > expected_response_ && !std::exchange(asked_again_, true)) {
      GoBack(expected_response_);
    }
    return;
  }
  asked_again_ = false;
  ++expected_response_;
  Progress(expected_response_);
}

void QueuePair::Progress(uint64_t acknowledged) {
  if (acknowledged <= unacknowledged_ || failed_) return;
  unacknowledged_ = std::min(acknowledged, furthest_);
  retries_ = 0;
  const SimTime now = nic_.shared().engine.Now();
  if (unacknowledged_ == furthest_) {
    timeout_.Disarm();
  } else {
    timeout_.Arm(now + nic_.options().ack_timeout);
  }
  while (!messages_.empty()) {
    const Message message = messages_.front();
    if (message.first + message.packets > unacknowledged_) break;
    messages_.pop_front();
    if (cursor_ > 0) --cursor_;
    bytes_acknowledged_ += message.length;
    if (observer_ != nullptr) observer_->Completed(*this, message);
  }
  if (next_ < unacknowledged_) {  // the retransmission turned out to be unnecessary
    next_ = unacknowledged_;
    cursor_ = IndexOf(next_);
  }
  ScheduleIfReady();
}

void QueuePair::GoBack(uint64_t sequence) {
  if (failed_ || sequence >= next_) return;
  const size_t index = IndexOf(sequence);
  if (index == messages_.size()) return;
  const Message& message = messages_[index];
  const bool read = message.verb == Verb::kRead;
  const bool from_start = nic_.options().recovery == Recovery::kGoBackZero;
  cursor_ = index;
  next_ = from_start ? message.first : sequence;
  if (!read && from_start) unacknowledged_ = std::min(unacknowledged_, next_);
  if (read) expected_response_ = next_;
  ScheduleIfReady();
}

void QueuePair::TimeOut() {
  ++nic_.counters().local_ack_timeout_err;
  if (++retries_ > nic_.options().retries) {
    failed_ = true;
    ++nic_.counters().req_transport_retries_exceeded;
    if (observer_ != nullptr) observer_->Failed(*this);
    return;
  }
  timeout_.Arm(nic_.shared().engine.Now() + nic_.options().ack_timeout);
  GoBack(unacknowledged_);
}

}  // namespace rocescope::sim
