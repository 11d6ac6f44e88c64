// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/int_postcards.h"

#include <algorithm>
#include <array>

#include "dataplane/wire/int_report.h"
#include "dataplane/wire/ip.h"

namespace rocescope::sim {
namespace {

constexpr uint16_t kMetadata = wire::kIntPorts | wire::kIntHopLatency | wire::kIntQueue |
                               wire::kIntIngressTimestamp | wire::kIntEgressTimestamp;
constexpr uint16_t kSourcePort = 0xd000;
constexpr uint32_t kMaxOccupancy = 0xffffff;  // 24 bits
constexpr size_t kMaxInner = 512;
constexpr uint32_t kFixedBytes = wire::IntReportGroupHeader::kSize + wire::IntReportHeader::kSize +
                                 wire::IntReportMain::kSize + 4 * wire::IntMetadataWords(kMetadata);

IpAddress AddressOfSwitch(const topology::Node& node, uint32_t number) {
  if (!node.erspan_source.IsUnspecified()) return node.erspan_source;
  if (!node.sflow_agent.IsUnspecified()) return node.sflow_agent;
  constexpr uint32_t kUnnamed = 0x0aff'0000;
  return IpAddress::FromV4(kUnnamed + number);
}

}  // namespace

IntPostcards::IntPostcards(Network& network, PacketWriter& packets, CollectorPort& port,
                           const IntOptions& options)
    : network_(network),
      packets_(packets),
      port_(port),
      options_(options),
      mask_((uint64_t{1} << std::min(options.shift, 63u)) - 1) {
  for (topology::NodeIndex index = 0; index < network.fabric().nodes().size(); ++index) {
    const topology::Node& node = network.fabric().node(index);
    if (!node.IsSwitch()) continue;
    const auto number = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(
        {.id = node.int_switch_id,
         .first_port = node.first_port,
         .clock_error = options.clock_errors.empty() ? Duration(0) : options.clock_errors[index],
         .envelope = {.source_mac = MacOfSwitch(number),
                      .destination_mac = port.options().mac,
                      .source = AddressOfSwitch(node, number),
                      .destination = port.options().address}});
  }
}

void IntPostcards::Report(const Switch& at, const Port& port, const Frame& frame,
                          uint64_t queue_bytes) {
  Node& node = nodes_[at.number()];
  if (node.id == topology::kNone) return;
  const SimTime now = network_.engine().Now();
  const uint32_t sequence = node.sequence++;
  ++reports_;

  std::array<uint8_t, kMaxInner> inner_room;
  const size_t inner = packets_.WriteFrame(
      frame, std::span(inner_room).first(std::min<size_t>(options_.inner_bytes, kMaxInner)));
  const auto contents = static_cast<uint32_t>(kFixedBytes + (inner + 3) / 4 * 4);
  const uint32_t length = node.envelope.Bytes() + wire::UdpHeader::kSize + contents;
  const std::span<uint8_t> room = port_.Begin(now, length);
  if (room.empty()) return;

  const auto number = [&](uint32_t which) {
    return static_cast<uint16_t>(network_.fabric().port(node.first_port + which).number);
  };
  const auto nanoseconds = [&](SimTime time) {
    return static_cast<uint64_t>(ToNanoseconds(port_.WallTime(time) + node.clock_error));
  };
  wire::ByteWriter out(room.first(length));
  WriteUdpEnvelope(out, node.envelope, kSourcePort, options_.udp_port,
                   static_cast<uint16_t>(sequence), contents);
  Write(out,
        wire::IntReportGroupHeader{.sequence = sequence & wire::IntReportGroupHeader::kSequenceMask,
                                   .node_id = node.id});
  wire::WriteIntReport(
      out,
      {.header = {.type = wire::kIntReportInt,
                  .inner_type = wire::kIntInnerEthernet,
                  .congested = queue_bytes > options_.congested_bytes,
                  .tracked = true},
       .main = {.metadata_bits = kMetadata},
       .metadata = {.present = kMetadata,
                    .ingress_port = number(frame.ingress),
                    .egress_port = number(port.number()),
                    .hop_latency = static_cast<uint32_t>(std::min<int64_t>(
                        port_.options().clock.Length(now - frame.arrived).count(), UINT32_MAX - 1)),
                    .queue_id = frame.priority,
                    .queue_occupancy =
                        static_cast<uint32_t>(std::min<uint64_t>(queue_bytes, kMaxOccupancy - 1)),
                    .ingress_timestamp = nanoseconds(frame.arrived),
                    .egress_timestamp = nanoseconds(now)},
       .inner = std::span(inner_room).first(inner)});
  port_.End();
}

}  // namespace rocescope::sim
