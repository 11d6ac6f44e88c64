// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/delay/delay_tracker.h"

#include <algorithm>

#include "base/hash.h"
#include "base/window_row.h"
#include "dataplane/record/flow_key_hash.h"
#include "dataplane/wire/opcode.h"

namespace rocescope {

using topology::kNone;
using topology::NicIndex;
using topology::NodeIndex;

namespace {

// A packet of the highest priority waits for at most one frame of another queue; this allows two
// frames of 4 kB.
constexpr int64_t kLateBits = 70'000;

// Clocks that differ by a second are not synchronised, and timestamps can be arbitrary 64-bit
// values.
bool CanBe(int64_t ns) {
  constexpr int64_t kMost = 1'000'000'000;
  return ns <= kMost && ns >= -kMost;
}

// A few slow links, for example to a management network, do not count.
Duration ApartOf(const topology::Fabric& fabric, const DelayOptions& options) {
  constexpr double kFrameBits = 8 * 4178;
  constexpr double kMostSeconds = 1;
  std::vector<uint64_t> speeds;
  for (const topology::Link& link : fabric.links()) {
    if (link.bits_per_second > 0) speeds.push_back(link.bits_per_second);
  }
  if (speeds.empty()) return options.apart;
  const auto slow = speeds.begin() + static_cast<ptrdiff_t>(speeds.size() / 10);
  std::ranges::nth_element(speeds, slow);
  const double seconds =
      std::min(options.apart_frames * kFrameBits / static_cast<double>(*slow), kMostSeconds);
  return std::max(options.apart, Duration(static_cast<int64_t>(seconds * 1e9)));
}

}  // namespace

DelayTracker::DelayTracker(const topology::Fabric& fabric, const DelayOptions& options)
    : fabric_(fabric),
      options_(options),
      apart_(ApartOf(fabric, options)),
      trails_(options.packets, apart_),
      int_trails_(options.packets, apart_),
      requests_(options.packets) {}

void DelayTracker::LearnTap(const TapLocation& place) {
  if (place.tap >= of_tap_.size()) of_tap_.resize(size_t{place.tap} + 1);
  // Egress copies are timestamped elsewhere than ingress copies.
  if (place.side == TapSide::kEgress) return;
  Where& where = of_tap_[place.tap];
  where.node = fabric_.FindSwitchByErspan(place.switch_address);
  if (where.node != kNone && place.has_port) {
    where.port = fabric_.FindPortByNumber(where.node, place.port);
  }
}

void DelayTracker::Add(const RecordBatch& batch) {
  for (const ObservationRecord& record : batch.sightings) Add(record);
  for (const HopRecord& record : batch.hops) Add(record);
}

NodeIndex DelayTracker::EdgeOf(NicIndex nic) const {
  return nic == kNone ? kNone : fabric_.PeerNode(fabric_.nic(nic).port);
}

void DelayTracker::Add(const ObservationRecord& record) {
  if (record.tap >= of_tap_.size() || of_tap_[record.tap].node == kNone) return;
  const Trails::Seen seen = {.where = of_tap_[record.tap],
                             .ttl = record.ttl,
                             .time = record.event_time,
                             .arrival = record.arrival_time};
  if (record.kind == ObservationKind::kCnp) {
    AddCnp(record, seen);
    return;
  }
  if (record.kind == ObservationKind::kNak) return;
  AddTurnaround(record, seen.where.node);
  trails_.Add(PacketOf(record), seen, [this](const Trails::Seen& from, const Trails::Seen& to) {
    AddTransit(DelayKind::kTransit, from, to);
  });
}

// Whether there is space for one more flow. Flows absent for a window are evicted; the search runs
// at most once per window.
template <typename Flows>
bool DelayTracker::HasRoom(Flows& flows, Timestamp now, Timestamp& swept) {
  if (flows.size() < options_.flows) return true;
  if (now - swept >= options_.window) {
    swept = now;
    std::erase_if(flows,
                  [&](const auto& entry) { return now - entry.second.last >= options_.window; });
  }
  if (flows.size() < options_.flows) return true;
  ++flows_refused_;
  return false;
}

QueueUse* DelayTracker::UseOf(NodeIndex node, Timestamp when) {
  return EntryOf(queues_[node], when.time_since_epoch() / options_.window);
}

// CNPs of a flow are indistinguishable: if two of them are possible, none is matched. A lost CNP
// blocks matching for a while.
void DelayTracker::AddCnp(const ObservationRecord& record, const Trails::Seen& seen) {
  constexpr size_t kMost = 16;
  SettleCnps(seen.arrival);
  const uint64_t flow = FlowKeyHash()(record.flow);
  if (!cnp_trails_.contains(flow) && !HasRoom(cnp_trails_, seen.arrival, cnps_swept_)) return;
  CnpTrail& cnps = cnp_trails_[flow];
  cnps.last = std::max(cnps.last, seen.arrival);
  std::vector<Trails::Seen>& under_way = cnps.under_way;
  std::erase_if(under_way, [&](const Trails::Seen& other) {
    const bool is_gone = seen.arrival - other.arrival > apart_;
    const auto& nodes = cnps.goes_on_at;
    if (is_gone && std::ranges::find(nodes, other.where.node) != nodes.end()) {
      QueueUse* const use = UseOf(other.where.node, other.arrival);
      if (use != nullptr) ++use->unmatched;
    }
    return is_gone;
  });
  // This may be the CNP that was considered late further on.
  std::erase_if(late_cnps_, [&](const LateCnp& late) {
    return late.flow == flow && late.from.where == seen.where && late.from.ttl == seen.ttl &&
           late.from.time < seen.time && seen.time < late.to.time;
  });
  const auto is_before = [&](const Trails::Seen& other) {
    return other.ttl > seen.ttl && !(other.where == seen.where);
  };
  const auto before = std::ranges::find_if(under_way, is_before);
  if (before != under_way.end()) {
    if (std::ranges::count_if(under_way, is_before) == 1) {
      MatchCnp(flow, *before, seen, cnps);
    }
    // One of them has arrived; remove the oldest.
    under_way.erase(before);
  }
  const bool twice = std::ranges::any_of(under_way, [&](const Trails::Seen& other) {
    return other.where == seen.where && other.ttl == seen.ttl &&
           seen.time - other.time < std::chrono::microseconds(1);
  });
  if (!twice && under_way.size() < kMost) under_way.push_back(seen);
}

void DelayTracker::MatchCnp(uint64_t flow, const Trails::Seen& from, const Trails::Seen& to,
                            CnpTrail& cnps) {
  constexpr size_t kMaxNodes = 8;
  constexpr size_t kMaxLate = 1u << 12;
  std::vector<NodeIndex>& nodes = cnps.goes_on_at;
  if (nodes.size() < kMaxNodes && std::ranges::find(nodes, from.where.node) == nodes.end()) {
    nodes.push_back(from.where.node);
  }
  const auto way = ways_.find(KeyOf(DelayKind::kCnp, from, to));
  const bool is_late =
      way != ways_.end() && (to.time - from.time).count() > way->second.quickest + way->second.late;
  if (is_late && late_cnps_.size() < kMaxLate) {
    late_cnps_.push_back({.flow = flow, .from = from, .to = to});
  } else {
    AddTransit(DelayKind::kCnp, from, to);
  }
}

void DelayTracker::SettleCnps(Timestamp now) {
  while (!late_cnps_.empty() && now - late_cnps_.front().to.arrival > apart_) {
    AddTransit(DelayKind::kCnp, late_cnps_.front().from, late_cnps_.front().to);
    late_cnps_.pop_front();
  }
}

// Two hosts have many queue pairs between them, possibly with equal PSNs. An ACK belongs to the
// flow whose requests its flow has acknowledged before.
bool DelayTracker::AreKnownPartners(const FlowKey& ack, const FlowKey& request, Timestamp now) {
  constexpr uint8_t kSure = 8;
  const auto at = partners_.find(ack);
  if (at == partners_.end()) {
    if (HasRoom(partners_, now, partners_swept_)) {
      partners_.emplace(ack, Partner{.request = request, .times = 1, .last = now});
    }
    return false;
  }
  Partner& partner = at->second;
  partner.last = std::max(partner.last, now);
  if (partner.request == request) {
    partner.times = std::min<uint8_t>(partner.times + 1, kSure);
    return true;
  }
  if (--partner.times == 0) {
    partner.request = request;
    partner.times = 1;
  }
  return false;
}

void DelayTracker::AddTurnaround(const ObservationRecord& record, NodeIndex node) {
  const auto key_of = [&](const IpAddress& a, const IpAddress& b) {
    return HashPair(FoldAddress(a) + FoldAddress(b), record.psn) | 1;
  };
  const uint64_t key = key_of(record.flow.source, record.flow.destination);
  Request& slot = requests_[(key >> 1) & (requests_.size() - 1)];
  if (record.kind == ObservationKind::kRequest && record.ack_request) {
    const NicIndex nic =
        fabric_.FindNic({.segment = record.flow.segment, .address = record.flow.destination});
    if (EdgeOf(nic) != node) return;
    // Clock corrections may change later and move times backwards.
    const Duration since = std::chrono::abs(record.event_time - slot.time);
    const bool again = slot.key == key && since < apart_;
    // Another tap's copy.
    if (again && slot.flow == record.flow && since < std::chrono::microseconds(1)) return;
    // Another flow's request or a retransmission: the ACK could belong to either.
    slot = {.key = key, .flow = record.flow, .time = record.event_time, .ambiguous = again};
  } else if (record.kind == ObservationKind::kAcknowledge && slot.key == key && !slot.ambiguous &&
             record.flow.source == slot.flow.destination &&
             record.flow.destination == slot.flow.source) {
    const NicIndex nic =
        fabric_.FindNic({.segment = record.flow.segment, .address = record.flow.source});
    if (EdgeOf(nic) != node) return;
    const Duration took = record.event_time - slot.time;
    if (took > Duration(0) && took < apart_ &&
        AreKnownPartners(record.flow, slot.flow, record.arrival_time)) {
      Count({.kind = DelayKind::kTurnaround, .from = node, .to = nic}, record.arrival_time,
            took.count());
    }
    slot.key = 0;
  }
}

void DelayTracker::CountQueue(NodeIndex node, const HopRecord& record) {
  const bool is_notice = record.packet.opcode == wire::kOpcodeCnp;
  const bool is_data = !is_notice && (record.packet.opcode & 0x1f) < 0x11;
  if (!is_notice && !is_data) return;
  QueueUse* const use = UseOf(node, record.arrival_time);
  if (use == nullptr) return;
  const uint8_t queue = record.metadata.queue_id;
  auto at = std::ranges::find(use->queues, queue, &QueueCount::queue);
  if (at == use->queues.end()) {
    if (use->queues.size() >= QueueUse::kMaxQueues) {
      ++places_refused_;
      return;
    }
    at = use->queues.insert(at, {.queue = queue});
  }
  ++(is_notice ? at->cnps : at->data);
}

void DelayTracker::Add(const HopRecord& record) {
  if (!record.packet.known || record.hop_count > 1 || record.dropped) return;
  const NodeIndex node = fabric_.FindSwitchByInt(record.node_id);
  if (node == kNone) return;
  const wire::IntMetadata& told = record.metadata;
  if (told.Has(wire::kIntQueue)) CountQueue(node, record);
  if (!record.event_time_told || !told.Has(wire::kIntPorts) ||
      !told.Has(wire::kIntIngressTimestamp) || !told.Has(wire::kIntEgressTimestamp)) {
    return;
  }
  const Trails::Seen seen = {
      .where = {.node = node,
                .port = fabric_.FindPortByNumber(node, told.ingress_port),
                .stay = static_cast<int64_t>(told.egress_timestamp - told.ingress_timestamp)},
      .ttl = record.packet.ttl,
      .time = record.event_time,
      .arrival = record.arrival_time};
  int_trails_.Add(PacketOf(record.packet), seen,
                  [this](const Trails::Seen& from, const Trails::Seen& to) {
                    if (from.ttl - to.ttl == 1) AddTransit(DelayKind::kWire, from, to);
                  });
}

DelayKey DelayTracker::KeyOf(DelayKind kind, const Trails::Seen& from, const Trails::Seen& to) {
  const bool to_node = to.where.port == kNone;
  return {.kind = kind,
          .from = from.where.node,
          .to = to_node ? to.where.node : to.where.port,
          .to_node = to_node,
          .hops = static_cast<uint8_t>(from.ttl - to.ttl)};
}

void DelayTracker::AddTransit(DelayKind kind, const Trails::Seen& from, const Trails::Seen& to) {
  const int64_t stay = kind == DelayKind::kWire ? from.where.stay : 0;
  if (!CanBe(stay)) {
    ++impossible_;
    return;
  }
  Count(KeyOf(kind, from, to), to.arrival, (to.time - from.time).count() - stay);
}

// Uses the slowest of the node's links, assuming that links further on are about as fast.
int64_t DelayTracker::LateFrom(NodeIndex node, uint8_t hops) const {
  uint64_t slowest = UINT64_MAX;
  const topology::Node& from = fabric_.node(node);
  for (uint32_t i = 0; i < from.port_count; ++i) {
    const topology::LinkIndex link = fabric_.port(from.first_port + i).link;
    if (link != kNone) slowest = std::min(slowest, fabric_.link(link).bits_per_second);
  }
  if (slowest == 0 || slowest == UINT64_MAX) return 0;
  return std::max<int64_t>(hops, 1) * static_cast<int64_t>(kLateBits * 1'000'000'000 / slowest);
}

void DelayTracker::Count(const DelayKey& key, Timestamp when, int64_t ns) {
  if (!CanBe(ns)) {
    ++impossible_;
    return;
  }
  auto at = delays_.find(key);
  if (at == delays_.end()) {
    if (delays_.size() >= options_.places) {
      ++places_refused_;
      return;
    }
    at = delays_.emplace(key, std::vector<DelayWindow>()).first;
  }
  DelayWindow* const place = EntryOf(at->second, when.time_since_epoch() / options_.window);
  if (place == nullptr) return;
  if (place->count == 0) place->least = place->most = ns;
  place->least = std::min(place->least, ns);
  if (place->count == 0 || ns >= place->most) {
    place->next_most = place->count == 0 ? ns : place->most;
    place->most = ns;
  } else if (place->count == 1 || ns > place->next_most) {
    place->next_most = ns;
  }
  place->sum += ns;
  ++place->count;
  const auto [way, is_new] = ways_.try_emplace(key, Way{.quickest = ns});
  if (is_new) way->second.late = LateFrom(key.from, key.hops);
  way->second.quickest = std::min(way->second.quickest, ns);
  if (ns > way->second.quickest + way->second.late) ++place->late;
}

}  // namespace rocescope
