// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/cabling/adjacency.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace rocescope {

using topology::kNone;
using topology::NodeIndex;
using topology::PortIndex;

namespace {

// Hops of an INT stack are numbered, because their packet has a single TTL.
constexpr uint8_t kFirstHop = 255;

void Count(std::map<PortIndex, Arrivals>& all, PortIndex receiver, const Sender& sender,
           Timestamp time) {
  Arrivals::Count& count = all[receiver].from[sender];
  if (count.flows++ == 0 || time < count.since) count.since = time;
}

}  // namespace

void Adjacency::LearnTap(const TapLocation& place) {
  const NodeIndex node = fabric_.FindSwitchByErspan(place.switch_address);
  if (node == kNone) {
    strangers_.Add(ToString(place.switch_address));
    return;
  }
  if (!place.has_port || place.side != TapSide::kIngress) return;
  const PortIndex port = PortOf(node, place.port, Timestamp{});
  if (port == kNone) return;
  if (place.tap >= ingress_of_tap_.size()) ingress_of_tap_.resize(size_t{place.tap} + 1, kNone);
  ingress_of_tap_[place.tap] = port;
}

// Returns a port with a link; packets at other ports are counted.
PortIndex Adjacency::PortOf(NodeIndex node, uint32_t number, Timestamp time) {
  if (number == 0) return kNone;  // not reported
  const PortIndex port = fabric_.FindPortByNumber(node, number);
  if (port != kNone && fabric_.port(port).link != kNone) return port;
  const std::pair key(node, number);
  if (unexpected_.contains(key) || unexpected_.size() < kMaxUnexpected) {
    Unexpected& one = unexpected_[key];
    if (one.packets++ == 0 || time < one.since) one.since = time;
  }
  return kNone;
}

void Adjacency::Add(FlowId flow, const FlowRecord& record) {
  if (record.tap >= ingress_of_tap_.size() || record.packets == 0) return;
  const PortIndex port = ingress_of_tap_[record.tap];
  if (port == kNone) return;
  Add(flow, {.source = Source::kMirror,
             .ttl = record.ttl,
             .node = fabric_.port(port).node,
             .in = port,
             .first = record.first_seen,
             .last = record.last_seen});
}

void Adjacency::Add(FlowId flow, const HopRecord& record) {
  const NodeIndex node = fabric_.FindSwitchByInt(record.node_id);
  if (node == kNone) strangers_.Add("INT node " + std::to_string(record.node_id));
  if (node == kNone || !record.packet.known || !record.metadata.Has(wire::kIntPorts)) return;
  const bool alone = record.hop_count == 1;
  Add(flow, {.source = alone ? Source::kPostcard : Source::kStack,
             .ttl = alone ? record.packet.ttl
                          : static_cast<uint8_t>(kFirstHop - std::min(record.hop, kFirstHop)),
             .node = node,
             .in = PortOf(node, record.metadata.ingress_port, record.event_time),
             .out = PortOf(node, record.metadata.egress_port, record.event_time),
             .first = record.event_time,
             .last = record.event_time});
}

void Adjacency::Add(FlowId flow, const SampleRecord& record) {
  const NodeIndex node = fabric_.FindSwitchBySflow(record.agent);
  if (node == kNone && record.packet.known) strangers_.Add(ToString(record.agent));
  if (node == kNone || !record.packet.known || record.discarded) return;
  Add(flow, {.source = Source::kSample,
             .ttl = record.packet.ttl,
             .node = node,
             .in = PortOf(node, record.input_port, record.event_time),
             .out = PortOf(node, record.output_port, record.event_time),
             .first = record.event_time,
             .last = record.event_time});
}

void Adjacency::Add(FlowId id, const Place& place) {
  Flow* const flow = flows_.FindOrAdd(id);
  if (flow == nullptr) return;
  if (flow->places.empty()) {
    const FlowKey& key = registry_.key(id);
    flow->source = fabric_.FindNic({.segment = key.segment, .address = key.source});
    flow->destination = fabric_.FindNic({.segment = key.segment, .address = key.destination});
  }
  bool several = false;
  Place* same = nullptr;
  for (Place& known : flow->places) {
    if (known.source != place.source || known.ttl != place.ttl) continue;
    if (known.node == place.node && known.in == place.in && known.out == place.out) {
      same = &known;
      continue;
    }
    known.is_latest = false;
    known.several = several = true;
  }
  if (same != nullptr) {
    same->first = std::min(same->first, place.first);
    same->last = std::max(same->last, place.last);
    same->returns += !same->is_latest;
    same->is_latest = true;
    return;
  }
  if (flow->places.size() >= kMaxPlaces && !valid_from_.empty()) {
    std::erase_if(flow->places, [&](const Place& old) { return old.last < ValidFrom(old); });
  }
  if (flow->places.size() >= kMaxPlaces) {
    flow->is_incomplete = true;
    return;
  }
  flow->places.push_back(place);
  flow->places.back().several = several;
}

// A host sends its own packets and receives packets for itself. For a NIC without a declared cable,
// only its host is known.
void Adjacency::CountEnds(const Flow& flow, const Place& place,
                          std::map<PortIndex, Arrivals>& all) const {
  const auto faces_host = [&](PortIndex port) {
    const NodeIndex peer = port == kNone ? kNone : fabric_.PeerNode(port);
    return peer != kNone && !fabric_.node(peer).IsSwitch();
  };
  if (flow.source != kNone && faces_host(place.in)) {
    const topology::Nic& nic = fabric_.nic(flow.source);
    const PortIndex port = fabric_.port(nic.port).link == kNone ? kNone : nic.port;
    Count(all, place.in, {.node = nic.host, .port = port}, place.first);
  }
  if (flow.destination != kNone && faces_host(place.out)) {
    const PortIndex receiver = fabric_.nic(flow.destination).port;
    if (fabric_.port(receiver).link == kNone) return;
    Count(all, receiver, {.node = fabric_.port(place.out).node, .port = place.out}, place.first);
  }
}

bool Adjacency::IsSpraying() const {
  constexpr uint32_t kReturns = 3;  // maintenance moves a flow away and back once
  constexpr uint64_t kFew = 10;     // fewer changing flows than this prove nothing
  constexpr uint64_t kPart = 4;     // a spraying fabric spreads at least one in so many flows
  uint64_t repeated = 0;            // flows that were observed at one place at different times
  uint64_t changing = 0;
  flows_.ForEach([&](FlowId, const Flow& flow) {
    repeated += std::ranges::any_of(
        flow.places, [](const Place& place) { return place.several || place.first != place.last; });
    changing += std::ranges::any_of(flow.places,
                                    [](const Place& place) { return place.returns >= kReturns; });
  });
  return changing >= kFew && changing * kPart >= repeated;
}

void Adjacency::DiscardBefore(PortIndex port, Timestamp time) {
  if (port == kNone) return;
  Timestamp& valid_from = valid_from_[port];
  valid_from = std::max(valid_from, time);
}

Timestamp Adjacency::ValidFrom(const Place& place) const {
  Timestamp from;
  for (const PortIndex port : {place.in, place.out}) {
    const auto at = valid_from_.find(port);
    if (at != valid_from_.end()) from = std::max(from, at->second);
  }
  return from;
}

void Adjacency::FindCurrent(const Flow& flow, std::vector<Place>& places) const {
  places = flow.places;
  if (!valid_from_.empty()) {
    std::erase_if(places, [&](Place& place) {
      const Timestamp from = ValidFrom(place);
      // When the flow was first observed here since then is not known.
      if (place.first < from) place.first = place.last;
      return place.last < from;
    });
  }
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    return std::tuple(a.source, b.ttl, a.node, a.in, a.out) <
           std::tuple(b.source, a.ttl, b.node, b.in, b.out);
  });
  // Discarded places do not make the others ambiguous.
  if (flow.is_incomplete || places.size() == flow.places.size()) return;
  const auto is_same = [](const Place& a, const Place& b) {
    return a.source == b.source && a.ttl == b.ttl;
  };
  for (size_t i = 0; i < places.size(); ++i) {
    places[i].several = (i > 0 && is_same(places[i - 1], places[i])) ||
                        (i + 1 < places.size() && is_same(places[i], places[i + 1]));
  }
}

std::map<PortIndex, Arrivals> Adjacency::ByReceiver() const {
  std::map<PortIndex, Arrivals> all;
  const bool is_spraying = IsSpraying();
  std::vector<Place> places;
  flows_.ForEach([&](FlowId, const Flow& flow) {
    FindCurrent(flow, places);
    for (size_t i = 0; i < places.size(); ++i) {
      const Place& place = places[i];
      if (place.several) continue;
      CountEnds(flow, place, all);
      if (is_spraying || i + 1 == places.size()) continue;
      const Place& next = places[i + 1];
      const bool follows = next.source == place.source && next.ttl + 1 == place.ttl &&
                           next.node != place.node && !next.several && next.in != kNone;
      // One place before a path change and another after it are not consecutive on a path.
      const bool together = place.first <= next.last && next.first <= place.last;
      if (!follows || !together) continue;
      Count(all, next.in, {.node = place.node, .port = place.out},
            std::max(place.first, next.first));
    }
  });
  return all;
}

}  // namespace rocescope
