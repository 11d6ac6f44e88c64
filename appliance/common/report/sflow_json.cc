// SPDX-License-Identifier: BSD-3-Clause
#include <optional>
#include <string>

#include "appliance/common/report/telemetry_json.h"
#include "dataplane/wire/sflow.h"
#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"

namespace rocescope {
namespace {

void WriteTag(JsonLine& json, const wire::SflowBlock& block) {
  json.Number("enterprise", wire::SflowEnterprise(block.tag));
  json.Number("format", wire::SflowFormat(block.tag));
  json.Number("length", block.length);
}

void WriteSource(JsonLine& json, const wire::SflowSource& source) {
  json.Number("source_class", source.source_class);
  json.Number("source_index", source.index);
}

template <typename Record>
std::optional<Record> ReadAs(std::span<const uint8_t> body) {
  wire::ByteReader in(body);
  Record record;
  Read(in, record);
  if (!in.ok()) return std::nullopt;
  return record;
}

// Records that list their fields.
template <typename Record>
void WriteFields(JsonLine& json, std::string_view kind, std::span<const uint8_t> body) {
  const std::optional<Record> record = ReadAs<Record>(body);
  if (!record) return;
  json.Text("kind", kind);
  Record::kFields(*record, [&json](std::string_view name, const auto& field) {
    if constexpr (sizeof(field) == 8) {
      json.Text64(name, field);
    } else {
      json.Number(name, field);
    }
  });
}

void WriteWord(JsonLine& json, std::string_view name, std::span<const uint8_t> body) {
  const auto record = ReadAs<wire::SflowWordRecord>(body);
  if (record) json.Number(name, record->value);
}

void WriteSampledHeader(JsonLine& json, std::span<const uint8_t> body,
                        const TelemetryPorts& ports) {
  const auto header = ReadAs<wire::SflowSampledHeader>(body);
  if (!header) return;
  json.Text("kind", "sampled_header");
  json.Number("protocol", header->protocol);
  json.Number("frame_length", header->frame_length);
  json.Number("stripped", header->stripped);
  json.Number("header_length", header->bytes.size());
  if (header->protocol == wire::kSflowHeaderEthernet) {
    WriteInnerPacketJson(json, LinkType::kEthernet, header->bytes, ports);
  } else if (header->protocol == wire::kSflowHeaderIpv4) {
    WriteInnerPacketJson(json, LinkType::kIpv4, header->bytes, ports);
  } else if (header->protocol == wire::kSflowHeaderIpv6) {
    WriteInnerPacketJson(json, LinkType::kIpv6, header->bytes, ports);
  }
}

void WriteSwitch(JsonLine& json, std::span<const uint8_t> body) {
  const auto record = ReadAs<wire::SflowSwitchRecord>(body);
  if (!record) return;
  json.Text("kind", "switch");
  json.Number("source_vlan", record->source_vlan);
  json.Number("source_priority", record->source_priority);
  json.Number("destination_vlan", record->destination_vlan);
  json.Number("destination_priority", record->destination_priority);
}

void WriteRouter(JsonLine& json, std::span<const uint8_t> body) {
  const auto record = ReadAs<wire::SflowRouterRecord>(body);
  if (!record) return;
  json.Text("kind", "router");
  json.Text("next_hop", ToString(record->next_hop));
  json.Number("source_prefix", record->source_prefix);
  json.Number("destination_prefix", record->destination_prefix);
}

void WriteFlowRecord(JsonLine& json, uint32_t tag, std::span<const uint8_t> body,
                     const TelemetryPorts& ports) {
  switch (tag) {
    case wire::kSflowSampledHeader:
      return WriteSampledHeader(json, body, ports);
    case wire::kSflowExtendedSwitch:
      return WriteSwitch(json, body);
    case wire::kSflowExtendedRouter:
      return WriteRouter(json, body);
    case wire::kSflowEgressQueue:
      return WriteWord(json, "egress_queue", body);
    case wire::kSflowTransitDelay:
      return WriteWord(json, "transit_delay_ns", body);
    case wire::kSflowQueueDepth:
      return WriteWord(json, "queue_depth", body);
    default:
      return;
  }
}

void WriteCounterRecord(JsonLine& json, uint32_t tag, std::span<const uint8_t> body) {
  switch (tag) {
    case wire::kSflowInterfaceCounters:
      return WriteFields<wire::SflowInterfaceRecord>(json, "interface", body);
    case wire::kSflowEthernetCounters:
      return WriteFields<wire::SflowEthernetRecord>(json, "ethernet", body);
    case wire::kSflowHostCpu:
      return WriteFields<wire::SflowCpuRecord>(json, "cpu", body);
    case wire::kSflowHostMemory:
      return WriteFields<wire::SflowMemoryRecord>(json, "memory", body);
    case wire::kSflowHostNetwork:
      return WriteFields<wire::SflowNetworkRecord>(json, "network", body);
    case wire::kSflowGpu:
      return WriteFields<wire::SflowGpuRecord>(json, "gpu", body);
    case wire::kSflowHostDescription:
      if (const auto host = ReadAs<wire::SflowHostRecord>(body)) {
        json.Text("kind", "host");
        json.Text("name", host->name);
        json.Text("release", host->release);
        json.Number("machine", host->machine);
        json.Number("system", host->system);
      }
      return;
    default:
      return;
  }
}

void WriteRecords(JsonLine& json, wire::ByteReader& in, uint32_t records, bool counters,
                  const TelemetryPorts& ports) {
  json.BeginArray("records");
  for (uint32_t i = 0; i < records && in.ok(); ++i) {
    wire::SflowBlock block;
    Read(in, block);
    const std::span<const uint8_t> body = in.Bytes(block.length);
    json.BeginElement();
    if (in.ok()) {
      WriteTag(json, block);
      if (counters) {
        WriteCounterRecord(json, block.tag, body);
      } else {
        WriteFlowRecord(json, block.tag, body, ports);
      }
    } else {
      json.Text("error", kDropReasons[static_cast<size_t>(DropReason::kBadSflow)].name);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteFlowSample(JsonLine& json, wire::ByteReader in, bool expanded,
                     const TelemetryPorts& ports) {
  wire::SflowFlowSample sample = {.expanded = expanded};
  Read(in, sample);
  if (!in.ok()) return;
  json.Text("kind", "flow");
  json.Number("sequence", sample.sequence);
  WriteSource(json, sample.source);
  json.Number("rate", sample.sampling_rate);
  json.Number("pool", sample.sample_pool);
  json.Number("drops", sample.drops);
  json.Number("input_format", sample.input.format);
  json.Number("input", sample.input.value);
  json.Number("output_format", sample.output.format);
  json.Number("output", sample.output.value);
  WriteRecords(json, in, sample.records, false, ports);
}

void WriteCounterSample(JsonLine& json, wire::ByteReader in, bool expanded,
                        const TelemetryPorts& ports) {
  wire::SflowCounterSample sample = {.expanded = expanded};
  Read(in, sample);
  if (!in.ok()) return;
  json.Text("kind", "counters");
  json.Number("sequence", sample.sequence);
  WriteSource(json, sample.source);
  WriteRecords(json, in, sample.records, true, ports);
}

void WriteDiscardedPacket(JsonLine& json, wire::ByteReader in, const TelemetryPorts& ports) {
  wire::SflowDiscardedPacket sample;
  Read(in, sample);
  if (!in.ok()) return;
  json.Text("kind", "discarded");
  json.Number("sequence", sample.sequence);
  WriteSource(json, sample.source);
  json.Number("drops", sample.drops);
  json.Number("input", sample.input);
  json.Number("output", sample.output);
  json.Number("reason", sample.reason);
  WriteRecords(json, in, sample.records, false, ports);
}

void WriteSample(JsonLine& json, const wire::SflowBlock& block, std::span<const uint8_t> body,
                 const TelemetryPorts& ports) {
  const wire::ByteReader in(body);
  switch (block.tag) {
    case wire::kSflowFlowSample:
    case wire::kSflowExpandedFlowSample:
      return WriteFlowSample(json, in, block.tag == wire::kSflowExpandedFlowSample, ports);
    case wire::kSflowCounterSample:
    case wire::kSflowExpandedCounterSample:
      return WriteCounterSample(json, in, block.tag == wire::kSflowExpandedCounterSample, ports);
    case wire::kSflowDiscardedPacket:
      return WriteDiscardedPacket(json, in, ports);
    default:
      return;
  }
}

}  // namespace

void WriteSflowJson(JsonLine& json, const DecodedFrame& frame, const TelemetryPorts& ports) {
  const DropReason ended = frame.cut ? DropReason::kTruncatedTelemetry : DropReason::kBadSflow;
  const auto name = [](DropReason reason) {
    return kDropReasons[static_cast<size_t>(reason)].name;
  };
  json.BeginObject("sflow");
  wire::ByteReader in(frame.telemetry);
  wire::SflowDatagramHeader header;
  Read(in, header);
  if (!in.ok() || header.version != 5) {
    json.Text("error", name(in.ok() ? DropReason::kBadSflow : ended));
    json.EndObject();
    return;
  }
  json.Text("agent", ToString(header.agent));
  json.Number("sub_agent", header.sub_agent);
  json.Number("sequence", header.sequence);
  json.Number("uptime_ms", header.uptime_ms);
  json.BeginArray("samples");
  for (uint32_t i = 0; i < header.samples && in.ok(); ++i) {
    wire::SflowBlock block;
    Read(in, block);
    const std::span<const uint8_t> body = in.Bytes(block.length);
    json.BeginElement();
    if (in.ok()) {
      WriteTag(json, block);
      WriteSample(json, block, body, ports);
    } else {
      json.Text("error", name(ended));
    }
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace rocescope
