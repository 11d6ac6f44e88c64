// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ns3_export/recorder.h"

#include <fmt/format.h>
#include <ns3/simulator.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rocescope::ns3_export {
namespace {

constexpr size_t kSampledBytes = 128;
// The collector never loses a frame, so that captures and counters of a run agree.
constexpr uint64_t kCollectorRate = 400'000'000'000;
constexpr uint64_t kCollectorQueue = uint64_t{1} << 32;

}  // namespace

sim::SimTime Now() { return ns3::Simulator::Now().GetPicoSeconds(); }

Recorder::Recorder(const topology::Fabric& fabric, const Options& options)
    : fabric_(fabric),
      options_(options),
      sessions_(fabric.nodes().size()),
      agents_(fabric.nodes().size()),
      sources_(fabric.ports().size()),
      numbers_(fabric.ports().size()) {}

Result<std::unique_ptr<Recorder>> Recorder::Make(const topology::Fabric& fabric,
                                                 const Options& options) {
  std::unique_ptr<Recorder> recorder(new Recorder(fabric, options));
  if (!fabric.taps().empty()) {
    if (Status opened = recorder->Open(recorder->mirror_, "mirror.pcap"); !opened) {
      return tl::unexpected(opened.error());
    }
  }
  if (options.sflow_rate > 0) {
    if (Status opened = recorder->Open(recorder->sflow_, "sflow.pcap"); !opened) {
      return tl::unexpected(opened.error());
    }
  }
  if (options.counter_period.IsStrictlyPositive()) {
    auto counters = CounterLinesWriter::Open(options.directory + "/counters.jsonl");
    if (!counters) return tl::unexpected(counters.error());
    recorder->counters_ = *std::move(counters);
  }
  uint32_t number = 0;
  for (topology::NodeIndex node = 0; node < fabric.nodes().size(); ++node) {
    const topology::Node& at = fabric.node(node);
    if (!at.IsSwitch()) continue;
    if (recorder->sflow_.port) {
      recorder->agents_[node].emplace(at, number, *recorder->sflow_.port);
    }
    for (const topology::Tap& tap : fabric.taps()) {
      if (tap.node != node) continue;
      const auto& collector = recorder->mirror_.port->options();
      recorder->sessions_[node] =
          sim::ErspanSession{.number = static_cast<uint16_t>(tap.session),
                             .switch_id = static_cast<uint16_t>(at.int_switch_id),
                             .envelope = {.source_mac = sim::MacOfSwitch(number),
                                          .destination_mac = collector.mac,
                                          .source = at.erspan_source,
                                          .destination = collector.address}};
    }
    ++number;
  }
  for (topology::PortIndex port = 0; port < fabric.ports().size(); ++port) {
    Source& source = recorder->sources_[port];
    source.random = sim::Random(options.seed, "sflow", port);
    if (options.sflow_rate > 0) source.skip = recorder->Skip(source);
  }
  return recorder;
}

Status Recorder::Open(Capture& capture, const char* name) {
  auto file = sim::PcapFile::Open(fmt::format("{}/{}", options_.directory, name));
  if (!file) return tl::unexpected(file.error());
  capture.file = *std::move(file);
  capture.port = std::make_unique<sim::CollectorPort>(
      sim::CollectorPortOptions{.clock = {FromNanoseconds(options_.epoch_ns)},
                                .bits_per_second = kCollectorRate,
                                .queue_bytes = kCollectorQueue},
      *capture.file);
  return {};
}

void Recorder::Copy(const PortMonitor& port, const ns3::Packet& packet, bool egress) {
  std::optional<sim::ErspanSession>& session = sessions_[fabric_.port(port.index()).node];
  if (!session) return;
  const uint32_t whole = FrameLength(packet, port.link());
  const uint32_t kept = options_.snap_length == 0 ? whole : std::min(whole, options_.snap_length);
  const std::span<uint8_t> room =
      sim::BeginErspanCopy(*mirror_.port, Now(), *session,
                           {.port_index = fabric_.port(port.index()).number,
                            .egress = egress,
                            .frame_bytes = whole,
                            .kept_bytes = kept});
  if (room.empty()) return;
  WriteFrame(packet, port.link(), egress, room);
  mirror_.port->End();
  ++counts_.mirrored;
}

void Recorder::Receives(const PortMonitor& port, const ns3::Packet& packet) {
  Copy(port, packet, false);
  if (agents_[fabric_.port(port.index()).node]) Choose(port, packet);
}

void Recorder::Choose(const PortMonitor& port, const ns3::Packet& packet) {
  Source& source = sources_[port.index()];
  ++source.pool;
  if (--source.skip > 0) return;
  source.skip = Skip(source);
  Chosen& chosen = chosen_[packet.GetUid()];
  chosen.node = fabric_.port(port.index()).node;
  chosen.header.resize(kSampledBytes);
  chosen.header.resize(WriteFrame(packet, port.link(), false, chosen.header));
  chosen.sample = {.sequence = ++source.sequence,
                   .rate = options_.sflow_rate,
                   .pool = source.pool,
                   .input = fabric_.port(port.index()).number,
                   .packet = {.length = FrameLength(packet, port.link())}};
}

void Recorder::Sends(const PortMonitor& port, const ns3::Packet& packet) {
  if (options_.mirror_egress) Copy(port, packet, true);
  if (chosen_.empty()) return;
  const auto at = chosen_.find(packet.GetUid());
  if (at == chosen_.end() || at->second.node != fabric_.port(port.index()).node) return;
  Chosen& chosen = at->second;
  chosen.sample.output = fabric_.port(port.index()).number;
  chosen.sample.packet.header = chosen.header;
  agents_[chosen.node]->Add(Now(), chosen.sample);
  ++counts_.samples;
  chosen_.erase(at);
}

void Recorder::ReadCounters(std::span<const std::unique_ptr<PortMonitor>> ports,
                            const LinkStates& up) {
  if (counters_) {
    for (const auto& port : ports) ReadPort(*port, up[port->index()]);
  }
  for (const auto& port : ports) {
    std::optional<sim::SflowExporter>& agent = agents_[fabric_.port(port->index()).node];
    if (!agent) continue;
    const PortCounters& counters = port->counters();
    agent->Add(Now(), sim::SflowExporter::Counters{
                          .sequence = ++sources_[port->index()].counter_sequence,
                          .port = fabric_.port(port->index()).number,
                          .bits_per_second = fabric_.SpeedOf(port->index()),
                          .is_up = up[port->index()],
                          .rx_bytes = counters.rx_bytes,
                          .rx_frames = counters.rx_packets,
                          .rx_discards =
                              counters.rx_discards + counters.ttl_drops + counters.no_route_drops,
                          .fcs_errors = counters.fcs_errors,
                          .tx_bytes = counters.tx_bytes,
                          .tx_frames = counters.tx_packets,
                          .tx_discards = counters.tx_discards});
  }
  for (std::optional<sim::SflowExporter>& agent : agents_) {
    if (agent) agent->Send(Now());
  }
}

void Recorder::ReadPort(PortMonitor& port, bool up) {
  const topology::Port& at = fabric_.port(port.index());
  const topology::Node& node = fabric_.node(at.node);
  const PortCounters& c = port.counters();
  std::vector<std::pair<Metric, uint64_t>> reading = {
      {Metric::kRxBytes, c.rx_bytes},       {Metric::kRxPackets, c.rx_packets},
      {Metric::kTxBytes, c.tx_bytes},       {Metric::kTxPackets, c.tx_packets},
      {Metric::kFcsErrors, c.fcs_errors},   {Metric::kLinkUp, up ? 1 : 0},
      {Metric::kLinkFlaps, c.link_flaps},   {Metric::kLinkSpeed, fabric_.SpeedOf(port.index())},
      {Metric::kRxDiscards, c.rx_discards}, {Metric::kTxDiscards, c.tx_discards}};
  Numbers& numbers = numbers_[port.index()];
  CounterEntity entity{.kind = node.IsSwitch() ? EntityKind::kPort : EntityKind::kNic,
                       .node = node.name,
                       .port = at.name};
  if (!node.IsSwitch()) {
    reading.insert(reading.end(), {{Metric::kCnpSent, c.cnp_sent},
                                   {Metric::kCnpHandled, c.cnp_handled},
                                   {Metric::kEcnMarkedRoce, c.ecn_marked_roce},
                                   {Metric::kPacketSequenceError, c.sequence_naks}});
    Put(entity, numbers.port, reading);
    return;
  }
  // ns-3 has no administrative state: an interface that the program takes down is a broken link.
  reading.insert(reading.end(), {{Metric::kAdminUp, 1},
                                 {Metric::kTtlDrops, c.ttl_drops},
                                 {Metric::kNoRouteDrops, c.no_route_drops}});
  Put(entity, numbers.port, reading);
  entity.priority = options_.priority;
  Put(entity, numbers.queue,
      std::array{std::pair{Metric::kEcnMarked, c.ecn_marked},
                 std::pair{Metric::kQueueBytes, port.QueuedBytes()},
                 std::pair{Metric::kQueueWatermark, port.TakePeak()},
                 std::pair{Metric::kQueueDrops, c.queue_drops}});
}

void Recorder::Put(const CounterEntity& entity, std::optional<uint32_t>& number,
                   std::span<const std::pair<Metric, uint64_t>> reading) {
  std::vector<Metric> metrics;
  std::vector<uint64_t> values;
  for (const auto& [metric, value] : reading) {
    metrics.push_back(metric);
    values.push_back(value);
  }
  if (!number) number = counters_->Announce(entity, metrics);
  const Timestamp now = FromNanoseconds(options_.epoch_ns + ns3::Simulator::Now().GetNanoSeconds());
  counters_->Append(*number, now, now, values);
  ++counts_.readings;
}

Status Recorder::Finish() {
  for (std::optional<sim::SflowExporter>& agent : agents_) {
    if (agent) agent->Send(Now());
  }
  for (Capture* capture : {&mirror_, &sflow_}) {
    if (!capture->file) continue;
    if (Status closed = capture->file->Close(); !closed) return closed;
  }
  return counters_ ? counters_->Close() : Status();
}

}  // namespace rocescope::ns3_export
