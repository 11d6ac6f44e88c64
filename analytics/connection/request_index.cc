// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/request_index.h"

#include "base/hash.h"

namespace rocescope {
namespace {

uint64_t KeyOf(uint32_t channel, uint32_t psn) { return uint64_t{channel} << 24 | psn; }

uint32_t TicksOf(Timestamp time) {
  return static_cast<uint32_t>(static_cast<uint64_t>(ToNanoseconds(time)) /
                               static_cast<uint64_t>(RequestIndex::kTick.count()));
}

}  // namespace

RequestIndex::RequestIndex(size_t sets, Duration maximum_age)
    : entries_(sets * kPaths),
      set_mask_(sets - 1),
      maximum_age_(static_cast<uint32_t>(maximum_age / kTick)) {}

RequestIndex::Entry* RequestIndex::SetOf(uint64_t key) {
  return &entries_[(Mix64(key) & set_mask_) * kPaths];
}

const RequestIndex::Entry* RequestIndex::SetOf(uint64_t key) const {
  return &entries_[(Mix64(key) & set_mask_) * kPaths];
}

void RequestIndex::Insert(uint32_t channel, uint32_t psn, uint32_t owner, Timestamp time) {
  const uint64_t key = KeyOf(channel, psn);
  const uint32_t now = TicksOf(time);
  Entry* const set = SetOf(key);
  Entry* victim = set;
  uint32_t victim_age = 0;
  for (size_t way = 0; way < kPaths; ++way) {
    Entry& entry = set[way];
    if (entry.key == key && entry.owner == owner) {
      if (now - entry.ticks > maximum_age_) entry.ticks = now;
      return;
    }
    const uint32_t age = entry.key == kEmpty ? UINT32_MAX : now - entry.ticks;
    if (age > victim_age) {
      victim = &entry;
      victim_age = age;
    }
  }
  if (victim->key != kEmpty && victim_age <= maximum_age_) ++evicted_;
  *victim = {.key = key, .owner = owner, .ticks = now};
}

void RequestIndex::Find(uint32_t channel, uint32_t psn, Timestamp time, Matches& matches) const {
  const uint64_t key = KeyOf(channel, psn);
  const uint32_t now = TicksOf(time);
  const Entry* const set = SetOf(key);
  matches.size = 0;
  for (size_t way = 0; way < kPaths; ++way) {
    // A request later than the response has an "age" near 2^32 and falls out as too old.
    const uint32_t age = now - set[way].ticks;
    if (set[way].key != key || age > maximum_age_) continue;
    matches.items[matches.size++] = {.owner = set[way].owner,
                                     .entry = static_cast<uint32_t>(&set[way] - entries_.data()),
                                     .age = age * kTick};
  }
}

}  // namespace rocescope
