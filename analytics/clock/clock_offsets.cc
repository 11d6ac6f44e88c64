// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/clock/clock_offsets.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rocescope {

ClockOffsets::ClockOffsets(const ClockOptions& options)
    : options_(options), trails_(options.packets, options.apart), window_(options.window) {}

uint32_t ClockOffsets::ClockOf(const Key& key) {
  const auto known = clocks_.find(key);
  if (known != clocks_.end()) return known->second;
  if (keys_.size() >= options_.clocks) return kNoClock;
  const auto clock = static_cast<uint32_t>(keys_.size());
  clocks_.emplace(key, clock);
  keys_.push_back(key);
  packets_of_.push_back(0);
  settled_.push_back(Duration(0));
  return clock;
}

void ClockOffsets::LearnTap(const TapLocation& place) {
  if (place.tap >= clock_of_tap_.size()) clock_of_tap_.resize(size_t{place.tap} + 1, kNoClock);
  clock_of_tap_[place.tap] = ClockOf({.kind = StampKind::kMirror, .address = place.switch_address});
}

void ClockOffsets::Add(const RecordBatch& batch) {
  for (const ObservationRecord& record : batch.sightings) {
    if (record.kind == ObservationKind::kCnp || record.kind == ObservationKind::kNak) continue;
    if (record.tap >= clock_of_tap_.size()) clock_of_tap_.resize(size_t{record.tap} + 1, kNoClock);
    uint32_t& clock = clock_of_tap_[record.tap];
    if (clock == kNoClock) clock = ClockOf({.kind = StampKind::kCapture, .number = record.tap});
    Add(PacketOf(record), {.where = clock,
                           .ttl = record.ttl,
                           .time = record.event_time,
                           .arrival = record.arrival_time});
  }
  for (const HopRecord& record : batch.hops) {
    // Of a stack all hops have one TTL, and no direction.
    if (!record.packet.known || !record.event_time_told || record.hop_count > 1) continue;
    Add(PacketOf(record.packet),
        {.where = ClockOf({.kind = StampKind::kInt, .number = record.node_id}),
         .ttl = record.packet.ttl,
         .time = record.event_time,
         .arrival = record.arrival_time});
  }
}

void ClockOffsets::Add(uint64_t packet, const Seen& seen) {
  if (seen.where == kNoClock) {
    ++pairs_refused_;
    return;
  }
  trails_.Add(packet, seen, [this](const Seen& from, const Seen& to) { AddDelay(from, to); });
}

// Windows are of arrival, by one clock; whoever comes before the first counts there.
size_t ClockOffsets::WindowOf(Timestamp time) {
  const auto number = [&] { return ToNanoseconds(time) / window_.count(); };
  if (first_window_ < 0) first_window_ = number();
  while (number() - first_window_ >= static_cast<int64_t>(DelayEnvelope::kWindows)) {
    // Pairs begin at even numbers, so that all of them have the same bounds.
    const bool odd = first_window_ % 2 != 0;
    if (odd) --first_window_;
    for (auto& [pair, envelope] : delays_) {
      if (odd) envelope.Shift();
      envelope.Halve();
    }
    first_window_ /= 2;
    window_ *= 2;
  }
  return static_cast<size_t>(std::max<int64_t>(number() - first_window_, 0));
}

void ClockOffsets::AddDelay(const Seen& from, const Seen& to) {
  const size_t window = WindowOf(to.arrival);
  const uint64_t pair = uint64_t{from.where} << 32 | to.where;
  auto at = delays_.find(pair);
  if (at == delays_.end()) {
    if (delays_.size() >= options_.pairs) {
      ++pairs_refused_;
      return;
    }
    at = delays_.emplace(pair, DelayEnvelope()).first;
  }
  at->second.Add(window, (to.time - from.time).count());
  ++packets_of_[from.where];
  ++packets_of_[to.where];
}

std::string ClockOffsets::NameOf(const Key& key) const {
  topology::NodeIndex node = topology::kNone;
  if (key.kind == StampKind::kMirror) {
    if (fabric_ != nullptr) node = fabric_->FindSwitchByErspan(key.address);
    return node == topology::kNone ? ToString(key.address) : fabric_->node(node).name;
  }
  if (key.kind == StampKind::kCapture) return {};
  if (fabric_ != nullptr) node = fabric_->FindSwitchByInt(key.number);
  return node == topology::kNone ? std::to_string(key.number) : fabric_->node(node).name;
}

// The least over the windows.
std::vector<DelayBound> ClockOffsets::BoundsOf(size_t first_window, size_t end) const {
  std::vector<DelayBound> bounds;
  for (const auto& [pair, envelope] : delays_) {
    int64_t least = DelayEnvelope::kNone;
    for (size_t i = first_window; i < end; ++i) least = std::min(least, envelope.Of(i));
    if (least == DelayEnvelope::kNone) continue;
    bounds.push_back({.from = static_cast<uint32_t>(pair >> 32),
                      .to = static_cast<uint32_t>(pair),
                      .ns = least});
  }
  return bounds;
}

// Group by group, each with its first clock as the reference: what contradicts itself in one says
// nothing against the others.
ClockOffsets::Solution ClockOffsets::Solve(std::span<const DelayBound> bounds) const {
  const auto count = static_cast<uint32_t>(keys_.size());
  Solution solution = {.bounds = std::vector<std::optional<OffsetBounds>>(count),
                       .reference = std::vector<uint32_t>(count),
                       .contradicted = std::vector<bool>(count),
                       .groups = {}};
  const std::vector<uint32_t> group_of = GroupsOf(bounds, count);
  solution.groups.resize(count);
  std::vector<uint32_t> place(count);  // in its group
  for (const auto& [key, clock] : clocks_) {
    std::vector<uint32_t>& group = solution.groups[group_of[clock]];
    place[clock] = static_cast<uint32_t>(group.size());
    group.push_back(clock);
  }
  std::vector<std::vector<DelayBound>> within(count);
  for (const DelayBound& bound : bounds) {
    if (group_of[bound.from] != group_of[bound.to]) continue;
    within[group_of[bound.from]].push_back(
        {.from = place[bound.from], .to = place[bound.to], .ns = bound.ns});
  }
  std::erase_if(solution.groups, [](const auto& group) { return group.empty(); });
  for (const std::vector<uint32_t>& group : solution.groups) {
    const auto found =
        BoundOffsets(within[group_of[group[0]]], static_cast<uint32_t>(group.size()), 0);
    for (size_t i = 0; i < group.size(); ++i) {
      solution.contradicted[group[i]] = !found;
      if (found) solution.bounds[group[i]] = found->at(i);
      solution.reference[group[i]] = found ? group[0] : group[i];
    }
  }
  return solution;
}

// Clocks that drift contradict themselves over a long time: the last window that explains the group
// then stands for now.
void ClockOffsets::TakeLast(const std::vector<Solution>& windows, std::span<const uint32_t> group,
                            Solution& all) {
  for (const Solution& window : windows) {
    bool explains = false;
    for (const uint32_t clock : group) explains |= window.reference[clock] != clock;
    for (const uint32_t clock : group) explains = explains && !window.contradicted[clock];
    if (!explains) continue;
    for (const uint32_t clock : group) {
      all.bounds[clock] = window.bounds[clock];
      all.reference[clock] = window.reference[clock];
    }
  }
}

ClockAnswer ClockOffsets::Answer() const {
  ClockAnswer answer = {.clocks = {}, .pairs_refused = pairs_refused_};
  constexpr size_t kWindows = DelayEnvelope::kWindows;
  Solution all = Solve(BoundsOf(0, kWindows));
  std::vector<Solution> windows;
  for (size_t i = 0; i < kWindows; ++i) {
    windows.push_back(Solve(BoundsOf(i, i + 1)));
    answer.contradictions += std::ranges::count(windows.back().contradicted, true) > 0;
  }
  for (const std::vector<uint32_t>& group : all.groups) {
    if (all.contradicted[group[0]]) TakeLast(windows, group, all);
  }
  std::map<uint32_t, uint32_t> groups;  // by reference
  for (const auto& [key, clock] : clocks_) {
    ClockOffset& out = answer.clocks.emplace_back(
        ClockOffset{.kind = key.kind, .name = NameOf(key), .packets = packets_of_[clock]});
    if (key.kind == StampKind::kCapture) out.tap = static_cast<uint16_t>(key.number);
    const uint32_t reference = all.reference[clock];
    out.group = groups.try_emplace(reference, static_cast<uint32_t>(groups.size())).first->second;
    out.reference = reference == clock;
    const std::optional<OffsetBounds>& known = all.bounds[clock];
    if (!known || out.reference) continue;
    const int64_t middle = std::midpoint(known->least, known->most);
    out.offset = Duration(middle);
    out.uncertainty = Duration(known->most - middle);
    out.drift_ppb = DriftOf(windows, clock, reference);
  }
  return answer;
}

// From the first window that bounds the clock to the last: a difference that no two offsets within
// the bounds leave out.
std::optional<double> ClockOffsets::DriftOf(const std::vector<Solution>& windows, uint32_t clock,
                                            uint32_t reference) const {
  const OffsetBounds* first = nullptr;
  size_t first_at = 0;
  std::optional<double> drift;
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto& bounds = windows[i].bounds[clock];
    if (!bounds || windows[i].reference[clock] != reference) continue;
    if (first == nullptr) {
      first = &*bounds;
      first_at = i;
      continue;
    }
    drift.reset();
    if (bounds->least <= first->most && first->least <= bounds->most) continue;
    const auto grown = static_cast<double>(std::midpoint(bounds->least, bounds->most) -
                                           std::midpoint(first->least, first->most));
    const auto span = static_cast<double>(window_.count()) * static_cast<double>(i - first_at);
    drift = grown / span * 1e9;
  }
  return drift;
}

void ClockOffsets::Settle() {
  const ClockAnswer answer = Answer();
  auto at = answer.clocks.begin();
  for (const auto& [key, clock] : clocks_) settled_[clock] = (at++)->offset.value_or(Duration(0));
}

Duration ClockOffsets::OfTap(TapId tap) const {
  if (tap >= clock_of_tap_.size() || clock_of_tap_[tap] == kNoClock) return Duration(0);
  return settled_[clock_of_tap_[tap]];
}

Duration ClockOffsets::OfIntNode(uint32_t node_id) const {
  const auto at = clocks_.find({.kind = StampKind::kInt, .number = node_id});
  return at == clocks_.end() ? Duration(0) : settled_[at->second];
}

}  // namespace rocescope
