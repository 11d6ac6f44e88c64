// SPDX-License-Identifier: BSD-3-Clause
#include "tests/perf/engine_load.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/hash.h"
#include "base/qpn.h"
#include "topology/generate.h"

namespace rocescope::perf {
namespace {

using topology::NicIndex;
using topology::PortIndex;

constexpr uint32_t kNicsPerHost = 8;
constexpr uint32_t kNicsPerLeaf = 64;
constexpr uint32_t kLeaves = 256;
constexpr uint32_t kGpus = kLeaves * kNicsPerLeaf;
constexpr uint32_t kSpines = 64;
constexpr uint32_t kJobs = kLeaves / 2;
constexpr uint32_t kQueuePairsPerPeer = 4;  // one per NCCL channel
constexpr uint32_t kPacketsPerInterval = 64;
constexpr Duration kInterval =
    std::chrono::seconds(1);  // so that the goal exceeds the traffic's record rate
constexpr uint32_t kFirstQpn = 256;
constexpr uint8_t kWriteLast = 0x08;  // IBTA vol. 1, table 38
constexpr uint8_t kAcknowledge = 0x11;

uint32_t FirstPsn(uint32_t connection, uint32_t interval) {
  return static_cast<uint32_t>(Mix64(connection) + uint64_t{interval} * kPacketsPerInterval) &
         k24BitMask;
}

}  // namespace

EngineLoad::EngineLoad(uint32_t queue_pairs) : connections_(queue_pairs / 2) {
  auto fabric = topology::Generate({.shape = topology::Shape::kLeafSpine,
                                    .hosts = kGpus / kNicsPerHost,
                                    .nics_per_host = kNicsPerHost,
                                    .leaves = kLeaves,
                                    .spines = kSpines});
  if (!fabric) {
    fmt::print(stderr, "engine_load: {}\n", fabric.error().message);
    std::exit(1);
  }
  fabric_ = std::make_shared<const topology::Fabric>(*std::move(fabric));
  tap_of_nic_.resize(fabric_->nics().size());
  for (NicIndex nic = 0; nic < fabric_->nics().size(); ++nic) {
    if (nic / kNicsPerLeaf % 2 == 1) continue;
    const topology::Port& port = fabric_->port(fabric_->Peer(fabric_->nic(nic).port));
    tap_of_nic_[nic] = static_cast<TapId>(taps_.size());
    for (const TapSide side : {TapSide::kIngress, TapSide::kEgress}) {
      taps_.push_back({.tap = static_cast<TapId>(taps_.size()),
                       .switch_address = fabric_->node(port.node).erspan_source,
                       .session = 1,
                       .side = side,
                       .has_port = true,
                       .port = port.number});
    }
  }
}

EngineLoad::Ends EngineLoad::EndsOf(uint32_t connection) const {
  const auto job = static_cast<uint32_t>(uint64_t{connection} * kJobs / connections_);
  const uint64_t peers = Mix64(connection / kQueuePairsPerPeer);
  const NicIndex near = job * 2 * kNicsPerLeaf + static_cast<uint32_t>(peers % kNicsPerLeaf);
  const NicIndex far =
      (job * 2 + 1) * kNicsPerLeaf + static_cast<uint32_t>(peers / kNicsPerLeaf % kNicsPerLeaf);
  return {.near = near, .far = far};
}

FlowKey EngineLoad::FlowOf(uint32_t connection, bool back) const {
  const Ends ends = EndsOf(connection);
  const IpAddress near = fabric_->nic(ends.near).addresses.front().address;
  const IpAddress far = fabric_->nic(ends.far).addresses.front().address;
  // QPNs are unique within a job, which is more than required.
  return {.source = back ? far : near,
          .destination = back ? near : far,
          .destination_qpn = {kFirstQpn + (2 * connection + back) % (1u << 20)}};
}

const TapLocation& EngineLoad::PlaceOf(uint32_t connection, bool back) const {
  return taps_[tap_of_nic_[EndsOf(connection).near] + back];
}

uint32_t EngineLoad::IntIdOf(uint32_t connection) const {
  const PortIndex port = fabric_->Peer(fabric_->nic(EndsOf(connection).near).port);
  return fabric_->node(fabric_->port(port).node).int_switch_id;
}

void EngineLoad::AddFlow(uint32_t interval, uint32_t connection, bool back,
                         RecordBatch& batch) const {
  const Ends ends = EndsOf(connection);
  FlowRecord& record = batch.flows.emplace_back();
  record.flow = FlowOf(connection, back);
  record.hint = 2 * connection + back;
  record.tap = static_cast<TapId>(tap_of_nic_[ends.near] + back);
  record.ttl = back ? 62 : 64;
  record.udp_source_port = static_cast<uint16_t>(0xc000 + connection % 0x4000);
  record.interval_start = Timestamp((interval + 1) * kInterval);
  record.interval_width = kInterval;
  record.first_seen = record.interval_start + Duration(connection % 1000);
  record.last_seen = record.first_seen + kInterval / 2;
  if (back == DataGoesBack(connection)) {
    const uint32_t first = FirstPsn(connection, interval);
    record.packets = kPacketsPerInterval;
    record.bytes = record.packets * 4170;
    record.payload_bytes = record.packets * 4096;
    record.class_packets[static_cast<size_t>(OperationClass::kWrite)] = kPacketsPerInterval;
    record.messages = kPacketsPerInterval / 16;
    record.message_sizes[4] = record.messages;
    record.requests = {.valid = true, .last_psn = (first + kPacketsPerInterval - 1) & k24BitMask};
    record.first_request_psn = first;
    record.message_gap = {.count = record.messages,
                          .sum = record.messages * Duration(20'000),
                          .maximum = Duration(64'000)};
  } else {
    record.packets = kPacketsPerInterval / 16;
    record.bytes = record.packets * 62;
    record.class_packets[static_cast<size_t>(OperationClass::kAcknowledge)] =
        kPacketsPerInterval / 16;
    record.ack_round_trip = {.count = kPacketsPerInterval / 16,
                             .sum = record.packets * Duration(12'000),
                             .minimum = Duration(9'000),
                             .maximum = Duration(20'000)};
  }
}

void EngineLoad::AddObservation(uint32_t connection, bool is_request, uint32_t psn, Timestamp time,
                                RecordBatch& batch) const {
  const bool back = DataGoesBack(connection) == is_request;
  ObservationRecord& record = batch.sightings.emplace_back();
  record.flow = FlowOf(connection, back);
  record.hint = 2 * connection + back;
  record.tap = static_cast<TapId>(tap_of_nic_[EndsOf(connection).near] + back);
  record.kind = is_request ? ObservationKind::kRequest : ObservationKind::kAcknowledge;
  record.opcode = is_request ? kWriteLast : kAcknowledge;
  record.ttl = back ? 62 : 64;
  record.rate_exponent = 7;
  record.ack_request = is_request;
  record.psn = psn;
  record.payload_length = is_request ? 4096 : 0;
  record.event_time = time;
  record.arrival_time = time;
}

// The INT report of the far leaf for incoming data.
void EngineLoad::AddHop(uint32_t connection, Timestamp time, RecordBatch& batch) const {
  const PortIndex out = fabric_->Peer(fabric_->nic(EndsOf(connection).far).port);
  const topology::Node& leaf = fabric_->node(fabric_->port(out).node);
  const uint32_t spine = connection / kQueuePairsPerPeer % kSpines;
  HopRecord& record = batch.hops.emplace_back();
  record.packet = {.known = true, .flow = FlowOf(connection, false), .opcode = kWriteLast};
  record.node_id = leaf.int_switch_id;
  record.metadata.present = wire::kIntPorts;
  record.metadata.ingress_port =
      static_cast<uint16_t>(fabric_->port(leaf.first_port + kNicsPerLeaf + spine).number);
  record.metadata.egress_port = static_cast<uint16_t>(fabric_->port(out).number);
  record.event_time = time;
  record.arrival_time = time;
}

// The sFlow sample of the near leaf for the same data.
void EngineLoad::AddSample(uint32_t connection, Timestamp time, RecordBatch& batch) const {
  const PortIndex in = fabric_->Peer(fabric_->nic(EndsOf(connection).near).port);
  const topology::Node& leaf = fabric_->node(fabric_->port(in).node);
  const uint32_t spine = connection / kQueuePairsPerPeer % kSpines;
  SampleRecord& record = batch.samples.emplace_back();
  record.agent = leaf.sflow_agent;
  record.input_port = fabric_->port(in).number;
  record.output_port = fabric_->port(leaf.first_port + kNicsPerLeaf + spine).number;
  record.sampling_rate = 16384;
  record.packet = {.known = true, .flow = FlowOf(connection, false), .opcode = kWriteLast};
  record.frame_length = 4170;
  record.event_time = time;
  record.arrival_time = time;
}

void EngineLoad::Fill(uint32_t interval, uint32_t first, uint32_t count, uint32_t stride,
                      RecordBatch& batch) const {
  constexpr uint32_t kFlowsPerObservation = 3;
  constexpr uint32_t kFlowsPerHop = 100;
  constexpr Duration kSpacing = std::chrono::microseconds(2);
  constexpr uint32_t kRoundTrip = 6;  // packet observations
  batch.Clear();
  const uint32_t sighted = count * 2 / kFlowsPerObservation / 2;
  const auto connection_at = [&](uint32_t i) { return first + i * stride; };
  // Alternates the connections between intervals: all are observed within three intervals.
  const auto sighted_at = [&](uint32_t i) {
    return connection_at((i * kFlowsPerObservation + interval) % count);
  };
  const Timestamp begin =
      Timestamp((interval + 1) * kInterval) + first * (kSpacing / kFlowsPerObservation);
  for (uint32_t i = 0; i < sighted + kRoundTrip; ++i) {
    const Timestamp time = begin + i * kSpacing;
    const auto psn = [&](uint32_t connection) {
      return (FirstPsn(connection, interval) + connection % kPacketsPerInterval) & k24BitMask;
    };
    if (i < sighted) AddObservation(sighted_at(i), true, psn(sighted_at(i)), time, batch);
    if (i < kRoundTrip) continue;
    const uint32_t answered = sighted_at(i - kRoundTrip);
    AddObservation(answered, false, psn(answered), time + kSpacing / 2, batch);
  }
  for (uint32_t i = 0; i < count; ++i) {
    for (const bool back : {false, true}) AddFlow(interval, connection_at(i), back, batch);
    if ((2 * i + interval) % kFlowsPerHop >= 2) continue;
    AddHop(connection_at(i), begin, batch);
    AddSample(connection_at((i + count / 2) % count), begin, batch);
  }
}

}  // namespace rocescope::perf
