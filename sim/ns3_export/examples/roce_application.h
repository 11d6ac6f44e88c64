// SPDX-License-Identifier: BSD-3-Clause
// An ns-3 application that sends RDMA WRITEs as RoCEv2 packets over stock UDP sockets: a minimal
// reliable transport with ACKs, NAKs, retransmission, CNPs and a congestion window. It does not
// depend on the export of telemetry.
#pragma once

#include <ns3/application.h>
#include <ns3/event-id.h>
#include <ns3/ipv4-address.h>
#include <ns3/nstime.h>
#include <ns3/ptr.h>
#include <ns3/socket.h>

#include <cstdint>
#include <map>
#include <vector>

#include "sim/ns3_export/exporter.h"

namespace rocescope::ns3_export {

// All queue pairs of one host address. It must be the only sender of UDP from its host, because the
// iCRC covers the identification of the IP header.
class RoceApplication : public ns3::Application {
 public:
  static ns3::TypeId GetTypeId();

  struct Message {
    uint32_t bytes = 256 << 10;
    // Time between the starts of messages. A message waits for the end of the previous one.
    ns3::Time period = ns3::MilliSeconds(1);
  };

  explicit RoceApplication(ns3::Ipv4Address address) : address_(address) {}

  // Creates a queue pair. Pass the result to Connect of both hosts.
  QueuePair AddQueuePair();
  // Connects the queue pair with the queue pair of another host. It sends messages if their size is
  // not 0.
  void Connect(const QueuePair& own, const QueuePair& remote, const Message& messages);

  uint64_t packets_sent() const { return packets_sent_; }
  uint64_t packets_received() const { return packets_received_; }
  uint64_t retransmissions() const { return retransmissions_; }  // packets
  uint64_t messages_completed() const { return messages_completed_; }
  uint64_t cnps_received() const { return cnps_received_; }

 private:
  struct Connection {
    QueuePair own;
    QueuePair remote;
    Message messages;
    ns3::Ptr<ns3::Socket> socket;
    // Sender. PSNs are not truncated here.
    uint64_t next_psn = 0;
    uint64_t sent_psn = 0;     // the highest one sent so far
    uint64_t acked_psn = 0;    // all before it are acknowledged
    uint64_t message_end = 0;  // end of the current message
    double window = kMaxWindow;
    ns3::EventId timeout;
    // Receiver
    uint64_t expected_psn = 0;
    bool nak_sent = false;
    uint32_t messages_received = 0;
    ns3::Time next_cnp;
  };
  static constexpr double kMaxWindow = 32;  // packets
  static constexpr uint32_t kMtu = 1024;    // bytes of payload
  static constexpr uint32_t kAckEvery = 8;  // packets

  void StartApplication() override;
  void StopApplication() override;

  void StartMessage(Connection* connection);
  void SendWindow(Connection* connection);
  void SendData(Connection& connection, uint64_t psn);
  void Timeout(Connection* connection);
  void GoBack(Connection& connection);
  void ReceivePackets(ns3::Ptr<ns3::Socket> socket);
  void ReceiveRequest(Connection& connection, uint32_t psn, bool ack_request, bool is_last);
  void ReceiveAck(Connection& connection, uint32_t psn, uint8_t syndrome);
  void SendAck(Connection& connection, uint64_t psn, uint8_t syndrome);
  void SendCnp(Connection& connection);
  // `transport`: from the BTH to the padding. Send appends the iCRC.
  void Send(Connection& connection, std::vector<uint8_t> transport, uint8_t dscp);

  const ns3::Ipv4Address address_;
  ns3::Ptr<ns3::Socket> receiver_;
  std::map<uint32_t, Connection> connections_;        // by own QPN
  std::map<uint32_t, uint16_t> next_identification_;  // of the IP header, by destination
  uint64_t packets_sent_ = 0;
  uint64_t packets_received_ = 0;
  uint64_t retransmissions_ = 0;
  uint64_t messages_completed_ = 0;
  uint64_t cnps_received_ = 0;
};

}  // namespace rocescope::ns3_export
