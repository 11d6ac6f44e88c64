// SPDX-License-Identifier: BSD-3-Clause
// The cost of a collective: its duration as a function of the rate of its flows, and the traffic of
// each pair of ranks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/workload/collective.h"

namespace rocescope::sim {

// Frames that the two ends of a connection exchange for some payload. As in NCCL's net_ib, the
// receiver permits each message by a clear-to-send, and acknowledges the message.
struct Exchange {
  double frames = 0;       // from the sender: data, and ACKs of clear-to-sends
  double bytes = 0;        // of these frames, without FCS
  double data_frames = 0;  // the data frames among them
  double messages = 0;
  double answer_frames = 0;  // from the receiver: ACKs and clear-to-sends
  double answer_bytes = 0;

  // Bytes that the sender's frames occupy on the wire, with FCS, preamble and gap.
  double WireBytes() const;
  void Add(const Exchange& other);
  Exchange Divided(double by) const;
  void WithoutGrants();            // removes clear-to-sends and their ACKs
  double AnswerWireBytes() const;  // as WireBytes, of the receiver's frames
  double DataBytes() const;        // bytes in data frames
  double PayloadBytes() const;     // of data frames
  double GrantBytes() const;       // of the clear-to-sends
};

struct MessageSizes {
  uint32_t mtu = 4096;          // payload bytes of a frame
  uint32_t ack_every = 16;      // frames
  uint32_t chunk = 512u << 10;  // payload bytes of a message
};
// Adds the frames of one transfer of `payload` bytes.
void AddTransfer(const MessageSizes& sizes, uint64_t payload, Exchange& exchange);

// The durations for a few rates are computed once. Other durations are interpolated.
class CollectiveCost {
 public:
  struct Pair {
    uint32_t from;  // ranks within the communicator
    uint32_t to;
    bool is_local;  // within a host
    uint32_t transfers = 0;
    // Number of transfers after which the sender waits, directly or indirectly, until they have
    // arrived. No later frame reveals the loss of the last frame of such a transfer.
    uint32_t bursts = 1;
    Exchange traffic;
  };
  struct Placement {
    std::function<bool(uint32_t from, uint32_t to)> same_host;
    // Time from the end of sending a transfer until the receiver has it, without queues.
    SimTime latency = 0;
    double local_rate = 1.6e12;  // bit/s within a host
    double line_rate = 100e9;    // bit/s of the NICs
  };

  CollectiveCost(const Plan& plan, const MessageSizes& sizes, const Placement& placement);

  const std::vector<Pair>& pairs() const { return pairs_; }
  // Returns the duration of the collective if all ranks start together and each flow sends at
  // `bytes_per_second` on the wire while it has something to send. `slowdown` multiplies
  // computation within the collective.
  SimTime Duration(double bytes_per_second, double slowdown = 1) const;
  // Bytes that the critical path sends one after another: if each byte takes a time t longer, the
  // duration increases by this number times t. At least 1, even if all ranks are on one host.
  double critical_bytes() const { return critical_bytes_; }

 private:
  // Counts Pair::bursts. `pair_of`: index in `pairs_`, by transfer.
  void FindBursts(const Plan& plan, const std::vector<uint32_t>& pair_of);

  static constexpr size_t kRates = 5;  // the line rate divided by 1, 2, 4, ...

  std::vector<Pair> pairs_;
  double line_bytes_per_second_;
  std::array<double, kRates> seconds_{};
  double computation_ = 0;  // seconds of computation on the critical path at the line rate
  double critical_bytes_ = 1;
};

}  // namespace rocescope::sim
