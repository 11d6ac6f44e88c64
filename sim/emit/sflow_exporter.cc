// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/sflow_exporter.h"

#include "dataplane/wire/ip.h"
#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kFcs = 4;
constexpr uint16_t kSflowSourcePort = 0xe000;  // UDP

constexpr size_t SampleBytes(size_t sample, size_t header) {
  return 2 * wire::SflowBlock::kSize + sample + wire::SflowSampledHeader::kSize +
         (header + 3) / 4 * 4;
}
constexpr size_t kCounterSampleBytes =
    3 * wire::SflowBlock::kSize + wire::SflowCounterSample::kSize +
    wire::SflowInterfaceRecord::kSize + wire::SflowEthernetRecord::kSize;

}  // namespace

SflowExporter::SflowExporter(const topology::Node& node, uint32_t number, CollectorPort& port,
                             uint16_t udp_port)
    : port_(port),
      address_(node.sflow_agent),
      envelope_{.source_mac = MacOfSwitch(number),
                .destination_mac = port.options().mac,
                .source = node.sflow_agent,
                .destination = port.options().address},
      udp_port_(udp_port),
      room_(kMaxDatagram) {}

void SflowExporter::Add(SimTime now, const PacketSample& sample) {
  wire::SflowWriter& datagram =
      DatagramFor(now, SampleBytes(wire::SflowFlowSample::kSize, sample.packet.header.size()));
  datagram.BeginSample(wire::kSflowFlowSample,
                       wire::SflowFlowSample{.sequence = sample.sequence,
                                             .source = {.index = sample.input},
                                             .sampling_rate = sample.rate,
                                             .sample_pool = sample.pool,
                                             .input = {.value = sample.input},
                                             .output = {.value = sample.output}});
  AddHeader(datagram, sample.packet);
}

void SflowExporter::Add(SimTime now, const DiscardedPacket& packet) {
  wire::SflowWriter& datagram =
      DatagramFor(now, SampleBytes(wire::SflowDiscardedPacket::kSize, packet.packet.header.size()));
  datagram.BeginSample(wire::kSflowDiscardedPacket,
                       wire::SflowDiscardedPacket{.sequence = packet.sequence,
                                                  .source = {.index = packet.input},
                                                  .drops = packet.missed,
                                                  .input = packet.input,
                                                  .output = packet.output,
                                                  .reason = packet.reason});
  AddHeader(datagram, packet.packet);
}

void SflowExporter::AddHeader(wire::SflowWriter& datagram, const Packet& packet) const {
  datagram.AddRecord(
      wire::kSflowSampledHeader,
      wire::SflowSampledHeader{
          .frame_length = packet.length + kFcs, .stripped = kFcs, .bytes = packet.header});
}

void SflowExporter::Add(SimTime now, const Counters& counters) {
  wire::SflowWriter& datagram = DatagramFor(now, kCounterSampleBytes);
  datagram.BeginSample(
      wire::kSflowCounterSample,
      wire::SflowCounterSample{.sequence = counters.sequence, .source = {.index = counters.port}});
  datagram.AddRecord(wire::kSflowInterfaceCounters,
                     wire::SflowInterfaceRecord{
                         .index = counters.port,
                         .speed = counters.bits_per_second,
                         .status = (counters.is_enabled ? 1u : 0u) | (counters.is_up ? 2u : 0u),
                         .in_octets = counters.rx_bytes + kFcs * counters.rx_frames,
                         .in_unicast = static_cast<uint32_t>(counters.rx_frames),
                         .in_discards = static_cast<uint32_t>(counters.rx_discards),
                         .in_errors = static_cast<uint32_t>(counters.fcs_errors),
                         .out_octets = counters.tx_bytes + kFcs * counters.tx_frames,
                         .out_unicast = static_cast<uint32_t>(counters.tx_frames),
                         .out_discards = static_cast<uint32_t>(counters.tx_discards)});
  datagram.AddRecord(
      wire::kSflowEthernetCounters,
      wire::SflowEthernetRecord{.fcs_errors = static_cast<uint32_t>(counters.fcs_errors)});
}

wire::SflowWriter& SflowExporter::DatagramFor(SimTime now, size_t bytes) {
  if (datagram_ && datagram_->size() + bytes > kMaxDatagram) Send(now);
  if (!datagram_) {
    datagram_start_ = now;
    datagram_.emplace(room_,
                      wire::SflowDatagramHeader{
                          .agent = address_,
                          .sequence = ++sequence_,
                          .uptime_ms = static_cast<uint32_t>(
                              port_.options().clock.Length(now - started_).count() / 1'000'000)});
  }
  return *datagram_;
}

void SflowExporter::Send(SimTime now) {
  if (!datagram_) return;
  const std::span<const uint8_t> contents = datagram_->Finish();
  const auto length =
      static_cast<uint32_t>(envelope_.Bytes() + wire::UdpHeader::kSize + contents.size());
  if (const auto room = port_.Begin(now, length); !room.empty()) {
    wire::ByteWriter out(room.first(length));
    WriteUdpEnvelope(out, envelope_, kSflowSourcePort, udp_port_, static_cast<uint16_t>(sequence_),
                     contents.size());
    out.Bytes(contents);
    port_.End();
  }
  datagram_.reset();
}

void SflowExporter::Restart(SimTime now) {
  datagram_.reset();
  sequence_ = 0;
  started_ = now;
}

}  // namespace rocescope::sim
