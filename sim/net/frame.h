// SPDX-License-Identifier: BSD-3-Clause
// A frame on the simulated wire: the state that forwarding, queues and endpoints need, and the
// header fields from which emit/ generates packet bytes. It has two cache lines and comes from a
// pool.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/time.h"

namespace rocescope::sim {

enum class FrameKind : uint8_t {
  kRequest,  // request packets
  kReadResponse,
  kAcknowledge,  // ACK or NAK
  kCnp,
  kPause,    // PFC pause frame; never leaves its link
  kForeign,  // not RoCE: a TCP segment
};

inline constexpr uint32_t kPriorities = 8;

struct alignas(64) Frame {
  Frame* next = nullptr;     // next in the queue or on the wire
  uint64_t digest = 0;       // hash of the five-tuple, for ECMP
  uint64_t sequence = 0;     // PSN before truncation to 24 bits; of kForeign: bytes sent before it
  uint32_t queue_pair = 0;   // sender's queue pair: index in Network
  uint32_t destination = 0;  // NicIndex
  uint32_t length = 0;       // bytes without FCS
  uint32_t wire_bytes = 0;   // with FCS, preamble and gap: occupancy of the link
  uint32_t payload = 0;
  uint16_t ingress = 0;  // ingress port number in the current switch, from 0
  FrameKind kind = FrameKind::kRequest;
  uint8_t opcode = 0;  // wire/opcode.h; of kForeign: TCP flags
  uint8_t priority = 0;
  uint8_t ttl = 64;
  bool ecn_capable = false;
  bool congestion_experienced = false;
  SimTime arrived = 0;  // arrival time at the current switch; set only if there is an observer

  // Second cache line: used by endpoints and taps only.
  uint64_t address = 0;          // RETH
  uint64_t granted_address = 0;  // payload of a clear-to-send; of kForeign: acknowledged bytes
  uint32_t rkey = 0;
  uint32_t dma_length = 0;
  uint32_t granted_rkey = 0;
  uint32_t immediate = 0;
  uint32_t message_sequence = 0;  // AETH
  uint16_t pause_quanta = 0;      // of kPause
  uint8_t pause_priorities = 0;   // mask
  uint8_t syndrome = 0;           // AETH
  bool ack_request = false;
  bool corrupt = false;         // damaged by a switch: valid FCS, invalid iCRC
  uint8_t marked_priority = 0;  // of a CNP: the priority of its DSCP, whatever queue it uses
  SimTime sent = 0;             // time at which its first bit left the NIC
};
static_assert(sizeof(Frame) == 128);

// Allocates and frees frames. The number of allocated frames is known, so that a leak can be
// detected: each one is in a queue or on a wire.
class FramePool {
 public:
  Frame& Take() {
    if (free_ == nullptr) Grow();
    Frame& frame = *free_;
    free_ = frame.next;
    ++out_;
    frame = Frame{};
    return frame;
  }
  void GiveBack(Frame& frame) {
    frame.next = free_;
    free_ = &frame;
    --out_;
  }
  uint64_t out() const { return out_; }

 private:
  static constexpr size_t kBlock = 1024;

  void Grow() {
    blocks_.push_back(std::make_unique<std::array<Frame, kBlock>>());
    for (Frame& frame : *blocks_.back()) {
      frame.next = free_;
      free_ = &frame;
    }
  }

  std::vector<std::unique_ptr<std::array<Frame, kBlock>>> blocks_;
  Frame* free_ = nullptr;
  uint64_t out_ = 0;
};

// A first-in, first-out queue: an intrusive list of frames.
class FrameQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  Frame& front() const { return *head_; }
  void Push(Frame& frame) {
    frame.next = nullptr;
    (head_ == nullptr ? head_ : tail_->next) = &frame;
    tail_ = &frame;
  }
  Frame& Pop() {
    Frame& frame = *head_;
    head_ = frame.next;
    return frame;
  }

 private:
  Frame* head_ = nullptr;
  Frame* tail_ = nullptr;
};

}  // namespace rocescope::sim
