// SPDX-License-Identifier: BSD-3-Clause
#include "tests/perf/mirror_traffic.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "base/hash.h"
#include "dataplane/decode/telemetry_ports.h"
#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/int_report.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/writer.h"
#include "tests/perf/frame.h"

namespace rocescope::perf {
namespace {

// Offsets of the fields that change between frames of FrameBuilder.
constexpr size_t kGreSequence = 14 + 20 + 4;
constexpr size_t kErspanTimestamp = 14 + 20 + 8 + 4;
constexpr size_t kErspanSeconds = kErspanTimestamp + 12;
constexpr size_t kBth = 62 + 14 + 20 + 8;
constexpr size_t kPsn = kBth + 9;
constexpr size_t kMessageSequence = kBth + 12 + 1;
constexpr uint32_t kMarkedNics = 50;  // one in this many has a busy port
constexpr int64_t kSecond = 1'000'000'000;

constexpr std::array<uint8_t, 4> kOpcodes = {0x06, 0x07, 0x08, 0x11};  // IBTA vol. 1, table 38

void Put24(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 16);
  at[1] = static_cast<uint8_t>(value >> 8);
  at[2] = static_cast<uint8_t>(value);
}

void Put32(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 24);
  Put24(at + 1, value);
}

}  // namespace

MirrorTraffic::MirrorTraffic(const EngineLoad& load, double churn)
    : load_(load), churn_(churn), connections_(load.connections()) {
  std::map<IpAddress, uint32_t> switches;
  for (uint32_t i = 0; i < connections_.size(); ++i) {
    Make(i);
    connections_[i].session =
        switches.emplace(load.PlaceOf(i, false).switch_address, switches.size()).first->second;
  }
  sequences_.resize(switches.size());
  report_sequences_.resize(switches.size());
}

void MirrorTraffic::Make(uint32_t index) {
  Connection& connection = connections_[index];
  connection.psn = 0;
  connection.message_sequence = 0;
  for (uint8_t kind = 0; kind < kKinds; ++kind) {
    const bool back = EngineLoad::DataGoesBack(index) == (kind != kAcknowledge);
    const FlowKey flow = load_.FlowOf(index, back);
    const TapLocation& place = load_.PlaceOf(index, back);
    const bool marked = back && Mix64(flow.destination.V4()) % kMarkedNics == 0;
    connection.marked |= marked;
    const Endpoint from{.address = flow.source,
                        .mac = 0x0200'0000'0001,
                        .udp_source_port = static_cast<uint16_t>(0xc000 + index % 0x4000),
                        .ttl = static_cast<uint8_t>(back ? 62 : 64)};
    const Endpoint to{.address = flow.destination, .mac = 0x0200'0000'0002};
    const Qpn number{(flow.destination_qpn.value + connection.generation * 0x1000) & k24BitMask};
    FrameBuilder builder(MirrorTraffic::kLongest, true);
    builder.SetPlace({.switch_address = place.switch_address.V4(),
                      .session = static_cast<uint16_t>(place.session),
                      .egress = place.side == TapSide::kEgress,
                      .port = static_cast<uint16_t>(place.port)});
    const Frame frame = builder.Build({.from = &from,
                                       .to = &to,
                                       .bth = {.opcode = kOpcodes[kind],
                                               .partition_key = 0xffff,
                                               .destination_qpn = number,
                                               .ack_request = kind == kLast},
                                       .reth = {.virtual_address = uint64_t{index} << 20,
                                                .rkey = index,
                                                .dma_length = kMessage * 4096},
                                       .aeth = {.syndrome = 0x1f},
                                       .payload_length = kind == kAcknowledge ? 0u : 4096u,
                                       .congestion_experienced = marked && kind == kMiddle});
    Template& made = connection.frames[kind];
    made.length = static_cast<uint8_t>(std::min(frame.bytes.size(), kLongest));
    std::memcpy(made.bytes.data(), frame.bytes.data(), made.length);
  }
}

void MirrorTraffic::Replace(int64_t now_ns) {
  if (began_ns_ == 0) began_ns_ = now_ns;
  const auto due =
      static_cast<uint64_t>(churn_ * static_cast<double>(now_ns - began_ns_) / kSecond);
  for (; replaced_ < due; ++replaced_) {
    const auto index = static_cast<uint32_t>(replaced_ % connections_.size());
    ++connections_[index].generation;
    Make(index);
  }
}

// An INT postcard of the mirroring leaf for the last packet: the queue to the NIC is long.
size_t MirrorTraffic::WriteReport(uint32_t index, int64_t now_ns, uint8_t* frame) {
  constexpr uint16_t kMetadata = wire::kIntPorts | wire::kIntHopLatency | wire::kIntQueue |
                                 wire::kIntIngressTimestamp | wire::kIntEgressTimestamp;
  constexpr size_t kMirror = 62;
  constexpr size_t kInner = 72;
  constexpr uint32_t kQueue = 2'000'000;
  constexpr uint32_t kDelay = 160'000;  // ns: the delay of the queued bytes at 100 Gb/s
  constexpr uint16_t kFromSpine = 65;
  const Connection& connection = connections_[index];
  const Template& packet = connection.frames[kMiddle];
  const TapLocation& place = load_.PlaceOf(index, true);
  std::array<uint8_t, 160> room;
  wire::ByteWriter report(room);
  Write(report, wire::IntReportGroupHeader{.sequence = report_sequences_[connection.session]++ &
                                                       wire::IntReportGroupHeader::kSequenceMask,
                                           .node_id = load_.IntIdOf(index)});
  wire::WriteIntReport(report,
                       {.header = {.type = wire::kIntReportInt,
                                   .inner_type = wire::kIntInnerEthernet,
                                   .congested = true,
                                   .tracked = true},
                        .main = {.metadata_bits = kMetadata},
                        .metadata = {.present = kMetadata,
                                     .ingress_port = kFromSpine,
                                     .egress_port = static_cast<uint16_t>(place.port),
                                     .hop_latency = kDelay,
                                     .queue_id = 3,
                                     .queue_occupancy = kQueue,
                                     .ingress_timestamp = static_cast<uint64_t>(now_ns) - kDelay,
                                     .egress_timestamp = static_cast<uint64_t>(now_ns)},
                        .inner = std::span(packet.bytes).subspan(kMirror, kInner)});
  wire::ByteWriter out(std::span(frame, kLongest));
  const auto datagram = static_cast<uint16_t>(wire::UdpHeader::kSize + report.offset());
  Write(out, wire::EthernetHeader{.destination = 0x0200'00ff'00fe,
                                  .source = 0x0200'00ff'0001,
                                  .ether_type = wire::kEtherTypeIpv4});
  wire::Ipv4Header ip{.total_length = static_cast<uint16_t>(wire::Ipv4Header::kSize + datagram),
                      .ttl = 62,
                      .protocol = wire::kIpProtocolUdp,
                      .source = place.switch_address.V4(),
                      .destination = 0x0aff'00fe};
  ip.checksum = wire::Ipv4Checksum(ip);
  Write(out, ip);
  Write(out, wire::UdpHeader{.source_port = 50'000,
                             .destination_port = TelemetryPorts{}.int_reports,
                             .length = datagram});
  std::memcpy(frame + out.offset(), room.data(), report.offset());
  return out.offset() + report.offset();
}

size_t MirrorTraffic::Next(int64_t now_ns, uint8_t* frame) {
  if (report_of_) return WriteReport(*std::exchange(report_of_, std::nullopt), now_ns, frame);
  Connection& connection = connections_[group_ + in_group_];
  const Kind kind = packet_ == 0              ? kFirst
                    : packet_ < kMessage - 1  ? kMiddle
                    : packet_ == kMessage - 1 ? kLast
                                              : kAcknowledge;
  const Template& made = connection.frames[kind];
  std::memcpy(frame, made.bytes.data(), made.length);
  Put32(frame + kGreSequence, sequences_[connection.session]++);
  Put32(frame + kErspanTimestamp, static_cast<uint32_t>(now_ns % kSecond));
  Put32(frame + kErspanSeconds, static_cast<uint32_t>(now_ns / kSecond));
  if (kind == kAcknowledge) {
    Put24(frame + kPsn, connection.psn - 1);
    Put24(frame + kMessageSequence, ++connection.message_sequence);
  } else {
    Put24(frame + kPsn, connection.psn++);
    if (connection.marked && kind == kMiddle) report_of_ = group_ + in_group_;
  }
  const auto group_size = std::min(kTogether, static_cast<uint32_t>(connections_.size()) - group_);
  if (++in_group_ == group_size) {
    in_group_ = 0;
    if (++packet_ > kMessage) {
      packet_ = 0;
      group_ = group_ + group_size < connections_.size() ? group_ + group_size : 0;
      if (churn_ > 0) Replace(now_ns);
    }
  }
  return made.length;
}

}  // namespace rocescope::perf
