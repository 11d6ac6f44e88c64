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

constexpr size_t kMostMetrics = 24;

// The metrics of a reading and their values, in the order of the Add calls.
struct Reading {
  std::array<Metric, kMostMetrics> metrics;
  std::array<uint64_t, kMostMetrics> values;
  size_t count = 0;

  void Add(Metric metric, uint64_t value) {
    metrics[count] = metric;
    values[count++] = value;
  }
};

void AddLink(const Port& port, SimTime now, const WallClock& clock, Reading& reading) {
  const PortCounters& counters = port.counters();
  reading.Add(Metric::kRxBytes, counters.rx_bytes);
  reading.Add(Metric::kRxPackets, counters.rx_frames);
  reading.Add(Metric::kTxBytes, counters.tx_bytes);
  reading.Add(Metric::kTxPackets, counters.tx_frames);
  reading.Add(Metric::kFcsErrors, counters.fcs_errors);
  reading.Add(Metric::kLinkUp, port.up() ? 1u : 0u);
  reading.Add(Metric::kLinkFlaps, counters.went_down);
  reading.Add(Metric::kLinkSpeed, clock.Speed(port.bits_per_second()));
  if (port.fec() == nullptr) return;
  const FecCounts codewords = port.fec()->FecAt(now);
  reading.Add(Metric::kFecCorrected, codewords.corrected);
  reading.Add(Metric::kFecUncorrected, codewords.uncorrected);
}

}  // namespace

CounterLog::CounterLog(Network& network, const CounterLogOptions& options, CounterSink& sink,
                       Watermarks& watermarks)
    : network_(network),
      options_(options),
      sink_(sink),
      watermarks_(watermarks),
      reader_(watermarks.AddReader()),
      numbers_(network.fabric().ports().size()),
      reported_(network.fabric().ports().size(), options.priorities) {
  for (Numbers& numbers : numbers_) numbers.priorities.fill(kUnannounced);
}

void CounterLog::Start() {
  const SimTime now = network_.engine().Now();
  if (options_.read_by_owner == 0 || now % options_.read_by_owner != 0) Read();
  if (options_.period <= 0) return;
  // A std::function event, because this object may be destroyed before the engine.
  network_.engine().At(now + options_.period, [this] { Start(); });
}

void CounterLog::Read() {
  last_read_ = network_.engine().Now();
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
  for (const auto& read : also_) read();
}

void CounterLog::ReadPort(std::string_view node, topology::PortIndex index) {
  Port& port = network_.port(index);
  const CounterEntity entity{.kind = EntityKind::kPort,
                             .node = std::string(node),
                             .port = network_.fabric().port(index).name};
  Reading reading;
  AddLink(port, network_.engine().Now(), options_.clock, reading);
  const PortCounters& counters = port.counters();
  reading.Add(Metric::kRxDiscards, SumOf(counters.dropped) + counters.harmless_discards);
  reading.Add(Metric::kTxDiscards, counters.discarded);
  reading.Add(Metric::kTtlDrops, counters.ttl_expired);
  reading.Add(Metric::kNoRouteDrops, counters.no_route);
  reading.Add(Metric::kMtuDrops, counters.too_long);
  reading.Add(Metric::kAdminUp, port.is_enabled() ? 1u : 0u);
  Put(entity, std::span(reading.metrics).first(reading.count), numbers_[index].all,
      std::span(reading.values).first(reading.count));
  ReadPriorities(entity, index, true);
}

void CounterLog::ReadNic(topology::NicIndex index) {
  const topology::Nic& of = network_.fabric().nic(index);
  Nic& nic = network_.nic(index);
  const NicCounters& counters = nic.counters();
  const CounterEntity entity{
      .kind = EntityKind::kNic, .node = network_.fabric().node(of.host).name, .port = of.device};
  Reading reading;
  AddLink(nic.port(), network_.engine().Now(), options_.clock, reading);
  reading.Add(Metric::kRxDiscards, counters.rx_discards);
  reading.Add(Metric::kCnpSent, counters.np_cnp_sent);
  reading.Add(Metric::kCnpHandled, counters.rp_cnp_handled);
  reading.Add(Metric::kEcnMarkedRoce, counters.np_ecn_marked_roce_packets);
  reading.Add(Metric::kOutOfSequence, counters.out_of_sequence);
  reading.Add(Metric::kDuplicateRequest, counters.duplicate_request);
  reading.Add(Metric::kPacketSequenceError, counters.packet_seq_err);
  reading.Add(Metric::kLocalAckTimeout, counters.local_ack_timeout_err);
  reading.Add(Metric::kIcrcErrors, counters.rx_icrc_encapsulated);
  Put(entity, std::span(reading.metrics).first(reading.count), numbers_[of.port].all,
      std::span(reading.values).first(reading.count));
  ReadPriorities(entity, of.port, false);
}

bool CounterLog::IsUntouched(topology::PortIndex index, uint32_t priority) {
  const PortCounters& counters = network_.port(index).counters();
  return (counters.pause_rx[priority] | counters.pause_tx[priority] |
          counters.ecn_marked[priority] | counters.dropped[priority] |
          watermarks_.QueuePeak(reader_, index, priority) | counters.watchdog[priority]) == 0;
}

void CounterLog::ReadPriorities(const CounterEntity& entity, topology::PortIndex index,
                                bool is_switch) {
  Port& port = network_.port(index);
  const PortCounters& counters = port.counters();
  CounterEntity of = entity;
  for (uint8_t priority = 0; priority < kPriorities; ++priority) {
    if ((reported_[index] >> priority & 1) == 0) {
      if (IsUntouched(index, priority)) continue;
      reported_[index] |= static_cast<uint8_t>(1u << priority);
    }
    of.priority = priority;
    Reading reading;
    reading.Add(Metric::kPfcRx, counters.pause_rx[priority]);
    reading.Add(Metric::kPfcTx, counters.pause_tx[priority]);
    reading.Add(Metric::kPfcRxTime, Nanoseconds(port.PausedFor(priority)));
    reading.Add(Metric::kPfcTxTime, Nanoseconds(port.PausingFor(priority)));
    if (is_switch) {
      const Watermarks::Peak peak = watermarks_.Take(reader_, index, priority);
      reading.Add(Metric::kEcnMarked, counters.ecn_marked[priority]);
      reading.Add(Metric::kQueueBytes, port.queued(priority));
      reading.Add(Metric::kQueueWatermark, peak.queue_bytes);
      reading.Add(Metric::kBufferWatermark, peak.buffer_bytes);
      reading.Add(Metric::kQueueDrops, counters.dropped[priority]);
      reading.Add(Metric::kPfcWatchdog, counters.watchdog[priority]);
    }
    Put(of, std::span(reading.metrics).first(reading.count), numbers_[index].priorities[priority],
        std::span(reading.values).first(reading.count));
  }
}

void CounterLog::Put(const CounterEntity& entity, std::span<const Metric> metrics, uint32_t& number,
                     std::span<const uint64_t> values) {
  if (number == kUnannounced) number = sink_.Announce(entity, metrics);
  sink_.Append(number, Now(), Now(), values);
}

}  // namespace rocescope::sim
