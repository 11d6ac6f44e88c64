// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/counter_log.h"

#include <string>
#include <utility>

namespace rocescope::sim {
namespace {

uint64_t SumOf(const std::array<uint64_t, kPriorities>& counts) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum += count;
  return sum;
}

void AppendLink(const Port& port, SimTime now, const WallClock& clock, CounterLine& line) {
  const PortCounters& counters = port.counters();
  line.metrics.insert(line.metrics.end(),
                      {{Metric::kRxBytes, counters.rx_bytes},
                       {Metric::kRxPackets, counters.rx_frames},
                       {Metric::kTxBytes, counters.tx_bytes},
                       {Metric::kTxPackets, counters.tx_frames},
                       {Metric::kFcsErrors, counters.fcs_errors},
                       {Metric::kLinkUp, port.up() ? 1u : 0u},
                       {Metric::kLinkFlaps, counters.went_down},
                       {Metric::kLinkSpeed, clock.Speed(port.bits_per_second())}});
  if (port.fec() == nullptr) return;
  const FecCounts codewords = port.fec()->FecAt(now);
  line.metrics.insert(line.metrics.end(), {{Metric::kFecCorrected, codewords.corrected},
                                           {Metric::kFecUncorrected, codewords.uncorrected}});
}

bool IsUntouched(const PortCounters& counters, uint32_t priority) {
  return (counters.pause_rx[priority] | counters.pause_tx[priority] |
          counters.ecn_marked[priority] | counters.dropped[priority] |
          counters.watermark[priority] | counters.watchdog[priority]) == 0;
}

}  // namespace

CounterLog::CounterLog(Network& network, const CounterLogOptions& options, TextFile& file)
    : network_(network),
      options_(options),
      file_(file),
      told_(network.fabric().ports().size(), options.priorities) {}

void CounterLog::Start() {
  Read();
  if (options_.period <= 0) return;
  // A std::function event, because this object may be destroyed before the engine.
  network_.engine().At(network_.engine().Now() + options_.period, [this] { Start(); });
}

void CounterLog::Read() {
  const topology::Fabric& fabric = network_.fabric();
  for (const topology::Node& node : fabric.nodes()) {
    // A crashed node reports nothing.
    const auto index = static_cast<topology::NodeIndex>(&node - fabric.nodes().data());
    if (!node.IsSwitch() || !network_.switch_at(index).is_up()) continue;
    for (uint32_t i = 0; i < node.port_count; ++i) {
      if (fabric.port(node.first_port + i).link == topology::kNone) continue;
      ReadPort(node.name, node.first_port + i);
    }
  }
  for (topology::NicIndex nic = 0; nic < fabric.nics().size(); ++nic) {
    if (network_.nic(nic).is_up()) ReadNic(nic);
  }
}

void CounterLog::ReadPort(std::string_view node, topology::PortIndex index) {
  Port& port = network_.port(index);
  CounterLine line{.entity = {.kind = EntityKind::kPort,
                              .node = std::string(node),
                              .port = network_.fabric().port(index).name}};
  AppendLink(port, network_.engine().Now(), options_.clock, line);
  const PortCounters& counters = port.counters();
  line.metrics.insert(line.metrics.end(),
                      {{Metric::kRxDiscards, SumOf(counters.dropped) + counters.harmless_discards},
                       {Metric::kTxDiscards, counters.discarded},
                       {Metric::kTtlDrops, counters.ttl_expired},
                       {Metric::kNoRouteDrops, counters.no_route},
                       {Metric::kMtuDrops, counters.too_long}});
  Put(line);
  ReadPriorities(line, port, index, true);
}

void CounterLog::ReadNic(topology::NicIndex index) {
  const topology::Nic& of = network_.fabric().nic(index);
  Nic& nic = network_.nic(index);
  const NicCounters& counters = nic.counters();
  CounterLine line{.entity = {.kind = EntityKind::kNic,
                              .node = network_.fabric().node(of.host).name,
                              .port = of.device}};
  AppendLink(nic.port(), network_.engine().Now(), options_.clock, line);
  line.metrics.insert(line.metrics.end(),
                      {{Metric::kRxDiscards, counters.rx_discards},
                       {Metric::kCnpSent, counters.np_cnp_sent},
                       {Metric::kCnpHandled, counters.rp_cnp_handled},
                       {Metric::kEcnMarkedRoce, counters.np_ecn_marked_roce_packets},
                       {Metric::kOutOfSequence, counters.out_of_sequence},
                       {Metric::kDuplicateRequest, counters.duplicate_request},
                       {Metric::kPacketSequenceError, counters.packet_seq_err},
                       {Metric::kLocalAckTimeout, counters.local_ack_timeout_err},
                       {Metric::kIcrcErrors, counters.rx_icrc_encapsulated}});
  Put(line);
  ReadPriorities(line, nic.port(), of.port, false);
}

void CounterLog::ReadPriorities(CounterLine& line, Port& port, topology::PortIndex index,
                                bool is_switch) {
  PortCounters& counters = port.counters();
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    if ((told_[index] >> priority & 1) == 0) {
      if (IsUntouched(counters, priority)) continue;
      told_[index] |= static_cast<uint8_t>(1u << priority);
    }
    line.entity.priority = priority;
    line.metrics = {{Metric::kPfcRx, counters.pause_rx[priority]},
                    {Metric::kPfcTx, counters.pause_tx[priority]},
                    {Metric::kPfcRxTime, Nanoseconds(port.PausedFor(priority))},
                    {Metric::kPfcTxTime, Nanoseconds(port.PausingFor(priority))}};
    if (is_switch) {
      SharedBuffer& buffer = network_.switch_at(network_.fabric().port(index).node).buffer();
      line.metrics.insert(line.metrics.end(),
                          {{Metric::kEcnMarked, counters.ecn_marked[priority]},
                           {Metric::kQueueBytes, port.queued(priority)},
                           {Metric::kQueueWatermark, counters.watermark[priority]},
                           {Metric::kBufferWatermark, buffer.TakePeak(port.number(), priority)},
                           {Metric::kQueueDrops, counters.dropped[priority]},
                           {Metric::kPfcWatchdog, counters.watchdog[priority]}});
      counters.watermark[priority] = port.queued(priority);
    }
    Put(line);
  }
}

void CounterLog::Add(CounterLine line) { Put(line); }

void CounterLog::Put(CounterLine& line) {
  line.time = options_.clock.At(network_.engine().Now());
  AppendCounterLine(line, file_.text());
  file_.Relieve();
}

}  // namespace rocescope::sim
