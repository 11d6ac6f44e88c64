// SPDX-License-Identifier: BSD-3-Clause
// One end of a reliable connection (IBTA vol. 1, section 9.7): a requester, which segments messages
// and uses go-back-N on loss, and a responder, which acknowledges in order.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "base/qpn.h"
#include "sim/engine/engine.h"
#include "sim/host/dcqcn.h"
#include "sim/host/nic.h"
#include "sim/net/frame.h"

namespace rocescope::sim {

enum class Verb : uint8_t { kWrite, kWriteWithImmediate, kSend, kRead };

struct Message {
  Verb verb = Verb::kWrite;
  uint64_t length = 0;   // bytes
  uint64_t address = 0;  // RETH
  uint32_t rkey = 0;
  uint32_t immediate = 0;
  uint64_t granted_address = 0;  // if not 0: a clear-to-send, whose payload contains this address
  uint32_t granted_rkey = 0;     // and this rkey
  uint64_t context = 0;          // opaque value of the workload

  // Set by Post.
  uint64_t first = 0;    // sequence number of the first packet
  uint32_t packets = 0;  // number of packets; for a READ, of its response
};

// Receives the events of both ends.
class QueuePairObserver {
 public:
  virtual ~QueuePairObserver() = default;
  virtual void Delivered(QueuePair& receiver, const Message& message) = 0;
  // All packets are acknowledged.
  virtual void Completed(QueuePair& requester, const Message& message) = 0;
  // Retries exceeded; the queue pair is in the error state.
  virtual void Failed(QueuePair& requester) = 0;
};

// Receives the frames of a connection that is not RoCE.
class ForeignReceiver {
 public:
  virtual ~ForeignReceiver() = default;
  virtual void ReceiveForeign(QueuePair& receiver, const Frame& frame) = 0;
};

class QueuePair {
 public:
  // ACK with an invalid credit count: no end-to-end flow control (IBTA vol. 1, table 45).
  static constexpr uint8_t kAckSyndrome = 0x1f;
  static constexpr uint32_t kShortestFrame = 60;  // bytes without FCS

  struct Identity {
    uint32_t number = 0;  // index in the network
    Qpn qpn;
    uint16_t udp_source_port = 0;
    uint8_t ttl = 64;
    bool foreign = false;  // one end of a TCP connection; udp_source_port is its TCP port
  };

  QueuePair(Nic& nic, const Identity& identity, QueuePairObserver* observer);
  static void Connect(QueuePair& a, QueuePair& b);
  // Sets the digest of the five-tuple of packets to the peer. Switches compute their ECMP hashes
  // from it.
  void SetDigest(uint64_t digest) { digest_ = digest; }

  // Destroys the queue pair, as its process does when it ends: it sends and answers nothing more.
  void Close();
  bool closed() const { return closed_; }

  // A frame of a connection that is not RoCE, for Nic::SendForeign. `receiver` of the peer receives
  // it; nullptr: nobody does.
  void SetForeign(ForeignReceiver* receiver) { foreign_ = receiver; }
  Frame& NewForeignFrame(uint32_t payload, uint32_t header_bytes, uint8_t priority);

  // Queues a message behind the previous ones.
  void Post(Message message);

  // Returns the next frame, or nullptr if there is none. Called by the NIC.
  Frame* Send();
  void Receive(const Frame& frame);

  const Identity& identity() const { return identity_; }
  const Nic& nic() const { return nic_; }
  Nic& nic() { return nic_; }
  const QueuePair& peer() const { return *peer_; }
  QueuePair& peer() { return *peer_; }
  double rate() const { return dcqcn_.rate(); }
  bool failed() const { return failed_; }
  // Acknowledged payload bytes since the start.
  uint64_t bytes_acknowledged() const { return bytes_acknowledged_; }
  uint64_t frames_sent() const { return frames_sent_; }
  uint64_t frames_resent() const { return frames_retransmitted_; }
  // Bytes of requests and READ responses, without FCS, including retransmissions.
  uint64_t bytes_sent() const { return bytes_sent_; }

 private:
  // Packets of a READ response that remain to be sent.
  struct Response {
    Message message;
    uint64_t from = 0;  // requested sequence number
    uint64_t next = 0;  // next sequence number to send
  };

  Frame& NewFrame(FrameKind kind);
  void ScheduleIfReady();
  bool HasWork() const;
  Frame* SendRequest();
  Frame* SendResponse();
  // Returns the index of the message that contains this sequence number, or messages_.size().
  size_t IndexOf(uint64_t sequence) const;
  const Message* Find(uint64_t sequence) const;
  uint64_t Outstanding() const { return next_ > unacknowledged_ ? next_ - unacknowledged_ : 0; }
  void Respond(const Message& message, uint64_t from);

  void ReceiveRequest(const Frame& frame);
  void ReceiveResponse(const Frame& frame);
  void ReceiveAcknowledge(const Frame& frame);
  void Accept(const Frame& frame);
  void Acknowledge(uint64_t sequence, uint8_t syndrome);
  void NotePointOfCongestion(const Frame& frame);
  void Progress(uint64_t acknowledged);  // acknowledges everything below this sequence number
  void GoBack(uint64_t sequence);
  void TimeOut();

  Nic& nic_;
  const Identity identity_;
  QueuePairObserver* const observer_;
  QueuePair* peer_ = nullptr;
  uint64_t digest_ = 0;
  Dcqcn dcqcn_;

  // State of the requester.
  std::deque<Message> messages_;  // not yet acknowledged
  size_t cursor_ = 0;             // index in messages_ of the next message to send
  uint64_t unacknowledged_ = 0;   // lowest unacknowledged sequence number
  uint64_t next_ = 0;             // next sequence number to send
  uint64_t furthest_ = 0;  // highest sequence number sent so far; below it are retransmissions
  uint64_t end_ = 0;       // end of the posted messages
  uint64_t expected_response_ = 0;
  bool asked_again_ = false;  // the expected response was requested again and has not arrived yet
  SimTime ready_ = 0;         // time at which pacing allows the next frame
  bool scheduled_ = false;
  bool failed_ = false;
  uint32_t since_ack_request_ = 0;
  uint32_t retries_ = 0;
  uint64_t bytes_acknowledged_ = 0;
  uint64_t frames_sent_ = 0;
  uint64_t frames_retransmitted_ = 0;
  uint64_t bytes_sent_ = 0;
  Timer<QueuePair, &QueuePair::TimeOut> timeout_;

  // State of the responder.
  uint64_t expected_ = 0;
  uint32_t messages_received_ = 0;  // MSN
  bool nak_sent_ = false;
  std::deque<Response> responses_;
  SimTime next_cnp_ = 0;

  bool closed_ = false;
  ForeignReceiver* foreign_ = nullptr;
};

}  // namespace rocescope::sim
