// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/sampled_frame.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/tcp.h"
#include "sim/workload/job.h"
#include "sim/workload/tcp_flow.h"

namespace rocescope::sim {
namespace {

// Addresses in the range of a process's heap. So many successive messages use different buffers.
constexpr uint64_t kHeap = 0x7f00'0000'0000;
constexpr uint64_t kSlots = 8;
constexpr uint64_t kBufferBits = 40;

uint64_t BufferOf(const QueuePair& receiver) {
  return kHeap | (Mix64(receiver.identity().number) >> (64 - kBufferBits)) << 4;
}

uint32_t RkeyOf(const QueuePair& receiver) {
  return static_cast<uint32_t>(Mix64(receiver.identity().number)) | 1;
}

Frame NewFrame(const QueuePair& from, FrameKind kind) {
  Frame frame;
  frame.kind = kind;
  frame.queue_pair = from.identity().number;
  frame.destination = from.peer().nic().number();
  frame.ttl = from.identity().ttl;
  frame.priority = from.nic().options().data_priority;
  return frame;
}

Frame TcpSegment(const QueuePair& from, uint32_t payload) {
  Frame frame = NewFrame(from, FrameKind::kForeign);
  frame.payload = payload;
  frame.length = std::max(QueuePair::kShortestFrame, TcpFlow::kHeaderBytes + payload);
  frame.priority = 0;
  frame.opcode = wire::kTcpAck;
  return frame;
}

// `sequence`: PSN of the data frame that it acknowledges; `messages`: received so far.
Frame Acknowledgement(const QueuePair& from, double sequence, double messages) {
  Frame frame = NewFrame(from, FrameKind::kAcknowledge);
  frame.opcode = wire::kOpcodeAcknowledge;
  frame.sequence = static_cast<uint64_t>(sequence);
  frame.syndrome = QueuePair::kAckSyndrome;
  frame.message_sequence = static_cast<uint32_t>(messages);
  from.nic().options().sizes.Set(frame);
  return frame;
}

Frame Data(const FlowSender& sender, double progress) {
  const QueuePair& from = *sender.queue_pair;
  const Exchange& traffic = sender.traffic;
  const uint32_t mtu = from.nic().options().mtu;
  const auto frames = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::llround(traffic.data_frames / traffic.messages)));
  const auto bytes = std::max<uint64_t>(
      1, static_cast<uint64_t>(std::llround(traffic.PayloadBytes() / traffic.messages)));
  Frame frame = NewFrame(from, FrameKind::kRequest);
  frame.sequence = static_cast<uint64_t>(progress * traffic.data_frames);
  const uint64_t message = frame.sequence / frames;
  const uint64_t index = frame.sequence % frames;
  const bool is_first = index == 0;
  const bool is_last = index + 1 == frames;
  const bool sends = sender.verb == Verb::kSend;
  // Collectives notify the receiver of the end of a message.
  const bool notifies = traffic.GrantBytes() > 0;
  if (is_first) {
    frame.opcode = sends      ? (is_last ? wire::kOpcodeSendOnly : wire::kOpcodeSendFirst)
                   : !is_last ? wire::kOpcodeWriteFirst
                   : notifies ? wire::kOpcodeWriteOnlyImmediate
                              : wire::kOpcodeWriteOnly;
    frame.address = BufferOf(from.peer()) + message % kSlots * bytes;
    frame.rkey = RkeyOf(from.peer());
    frame.dma_length = static_cast<uint32_t>(bytes);
  } else {
    frame.opcode = sends      ? (is_last ? wire::kOpcodeSendLast : wire::kOpcodeSendMiddle)
                   : !is_last ? wire::kOpcodeWriteMiddle
                   : notifies ? wire::kOpcodeWriteLastImmediate
                              : wire::kOpcodeWriteLast;
  }
  const uint64_t before = std::min((frames - 1) * mtu, bytes - 1);
  frame.payload = static_cast<uint32_t>(is_last ? std::min<uint64_t>(mtu, bytes - before) : mtu);
  if (is_last && notifies) frame.immediate = static_cast<uint32_t>(bytes);
  frame.ack_request = is_last || (index + 1) % from.nic().options().ack_every == 0;
  frame.ecn_capable = true;
  from.nic().options().sizes.Set(frame);
  return frame;
}

Frame ClearToSend(const FlowSender& sender, double progress) {
  const QueuePair& from = sender.queue_pair->peer();
  const auto message = static_cast<uint64_t>(progress * sender.traffic.messages);
  Frame frame = NewFrame(from, FrameKind::kRequest);
  frame.sequence = message;
  frame.opcode = wire::kOpcodeWriteOnly;
  frame.payload = Job::kClearToSendBytes;
  frame.address = BufferOf(from.peer()) + message % kSlots * Job::kClearToSendBytes;
  frame.rkey = RkeyOf(from.peer());
  frame.dma_length = Job::kClearToSendBytes;
  const auto bytes =
      static_cast<uint64_t>(std::llround(sender.traffic.PayloadBytes() / sender.traffic.messages));
  frame.granted_address = BufferOf(from) + message % kSlots * bytes;
  frame.granted_rkey = RkeyOf(from);
  frame.ack_request = true;
  frame.ecn_capable = true;
  from.nic().options().sizes.Set(frame);
  return frame;
}

}  // namespace

Frame SentFrame(const FlowSender& sender, double progress, double choice) {
  const Exchange& traffic = sender.traffic;
  if (sender.queue_pair->identity().foreign) {
    Frame frame = TcpSegment(*sender.queue_pair, TcpFlow::kSegment);
    frame.sequence = static_cast<uint64_t>(progress * traffic.frames) * TcpFlow::kSegment;
    return frame;
  }
  if (choice * traffic.frames < traffic.data_frames) return Data(sender, progress);
  const double grants = progress * traffic.messages;
  return Acknowledgement(*sender.queue_pair, grants, grants);
}

Frame AnswerFrame(const FlowSender& sender, double progress, double choice) {
  const Exchange& traffic = sender.traffic;
  const QueuePair& from = sender.queue_pair->peer();
  if (from.identity().foreign) {
    Frame frame = TcpSegment(from, 0);
    frame.granted_address = static_cast<uint64_t>(progress * traffic.frames) * TcpFlow::kSegment;
    return frame;
  }
  const bool has_grants = traffic.GrantBytes() > 0;
  if (has_grants && choice * traffic.answer_frames < traffic.messages) {
    return ClearToSend(sender, progress);
  }
  return Acknowledgement(from, progress * traffic.data_frames, progress * traffic.messages);
}

}  // namespace rocescope::sim
