// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/sflow_agents.h"

#include <algorithm>

#include "dataplane/wire/sflow.h"

namespace rocescope::sim {
namespace {

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
    agent.exporter.emplace(of, number, port, options_.udp_port);
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
  Source& source = agent.sources[frame.ingress];
  const SimTime now = network_.engine().Now();
  agent.exporter->Add(
      now, SflowExporter::PacketSample{
               .sequence = ++source.flow_sequence,
               .rate = options_.rate,
               .pool = source.pool,
               .input = NumberOf(agent, frame.ingress),
               .output = NumberOf(agent, port.number()),
               .packet = {.length = packets_.LengthOf(frame), .header = HeaderOf(frame, true)}});
  SendLater(agent);
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
  agent.exporter->Add(now,
                      SflowExporter::DiscardedPacket{
                          .sequence = ++agent.sources[frame.ingress].discard_sequence,
                          .input = NumberOf(agent, frame.ingress),
                          .output = out == nullptr ? 0 : NumberOf(agent, out->number()),
                          .missed = agent.discards_missed,
                          .reason = *reason,
                          .packet = {.length = packets_.LengthOf(frame),
                                     .header = HeaderOf(frame, cause == LossCause::kBufferFull)}});
  SendLater(agent);
}

uint32_t SflowAgents::NumberOf(const Agent& agent, uint32_t port) const {
  return network_.fabric().port(agent.first_port + port).number;
}

void SflowAgents::ReadCounters(Agent& agent) {
  const Switch& at = network_.switch_at(agent.node);
  const SimTime now = network_.engine().Now();
  for (uint32_t i = 0; i < agent.sources.size(); ++i) {
    const Port& port = at.port(i);
    const PortCounters& counters = port.counters();
    agent.exporter->Add(
        now, SflowExporter::Counters{
                 .sequence = ++agent.sources[i].counter_sequence,
                 .port = NumberOf(agent, i),
                 .bits_per_second = port_.options().clock.Speed(port.bits_per_second()),
                 .is_up = port.up(),
                 .is_enabled = port.is_enabled(),
                 .rx_bytes = counters.rx_bytes,
                 .rx_frames = counters.rx_frames,
                 .rx_discards = SumOfPriorities(counters.dropped) + counters.ttl_expired +
                                counters.no_route + counters.harmless_discards,
                 .fcs_errors = counters.fcs_errors,
                 .tx_bytes = counters.tx_bytes,
                 .tx_frames = counters.tx_frames,
                 .tx_discards = counters.discarded + counters.too_long});
    SendLater(agent);
  }
}

// Sends the datagram, if it is new, after the longest wait.
void SflowAgents::SendLater(Agent& agent) {
  const uint32_t datagram = agent.exporter->datagrams();
  if (agent.waits_for == datagram) return;
  agent.waits_for = datagram;
  // A std::function event, because this object may be destroyed before the engine.
  network_.engine().At(network_.engine().Now() + options_.longest_wait, [this, &agent, datagram] {
    if (agent.exporter->datagrams() == datagram) agent.exporter->Send(network_.engine().Now());
  });
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
  for (Agent& agent : agents_) {
    if (agent.exporter) agent.exporter->Send(network_.engine().Now());
  }
}

}  // namespace rocescope::sim
