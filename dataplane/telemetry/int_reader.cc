// SPDX-License-Identifier: BSD-3-Clause
// INT reports, and the metadata stacks in them or in RoCE packets.
#include <optional>

#include "dataplane/telemetry/telemetry_reader.h"

namespace rocescope {
namespace {

// A node's clock is used for event times if it is within this distance of the arrival time. A clock
// that counts from the node's start or in another unit is not.
constexpr Duration kSameClock = std::chrono::seconds(1);

std::optional<Timestamp> TimeOf(const wire::IntMetadata& metadata, Timestamp arrival) {
  for (const auto& [bit, told] :
       {std::pair(wire::kIntIngressTimestamp, metadata.ingress_timestamp),
        std::pair(wire::kIntEgressTimestamp, metadata.egress_timestamp)}) {
    if (!metadata.Has(bit) || told > static_cast<uint64_t>(ToNanoseconds(kLatestTime))) continue;
    const Timestamp time = FromNanoseconds(static_cast<int64_t>(told));
    if (time - arrival <= kSameClock && arrival - time <= kSameClock) return time;
  }
  return std::nullopt;
}

std::optional<LinkType> LinkTypeOf(wire::IntInnerType type) {
  switch (type) {
    case wire::kIntInnerEthernet:
      return LinkType::kEthernet;
    case wire::kIntInnerIpv4:
      return LinkType::kIpv4;
    case wire::kIntInnerIpv6:
      return LinkType::kIpv6;
    default:
      return std::nullopt;
  }
}

}  // namespace

DropReason TelemetryReader::TakeIntReports(std::span<const uint8_t> bytes,
                                           const Datagram& datagram) {
  ++counters_.int_datagrams;
  Ledger& ledger = counters_.int_reports;
  wire::ByteReader in(bytes);
  wire::IntReportGroupHeader group;
  Read(in, group);
  if (!in.ok() || group.version != 2) {
    // The number of reports in the datagram is unknown; count one.
    ++ledger.received;
    const bool cut = !in.ok() && datagram.cut;
    const DropReason reason = cut ? DropReason::kTruncatedTelemetry : DropReason::kBadInt;
    ++ledger.dropped[static_cast<size_t>(reason)];
    return reason;
  }
  if (const DropReason refused = CheckInt(group.node_id, datagram); refused != DropReason::kNone) {
    // Its reports are not read; count one.
    ++ledger.received;
    ++ledger.dropped[static_cast<size_t>(refused)];
    return refused;
  }
  Follow(FollowerOf(int_followers_, IntKey(datagram.tap, group.node_id, group.hardware_id)),
         group.sequence, wire::IntReportGroupHeader::kSequenceMask);
  DropReason first = DropReason::kNone;
  for (bool is_first = true; in.remaining() > 0; is_first = false) {
    ++ledger.received;
    bool filtered = false;
    const DropReason reason = TakeReport(group, in, datagram, filtered);
    if (is_first) first = reason;
    if (reason != DropReason::kNone) {
      ++ledger.dropped[static_cast<size_t>(reason)];
      // With an inconsistent length, the position of the next report is unknown.
      if (reason == DropReason::kBadInt) break;
    } else if (filtered) {
      ++ledger.filtered;
    } else {
      ++ledger.decoded;
    }
  }
  return first == DropReason::kBadInt ? first : DropReason::kNone;
}

DropReason TelemetryReader::TakeReport(const wire::IntReportGroupHeader& group,
                                       wire::ByteReader& in, const Datagram& datagram,
                                       bool& filtered) {
  wire::IntReport report;
  switch (ReadIntReport(in, report)) {
    case wire::IntReportFault::kNone:
      break;
    case wire::IntReportFault::kTruncated:
      return datagram.cut ? DropReason::kTruncatedTelemetry : DropReason::kBadInt;
    case wire::IntReportFault::kBadLength:
      return DropReason::kBadInt;
    case wire::IntReportFault::kUnknownType:
      return DropReason::kUnknownReport;
  }
  HopRecord hop = {.tap = datagram.tap,
                   .node_id = group.node_id,
                   .dropped = report.header.dropped,
                   .congested = report.header.congested,
                   .tracked = report.header.tracked,
                   .metadata = report.metadata};
  wire::IntInnerType type = wire::kIntInnerNone;
  const std::span<const uint8_t> inner = InnerPacketOf(report, type);
  const std::optional<LinkType> link_type = LinkTypeOf(type);
  const bool known = link_type && ReadPacket(*link_type, inner, hop.packet);
  filtered = Filters(hop.packet);
  if (filtered) return DropReason::kNone;
  if (!known) ++counters_.packets_unknown;

  // The node's own metadata is in the report or, for report types without metadata, in the stack.
  const bool own = report.header.type == wire::kIntReportInt;
  const uint8_t stacked =
      known ? AddStack(packet_.int_stack, hop, own ? 1 : 0, datagram) : uint8_t{0};
  if (own || stacked == 0) {
    hop.hop = stacked;
    hop.hop_count = static_cast<uint8_t>(stacked + 1);
    AddHop(hop, datagram);
  }
  return DropReason::kNone;
}

void TelemetryReader::TakeStack(const DecodedFrame& frame, TapId tap, Timestamp arrival,
                                RecordBatch& out) {
  ++counters_.int_stacks;
  const HopRecord like = {.tap = tap,
                          .packet = {.known = true,
                                     .flow = {.source = frame.source,
                                              .destination = frame.destination,
                                              .destination_qpn = frame.destination_qpn,
                                              .segment = frame.segment},
                                     .opcode = frame.opcode,
                                     .ttl = frame.ttl,
                                     .traffic_class = frame.traffic_class,
                                     .psn = frame.psn}};
  AddStack(frame.int_stack, like, 0,
           {.tap = tap, .arrival = arrival, .cut = frame.cut, .out = out});
}

// Adds the hops of a stack, whose first entry is the last hop, and `more` after them. Returns the
// number of hops in the stack, or 0 if the version is not 2.
uint8_t TelemetryReader::AddStack(std::span<const uint8_t> stack, const HopRecord& like,
                                  uint8_t more, const Datagram& datagram) {
  if (stack.empty()) return 0;
  wire::ByteReader in(stack);
  wire::IntMdHeader header;
  Read(in, header);
  if (!in.ok() || header.version != 2) return 0;
  // At most 252, because the shim's length has 8 bits.
  const auto hops =
      static_cast<uint8_t>(wire::IntHopsIn(header, static_cast<uint32_t>(in.remaining() / 4)));
  const size_t begin = datagram.out.hops.size();
  for (uint8_t i = 0; i < hops; ++i) {
    HopRecord hop = {.tap = like.tap, .packet = like.packet, .tracked = like.tracked};
    std::span<const uint8_t> domain;
    ReadIntHop(in, header, hop.metadata, domain);
    if (!in.ok()) {
      datagram.out.hops.resize(begin);
      counters_.hop_records -= i;
      return 0;
    }
    hop.node_id = hop.metadata.node_id;
    hop.hop = static_cast<uint8_t>(hops - 1 - i);
    hop.hop_count = static_cast<uint8_t>(hops + more);
    AddHop(hop, datagram);
  }
  return hops;
}

void TelemetryReader::AddHop(HopRecord hop, const Datagram& datagram) {
  const std::optional<Timestamp> told = TimeOf(hop.metadata, datagram.arrival);
  hop.event_time = told.value_or(datagram.arrival);
  hop.event_time_told = told.has_value();
  hop.arrival_time = datagram.arrival;
  datagram.out.hops.push_back(hop);
  ++counters_.hop_records;
}

}  // namespace rocescope
