// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/sflow_agents.h"

#include <algorithm>

#include "dataplane/wire/ip.h"
#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"

namespace rocescope::sim {
namespace {

constexpr uint32_t kFcs = 4;
constexpr uint16_t kSflowSourcePort = 0xe000;
// Uptime of the agents before the run; it is independent of the run's clock.
constexpr SimTime kUptimeBefore = 86'400 * kSecond;

// The size of a packet sample.
constexpr size_t SampleBytes(size_t sample, size_t header) {
  return 2 * wire::SflowBlock::kSize + sample + wire::SflowSampledHeader::kSize +
         (header + 3) / 4 * 4;
}
constexpr size_t kCounterSampleBytes =
    3 * wire::SflowBlock::kSize + wire::SflowCounterSample::kSize +
    wire::SflowInterfaceRecord::kSize + wire::SflowEthernetRecord::kSize;

std::optional<uint32_t> ReasonOf(LossCause cause) {
  switch (cause) {
    case LossCause::kBufferFull:
      return wire::kSflowDropNoBufferSpace;
    case LossCause::kTtlExpired:
      return wire::kSflowDropTtlExceeded;
    case LossCause::kNoRoute:
      return wire::kSflowDropHostUnreachable;
    case LossCause::kTooLong:
      return wire::kSflowDropPacketTooBig;
    default:
      return std::nullopt;
  }
}

uint64_t SumOfPriorities(const std::array<uint64_t, kPriorities>& counts) {
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
    agent.room.resize(kMaxDatagram);
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

// Returns the start of the packet as it arrived; valid until the next call.
std::span<const uint8_t> SflowAgents::HeaderOf(const Frame& frame, bool counted_down) {
  Frame as_it_came = frame;
  if (counted_down) ++as_it_came.ttl;
  const std::span<uint8_t> room(header_room_);
  return room.first(packets_.WriteFrame(
      as_it_came, room.first(std::min<size_t>(options_.header_bytes, room.size()))));
}

void SflowAgents::Sample(Agent& agent, const Port& port, const Frame& frame) {
  const std::span<const uint8_t> header = HeaderOf(frame, true);
  const auto number = [&](uint32_t which) {
    return network_.fabric().port(agent.first_port + which).number;
  };
  Source& source = agent.sources[frame.ingress];
  wire::SflowWriter& datagram =
      DatagramFor(agent, SampleBytes(wire::SflowFlowSample::kSize, header.size()));
  datagram.BeginSample(wire::kSflowFlowSample,
                       wire::SflowFlowSample{.sequence = ++source.flow_sequence,
                                             .source = {.index = number(frame.ingress)},
                                             .sampling_rate = options_.rate,
                                             .sample_pool = source.pool,
                                             .input = {.value = number(frame.ingress)},
                                             .output = {.value = number(port.number())}});
  datagram.AddRecord(
      wire::kSflowSampledHeader,
      wire::SflowSampledHeader{
          .frame_length = packets_.LengthOf(frame) + kFcs, .stripped = kFcs, .bytes = header});
  ++samples_;
}

void SflowAgents::Loses(const Switch& at, const Port* out, const Frame& frame, LossCause cause) {
  Agent& agent = agents_[at.number()];
  const std::optional<uint32_t> reason = ReasonOf(cause);
  if (agent.node == topology::kNone || !reason) return;
  const SimTime now = network_.engine().Now();
  if (now >= agent.discards_until) {
    agent.discards_until = now + options_.longest_wait;
    agent.discards = 0;
  }
  if (agent.discards >= options_.most_discards) {
    ++agent.discards_missed;
    return;
  }
  ++agent.discards;
  ++discards_;
  const auto number = [&](uint32_t which) {
    return network_.fabric().port(agent.first_port + which).number;
  };
  const std::span<const uint8_t> header = HeaderOf(frame, cause == LossCause::kBufferFull);
  wire::SflowWriter& datagram =
      DatagramFor(agent, SampleBytes(wire::SflowDiscardedPacket::kSize, header.size()));
  datagram.BeginSample(
      wire::kSflowDiscardedPacket,
      wire::SflowDiscardedPacket{.sequence = ++agent.sources[frame.ingress].discard_sequence,
                                 .source = {.index = number(frame.ingress)},
                                 .drops = agent.discards_missed,
                                 .input = number(frame.ingress),
                                 .output = out == nullptr ? 0 : number(out->number()),
                                 .reason = *reason});
  datagram.AddRecord(
      wire::kSflowSampledHeader,
      wire::SflowSampledHeader{
          .frame_length = packets_.LengthOf(frame) + kFcs, .stripped = kFcs, .bytes = header});
}

void SflowAgents::ReadCounters(Agent& agent) {
  const Switch& at = network_.switch_at(agent.node);
  for (uint32_t i = 0; i < agent.sources.size(); ++i) {
    const Port& port = at.port(i);
    const PortCounters& counters = port.counters();
    const uint32_t index = network_.fabric().port(agent.first_port + i).number;
    wire::SflowWriter& datagram = DatagramFor(agent, kCounterSampleBytes);
    datagram.BeginSample(wire::kSflowCounterSample,
                         wire::SflowCounterSample{.sequence = ++agent.sources[i].counter_sequence,
                                                  .source = {.index = index}});
    datagram.AddRecord(
        wire::kSflowInterfaceCounters,
        wire::SflowInterfaceRecord{
            .index = index,
            .speed = port_.options().clock.Speed(port.bits_per_second()),
            .status = port.up() ? 3u : 1u,
            .in_octets = counters.rx_bytes + kFcs * counters.rx_frames,
            .in_unicast = static_cast<uint32_t>(counters.rx_frames),
            .in_discards =
                static_cast<uint32_t>(SumOfPriorities(counters.dropped) + counters.ttl_expired +
                                      counters.no_route + counters.harmless_discards),
            .in_errors = static_cast<uint32_t>(counters.fcs_errors),
            .out_octets = counters.tx_bytes + kFcs * counters.tx_frames,
            .out_unicast = static_cast<uint32_t>(counters.tx_frames),
            .out_discards = static_cast<uint32_t>(counters.discarded + counters.too_long)});
    datagram.AddRecord(
        wire::kSflowEthernetCounters,
        wire::SflowEthernetRecord{.fcs_errors = static_cast<uint32_t>(counters.fcs_errors)});
  }
}

wire::SflowWriter& SflowAgents::DatagramFor(Agent& agent, size_t bytes) {
  if (agent.datagram && agent.datagram->size() + bytes > kMaxDatagram) Send(agent);
  if (!agent.datagram) {
    const SimTime now = network_.engine().Now();
    agent.datagram.emplace(
        agent.room,
        wire::SflowDatagramHeader{
            .agent = agent.address,
            .sequence = ++agent.sequence,
            .uptime_ms = static_cast<uint32_t>(
                port_.options().clock.Length(kUptimeBefore + now).count() / 1'000'000)});
    // A std::function event, because this object may be destroyed before the engine.
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
      static_cast<uint32_t>(agent.envelope.Bytes() + wire::UdpHeader::kSize + contents.size());
  if (const auto room = port_.Begin(network_.engine().Now(), length); !room.empty()) {
    wire::ByteWriter out(room.first(length));
    WriteUdpEnvelope(out, agent.envelope, kSflowSourcePort, options_.udp_port,
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
