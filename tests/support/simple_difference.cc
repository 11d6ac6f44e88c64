// SPDX-License-Identifier: BSD-3-Clause
#include "tests/support/simple_difference.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace rocescope::test {
namespace {

class Fields {
 public:
  Fields(const RawFrame& raw, SimpleFrame& out) : raw_(raw), out_(out) {}

  void Set(const std::string& name, uint64_t value) { out_.fields[name] = std::to_string(value); }
  void SetText(const std::string& name, const std::string& value) { out_.fields[name] = value; }
  void Set(const std::string& name, const IpAddress& address) {
    out_.fields[name] = fmt::format("{:016x}{:016x}", address.high, address.low);
  }
  void Set(const std::string& name, std::span<const uint8_t> part) {
    out_.fields[name] =
        part.empty() ? "empty"
                     : fmt::format("at {}, {}", part.data() - raw_.bytes.data(), part.size());
  }

  void Pause(const DecodedFrame& frame) {
    SetText("kind", "pause");
    Set("wire_length", frame.wire_length);
    Set("pause.opcode", frame.pause.opcode);
    Set("pause.class_enable", frame.pause.class_enable);
    for (size_t i = 0; i < frame.pause.quanta.size(); ++i) {
      Set("pause.quanta" + std::to_string(i), frame.pause.quanta[i]);
    }
  }

  void Link(const DecodedFrame& frame) {
    Set("vlan_count", frame.vlan_count);
    if (frame.vlan_count > 0) Set("vlan_id", frame.vlan_id);
    Set("source_mac", frame.source_mac);
    Set("destination_mac", frame.destination_mac);
  }

  void Mirror(const MirrorInfo& mirror) {
    constexpr const char* kKinds[] = {"none", "erspan1", "erspan2", "erspan3",
                                      "gre",  "vxlan",   "geneve"};
    if (mirror.kind == MirrorKind::kNone) return;
    SetText("mirror.kind", kKinds[static_cast<size_t>(mirror.kind)]);
    Set("mirror.source", mirror.source);
    Set("mirror.destination", mirror.destination);
    if (mirror.has_sequence) Set("mirror.sequence", mirror.sequence);
    if (mirror.has_port_index) Set("mirror.port_index", mirror.port_index);
    if (mirror.has_timestamp) {
      Set("mirror.timestamp", mirror.timestamp);
      Set("mirror.granularity", static_cast<uint64_t>(mirror.granularity));
    }
    if (mirror.has_seconds) Set("mirror.seconds", mirror.timestamp_upper);
    if (mirror.has_upper_timestamp) Set("mirror.upper_timestamp", mirror.timestamp_upper);
    if (mirror.direction != MirrorDirection::kUnknown) {
      SetText("mirror.direction",
              mirror.direction == MirrorDirection::kEgress ? "egress" : "ingress");
    }
    if (mirror.kind == MirrorKind::kErspan2 || mirror.kind == MirrorKind::kErspan3) {
      Set("mirror.truncated", mirror.truncated);
      Set("mirror.session", mirror.session);
    }
  }

  void Transport(const DecodedFrame& frame) {
    SetText("kind", "roce");
    Set("ip_version", frame.ip_version);
    Set("source", frame.source);
    Set("destination", frame.destination);
    Set("traffic_class", frame.traffic_class);
    Set("ttl", frame.ttl);
    Set("udp_source_port", frame.udp_source_port);
    Set("roce_v1", frame.roce_v1);
    Set("wire_length", frame.wire_length);
    Set("cut", frame.cut);
    Set("segment", frame.segment);
    Set("bth.opcode", frame.bth.opcode);
    Set("bth.solicited_event", frame.bth.solicited_event);
    Set("bth.migration_request", frame.bth.migration_request);
    Set("bth.pad_count", frame.bth.pad_count);
    Set("bth.partition_key", frame.bth.partition_key);
    Set("bth.fecn", frame.bth.fecn);
    Set("bth.becn", frame.bth.becn);
    Set("bth.destination_qpn", frame.bth.destination_qpn.value);
    Set("bth.ack_request", frame.bth.ack_request);
    Set("bth.psn", frame.bth.psn);
    Set("payload_length", frame.payload_length);
    Set("payload", frame.payload);
    Set("network_packet", frame.network_packet);
    Set("int_stack", frame.int_stack);
    Headers(frame);
    if (frame.partial_bytes > 0) Partial(frame);
    if (frame.Has(kPartCm)) Management(frame.cm);
  }

 private:
  void Headers(const DecodedFrame& frame) {
    if (frame.Has(kPartReth)) {
      Set("reth", 1);
      Set("reth.virtual_address", frame.reth.virtual_address);
      Set("reth.rkey", frame.reth.rkey);
      Set("reth.dma_length", frame.reth.dma_length);
    }
    if (frame.Has(kPartAeth)) {
      Set("aeth", 1);
      Set("aeth.syndrome", frame.aeth.syndrome);
      Set("aeth.msn", frame.aeth.msn);
    }
    if (frame.Has(kPartDeth)) {
      Set("deth", 1);
      Set("deth.queue_key", frame.deth.queue_key);
      Set("deth.source_qpn", frame.deth.source_qpn.value);
    }
    if (frame.Has(kPartImmDt)) {
      Set("immediate", 1);
      Set("immediate.data", frame.immediate.data);
    }
    if (frame.Has(kPartIeth)) {
      Set("ieth", 1);
      Set("ieth.rkey", frame.ieth.rkey);
    }
    if (frame.Has(kPartAtomicEth)) {
      Set("atomic", 1);
      Set("atomic.virtual_address", frame.atomic.virtual_address);
      Set("atomic.rkey", frame.atomic.rkey);
      Set("atomic.swap_or_add", frame.atomic.swap_or_add);
      Set("atomic.compare", frame.atomic.compare);
    }
    if (frame.Has(kPartAtomicAckEth)) {
      Set("atomic_ack", 1);
      Set("atomic_ack.original_data", frame.atomic_ack.original_data);
    }
    if (frame.Has(kPartXrceth)) {
      Set("xrceth", 1);
      Set("xrceth.srq_number", frame.xrceth.srq_number);
    }
    if (frame.Has(kPartRdeth)) {
      Set("rdeth", 1);
      Set("rdeth.ee_context", frame.rdeth.ee_context);
    }
  }

  void Partial(const DecodedFrame& frame) {
    constexpr std::pair<PartBit, const char*> kNames[] = {{kPartReth, "reth"},
                                                          {kPartAeth, "aeth"},
                                                          {kPartDeth, "deth"},
                                                          {kPartImmDt, "immediate"},
                                                          {kPartIeth, "ieth"},
                                                          {kPartAtomicEth, "atomic"},
                                                          {kPartAtomicAckEth, "atomic_ack"},
                                                          {kPartXrceth, "xrceth"},
                                                          {kPartRdeth, "rdeth"}};
    for (const auto& [part, name] : kNames) {
      if (frame.partial == part)
        SetText("partial", fmt::format("{} {}", name, frame.partial_bytes));
    }
  }

  void Management(const wire::CmMessage& cm) {
    SetText("cm", "complete");
    Set("cm.attribute", static_cast<uint64_t>(cm.attribute));
    Set("cm.transaction_id", cm.transaction_id);
    Set("cm.local_comm_id", cm.local_comm_id);
    Set("cm.remote_comm_id", cm.remote_comm_id);
    Set("cm.local_qpn", cm.local_qpn.value);
    Set("cm.remote_qpn", cm.remote_qpn.value);
    Set("cm.starting_psn", cm.starting_psn);
    Set("cm.service_id", cm.service_id);
    Set("cm.reason", cm.reason);
    Set("cm.transport_service", cm.transport_service);
    Set("cm.path_mtu", cm.path_mtu);
  }

  const RawFrame& raw_;
  SimpleFrame& out_;
};

// A field that a decoder did not set has this value.
std::string ValueOf(const SimpleFrame& frame, const std::string& name) {
  const auto found = frame.fields.find(name);
  if (found != frame.fields.end()) return found->second;
  if (name == "network_packet" || name == "int_stack") return "empty";
  if (name == "roce_v1" || name == "source_mac" || name == "destination_mac" ||
      name == "vlan_count" || name == "udp_source_port") {
    return "0";
  }
  return "absent";
}

}  // namespace

SimpleFrame FieldsOf(const RawFrame& raw, const DecodedFrame& frame, DropReason reason) {
  SimpleFrame out;
  if (reason != DropReason::kNone) {
    out.drop = std::string(kDropReasons[static_cast<size_t>(reason)].name);
    return out;
  }
  Fields fields(raw, out);
  fields.Link(frame);
  fields.Mirror(frame.mirror);
  switch (frame.kind) {
    case FrameKind::kRoce:
      fields.Transport(frame);
      break;
    case FrameKind::kPause:
      fields.Pause(frame);
      break;
    case FrameKind::kIntReport:
    case FrameKind::kSflow:
      fields.SetText("kind", frame.kind == FrameKind::kSflow ? "sflow" : "int_report");
      fields.Set("cut", frame.cut);
      fields.Set("wire_length", frame.wire_length);
      fields.Set("telemetry", frame.telemetry);
      fields.Set("source", frame.source);
      break;
  }
  return out;
}

std::string SimpleDifference(const RawFrame& raw, const DecodedFrame& frame, DropReason reason) {
  const SimpleFrame actual = FieldsOf(raw, frame, reason);
  const SimpleFrame expected = DecodeSimply(raw.bytes, static_cast<int>(raw.link_type));
  std::string text;
  const auto compare = [&text](const std::string& name, const std::string& a,
                               const std::string& b) {
    if (a != b) text += fmt::format("{}: {}, simple decoder: {}\n", name, a, b);
  };
  compare("drop", actual.drop, expected.drop);
  if (!actual.drop.empty() || !expected.drop.empty()) return text;
  // The capture of a CM message may end after the fields that its attribute has.
  const bool incomplete = ValueOf(expected, "cm") == "incomplete";
  for (const auto& [name, value] : actual.fields) {
    if (incomplete && name.starts_with("cm")) continue;
    compare(name, value, ValueOf(expected, name));
  }
  if (actual.fields.at("kind") != "roce") return text;  // only RoCE has all fields
  for (const auto& [name, value] : expected.fields) {
    if (incomplete && name == "cm") continue;
    if (!actual.fields.contains(name)) compare(name, ValueOf(actual, name), value);
  }
  return text;
}

}  // namespace rocescope::test
