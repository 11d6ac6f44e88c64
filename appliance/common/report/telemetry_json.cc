// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/telemetry_json.h"

#include "appliance/common/report/frame_json.h"
#include "dataplane/wire/int_report.h"

namespace rocescope {
namespace {

void WriteError(JsonLine& json, DropReason reason) {
  json.Text("error", kDropReasons[static_cast<size_t>(reason)].name);
}

void WriteMetadata(JsonLine& json, const wire::IntMetadata& m) {
  if (m.Has(wire::kIntPorts)) {
    json.Number("ingress_port", m.ingress_port);
    json.Number("egress_port", m.egress_port);
  }
  if (m.Has(wire::kIntHopLatency)) json.Number("hop_latency", m.hop_latency);
  if (m.Has(wire::kIntQueue)) {
    json.Number("queue", m.queue_id);
    json.Number("queue_occupancy", m.queue_occupancy);
  }
  if (m.Has(wire::kIntIngressTimestamp)) json.Text64("ingress_ts", m.ingress_timestamp);
  if (m.Has(wire::kIntEgressTimestamp)) json.Text64("egress_ts", m.egress_timestamp);
  if (m.Has(wire::kIntLogicalPorts)) {
    json.Number("ingress_logical_port", m.ingress_logical_port);
    json.Number("egress_logical_port", m.egress_logical_port);
  }
  if (m.Has(wire::kIntEgressUtilisation)) json.Number("egress_utilisation", m.egress_utilisation);
  if (m.Has(wire::kIntBuffer)) {
    json.Number("buffer", m.buffer_id);
    json.Number("buffer_occupancy", m.buffer_occupancy);
  }
}

void WriteInner(JsonLine& json, const wire::IntReport& report, const TelemetryPorts& ports) {
  wire::IntInnerType type = wire::kIntInnerNone;
  const std::span<const uint8_t> packet = InnerPacketOf(report, type);
  if (type == wire::kIntInnerEthernet) {
    WriteInnerPacketJson(json, LinkType::kEthernet, packet, ports);
  } else if (type == wire::kIntInnerIpv4) {
    WriteInnerPacketJson(json, LinkType::kIpv4, packet, ports);
  } else if (type == wire::kIntInnerIpv6) {
    WriteInnerPacketJson(json, LinkType::kIpv6, packet, ports);
  }
}

void WriteReport(JsonLine& json, const wire::IntReport& report, const TelemetryPorts& ports) {
  const wire::IntReportHeader& header = report.header;
  json.Number("type", header.type);
  json.Number("inner_type", header.inner_type);
  json.Number("length", uint32_t{header.length_words} * 4);
  json.Bool("dropped", header.dropped);
  json.Bool("congested", header.congested);
  json.Bool("tracked", header.tracked);
  json.Bool("intermediate", header.intermediate);
  if (header.type == wire::kIntReportInt) {
    json.Number("md_length", uint32_t{header.metadata_words} * 4);
    json.Number("md_bits", report.main.metadata_bits);
    json.Number("domain_id", report.main.domain_id);
    json.Number("domain_md_bits", report.main.domain_bits);
    json.Number("domain_md_status", report.main.domain_status);
    WriteMetadata(json, report.metadata);
    if (report.metadata.Has(wire::kIntDropReason)) {
      json.Number("drop_queue", report.metadata.queue_id);
      json.Number("drop_reason", report.metadata.drop_reason);
    }
  }
  WriteInner(json, report, ports);
}

}  // namespace

void WriteInnerPacketJson(JsonLine& json, LinkType link_type, std::span<const uint8_t> bytes,
                          const TelemetryPorts& ports) {
  DecodedFrame packet{};
  const TelemetryPorts inside = {.int_reports = 0, .int_md = ports.int_md, .sflow = 0};
  const RawFrame raw = {.bytes = bytes,
                        .original_length = static_cast<uint32_t>(bytes.size()),
                        .link_type = link_type};
  if (DecodeFrame(raw, packet, inside) != DropReason::kNone || packet.kind != FrameKind::kRoce) {
    return;
  }
  json.BeginObject("packet");
  json.Number("wirelen", packet.wire_length);
  WritePacketJson(json, packet);
  json.EndObject();
}

void WriteIntReportJson(JsonLine& json, const DecodedFrame& frame, const TelemetryPorts& ports) {
  json.BeginObject("int");
  wire::ByteReader in(frame.telemetry);
  wire::IntReportGroupHeader group;
  Read(in, group);
  const DropReason ended = frame.cut ? DropReason::kTruncatedTelemetry : DropReason::kBadInt;
  if (!in.ok() || group.version != 2) {
    WriteError(json, in.ok() ? DropReason::kBadInt : ended);
    json.EndObject();
    return;
  }
  json.Number("node_id", group.node_id);
  json.Number("hw_id", group.hardware_id);
  json.Number("sequence", group.sequence);
  json.BeginArray("reports");
  while (in.remaining() > 0) {
    json.BeginElement();
    wire::IntReport report;
    const wire::IntReportFault fault = ReadIntReport(in, report);
    if (fault == wire::IntReportFault::kNone) {
      WriteReport(json, report, ports);
    } else if (fault == wire::IntReportFault::kUnknownType) {
      WriteError(json, DropReason::kUnknownReport);
    } else {
      WriteError(json, fault == wire::IntReportFault::kTruncated ? ended : DropReason::kBadInt);
    }
    json.EndObject();
    if (fault == wire::IntReportFault::kBadLength) break;
  }
  json.EndArray();
  json.EndObject();
}

void WriteIntStackJson(JsonLine& json, std::span<const uint8_t> stack) {
  wire::ByteReader in(stack);
  wire::IntMdHeader header;
  Read(in, header);
  if (!in.ok()) return;
  json.BeginObject("int_md");
  json.Number("version", header.version);
  json.Number("instructions", header.instructions);
  json.Number("remaining_hops", header.remaining_hops);
  json.Bool("hops_exceeded", header.hops_exceeded);
  json.Bool("mtu_exceeded", header.mtu_exceeded);
  json.BeginArray("hops");  // in wire order: the last hop first
  const uint32_t hops =
      header.version == 2 ? IntHopsIn(header, static_cast<uint32_t>(in.remaining() / 4)) : 0;
  for (uint32_t i = 0; i < hops && in.ok(); ++i) {
    wire::IntMetadata hop;
    std::span<const uint8_t> domain;
    ReadIntHop(in, header, hop, domain);
    json.BeginElement();
    if (!in.ok()) {
      WriteError(json, DropReason::kBadInt);
    } else {
      if (hop.Has(wire::kIntNodeId)) json.Number("node_id", hop.node_id);
      WriteMetadata(json, hop);
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace rocescope
