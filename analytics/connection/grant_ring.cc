// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/grant_ring.h"

namespace rocescope {
namespace {

constexpr uint64_t kNoAddress = 0;

// Whether the grant contains `rkey` and another word that may be a size of at least `size`.
bool Covers(const Grant& grant, uint32_t rkey, uint64_t size) {
  bool key = false;
  bool room = size == 0;
  for (const uint32_t word : grant.words) {
    if (!key && word == rkey) {
      key = true;
    } else if (word >= size) {
      room = true;
    }
  }
  return key && room;
}

}  // namespace

void GrantRing::Insert(uint64_t address, const Grant& grant) {
  if (address == kNoAddress) return;
  for (size_t i = 0; i < addresses_.size(); ++i) {
    if (addresses_[i] != address || grants_[i].flow != grant.flow) continue;
    if (grants_[i].psn != grant.psn) grants_[i] = grant;  // otherwise it is another tap's copy
    return;
  }
  if (addresses_.size() < capacity_) {
    addresses_.push_back(address);
    grants_.push_back(grant);
    return;
  }
  if (grants_[next_].used_by == UINT32_MAX && addresses_[next_] != kNoAddress) ++dropped_;
  addresses_[next_] = address;
  grants_[next_] = grant;
  next_ = (next_ + 1) % capacity_;
}

GrantRing::Lookup GrantRing::Find(uint64_t address, uint32_t length, uint32_t rkey) {
  if (rkey == 0 || address == kNoAddress) return {};  // unused words are zero
  Lookup best;
  for (size_t i = 0; i < addresses_.size(); ++i) {
    if (addresses_[i] > address || addresses_[i] < best.address || addresses_[i] == kNoAddress) {
      continue;
    }
    const uint64_t offset = address - addresses_[i];
    if (!Covers(grants_[i], rkey, offset == 0 ? 0 : offset + length)) continue;
    if (best.grant != nullptr && addresses_[i] == best.address) {
      best.ambiguous |= grants_[i].flow != best.grant->flow;
    } else {
      best = {.grant = &grants_[i], .address = addresses_[i]};
    }
  }
  return best;
}

void GrantRing::Forget(uint32_t flow) {
  for (size_t i = 0; i < grants_.size(); ++i) {
    if (grants_[i].flow == flow) addresses_[i] = kNoAddress;
  }
}

}  // namespace rocescope
