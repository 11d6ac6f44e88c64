// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/reth_echo.h"

#include <algorithm>
#include <memory>

#include "analytics/connection/grant_ring.h"

namespace rocescope {
namespace {

constexpr size_t kMaximumUsers = 32;  // flows remembered as users of one flow's grants

uint64_t DroppedBy(const HostPair& pair) {
  uint64_t dropped = 0;
  for (const std::unique_ptr<GrantRing>& ring : pair.grants) {
    if (ring != nullptr) dropped += ring->dropped();
  }
  return dropped;
}

}  // namespace

void RethEcho::Add(FlowStore& store, uint32_t number, const ObservationRecord& record) {
  const FlowState& state = store.flow(number);
  HostPair& pair = store.pair(state.pair);
  if (pair.IsLoopback()) return;
  if (record.has_clear_to_send) {
    std::unique_ptr<GrantRing>& ring = pair.grants[state.side];
    if (ring == nullptr) ring = std::make_unique<GrantRing>(grants_per_direction_);
    ring->Insert(record.granted_address, {.flow = number,
                                          .psn = record.psn,
                                          .words = record.granted_words,
                                          .time = record.event_time});
  }
  GrantRing* const grants = pair.grants[1 - state.side].get();
  if (grants == nullptr || !record.has_reth) return;
  const GrantRing::Lookup found =
      grants->Find(record.reth_address, record.reth_length, record.reth_rkey);
  if (found.grant == nullptr) return;
  if (found.ambiguous) {
    ++grants_ambiguous_;
    return;
  }
  Grant& grant = *found.grant;
  if (grant.used_by == number && grant.used_psn == record.psn) return;
  grant.used_by = number;
  grant.used_psn = record.psn;
  CountUse(store, grant.flow,
           {.user = store.VersionOf(number),
            .count = 1,
            .tap = record.tap,
            .address = record.reth_address,
            .rkey = record.reth_rkey,
            .granted = grant.time,
            .used = record.event_time});
}

void RethEcho::CountUse(FlowStore& store, uint32_t granter, const GrantUse& use) {
  std::vector<GrantUse>& uses = store.flow(granter).uses;
  for (GrantUse& known : uses) {
    if (known.user != use.user) continue;
    ++known.count;
    return;
  }
  std::erase_if(uses, [&](const GrantUse& known) { return !store.IsCurrent(known.user); });
  if (uses.size() < kMaximumUsers) {
    uses.push_back(use);
  } else {
    ++candidates_dropped_;
  }
}

void RethEcho::Forget(const HostPair& pair) { grants_dropped_ += DroppedBy(pair); }

uint64_t RethEcho::GrantsDropped(const FlowStore& store) const {
  uint64_t dropped = grants_dropped_;
  for (uint32_t i = 0; i < store.pair_slots(); ++i) dropped += DroppedBy(store.pair(i));
  return dropped;
}

}  // namespace rocescope
