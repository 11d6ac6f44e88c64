// SPDX-License-Identifier: BSD-3-Clause
// Creation, eviction and expiry of flow entries, and intervals. flow_event.cc updates entries.
#include "dataplane/flow/flow_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "dataplane/flow/emit.h"

namespace rocescope {
namespace {

constexpr uint32_t kEvictionCandidates = 16;
constexpr uint32_t kExpirySweepShare = 16;  // fraction of the entries that is checked per interval

// Number of entries to prefetch when they are visited in random order.
constexpr uint32_t kAhead = 8;

void PrefetchAll(const FlowEntry& entry) {
  constexpr size_t kLine = 64;
  const auto* at = reinterpret_cast<const char*>(&entry);
  for (size_t i = 0; i < sizeof entry; i += kLine) __builtin_prefetch(at + i, 1);
}

FlowTable::Options Checked(FlowTable::Options options) {
  options.capacity = std::max(options.capacity, 1u);
  options.interval = std::clamp<Duration>(options.interval, std::chrono::milliseconds(1),
                                          FlowTable::kMaximumInterval);
  return options;
}

}  // namespace

FlowTable::FlowTable(const Options& options)
    : options_(Checked(options)),
      index_(options_.steady ? FlowIndex::SlotsFor(options_.capacity) : FlowIndex::kFewestSlots),
      entries_(options_.capacity),
      free_(options_.capacity),
      open_{.flows = ZeroedArray<uint32_t>(options_.capacity), .flag = kFlowActive},
      closing_{.flows = ZeroedArray<uint32_t>(options_.capacity), .flag = kFlowActiveToo},
      observation_budget_(options.sightings),
      interval_end_ns_(std::numeric_limits<int64_t>::min()) {
  if (!options_.steady) return;
  index_.Touch();
  entries_.Touch();
  free_.Touch();
  open_.flows.Touch();
  closing_.flows.Touch();
  probes_.Touch();
  gaps_.Touch();
}

// Slow path: the entry was not at the guessed position, or has another DSCP.
FlowEntry& FlowTable::FindOrCreate(const RocePacket& packet, const Place& place, int64_t now_ns,
                                   RecordBatch& out) {
  const uint32_t number = index_.Find(place.flow_hash, [&](uint32_t candidate) {
    return IsOf(entries_[candidate], packet, place.identity, kDscpInIdentity);
  });
  if (number == FlowIndex::kAbsent) return Create(packet, place, now_ns, out);
  FlowEntry& entry = entries_[number];
  if (entry.identity != place.identity) {
    entry.identity = place.identity;
    entry.flags |= kFlowDscpChanged;
  }
  return entry;
}

FlowEntry& FlowTable::Create(const RocePacket& packet, const Place& place, int64_t now_ns,
                             RecordBatch& out) {
  const uint32_t number = TakeEntry(out);
  FlowEntry& entry = entries_[number];
  // The new flow takes over the evicted flow's position in the active list.
  const bool listed = (entry.flags & open_.flag) != 0;
  entry = FlowEntry{};
  entry.source = packet.source;
  entry.destination = packet.destination;
  entry.identity = place.identity;
  entry.segment = packet.segment;
  entry.udp_source_port = packet.udp_source_port;
  entry.mac_signature = packet.mac_signature;
  if (packet.Traits().Is(wire::kOpcodeDatagram)) entry.flags |= kFlowDatagrams;
  entry.peer = FlowIndex::kAbsent;
  RequestGaps(entry).Forget();
  ResponseGaps(entry).Forget();
  entry.credits = 31;
  index_.Insert(place.flow_hash, number,
                [this](uint32_t stored) { return HashOf(entries_[stored]); });
  ++size_;
  ++statistics_.flows_created;
  if (listed) Activate(entry, now_ns);
  return entry;
}

void FlowTable::Activate(FlowEntry& entry, int64_t now_ns) const {
  entry.flags |= open_.flag;
  entry.first_seen_offset_ns = static_cast<uint32_t>(
      std::clamp<int64_t>(now_ns - interval_start_ns_, 0, int64_t{UINT32_MAX}));
}

void FlowTable::SwitchInterval(int64_t now_ns, RecordBatch& out) {
  const Timestamp event = FromNanoseconds(now_ns);
  if (now_ns >= interval_end_ns_) {
    if (interval_end_ns_ != std::numeric_limits<int64_t>::min()) CloseInterval(out);
    OpenInterval(IntervalIndex(event, options_.interval));
  } else if (CountLate(now_ns)) {
    CloseInterval(out);
    OpenInterval(IntervalIndex(event, options_.interval));
  }
}

// A wrong time in the future must not make all later packets late, and two taps with different
// clocks must not open and close intervals with every packet.
bool FlowTable::CountLate(int64_t now_ns) {
  constexpr int64_t kFar = 10'000'000'000;
  constexpr uint32_t kEnough = 64;
  ++statistics_.late_packets;
  if (interval_start_ns_ - now_ns < kFar) {
    far_late_ = 0;
    return false;
  }
  if (++far_late_ < kEnough) return false;
  far_late_ = 0;
  return true;
}

void FlowTable::OpenInterval(int64_t index) {
  interval_start_ns_ = index * options_.interval.count();
  interval_end_ns_ = interval_start_ns_ + options_.interval.count();
  observation_budget_.BeginInterval(index);
}

void FlowTable::CloseInterval(RecordBatch& out) {
  CloseRest(out);  // closes the previous interval
  std::swap(open_, closing_);
  closing_start_ns_ = interval_start_ns_;
  next_closed_ = 0;
  unswept_ = (used_ + kExpirySweepShare - 1) / kExpirySweepShare;
  closes_ = true;
  statistics_.observations_capped += observation_budget_.EndInterval();
  if (!options_.steady) CloseRest(out);
}

void FlowTable::CloseSome(uint32_t flows, RecordBatch& out) {
  const uint32_t end = next_closed_ + std::min(flows, closing_.count - next_closed_);
  for (; next_closed_ < end; ++next_closed_) {
    const uint32_t ahead = next_closed_ + kAhead;
    if (ahead < closing_.count) PrefetchAll(entries_[closing_.flows[ahead]]);
    FlowEntry& entry = entries_[closing_.flows[next_closed_]];
    if ((entry.flags & closing_.flag) != 0) Emit(entry, closing_start_ns_, out);
  }
  if (next_closed_ < closing_.count) return;
  constexpr uint64_t kSweptPerFlow = 8;
  ExpireSome(static_cast<uint32_t>(std::min<uint64_t>(unswept_, flows * kSweptPerFlow)));
  if (unswept_ > 0) return;
  closing_.count = 0;
  closes_ = false;
}

void FlowTable::Tell(const FlowEntry& entry, int64_t start_ns, RecordBatch& out) const {
  out.flows.push_back(
      MakeFlowRecord(entry, NumberOf(entry), FromNanoseconds(start_ns), options_.interval));
}

void FlowTable::Emit(FlowEntry& entry, int64_t start_ns, RecordBatch& out) const {
  if (entry.bytes != 0) Tell(entry, start_ns, out);
  ClearInterval(entry);
}

void FlowTable::Advance(Timestamp now, RecordBatch& out) {
  if (interval_end_ns_ == std::numeric_limits<int64_t>::min()) return;
  if (ToNanoseconds(now) >= interval_end_ns_) {
    CloseInterval(out);
    CloseRest(out);
    OpenInterval(IntervalIndex(now, options_.interval));
  } else if (closes_) {
    constexpr uint32_t kClosedPerCall = 256;
    CloseSome(kClosedPerCall, out);
  }
}

void FlowTable::Flush(RecordBatch& out) {
  if (interval_end_ns_ == std::numeric_limits<int64_t>::min()) return;
  CloseInterval(out);
  CloseRest(out);
}

uint32_t FlowTable::TakeEntry(RecordBatch& out) {
  if (free_count_ > 0) return free_[--free_count_];
  if (used_ < options_.capacity) return used_++;
  uint32_t victim = eviction_hand_;
  for (uint32_t i = 0; i < std::min(kEvictionCandidates, options_.capacity); ++i) {
    const uint32_t candidate = (eviction_hand_ + i) % options_.capacity;
    if (entries_[candidate].last_seen_ns < entries_[victim].last_seen_ns) victim = candidate;
  }
  eviction_hand_ = (eviction_hand_ + kEvictionCandidates) % options_.capacity;
  FlowEntry& entry = entries_[victim];
  if ((entry.flags & (open_.flag | closing_.flag)) != 0 && entry.bytes != 0) {
    Tell(entry, (entry.flags & open_.flag) != 0 ? interval_start_ns_ : closing_start_ns_, out);
  }
  index_.Erase(HashOf(entry), victim, [this](uint32_t stored) { return HashOf(entries_[stored]); });
  --size_;
  ++statistics_.flows_evicted;
  return victim;
}

void FlowTable::Release(uint32_t number) {
  index_.Erase(HashOf(entries_[number]), number,
               [this](uint32_t stored) { return HashOf(entries_[stored]); });
  entries_[number].flags = 0;
  entries_[number].identity = 0;
  free_[free_count_++] = number;
  --size_;
}

void FlowTable::ExpireSome(uint32_t entries) {
  const int64_t now_ns = closing_start_ns_ + options_.interval.count();
  for (uint32_t i = 0; i < entries; ++i) {
    if (expiry_hand_ >= used_) expiry_hand_ = 0;
    const FlowEntry& entry = entries_[expiry_hand_];
    if (entry.InUse() && (entry.flags & (open_.flag | closing_.flag)) == 0 &&
        now_ns - entry.last_seen_ns > options_.idle_timeout.count()) {
      Release(expiry_hand_);
      ++statistics_.flows_expired;
    }
    ++expiry_hand_;
  }
  unswept_ -= entries;
}

}  // namespace rocescope
