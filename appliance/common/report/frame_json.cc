// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/frame_json.h"

#include <optional>
#include <string>

#include "appliance/common/report/json_line.h"
#include "appliance/common/report/telemetry_json.h"

namespace rocescope {
namespace {

std::string_view NameOf(MirrorKind kind) {
  switch (kind) {
    case MirrorKind::kNone:
      break;
    case MirrorKind::kErspan1:
      return "erspan1";
    case MirrorKind::kErspan2:
      return "erspan2";
    case MirrorKind::kErspan3:
      return "erspan3";
    case MirrorKind::kGre:
      return "gre";
    case MirrorKind::kVxlan:
      return "vxlan";
    case MirrorKind::kGeneve:
      return "geneve";
  }
  return "none";
}

std::string_view NameOf(wire::AethKind kind) {
  switch (kind) {
    case wire::AethKind::kAck:
      return "ack";
    case wire::AethKind::kRnrNak:
      return "rnr_nak";
    case wire::AethKind::kReserved:
      break;
    case wire::AethKind::kNak:
      return "nak";
  }
  return "reserved";
}

// IBTA vol. 1, table 46.
std::string_view NakCodeName(uint8_t code) {
  switch (code) {
    case wire::kNakPsnSequenceError:
      return "psn_sequence_error";
    case wire::kNakInvalidRequest:
      return "invalid_request";
    case wire::kNakRemoteAccessError:
      return "remote_access_error";
    case wire::kNakRemoteOperationalError:
      return "remote_operational_error";
    case wire::kNakInvalidRdRequest:
      return "invalid_rd_request";
    default:
      return "reserved";
  }
}

// The messages of IBTA vol. 1, section 12.6, as spelled there.
std::string_view NameOf(wire::CmAttribute attribute) {
  switch (attribute) {
    case wire::CmAttribute::kConnectRequest:
      return "ConnectRequest";
    case wire::CmAttribute::kMessageReceiptAcknowledgement:
      return "MsgRcptAck";
    case wire::CmAttribute::kConnectReject:
      return "ConnectReject";
    case wire::CmAttribute::kConnectReply:
      return "ConnectReply";
    case wire::CmAttribute::kReadyToUse:
      return "ReadyToUse";
    case wire::CmAttribute::kDisconnectRequest:
      return "DisconnectRequest";
    case wire::CmAttribute::kDisconnectReply:
      return "DisconnectReply";
    case wire::CmAttribute::kServiceIdResolutionRequest:
      return "ServiceIDResReq";
    case wire::CmAttribute::kServiceIdResolutionReply:
      return "ServiceIDResReqResp";
    case wire::CmAttribute::kLoadAlternatePath:
      return "LoadAlternatePath";
    case wire::CmAttribute::kAlternatePathResponse:
      return "AlternatePathResponse";
  }
  return "unknown";
}

void WriteMirror(JsonLine& json, const MirrorInfo& mirror, Timestamp arrival) {
  json.BeginObject("mirror");
  json.Text("kind", NameOf(mirror.kind));
  // ERSPAN type I has no header of its own; the other tunnels have no sessions.
  if (mirror.kind == MirrorKind::kErspan2 || mirror.kind == MirrorKind::kErspan3) {
    json.Number("session", mirror.session);
    json.Bool("truncated", mirror.truncated);
  }
  if (mirror.has_sequence) json.Number("sequence", mirror.sequence);
  if (mirror.direction != MirrorDirection::kUnknown) {
    json.Text("direction", mirror.direction == MirrorDirection::kEgress ? "egress" : "ingress");
  }
  if (mirror.has_port_index) json.Number("port_index", mirror.port_index);
  if (const std::optional<MirrorTime> time = TimeOf(mirror)) {
    json.Text64("ts_ns", ToNanoseconds(Unwrap(*time, arrival)));
  }
  json.EndObject();
}

// Each message type has other fields; missing ones are omitted.
void WriteCm(JsonLine& json, const wire::CmMessage& cm) {
  using enum wire::CmAttribute;
  const auto is = [&cm](auto... attributes) { return ((cm.attribute == attributes) || ...); };
  json.BeginObject("cm");
  json.Number("attribute", static_cast<uint16_t>(cm.attribute));
  json.Text("attribute_name", NameOf(cm.attribute));
  json.Text64("transaction_id", cm.transaction_id);
  json.Number("local_comm_id", cm.local_comm_id);
  if (!is(kConnectRequest, kServiceIdResolutionRequest, kServiceIdResolutionReply)) {
    json.Number("remote_comm_id", cm.remote_comm_id);
  }
  if (is(kConnectRequest, kConnectReply, kServiceIdResolutionReply)) {
    json.Number("local_qpn", cm.local_qpn.value);
  }
  if (is(kConnectRequest, kConnectReply)) json.Number("starting_psn", cm.starting_psn);
  if (is(kDisconnectRequest, kLoadAlternatePath)) json.Number("remote_qpn", cm.remote_qpn.value);
  if (is(kConnectRequest, kServiceIdResolutionRequest, kServiceIdResolutionReply)) {
    json.Text64("service_id", cm.service_id);
  }
  if (is(kConnectRequest)) {
    json.Number("transport_service", cm.transport_service);
    json.Number("path_mtu", cm.path_mtu);
  }
  if (is(kConnectReject, kServiceIdResolutionReply, kAlternatePathResponse)) {
    json.Number("reason", cm.reason);
  }
  json.EndObject();
}

void WritePause(JsonLine& json, const wire::PauseFrame& pause) {
  const bool per_class = pause.opcode == wire::kPfcOpcode;
  json.BeginObject("pause");
  json.Number("opcode", pause.opcode);
  json.BeginArray("classes");
  for (unsigned priority = 0; priority < pause.quanta.size(); ++priority) {
    if (pause.class_enable >> priority & 1) json.Element(priority);
  }
  json.EndArray();
  json.BeginArray("quanta");
  for (size_t i = 0; i < (per_class ? pause.quanta.size() : 1); ++i) json.Element(pause.quanta[i]);
  json.EndArray();
  json.EndObject();
}

// A header that the capture truncated is written as far as it is complete: a field needs all of its
// bytes.
void WriteReth(JsonLine& json, const DecodedFrame& frame) {
  if (!frame.HasUpTo(kPartReth, 8)) return;
  json.BeginObject("reth");
  json.Text64("va", frame.reth.virtual_address);
  if (frame.HasUpTo(kPartReth, 12)) json.Number("rkey", frame.reth.rkey);
  if (frame.Has(kPartReth)) json.Number("length", frame.reth.dma_length);
  json.EndObject();
}

void WriteDeth(JsonLine& json, const DecodedFrame& frame) {
  if (!frame.HasUpTo(kPartDeth, 4)) return;
  json.BeginObject("deth");
  json.Number("qkey", frame.deth.queue_key);
  if (frame.Has(kPartDeth)) json.Number("source_qp", frame.deth.source_qpn.value);
  json.EndObject();
}

void WriteAtomic(JsonLine& json, const DecodedFrame& frame) {
  if (!frame.HasUpTo(kPartAtomicEth, 8)) return;
  json.BeginObject("atomic");
  json.Text64("va", frame.atomic.virtual_address);
  if (frame.HasUpTo(kPartAtomicEth, 12)) json.Number("rkey", frame.atomic.rkey);
  if (frame.HasUpTo(kPartAtomicEth, 20)) json.Text64("swap", frame.atomic.swap_or_add);
  if (frame.Has(kPartAtomicEth)) json.Text64("compare", frame.atomic.compare);
  json.EndObject();
}

void WriteAeth(JsonLine& json, const DecodedFrame& frame) {
  if (!frame.HasUpTo(kPartAeth, 1)) return;
  const wire::Aeth& aeth = frame.aeth;
  json.BeginObject("aeth");
  json.Number("syndrome", aeth.syndrome);
  if (frame.Has(kPartAeth)) json.Number("msn", aeth.msn);
  json.Text("kind", NameOf(KindOf(aeth)));
  if (KindOf(aeth) == wire::AethKind::kNak) json.Text("code", NakCodeName(ValueOf(aeth)));
  json.EndObject();
}

void WriteNetwork(JsonLine& json, const DecodedFrame& frame) {
  json.Text("src_ip", ToString(frame.source));
  json.Text("dst_ip", ToString(frame.destination));
  json.Number("dscp", frame.Dscp());
  json.Number("ecn", frame.Ecn());
  json.Number("ttl", frame.ttl);
  if (!frame.roce_v1) json.Number("udp_sport", frame.udp_source_port);
}

void WriteTransport(JsonLine& json, const DecodedFrame& frame) {
  const wire::Bth& bth = frame.bth;
  json.Number("opcode", bth.opcode);
  json.Text("opcode_name", wire::InfoOf(bth.opcode).name);
  json.Bool("se", bth.solicited_event);
  json.Bool("mig", bth.migration_request);
  json.Number("pad", bth.pad_count);
  json.Number("pkey", bth.partition_key);
  json.Bool("fecn", bth.fecn);
  json.Bool("becn", bth.becn);
  json.Number("dest_qp", bth.destination_qpn.value);
  json.Bool("ack_req", bth.ack_request);
  json.Number("psn", bth.psn);

  WriteReth(json, frame);
  WriteAeth(json, frame);
  WriteDeth(json, frame);
  if (frame.Has(kPartImmDt)) json.Number("imm", frame.immediate.data);
  if (frame.Has(kPartIeth)) json.Number("ieth_rkey", frame.ieth.rkey);
  WriteAtomic(json, frame);
  if (frame.Has(kPartAtomicAckEth)) json.Text64("atomic_ack", frame.atomic_ack.original_data);
  if (frame.Has(kPartCm)) WriteCm(json, frame.cm);
  json.Number("payload_len", frame.payload_length);
}

}  // namespace

void WritePacketJson(JsonLine& json, const DecodedFrame& frame) {
  WriteNetwork(json, frame);
  WriteTransport(json, frame);
  if (!frame.int_stack.empty()) WriteIntStackJson(json, frame.int_stack);
}

void AppendFrameJson(fmt::memory_buffer& out, const FrameLine& line) {
  const DecodedFrame& frame = line.decoded;
  const bool dropped = line.drop != DropReason::kNone;
  JsonLine json(out);
  json.Number("frame", line.number);
  json.Text64("ts_ns", ToNanoseconds(line.raw.timestamp));
  json.Text("tap", line.tap);
  json.Number("caplen", line.raw.bytes.size());
  json.Number("wirelen", dropped ? line.raw.original_length : frame.wire_length);
  if (dropped) {
    json.Text("drop", kDropReasons[static_cast<size_t>(line.drop)].name);
    json.Finish();
    return;
  }
  if (frame.vlan_count > 0) json.Number("vlan", frame.vlan_id);
  if (frame.segment != 0) json.Number("segment", frame.segment - 1);  // as on the wire
  if (frame.mirror.kind != MirrorKind::kNone) WriteMirror(json, frame.mirror, line.raw.timestamp);
  if (frame.kind == FrameKind::kPause) {
    WritePause(json, frame.pause);
  } else if (IsTelemetry(frame.kind)) {
    WriteNetwork(json, frame);
    if (frame.kind == FrameKind::kIntReport) WriteIntReportJson(json, frame, line.ports);
    if (frame.kind == FrameKind::kSflow) WriteSflowJson(json, frame, line.ports);
  } else {
    WritePacketJson(json, frame);
    if (line.icrc != IcrcResult::kUnknown) json.Bool("icrc_ok", line.icrc == IcrcResult::kValid);
  }
  json.Finish();
}

}  // namespace rocescope
