// SPDX-License-Identifier: BSD-3-Clause
// sFlow datagrams, their samples, and the packets in them.
#include <algorithm>
#include <optional>
#include <vector>

#include "dataplane/telemetry/telemetry_reader.h"
#include "dataplane/wire/sflow_flow_record.h"

namespace rocescope {
namespace {

constexpr uint32_t kFcsSize = 4;
constexpr uint32_t kLargestVlan = 4094;

std::optional<LinkType> LinkTypeOf(uint32_t protocol) {
  switch (protocol) {
    case wire::kSflowHeaderEthernet:
      return LinkType::kEthernet;
    case wire::kSflowHeaderIpv4:
      return LinkType::kIpv4;
    case wire::kSflowHeaderIpv6:
      return LinkType::kIpv6;
    default:
      return std::nullopt;
  }
}

// Packets that the agent received, sent or dropped itself, and packets with several output ports,
// have no single port.
uint32_t PortOf(const wire::SflowInterface& interface) {
  const bool single = interface.format == 0 && interface.value != wire::SflowInterface::kInternal;
  return single ? interface.value : 0;
}

template <typename Record>
bool ReadRecord(std::span<const uint8_t> body, Record& record) {
  wire::ByteReader in(body);
  Read(in, record);
  return in.ok();
}

// Reads a record of one word. Returns false if the record is shorter.
bool ReadWord(std::span<const uint8_t> body, uint32_t& value) {
  wire::SflowWordRecord record;
  if (!ReadRecord(body, record)) return false;
  value = record.value;
  return true;
}

}  // namespace

DropReason TelemetryReader::TakeSflow(std::span<const uint8_t> bytes, const Datagram& datagram) {
  ++counters_.sflow_datagrams.received;
  const DropReason reason = WalkSflow(bytes, datagram);
  if (reason == DropReason::kNone) {
    ++counters_.sflow_datagrams.decoded;
  } else {
    ++counters_.sflow_datagrams.dropped[static_cast<size_t>(reason)];
  }
  return reason;
}

DropReason TelemetryReader::WalkSflow(std::span<const uint8_t> bytes, const Datagram& datagram) {
  const DropReason ended = datagram.cut ? DropReason::kTruncatedTelemetry : DropReason::kBadSflow;
  wire::ByteReader in(bytes);
  wire::SflowDatagramHeader header;
  Read(in, header);
  if (!in.ok()) return ended;
  if (header.version != 5) return DropReason::kBadSflow;
  if (const DropReason refused = CheckSflow(header.agent, datagram); refused != DropReason::kNone) {
    return refused;
  }
  Follow(FollowerOf(sflow_followers_, SflowKey(datagram.tap, header.agent, header.sub_agent)),
         header.sequence, UINT32_MAX);
  Ledger& ledger = counters_.samples;
  std::vector<SampleRecord>& out = datagram.out.samples;
  const SampleRecord like = {.tap = datagram.tap,
                             .agent = header.agent,
                             .sub_agent = header.sub_agent,
                             .event_time = datagram.arrival,
                             .arrival_time = datagram.arrival};
  for (uint32_t i = 0; i < header.samples; ++i) {
    wire::SflowBlock block;
    Read(in, block);
    if (!in.ok()) return ended;
    ++ledger.received;
    const std::span<const uint8_t> body = in.Bytes(block.length);
    if (!in.ok()) {
      ++ledger.dropped[static_cast<size_t>(ended)];
      return ended;
    }
    // Constructed in place, and removed again unless it is a packet sample.
    SampleRecord& sample = out.emplace_back(like);
    bool filtered = false;
    const DropReason reason = TakeSample(block.tag, body, sample, datagram, filtered);
    const bool of_packet =
        block.tag != wire::kSflowCounterSample && block.tag != wire::kSflowExpandedCounterSample;
    if (of_packet && reason == DropReason::kNone && !filtered) {
      ++counters_.sample_records;
    } else {
      out.pop_back();
    }
    if (reason != DropReason::kNone) {
      ++ledger.dropped[static_cast<size_t>(reason)];
    } else if (filtered) {
      ++ledger.filtered;
    } else {
      ++ledger.decoded;
    }
  }
  return DropReason::kNone;
}

DropReason TelemetryReader::TakeSample(uint32_t tag, std::span<const uint8_t> body,
                                       SampleRecord& sample, const Datagram& datagram,
                                       bool& filtered) {
  wire::ByteReader in(body);
  uint32_t records = 0;
  switch (tag) {
    case wire::kSflowFlowSample:
    case wire::kSflowExpandedFlowSample: {
      wire::SflowFlowSample flow = {.expanded = tag == wire::kSflowExpandedFlowSample};
      Read(in, flow);
      sample.source_index = flow.source.index;
      sample.input_port = PortOf(flow.input);
      sample.output_port = PortOf(flow.output);
      sample.sampling_rate = flow.sampling_rate;
      sample.discarded = flow.output.format == 1;
      if (sample.discarded) sample.discard_reason = flow.output.value;
      records = flow.records;
      break;
    }
    case wire::kSflowDiscardedPacket: {
      wire::SflowDiscardedPacket discarded;
      Read(in, discarded);
      sample.source_index = discarded.source.index;
      sample.input_port = discarded.input;
      sample.output_port = discarded.output;
      sample.discarded = true;
      sample.discard_reason = discarded.reason;
      records = discarded.records;
      break;
    }
    case wire::kSflowCounterSample:
    case wire::kSflowExpandedCounterSample: {
      wire::SflowCounterSample counters = {.expanded = tag == wire::kSflowExpandedCounterSample};
      Read(in, counters);
      if (!in.ok()) return DropReason::kBadSflow;
      return TakeCounters(in, counters.records, counters.source, sample, datagram);
    }
    default:
      return DropReason::kUnknownSample;
  }
  if (!in.ok() || !ReadFlowRecords(in, records, sample)) return DropReason::kBadSflow;
  filtered = Filters(sample.packet);
  if (filtered) return DropReason::kNone;
  if (!sample.packet.known) ++counters_.packets_unknown;
  return DropReason::kNone;
}

// Returns false if the records exceed their sample.
bool TelemetryReader::ReadFlowRecords(wire::ByteReader& in, uint32_t records,
                                      SampleRecord& sample) {
  for (uint32_t i = 0; i < records; ++i) {
    wire::SflowBlock block;
    Read(in, block);
    const std::span<const uint8_t> body = in.Bytes(block.length);
    if (!in.ok()) return false;
    switch (block.tag) {
      case wire::kSflowSampledHeader:
        TakeHeader(body, sample);
        break;
      case wire::kSflowExtendedSwitch: {
        wire::SflowSwitchRecord record;
        // All ones, and values that are not VLAN IDs, mean "unknown".
        if (ReadRecord(body, record) && record.source_vlan <= kLargestVlan) {
          sample.vlan = static_cast<uint16_t>(record.source_vlan);
        }
        break;
      }
      case wire::kSflowEgressQueue:
        sample.has_queue = ReadWord(body, sample.queue_id);
        break;
      case wire::kSflowQueueDepth:
        sample.has_queue_depth = ReadWord(body, sample.queue_depth);
        break;
      case wire::kSflowTransitDelay:
        sample.has_transit_delay = ReadWord(body, sample.transit_delay_ns);
        break;
      default:
        ++counters_.records_skipped;
    }
  }
  return true;
}

void TelemetryReader::TakeHeader(std::span<const uint8_t> body, SampleRecord& sample) {
  wire::SflowSampledHeader header;
  if (!ReadRecord(body, header)) return;
  const bool ethernet = header.protocol == wire::kSflowHeaderEthernet;
  sample.frame_length =
      header.frame_length - (ethernet ? std::min(kFcsSize, header.frame_length) : 0);
  if (const auto link_type = LinkTypeOf(header.protocol)) {
    ReadPacket(*link_type, header.bytes, sample.packet);
  }
}

}  // namespace rocescope
