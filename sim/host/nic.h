// SPDX-License-Identifier: BSD-3-Clause
// An RDMA NIC: takes turns between its queue pairs, each paced at its own rate; answers; counts
// what mlx5 counts.
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

// How many octets headers take. What is overridden is for comparison with other simulators.
struct FrameSizes {
  uint32_t wire_overhead = 24;    // FCS, preamble, gap: on the link alone
  uint32_t payload_overhead = 0;  // not 0: a frame with payload has just so many octets more
  uint32_t control_bytes = 0;    // not 0: an ACK, NAK or CNP has so many octets

  // Sets both lengths of a frame whose opcode and payload are known.
  void Set(Frame& frame) const;
};

enum class Recovery : uint8_t { kGoBackN, kGoBackZero };

struct NicOptions {
  FrameSizes sizes;
  DcqcnOptions dcqcn;
  uint32_t mtu = 4096;      // octets of payload
  uint32_t ack_every = 16;  // packets of a message that ask for an ACK; its last one does
  uint32_t window = 0;      // packets not acknowledged; 0: no limit
  SimTime ack_timeout = 67 * kMillisecond;  // 4.096 us * 2^14
  uint32_t retries = 7;
  Recovery recovery = Recovery::kGoBackN;
  uint8_t data_priority = 3;
  uint8_t cnp_priority = 6;
  double receive_rate = 0;               // bit/s that the host takes; 0: whatever comes
  uint64_t receive_buffer = 512u << 10;  // octets, where receive_rate limits
};

// Names as in /sys/class/infiniband/*/ports/1/hw_counters.
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
  uint64_t rx_discards = 0;  // the receive buffer was full
  uint64_t rx_read_requests = 0;
  uint64_t rx_write_requests = 0;
};

class Nic final : public Device {
 public:
  Nic(Shared& shared, uint32_t number, NicOptions options, uint64_t bits_per_second);
  ~Nic() override;

  // A queue pair of this NIC has packets to send from `ready` on. Each is known once.
  void Schedule(QueuePair& queue_pair, uint8_t priority, SimTime ready);
  // An answer: before any data.
  void Answer(Frame& frame);

  void Receive(Frame& frame, Port& port) override;
  void Departs(Frame& frame, Port& port) override;
  void Loses(Frame& frame, Port& port, LossCause cause) override;
  Frame* Pull(Port& port) override;
  bool Pulls() const override { return scheduled_ > 0; }

  // Number by NicIndex; `find(queue_pair of the sender)` is the receiver.
  using Find = std::function<QueuePair*(uint32_t)>;
  void SetFind(Find find) { find_ = std::move(find); }
  void SetReceiveRate(double bits_per_second) { options_.receive_rate = bits_per_second; }
  void SetUp(bool up);
  bool is_up() const { return up_; }
  // A storm: pauses all that comes in, again and again, until told otherwise.
  void SetStorm(bool on);

  uint32_t number() const { return number_; }
  Port& port() { return port_; }
  const Port& port() const { return port_; }
  const NicOptions& options() const { return options_; }
  NicCounters& counters() { return counters_; }
  const NicCounters& counters() const { return counters_; }
  Shared& shared() { return shared_; }
  uint64_t delivered() const { return delivered_; }  // frames that reached a queue pair
  // Frames that found others in front of them, which a slow host had not taken.
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
  // Until the host has taken this frame. Its octets alone count: preamble and gap end at the MAC.
  SimTime TakingTime(const Frame& frame) const;
  void SayPause();  // and again before it is over, as long as there is a reason
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

  FrameQueue received_;  // of a slow host
  uint64_t received_bytes_ = 0;
  bool holds_ = false;  // said XOFF
  bool storm_ = false;
  Timer<Nic, &Nic::WakePort> wake_timer_;
  Timer<Nic, &Nic::Drain> drain_timer_;
  Timer<Nic, &Nic::Storm> storm_timer_;
};

}  // namespace rocescope::sim
