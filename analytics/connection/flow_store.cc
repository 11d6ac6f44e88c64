// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/flow_store.h"

#include <algorithm>
#include <utility>

namespace rocescope {
namespace {

template <typename T>
uint32_t Take(std::vector<T>& items, std::vector<uint32_t>& free) {
  if (!free.empty()) {
    const uint32_t index = free.back();
    free.pop_back();
    return index;
  }
  items.emplace_back();
  return static_cast<uint32_t>(items.size() - 1);
}

}  // namespace

FlowId FlowStore::Find(const FlowKey& key) const {
  const FlowId flow = registry_.Find(key);
  return Has(flow) ? flow : kNoFlow;
}

void FlowStore::Approach(FlowId flow) const {
  if (flow < flows_.size()) PrefetchLines<3>(&flows_[flow]);
}

void FlowStore::ApproachTap(FlowId flow) const {
  if (flow >= flows_.size()) return;
  const FlowState& state = flows_[flow];
  if (state.pair < pairs_.size()) PrefetchLines<1>(&pairs_[state.pair]);
  if (state.first_at_tap < at_taps_.size()) PrefetchLines<2>(&at_taps_[state.first_at_tap]);
}

bool FlowStore::Add(FlowId flow) {
  if (Has(flow)) return true;
  const FlowKey& key = registry_.key(flow);
  const uint32_t pair_number = PairOf(key);
  HostPair& pair = pairs_[pair_number];
  const uint8_t side = pair.SideOf(key);
  if (pair.flows[side].size() >= limits_.flows_per_side) return false;
  FlowState& state = StateOf(flows_, flow);
  state.pair = pair_number;
  state.side = side;
  state.position = static_cast<uint32_t>(pair.flows[side].size());
  pair.flows[side].push_back(flow);
  return true;
}

FlowId FlowStore::FindQuiet(FlowId flow) const {
  const FlowKey& key = registry_.key(flow);
  const HostPair& pair = pairs_[FindPair({.segment = key.segment,
                                          .low = std::min(key.source, key.destination),
                                          .high = std::max(key.source, key.destination)})];
  const std::vector<FlowId>& side = pair.flows[pair.SideOf(key)];
  const auto count = static_cast<uint32_t>(side.size());
  IdleEvictor<Timestamp> hand(static_cast<uint32_t>(pair.records % count));
  const uint32_t at =
      hand.Find(count, registry_.IdleSince(), [&](uint32_t i) { return registry_.last(side[i]); });
  return at == IdleEvictor<Timestamp>::kNone ? kNoFlow : side[at];
}

uint32_t FlowStore::PairOf(const FlowKey& key) {
  const auto [low, high] = std::minmax(key.source, key.destination);
  const HostPairKey pair = {.segment = key.segment, .low = low, .high = high};
  const auto [place, is_new] = pair_index_.try_emplace(pair, 0);
  if (!is_new) return place->second;
  place->second = Take(pairs_, free_pairs_);
  pairs_[place->second].key = pair;
  return place->second;
}

uint32_t FlowStore::ChannelOf(HostPair& pair, TapId tap) {
  for (const auto& [at, channel] : pair.channels) {
    if (at == tap) return channel;
  }
  if (pair.channels.size() >= limits_.taps_per_pair) return kNoFlow;
  uint32_t channel;
  if (free_channels_.empty()) {
    channel = static_cast<uint32_t>(requesters_.size());
    requesters_.resize(requesters_.size() + 2, 0);
  } else {
    channel = free_channels_.back();
    free_channels_.pop_back();
  }
  pair.channels.emplace_back(tap, channel);
  return channel;
}

FlowAtTap* FlowStore::AtTap(FlowId flow_number, TapId tap, bool* is_new) {
  FlowState& state = flows_[flow_number];
  for (uint32_t i = state.first_at_tap; i != kNoFlow; i = at_taps_[i].next) {
    if (at_taps_[i].tap == tap) return &at_taps_[i];
  }
  const uint32_t channel = ChannelOf(pairs_[state.pair], tap);
  if (channel == kNoFlow) return nullptr;
  const uint32_t number = Take(at_taps_, free_at_taps_);
  FlowAtTap& at_tap = at_taps_[number];
  at_tap.tap = tap;
  at_tap.version = VersionOf(flow_number);
  at_tap.channel = channel + state.side;
  at_tap.reverse_channel = channel + 1 - state.side;
  at_tap.next = std::exchange(state.first_at_tap, number);
  if (is_new != nullptr) *is_new = true;
  return &at_tap;
}

uint32_t FlowStore::FindPair(const HostPairKey& pair) const {
  const auto found = pair_index_.find(pair);
  return found == pair_index_.end() ? kNoFlow : found->second;
}

void FlowStore::MarkChanged(const HostPairKey& pair) {
  const uint32_t number = FindPair(pair);
  if (number != kNoFlow) return MarkChanged(number);
  changed_.push_back(pair);
}

void FlowStore::MarkAllChanged() {
  for (const auto& [key, number] : pair_index_) MarkChanged(number);
}

std::vector<HostPairKey> FlowStore::TakeChanged() {
  for (const HostPairKey& pair : changed_) {
    if (const uint32_t number = FindPair(pair); number != kNoFlow) pairs_[number].changed = false;
  }
  std::ranges::sort(changed_);
  changed_.erase(std::ranges::unique(changed_).begin(), changed_.end());
  return std::exchange(changed_, {});
}

void FlowStore::Reset(FlowId number) {
  FlowState& state = flows_[number];
  MarkChanged(state.pair);
  HostPair& pair = pairs_[state.pair];
  for (uint32_t i = state.first_at_tap; i != kNoFlow;) {
    FlowAtTap& old = at_taps_[i];
    if (old.sends_requests) --requesters_[old.channel];
    FlowAtTap fresh;
    fresh.tap = old.tap;
    fresh.version = {number, state.incarnation + 1};
    fresh.next = old.next;
    fresh.channel = old.channel;
    fresh.reverse_channel = old.reverse_channel;
    fresh.near_source = old.near_source;
    i = old.next;
    old = fresh;
  }
  if (pair.grants[state.side] != nullptr) pair.grants[state.side]->Forget(number);
  if (const uint32_t partner = state.managed_partner(); partner != kNoFlow) {
    flows_[partner].management.reset();
  }
  FlowState fresh;
  fresh.pair = state.pair;
  fresh.side = state.side;
  fresh.position = state.position;
  fresh.first_at_tap = state.first_at_tap;
  fresh.incarnation = state.incarnation + 1;
  fresh.last_seen = state.last_seen;
  fresh.known_outdated = true;
  fresh.restarted = state.restarted;
  fresh.last_restart = state.last_restart;
  fresh.partner_restarted = state.partner_restarted;
  fresh.disconnected = state.disconnected;
  state = std::move(fresh);
}

void FlowStore::Free(FlowId number) {
  Reset(number);
  FlowState& state = flows_[number];
  for (uint32_t i = state.first_at_tap; i != kNoFlow;) {
    const uint32_t next = at_taps_[i].next;
    at_taps_[i] = {};
    free_at_taps_.push_back(i);
    i = next;
  }
  const uint32_t pair_number = state.pair;
  HostPair& pair = pairs_[pair_number];
  // The last flow of its side takes its position.
  std::vector<uint32_t>& side = pair.flows[state.side];
  flows_[side.back()].position = state.position;
  side[state.position] = side.back();
  side.pop_back();
  const uint32_t incarnation = state.incarnation;
  state = {};
  state.incarnation = incarnation;
  if (pair.flow_count() == 0) FreePair(pair_number);
}

void FlowStore::FreePair(uint32_t number) {
  HostPair& pair = pairs_[number];
  for (const auto& [tap, channel] : pair.channels) {
    requesters_[channel] = 0;
    requesters_[channel + 1] = 0;
    free_channels_.push_back(channel);
  }
  pair_index_.erase(pair.key);
  pair = {};
  free_pairs_.push_back(number);
}

}  // namespace rocescope
