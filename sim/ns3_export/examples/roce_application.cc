// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ns3_export/examples/roce_application.h"

#include <ns3/inet-socket-address.h>
#include <ns3/node.h>
#include <ns3/packet.h>
#include <ns3/simulator.h>
#include <ns3/udp-socket-factory.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "dataplane/wire/icrc.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/opcode.h"
#include "dataplane/wire/roce.h"

namespace rocescope::ns3_export {
namespace {

using ns3::Ptr;
using ns3::Simulator;

constexpr uint8_t kDataDscp = 26;
constexpr uint8_t kCnpDscp = 48;
constexpr uint8_t kAckSyndrome = 0x1f;  // without credits
constexpr uint8_t kSequenceNak = 0x60;
constexpr uint32_t kFirstQpn = 0x100;
constexpr uint16_t kFirstSourcePort = 0xc000;
const ns3::Time kTimeout = ns3::MicroSeconds(500);
const ns3::Time kCnpInterval = ns3::MicroSeconds(50);

// Returns the PSN near `reference` whose lower 24 bits are `psn`.
uint64_t Extended(uint32_t psn, uint64_t reference) {
  const int64_t distance = PsnDistance(static_cast<uint32_t>(reference & k24BitMask), psn);
  return static_cast<uint64_t>(static_cast<int64_t>(reference) + distance);
}

}  // namespace

ns3::TypeId RoceApplication::GetTypeId() {
  static const ns3::TypeId type =
      ns3::TypeId("rocescope::RoceApplication").SetParent<ns3::Application>();
  return type;
}

QueuePair RoceApplication::AddQueuePair() {
  const auto number = static_cast<uint32_t>(connections_.size());
  const QueuePair own{.address = address_,
                      .qpn = kFirstQpn + number,
                      // Different hosts use different ports, like a random choice.
                      .udp_source_port = static_cast<uint16_t>(
                          kFirstSourcePort + (address_.Get() * 37 + number) % 0x3000)};
  connections_[own.qpn].own = own;
  return own;
}

void RoceApplication::Connect(const QueuePair& own, const QueuePair& remote,
                              const Message& messages) {
  Connection& connection = connections_.at(own.qpn);
  connection.remote = remote;
  connection.messages = messages;
}

void RoceApplication::StartApplication() {
  receiver_ = ns3::Socket::CreateSocket(GetNode(), ns3::UdpSocketFactory::GetTypeId());
  receiver_->Bind(ns3::InetSocketAddress(address_, wire::kUdpPortRoce));
  receiver_->SetIpRecvTos(true);
  receiver_->SetRecvCallback(ns3::MakeCallback(&RoceApplication::ReceivePackets, this));
  for (auto& [qpn, connection] : connections_) {
    connection.socket = ns3::Socket::CreateSocket(GetNode(), ns3::UdpSocketFactory::GetTypeId());
    connection.socket->Bind(ns3::InetSocketAddress(address_, connection.own.udp_source_port));
    if (connection.messages.bytes > 0) StartMessage(&connection);
  }
}

void RoceApplication::StopApplication() {
  for (auto& [qpn, connection] : connections_) Simulator::Cancel(connection.timeout);
}

void RoceApplication::StartMessage(Connection* connection) {
  if (connection->acked_psn == connection->message_end) {
    connection->message_end += (connection->messages.bytes + kMtu - 1) / kMtu;
    SendWindow(connection);
  }
  Simulator::Schedule(connection->messages.period, &RoceApplication::StartMessage, this,
                      connection);
}

void RoceApplication::SendWindow(Connection* connection) {
  const auto window = static_cast<uint64_t>(connection->window);
  while (connection->next_psn < connection->message_end &&
         connection->next_psn < connection->acked_psn + window) {
    SendData(*connection, connection->next_psn++);
  }
  Simulator::Cancel(connection->timeout);
  if (connection->acked_psn < connection->message_end) {
    connection->timeout =
        Simulator::Schedule(kTimeout, &RoceApplication::Timeout, this, connection);
  }
}

void RoceApplication::SendData(Connection& connection, uint64_t psn) {
  if (psn < connection.sent_psn) ++retransmissions_;
  connection.sent_psn = std::max(connection.sent_psn, psn + 1);
  const uint64_t packets = (connection.messages.bytes + kMtu - 1) / kMtu;
  const uint64_t start = connection.message_end - packets;
  const bool is_first = psn == start;
  const bool is_last = psn + 1 == connection.message_end;
  const uint32_t payload =
      is_last ? connection.messages.bytes - static_cast<uint32_t>(packets - 1) * kMtu : kMtu;
  const uint32_t pad = (4 - payload % 4) % 4;
  const size_t extension = is_first ? wire::Reth::kSize : 0;
  std::vector<uint8_t> transport(wire::Bth::kSize + extension + payload + pad);
  wire::ByteWriter out(transport);
  const uint8_t opcode = is_first && is_last ? wire::kOpcodeWriteOnly
                         : is_first          ? wire::kOpcodeWriteFirst
                         : is_last           ? wire::kOpcodeWriteLast
                                             : wire::kOpcodeWriteMiddle;
  Write(out, wire::Bth{.opcode = opcode,
                       .migration_request = true,
                       .pad_count = static_cast<uint8_t>(pad),
                       .partition_key = 0xffff,
                       .destination_qpn = {connection.remote.qpn},
                       .ack_request = is_last || psn % kAckEvery == kAckEvery - 1,
                       .psn = static_cast<uint32_t>(psn) & k24BitMask});
  if (is_first) {
    Write(out, wire::Reth{.virtual_address = 0x7f00'0000'0000 + start * kMtu,
                          .rkey = connection.remote.qpn << 8,
                          .dma_length = connection.messages.bytes});
  }
  Send(connection, std::move(transport), kDataDscp);
}

void RoceApplication::Timeout(Connection* connection) { GoBack(*connection); }

void RoceApplication::GoBack(Connection& connection) {
  connection.next_psn = connection.acked_psn;
  connection.window = std::max(1.0, connection.window / 2);
  SendWindow(&connection);
}

void RoceApplication::Send(Connection& connection, std::vector<uint8_t> transport, uint8_t dscp) {
  // Sockets write the IP and UDP headers; the iCRC covers their fields.
  const auto traffic_class = static_cast<uint8_t>(dscp << 2 | wire::kEcnEct0);
  std::vector<uint8_t> packet(wire::Ipv4Header::kSize + wire::UdpHeader::kSize);
  wire::ByteWriter out(packet);
  const auto datagram =
      static_cast<uint16_t>(wire::UdpHeader::kSize + transport.size() + wire::kIcrcSize);
  const uint32_t destination = connection.remote.address.Get();
  Write(out,
        wire::Ipv4Header{.traffic_class = traffic_class,
                         .total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + datagram),
                         .identification = next_identification_[destination]++,
                         .protocol = wire::kIpProtocolUdp,
                         .source = address_.Get(),
                         .destination = destination});
  Write(out, wire::UdpHeader{.source_port = connection.own.udp_source_port,
                             .destination_port = wire::kUdpPortRoce,
                             .length = datagram});
  packet.insert(packet.end(), transport.begin(), transport.end());
  const uint32_t icrc = wire::ComputeIcrc(packet);
  transport.resize(transport.size() + wire::kIcrcSize);
  wire::ByteWriter tail(std::span<uint8_t>(transport).last(wire::kIcrcSize));
  wire::WriteIcrc(tail, icrc);
  // SendTo ignores the traffic class of the socket and uses that of the address.
  ns3::InetSocketAddress to(connection.remote.address, wire::kUdpPortRoce);
  to.SetTos(traffic_class);
  connection.socket->SendTo(
      ns3::Create<ns3::Packet>(transport.data(), static_cast<uint32_t>(transport.size())), 0, to);
  ++packets_sent_;
}

void RoceApplication::ReceivePackets(Ptr<ns3::Socket> socket) {
  while (const Ptr<ns3::Packet> packet = socket->Recv()) {
    ++packets_received_;
    std::array<uint8_t, wire::Bth::kSize + wire::Aeth::kSize> bytes{};
    packet->CopyData(bytes.data(), static_cast<uint32_t>(bytes.size()));
    wire::ByteReader in(bytes);
    wire::Bth bth;
    wire::Aeth aeth;
    Read(in, bth);
    Read(in, aeth);
    const auto at = connections_.find(bth.destination_qpn.value);
    if (at == connections_.end()) continue;
    Connection& connection = at->second;
    if (bth.opcode == wire::kOpcodeCnp) {
      ++cnps_received_;
      connection.window = std::max(1.0, connection.window / 2);
      continue;
    }
    if (bth.opcode == wire::kOpcodeAcknowledge) {
      ReceiveAck(connection, bth.psn, aeth.syndrome);
      continue;
    }
    ns3::SocketIpTosTag tos;
    if (packet->PeekPacketTag(tos) && (tos.GetTos() & 3) == wire::kEcnCe) SendCnp(connection);
    ReceiveRequest(connection, bth.psn, bth.ack_request, wire::InfoOf(bth.opcode).ends);
  }
}

void RoceApplication::ReceiveRequest(Connection& connection, uint32_t psn, bool ack_request,
                                     bool is_last) {
  const uint64_t number = Extended(psn, connection.expected_psn);
  if (number > connection.expected_psn) {
    if (!std::exchange(connection.nak_sent, true)) {
      SendAck(connection, connection.expected_psn, kSequenceNak);
    }
    return;
  }
  if (number == connection.expected_psn) {
    ++connection.expected_psn;
    connection.nak_sent = false;
    if (is_last) ++connection.messages_received;
  }
  if (ack_request) SendAck(connection, connection.expected_psn - 1, kAckSyndrome);
}

void RoceApplication::ReceiveAck(Connection& connection, uint32_t psn, uint8_t syndrome) {
  const uint64_t number = Extended(psn, connection.acked_psn);
  const bool is_nak = syndrome == kSequenceNak;
  const uint64_t acked = is_nak ? number : number + 1;
  if (acked > connection.acked_psn && acked <= connection.sent_psn) {
    connection.acked_psn = acked;
    connection.next_psn = std::max(connection.next_psn, acked);
    connection.window = std::min(kMaxWindow, connection.window + 1);
    if (acked == connection.message_end) ++messages_completed_;
  }
  is_nak ? GoBack(connection) : SendWindow(&connection);
}

void RoceApplication::SendAck(Connection& connection, uint64_t psn, uint8_t syndrome) {
  std::vector<uint8_t> transport(wire::Bth::kSize + wire::Aeth::kSize);
  wire::ByteWriter out(transport);
  Write(out, wire::Bth{.opcode = wire::kOpcodeAcknowledge,
                       .migration_request = true,
                       .partition_key = 0xffff,
                       .destination_qpn = {connection.remote.qpn},
                       .psn = static_cast<uint32_t>(psn) & k24BitMask});
  Write(out, wire::Aeth{.syndrome = syndrome, .msn = connection.messages_received & k24BitMask});
  Send(connection, std::move(transport), kDataDscp);
}

void RoceApplication::SendCnp(Connection& connection) {
  if (Simulator::Now() < connection.next_cnp) return;
  connection.next_cnp = Simulator::Now() + kCnpInterval;
  constexpr size_t kReserved = 16;  // IBTA Annex A17.9.3
  std::vector<uint8_t> transport(wire::Bth::kSize + kReserved);
  wire::ByteWriter out(transport);
  Write(out, wire::Bth{.opcode = wire::kOpcodeCnp,
                       .migration_request = true,
                       .partition_key = 0xffff,
                       .becn = true,
                       .destination_qpn = {connection.remote.qpn}});
  Send(connection, std::move(transport), kCnpDscp);
}

}  // namespace rocescope::ns3_export
