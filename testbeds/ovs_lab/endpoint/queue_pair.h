// SPDX-License-Identifier: BSD-3-Clause
// One end of a reliable connection (IBTA vol. 1, section 9.7): a requester, which segments RDMA
// WRITEs and uses go-back-N on loss, and a responder, which acknowledges in order. It has no I/O
// and no clock: the caller passes packets and times in, and takes packets out.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/qpn.h"
#include "base/time.h"
#include "testbeds/ovs_lab/endpoint/counters.h"
#include "testbeds/ovs_lab/endpoint/packet.h"
#include "testbeds/ovs_lab/endpoint/rate_control.h"

namespace rocescope::endpoint {

struct TransportOptions {
  uint32_t mtu = 1024;      // payload bytes of a packet
  uint32_t ack_every = 16;  // packets per ACK request within a message; its last one requests one
  uint32_t window = 0;      // maximum unacknowledged packets; 0: no limit
  // 4.096 us * 2^16. Programs of a busy machine may wait for the CPU for longer than the 67 ms of
  // the simulator.
  Duration ack_timeout = std::chrono::milliseconds(268);
  uint32_t retries = 7;
  DcqcnOptions dcqcn;
};

// An RDMA WRITE to post.
struct WorkRequest {
  uint64_t length = 0;   // bytes
  uint64_t address = 0;  // in the peer's memory
  uint32_t rkey = 0;
  std::optional<uint32_t> immediate;  // WRITE with immediate
  std::vector<uint8_t> data;          // `length` bytes; empty: filler bytes
  uint64_t context = 0;               // opaque value of the user
};

// An RDMA WRITE that arrived completely.
struct Delivery {
  uint64_t address = 0;
  uint32_t length = 0;
  std::optional<uint32_t> immediate;
  std::span<const uint8_t> last_payload;  // payload of its last packet
};

enum class FailureCause : uint8_t { kRetriesExceeded, kRemoteInvalidRequest };

class QueuePair;

// Receives the events of a queue pair. Calls may post to it, but must not destroy it.
class QueuePairObserver {
 public:
  virtual ~QueuePairObserver() = default;
  virtual void Delivered(QueuePair& at, const Delivery& delivery) = 0;
  // All packets of the work request are acknowledged.
  virtual void Completed(QueuePair& at, uint64_t context) = 0;
  virtual void Failed(QueuePair& at, FailureCause cause) = 0;
  // Each accepted packet, in the order of the PSNs.
  virtual void Written(QueuePair&, uint64_t /*address*/, std::span<const uint8_t> /*payload*/) {}
};

class QueuePair {
 public:
  static constexpr Timestamp kNever = Timestamp::max();
  // ACK with an invalid credit count: no end-to-end flow control (IBTA vol. 1, table 45).
  static constexpr uint8_t kAckSyndrome = 0x1f;

  struct Identity {
    uint32_t number = 0;  // opaque value of the user
    Qpn local;
    Qpn remote;
    uint32_t first_psn = 0;         // PSN of the first own request
    uint32_t remote_first_psn = 0;  // of the peer's requests
    Route route;
  };

  // Until `patience_ends`, a peer that has never answered is not up yet: the queue pair sends only
  // its first packet again, and counts neither timeouts nor retries. All references must outlive
  // this object; `line_rate` is in bit/s.
  QueuePair(const Identity& identity, const TransportOptions& options, double line_rate,
            Timestamp patience_ends, Counters& counters, QueuePairObserver& observer);

  void Post(WorkRequest request);

  // Whether there is a request packet to send, and the time from which pacing allows it.
  bool HasPacket() const;
  Timestamp ready() const { return ready_; }
  // Returns the next request packet. HasPacket() must be true. The payload is valid until the next
  // call of any function of this object.
  Packet Send(Timestamp now);

  void Receive(const Packet& packet, Timestamp now);
  // Removes and returns the ACKs, NAKs and CNPs to send. Several ACKs without a NAK in between
  // are combined.
  std::vector<Packet> TakeResponses();
  bool has_responses() const { return !responses_.empty(); }

  Timestamp deadline() const { return deadline_; }  // kNever: none
  // Call it at the deadline; does nothing before.
  void TimeOut(Timestamp now);

  // Stops: it neither sends nor answers from now on.
  void Close();

  const Identity& identity() const { return identity_; }
  bool failed() const { return state_ == State::kError; }
  bool closed() const { return state_ != State::kReadyToSend; }
  bool idle() const { return messages_.empty(); }
  // Rate of its reaction point in bit/s.
  double RateAt(Timestamp now) { return rate_control_.RateAt(now); }

 private:
  enum class State : uint8_t { kReadyToSend, kError, kClosed };
  // Sequence numbers are PSNs extended to 64 bits.
  struct Message {
    WorkRequest request;
    uint64_t first = 0;  // sequence number of the first packet
    uint64_t packets = 0;
  };
  struct Incoming {
    Delivery delivery;
    uint64_t received = 0;  // bytes
  };

  bool Waits(Timestamp now) const { return !peer_seen_ && now < patience_ends_; }
  size_t IndexOf(uint64_t sequence) const;
  std::span<const uint8_t> PayloadOf(const Message& message, uint64_t index) const;
  void Fail(FailureCause cause);

  void ReceiveRequest(const Packet& packet, Timestamp now);
  bool Accept(const Packet& packet);
  void Respond(uint8_t syndrome, uint64_t sequence);
  void NoteCongestion(Timestamp now);

  void ReceiveAcknowledge(const Packet& packet, Timestamp now);
  void Progress(uint64_t acknowledged, Timestamp now);
  void GoBack(uint64_t sequence);

  const Identity identity_;
  const TransportOptions& options_;
  const Timestamp patience_ends_;
  Counters& counters_;
  QueuePairObserver& observer_;
  RateControl rate_control_;
  State state_ = State::kReadyToSend;
  bool peer_seen_ = false;

  // Requester.
  std::deque<Message> messages_;  // not yet acknowledged
  uint64_t unacknowledged_;       // lowest unacknowledged sequence number
  uint64_t next_;                 // next sequence number to send
  uint64_t furthest_;             // highest sequence number sent so far, plus one
  uint64_t end_;                  // end of the posted messages
  uint64_t requested_;            // highest sequence number with an ACK request, plus one
  uint32_t since_ack_request_ = 0;
  bool ask_at_once_ = false;  // the next packet requests an ACK
  uint32_t retries_ = 0;
  Timestamp ready_{};
  Timestamp last_ack_request_{};
  Timestamp deadline_ = kNever;

  // Responder.
  uint64_t expected_;
  uint32_t messages_received_ = 0;  // MSN
  bool nak_sent_ = false;
  std::optional<Incoming> incoming_;
  Timestamp next_cnp_{};
  std::vector<Packet> responses_;
};

}  // namespace rocescope::endpoint
