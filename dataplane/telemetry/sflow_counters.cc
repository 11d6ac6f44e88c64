// SPDX-License-Identifier: BSD-3-Clause
// Conversion of sFlow counter samples to counter records.
#include <limits>
#include <string>
#include <utility>

#include "dataplane/telemetry/telemetry_reader.h"
#include "dataplane/wire/sflow_counter_record.h"

namespace rocescope {
namespace {

// Appends records of one entity.
class Emitter {
 public:
  Emitter(CounterRecord like, std::vector<CounterRecord>& out)
      : like_(std::move(like)), out_(out) {}

  // All ones: the agent does not have this counter.
  template <typename Value>
  void Add(Metric metric, Value value) {
    if (value == std::numeric_limits<Value>::max()) return;
    like_.metric = metric;
    like_.bits = InfoOf(metric).kind == MetricKind::kGauge ? 64 : sizeof(Value) * 8;
    like_.value = value;
    out_.push_back(like_);
  }

 private:
  CounterRecord like_;
  std::vector<CounterRecord>& out_;
};

// Sum of unicast, multicast and broadcast packets. An agent that cannot distinguish them counts all
// as unicast.
uint32_t Packets(uint32_t unicast, uint32_t multicast, uint32_t broadcast) {
  if (unicast == UINT32_MAX) return UINT32_MAX;
  return unicast + (multicast == UINT32_MAX ? 0 : multicast) +
         (broadcast == UINT32_MAX ? 0 : broadcast);
}

void Emit(const wire::SflowInterfaceRecord& record, Emitter& out) {
  constexpr uint32_t kEnabled = 1;
  constexpr uint32_t kOperational = 2;
  out.Add(Metric::kLinkSpeed, record.speed);
  out.Add(Metric::kLinkUp, uint32_t{(record.status & kOperational) != 0});
  out.Add(Metric::kAdminUp, uint32_t{(record.status & kEnabled) != 0});
  out.Add(Metric::kRxBytes, record.in_octets);
  out.Add(Metric::kRxPackets, Packets(record.in_unicast, record.in_multicast, record.in_broadcast));
  out.Add(Metric::kRxDiscards, record.in_discards);
  out.Add(Metric::kRxErrors, record.in_errors);
  out.Add(Metric::kTxBytes, record.out_octets);
  out.Add(Metric::kTxPackets,
          Packets(record.out_unicast, record.out_multicast, record.out_broadcast));
  out.Add(Metric::kTxDiscards, record.out_discards);
  out.Add(Metric::kTxErrors, record.out_errors);
}

void Emit(const wire::SflowEthernetRecord& record, Emitter& out) {
  out.Add(Metric::kFcsErrors, record.fcs_errors);
  out.Add(Metric::kSymbolErrors, record.symbol_errors);
}

void Emit(const wire::SflowCpuRecord& record, Emitter& out) {
  out.Add(Metric::kCpuBusy, record.user_ms + record.nice_ms + record.system_ms +
                                record.interrupt_ms + record.soft_interrupt_ms);
  out.Add(Metric::kCpuIdle, record.idle_ms + record.wait_ms);
}

void Emit(const wire::SflowMemoryRecord& record, Emitter& out) {
  out.Add(Metric::kMemoryTotal, record.total);
  out.Add(Metric::kMemoryFree, record.free);
}

void Emit(const wire::SflowNetworkRecord& record, Emitter& out) {
  out.Add(Metric::kRxBytes, record.in_octets);
  out.Add(Metric::kRxPackets, record.in_packets);
  out.Add(Metric::kRxErrors, record.in_errors);
  out.Add(Metric::kRxDiscards, record.in_drops);
  out.Add(Metric::kTxBytes, record.out_octets);
  out.Add(Metric::kTxPackets, record.out_packets);
  out.Add(Metric::kTxErrors, record.out_errors);
  out.Add(Metric::kTxDiscards, record.out_drops);
}

void Emit(const wire::SflowGpuRecord& record, Emitter& out) {
  out.Add(Metric::kGpuCount, record.devices);
  out.Add(Metric::kGpuProcesses, record.processes);
  out.Add(Metric::kGpuBusy, record.busy_ms);
  out.Add(Metric::kGpuMemoryBusy, record.memory_busy_ms);
  out.Add(Metric::kMemoryTotal, record.memory_total);
  out.Add(Metric::kMemoryFree, record.memory_free);
  out.Add(Metric::kEccErrors, record.ecc_errors);
  out.Add(Metric::kEnergy, record.energy_mj);
  out.Add(Metric::kTemperature, record.temperature);
}

// A record that is longer than expected is a newer version of the structure.
template <typename Record>
void EmitRead(std::span<const uint8_t> body, CounterRecord like, EntityKind kind,
              std::vector<CounterRecord>& out) {
  wire::ByteReader in(body);
  Record record;
  Read(in, record);
  if (!in.ok()) return;
  like.entity.kind = kind;
  if constexpr (requires { record.index; }) like.entity.index = record.index;
  if (kind != EntityKind::kPort) like.entity.index = CounterEntity::kNoIndex;
  Emitter emitter(std::move(like), out);
  Emit(record, emitter);
}

}  // namespace

DropReason TelemetryReader::TakeCounters(wire::ByteReader& in, uint32_t records,
                                         const wire::SflowSource& source,
                                         const SampleRecord& sample, const Datagram& datagram) {
  CounterRecord like = {.tap = datagram.tap,
                        .entity = {.index = source.index, .agent = sample.agent},
                        .event_time = datagram.arrival,
                        .arrival_time = datagram.arrival};
  // The record with the host's name may follow the records of its counters. If the records exceed
  // the sample, nothing is emitted.
  const wire::ByteReader begin = in;
  for (uint32_t i = 0; i < records; ++i) {
    wire::SflowBlock block;
    Read(in, block);
    const std::span<const uint8_t> body = in.Bytes(block.length);
    if (!in.ok()) return DropReason::kBadSflow;
    if (block.tag != wire::kSflowHostDescription) continue;
    wire::ByteReader description(body);
    wire::SflowHostRecord host;
    Read(description, host);
    if (description.ok()) like.entity.node = host.name.substr(0, 64);
  }
  in = begin;
  std::vector<CounterRecord>& out = datagram.out.counters;
  const size_t before = out.size();
  for (uint32_t i = 0; i < records; ++i) {
    wire::SflowBlock block;
    Read(in, block);
    const std::span<const uint8_t> body = in.Bytes(block.length);
    switch (block.tag) {
      case wire::kSflowInterfaceCounters:
        EmitRead<wire::SflowInterfaceRecord>(body, like, EntityKind::kPort, out);
        break;
      case wire::kSflowEthernetCounters:
        EmitRead<wire::SflowEthernetRecord>(body, like, EntityKind::kPort, out);
        break;
      case wire::kSflowHostCpu:
        EmitRead<wire::SflowCpuRecord>(body, like, EntityKind::kHost, out);
        break;
      case wire::kSflowHostMemory:
        EmitRead<wire::SflowMemoryRecord>(body, like, EntityKind::kHost, out);
        break;
      case wire::kSflowHostNetwork:
        EmitRead<wire::SflowNetworkRecord>(body, like, EntityKind::kHost, out);
        break;
      case wire::kSflowGpu:
        EmitRead<wire::SflowGpuRecord>(body, like, EntityKind::kGpu, out);
        break;
      case wire::kSflowHostDescription:
        break;
      default:
        ++counters_.records_skipped;
    }
  }
  counters_.counter_records += out.size() - before;
  return DropReason::kNone;
}

}  // namespace rocescope
