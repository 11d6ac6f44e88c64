// SPDX-License-Identifier: BSD-3-Clause
// Traffic that is not RoCE: a TCP connection (RFC 5681 with NewReno's recovery, RFC 6582) on a
// lossy priority, which sends messages at random times.
#pragma once

#include <cstdint>
#include <map>

#include "sim/engine/engine.h"
#include "sim/engine/random.h"
#include "sim/host/network.h"

namespace rocescope::sim {

class TcpFlow final : public ForeignReceiver {
 public:
  static constexpr uint32_t kSegment = 1460;              // payload bytes: 1500 less the headers
  static constexpr uint32_t kHeaderBytes = 14 + 20 + 20;  // Ethernet, IPv4, TCP

  struct Options {
    topology::NicIndex from = 0;
    topology::NicIndex to = 0;
    double load = 0.05;             // average fraction of the sender's link rate, at most 1
    uint64_t message = 256u << 10;  // bytes; messages arrive as a Poisson process
    uint8_t priority = 0;
    SimTime start = 0;
    SimTime end = kNever;
    SimTime retransmission_timeout = 200 * kMillisecond;  // the minimum of Linux
    uint64_t seed = 1;
  };

  // The network must outlive the flow, or stop before it.
  TcpFlow(Network& network, const Options& options);
  TcpFlow(const TcpFlow&) = delete;  // events refer to it
  TcpFlow& operator=(const TcpFlow&) = delete;

  void Begin();  // schedules the messages

  void ReceiveForeign(QueuePair& receiver, const Frame& frame) override;

  const Options& options() const { return options_; }
  const Network::Connection& connection() const { return connection_; }
  uint64_t bytes_received() const { return received_; }  // in order
  uint64_t retransmitted() const { return retransmitted_; }

 private:
  static constexpr uint32_t kFirstWindow = 10;    // segments (RFC 6928)
  static constexpr uint32_t kLongestWindow = 64;  // segments: the receiver's window

  void NextMessage();
  void Send();
  void SendSegment(uint64_t from);
  void Acknowledge();
  void ReceiveData(const Frame& frame);
  void ReceiveAcknowledgement(uint64_t acknowledged);
  void TimeOut();
  void PaceEnds();

  Network& network_;
  const Options options_;
  Random random_;
  const Network::Connection connection_;
  SimTime spacing_;   // between segments: half of the NIC's rate
  SimTime next_ = 0;  // time of the next message

  // Sender; positions are bytes since the start.
  uint64_t posted_ = 0;
  uint64_t next_byte_ = 0;
  uint64_t furthest_ = 0;
  uint64_t acknowledged_ = 0;
  double window_ = kFirstWindow;  // segments
  double threshold_ = kLongestWindow;
  uint32_t duplicates_ = 0;
  uint64_t recovers_until_ = 0;  // in fast recovery until this byte is acknowledged
  uint64_t retransmitted_ = 0;
  SimTime ready_ = 0;
  Timer<TcpFlow, &TcpFlow::PaceEnds> pace_;
  Timer<TcpFlow, &TcpFlow::TimeOut> timeout_;

  // Receiver.
  uint64_t received_ = 0;
  std::map<uint64_t, uint64_t> out_of_order_;  // start and end of received blocks
  uint32_t unacknowledged_segments_ = 0;
};

}  // namespace rocescope::sim
