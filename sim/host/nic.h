// SPDX-License-Identifier: BSD-3-Clause
// An RDMA NIC: arbitrates between its queue pairs, paces each at its own rate, sends responses, and
// has the counters of mlx5.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/host/dcqcn.h"
#include "sim/net/port.h"

namespace rocescope::sim {

class QueuePair;

// Header sizes. Overrides exist for comparison with other simulators.
struct FrameSizes {
  uint32_t wire_overhead = 24;    // FCS, preamble and gap: only on the link
  uint32_t payload_overhead = 0;  // if not 0: overhead in bytes of each frame with a payload
  uint32_t control_bytes = 0;     // if not 0: size in bytes of an ACK, NAK or CNP

  // Sets both lengths of a frame from its opcode and payload.
  void Set(Frame& frame) const;
};

enum class Recovery : uint8_t { kGoBackN, kGoBackZero };

struct NicOptions {
  FrameSizes sizes;
  DcqcnOptions dcqcn;
  uint32_t mtu = 4096;  // payload bytes
  // Packets per ACK request within a message; the last packet always requests an ACK.
  uint32_t ack_every = 16;
  uint32_t window = 0;                      // maximum unacknowledged packets; 0: no limit
  SimTime ack_timeout = 67 * kMillisecond;  // 4.096 us * 2^14
  uint32_t retries = 7;
  Recovery recovery = Recovery::kGoBackN;
  uint8_t data_priority = 3;
  uint8_t cnp_priority = 6;
  double receive_rate = 0;  // rate in bit/s at which the host accepts data; 0: no limit
  uint64_t receive_buffer = 512u << 10;  // bytes; used if receive_rate is set
};

// Names follow /sys/class/infiniband/*/ports/1/hw_counters.
struct NicCounters {
  uint64_t tx_frames = 0;
  uint64_t rx_frames = 0;
  uint64_t np_cnp_sent = 0;
  uint64_t np_ecn_marked_roce_packets = 0;
  uint64_t rp_cnp_handled = 0;
  uint64_t out_of_sequence = 0;
  uint64_t packet_seq_err = 0;  // NAKs received
  uint64_t duplicate_request = 0;
  uint64_t local_ack_timeout_err = 0;
  uint64_t req_transport_retries_exceeded = 0;
  uint64_t rx_icrc_encapsulated = 0;
  uint64_t rx_discards = 0;  // drops because of a full receive buffer
  uint64_t rx_read_requests = 0;
  uint64_t rx_write_requests = 0;
};

class Nic final : public Device {
 public:
  Nic(Shared& shared, uint32_t number, NicOptions options, uint64_t bits_per_second);
  ~Nic() override;

  // Announces that a queue pair of this NIC has packets to send from `ready` on. A queue pair is
  // scheduled at most once.
  void Schedule(QueuePair& queue_pair, uint8_t priority, SimTime ready);
  // Sends a response, before any data.
  void Answer(Frame& frame);
  // Sends a frame whose lengths are set.
  void SendForeign(Frame& frame);

  void Receive(Frame& frame, Port& port) override;
  void Departs(Frame& frame, Port& port) override;
  void Loses(Frame& frame, Port& port, LossCause cause) override;
  Frame* Pull(Port& port) override;
  bool Pulls() const override { return scheduled_ > 0; }

  // `find` returns the receiving queue pair for the number of the sender's.
  using Find = std::function<QueuePair*(uint32_t)>;
  void SetFind(Find find) { find_ = std::move(find); }
  void SetReceiveRate(double bits_per_second) { options_.receive_rate = bits_per_second; }
  // After a restart, the caller brings the port up again.
  void SetUp(bool up);
  bool is_up() const { return up_; }
  // Starts or stops a PFC storm: the NIC continuously sends pause frames.
  void SetStorm(bool on);

  uint32_t number() const { return number_; }
  Port& port() { return port_; }
  const Port& port() const { return port_; }
  const NicOptions& options() const { return options_; }
  NicCounters& counters() { return counters_; }
  const NicCounters& counters() const { return counters_; }
  Shared& shared() { return shared_; }
  uint64_t delivered() const { return delivered_; }  // frames that reached a queue pair
  // Frames that waited in the receive queue because the host accepts data slowly.
  uint64_t kept_waiting() const { return kept_waiting_; }

 private:
  struct Turn {
    SimTime ready;
    uint64_t order;
    QueuePair* queue_pair;
    bool operator>(const Turn& other) const {
      return ready != other.ready ? ready > other.ready : order > other.order;
    }
  };
  using Turns = std::priority_queue<Turn, std::vector<Turn>, std::greater<>>;

  void WakePort() { port_.Wake(); }
  void Deliver(Frame& frame);
  // Time until the host has accepted this frame. Only its bytes count: preamble and gap end at the
  // MAC.
  SimTime TakingTime(const Frame& frame) const;
  void SayPause();  // sends a pause frame, and repeats it before it expires while the reason lasts
  void SayResume();
  void Drain();
  void Storm();

  Shared& shared_;
  const uint32_t number_;
  NicOptions options_;
  Port port_;
  Find find_;
  std::array<Turns, kPriorities> turns_;
  uint64_t order_ = 0;
  uint64_t scheduled_ = 0;
  bool pulling_ = false;
  NicCounters counters_;
  uint64_t delivered_ = 0;
  uint64_t kept_waiting_ = 0;
  bool up_ = true;

  FrameQueue received_;  // receive queue of a slow host
  uint64_t received_bytes_ = 0;
  bool holds_ = false;  // XOFF was sent
  bool storm_ = false;
  Timer<Nic, &Nic::WakePort> wake_timer_;
  Timer<Nic, &Nic::Drain> drain_timer_;
  Timer<Nic, &Nic::Storm> storm_timer_;
};

}  // namespace rocescope::sim
