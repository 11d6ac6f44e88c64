// SPDX-License-Identifier: BSD-3-Clause
// A NIC in software: finds the queue pair of a received packet, arbitrates between the queue pairs
// that have packets to send, and writes frames.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "testbeds/ovs_lab/endpoint/counters.h"
#include "testbeds/ovs_lab/endpoint/pacer.h"
#include "testbeds/ovs_lab/endpoint/packet.h"
#include "testbeds/ovs_lab/endpoint/queue_pair.h"

namespace rocescope::endpoint {

// Sends the frames of a NIC.
class FrameSink {
 public:
  virtual ~FrameSink() = default;
  // Returns whether the interface accepted the frame.
  virtual bool Send(std::span<const uint8_t> frame) = 0;
};

class Nic {
 public:
  // `address` is its IPv4 address. The references must outlive it; the pacer belongs to the host.
  Nic(uint32_t address, FrameSink& sink, Pacer& pacer);

  // The local queue pair number must be unique on this NIC.
  QueuePair& Add(const QueuePair::Identity& identity, const TransportOptions& options,
                 double line_rate, Timestamp patience_ends, QueuePairObserver& observer);

  // Responses are sent by the next call of Advance, so that ACKs of frames that arrived together
  // are combined.
  void Receive(std::span<const uint8_t> frame, Timestamp now);
  // Handles timeouts, and sends all packets that are due.
  void Advance(Timestamp now);
  // The time of the next timeout or packet; Timestamp::max() if there is none.
  Timestamp Next() const;

  uint32_t address() const { return address_; }
  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }

 private:
  void SendResponses();
  QueuePair* NextToSend(Timestamp now);
  size_t Transmit(const Packet& packet, const QueuePair& from);

  const uint32_t address_;
  FrameSink& sink_;
  Pacer& pacer_;
  Counters counters_;
  std::vector<std::unique_ptr<QueuePair>> queue_pairs_;
  std::unordered_map<uint32_t, QueuePair*> by_number_;
  size_t turn_ = 0;  // index of the queue pair that is asked first
  std::array<uint8_t, kLongestFrame> frame_;
};

}  // namespace rocescope::endpoint
