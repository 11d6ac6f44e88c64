// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/sflow_agents.h"

#include <algorithm>

#include "dataplane/wire/ip.h"
#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kFcs = 4;
constexpr uint16_t kSourcePort = 0xe000;
constexpr size_t kMostHeader = 512;
// Since when agents run: their clocks have nothing to do with the run's.
constexpr SimTime kUptimeBefore = 86'400 * kSecond;

constexpr size_t FlowSampleOctets(size_t header) {
  return 2 * wire::SflowBlock::kSize + wire::SflowFlowSample::kSize +
         wire::SflowSampledHeader::kSize + (header + 3) / 4 * 4;
}
constexpr size_t kCounterSampleOctets =
    3 * wire::SflowBlock::kSize + wire::SflowCounterSample::kSize +
    wire::SflowInterfaceRecord::kSize + wire::SflowEthernetRecord::kSize;

uint64_t SumOf(const std::array<uint64_t, kPriorities>& counts) {
  uint64_t sum = 0;
  for (const uint64_t count : counts) sum += count;
  return sum;
}

SflowOptions Checked(SflowOptions options) {
  options.rate = std::max(options.rate, 1u);
  return options;
}

}  // namespace

SflowAgents::SflowAgents(Network& network, PacketWriter& packets, CollectorPort& port,
                         const SflowOptions& options)
    : network_(network), packets_(packets), port_(port), options_(Checked(options)) {
  for (topology::NodeIndex node = 0; node < network.fabric().nodes().size(); ++node) {
    const topology::Node& of = network.fabric().node(node);
    if (!of.IsSwitch()) continue;
    const auto number = static_cast<uint32_t>(agents_.size());
    Agent& agent = agents_.emplace_back();
    if (of.sflow_agent.IsUnspecified()) continue;
    agent.node = node;
    agent.first_port = of.first_port;
    agent.address = of.sflow_agent;
    agent.envelope = {.source_mac = MacOfSwitch(number),
                      .destination_mac = port.options().mac,
                      .source = of.sflow_agent,
                      .destination = port.options().address};
    agent.room.resize(kMostDatagram);
    for (uint32_t i = 0; i < of.port_count; ++i) {
      Source& source = agent.sources.emplace_back();
      source.random = Random(options.seed, "sflow", of.first_port + i);
      source.skip = Skip(source);
    }
  }
}

void SflowAgents::Queues(const Switch& at, const Port& port, const Frame& frame) {
  Agent& agent = agents_[at.number()];
  if (agent.node == topology::kNone) return;
  Source& source = agent.sources[frame.ingress];
  ++source.pool;
  if (--source.skip > 0) return;
  source.skip = Skip(source);
  Sample(agent, port, frame);
}

void SflowAgents::Sample(Agent& agent, const Port& port, const Frame& frame) {
  Frame as_it_came = frame;
  ++as_it_came.ttl;
  std::array<uint8_t, kMostHeader> header_room;
  const size_t header = packets_.WriteFrame(
      as_it_came,
      std::span(header_room).first(std::min<size_t>(options_.header_octets, kMostHeader)));
  const auto number = [&](uint32_t which) {
    return network_.fabric().port(agent.first_port + which).number;
  };
  Source& source = agent.sources[frame.ingress];
  wire::SflowWriter& datagram = DatagramFor(agent, FlowSampleOctets(header));
  datagram.BeginSample(wire::kSflowFlowSample,
                       wire::SflowFlowSample{.sequence = ++source.flow_sequence,
                                             .source = {.index = number(frame.ingress)},
                                             .sampling_rate = options_.rate,
                                             .sample_pool = source.pool,
                                             .input = {.value = number(frame.ingress)},
                                             .output = {.value = number(port.number())}});
  datagram.AddRecord(wire::kSflowSampledHeader,
                     wire::SflowSampledHeader{.frame_length = packets_.LengthOf(frame) + kFcs,
                                              .stripped = kFcs,
                                              .octets = std::span(header_room).first(header)});
  ++samples_;
}

void SflowAgents::ReadCounters(Agent& agent) {
  const Switch& at = network_.switch_at(agent.node);
  for (uint32_t i = 0; i < agent.sources.size(); ++i) {
    const Port& port = at.port(i);
    const PortCounters& counters = port.counters();
    const uint32_t index = network_.fabric().port(agent.first_port + i).number;
    wire::SflowWriter& datagram = DatagramFor(agent, kCounterSampleOctets);
    datagram.BeginSample(wire::kSflowCounterSample,
                         wire::SflowCounterSample{.sequence = ++agent.sources[i].counter_sequence,
                                                  .source = {.index = index}});
    datagram.AddRecord(
        wire::kSflowInterfaceCounters,
        wire::SflowInterfaceRecord{
            .index = index,
            .speed = port.bits_per_second(),
            .status = port.up() ? 3u : 1u,
            .in_octets = counters.rx_octets + kFcs * counters.rx_frames,
            .in_unicast = static_cast<uint32_t>(counters.rx_frames),
            .in_discards = static_cast<uint32_t>(SumOf(counters.dropped) + counters.ttl_expired +
                                                 counters.no_route),
            .in_errors = static_cast<uint32_t>(counters.fcs_errors),
            .out_octets = counters.tx_octets + kFcs * counters.tx_frames,
            .out_unicast = static_cast<uint32_t>(counters.tx_frames),
            .out_discards = static_cast<uint32_t>(counters.discarded + counters.too_long)});
    datagram.AddRecord(
        wire::kSflowEthernetCounters,
        wire::SflowEthernetRecord{.fcs_errors = static_cast<uint32_t>(counters.fcs_errors)});
  }
}

wire::SflowWriter& SflowAgents::DatagramFor(Agent& agent, size_t octets) {
  if (agent.datagram && agent.datagram->size() + octets > kMostDatagram) Send(agent);
  if (!agent.datagram) {
    const SimTime now = network_.engine().Now();
    agent.datagram.emplace(
        agent.room, wire::SflowDatagramHeader{
                        .agent = agent.address,
                        .sequence = ++agent.sequence,
                        .uptime_ms = static_cast<uint32_t>((kUptimeBefore + now) / kMillisecond)});
    // Not by an event of this object's: it may go before the engine does.
    network_.engine().At(now + options_.longest_wait, [this, &agent, sequence = agent.sequence] {
      if (agent.sequence == sequence) Send(agent);
    });
  }
  return *agent.datagram;
}

void SflowAgents::Send(Agent& agent) {
  if (!agent.datagram) return;
  const std::span<const uint8_t> contents = agent.datagram->Finish();
  const auto length =
      static_cast<uint32_t>(agent.envelope.Octets() + wire::UdpHeader::kSize + contents.size());
  if (const auto room = port_.Begin(network_.engine().Now(), length); !room.empty()) {
    wire::ByteWriter out(room.first(length));
    WriteUdpEnvelope(out, agent.envelope, kSourcePort, options_.udp_port,
                     static_cast<uint16_t>(agent.sequence), contents.size());
    out.Bytes(contents);
    port_.End();
  }
  agent.datagram.reset();
}

void SflowAgents::Start() {
  if (options_.counter_period <= 0) return;
  const SimTime now = network_.engine().Now();
  const auto count = static_cast<SimTime>(agents_.size());
  for (uint32_t i = 0; i < agents_.size(); ++i) {
    if (agents_[i].node == topology::kNone) continue;
    network_.engine().At(now + options_.counter_period / count * (i + 1),
                         [this, i] { CountersAndAgain(i); });
  }
}

void SflowAgents::CountersAndAgain(uint32_t number) {
  ReadCounters(agents_[number]);
  network_.engine().At(network_.engine().Now() + options_.counter_period,
                       [this, number] { CountersAndAgain(number); });
}

void SflowAgents::Finish() {
  for (Agent& agent : agents_) Send(agent);
}

}  // namespace rocescope::sim
