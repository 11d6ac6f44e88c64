// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/record/flow_slot_index.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace rocescope {
namespace {

FlowKey FlowTo(uint32_t qpn) {
  return {.source = IpAddress::FromV4(1),
          .destination = IpAddress::FromV4(2),
          .destination_qpn = {qpn}};
}

TEST(FlowSlotIndex, FindsNothingAtFirst) {
  const FlowSlotIndex index;
  EXPECT_EQ(index.Find(FlowTo(1), [](uint32_t) { return FlowKey(); }), FlowSlotIndex::kNone);
}

// Against std::map, with insertions and erasures at random.
TEST(FlowSlotIndex, HasWhatAMapHas) {
  std::mt19937 random(1);
  std::map<uint32_t, uint32_t> model;  // place by number
  std::vector<FlowKey> keys;
  const auto key_of = [&](uint32_t place) { return keys[place]; };
  FlowSlotIndex index;
  for (int i = 0; i < 20'000; ++i) {
    const uint32_t number = random() % (i < 10'000 ? 3000 : 300);
    const FlowKey key = FlowTo(number);
    const auto known = model.find(number);
    ASSERT_EQ(index.Find(key, key_of), known == model.end() ? FlowSlotIndex::kNone : known->second);
    if (known == model.end()) {
      model.emplace(number, static_cast<uint32_t>(keys.size()));
      index.Insert(key, static_cast<uint32_t>(keys.size()));
      keys.push_back(key);
    } else if (random() % 2 == 0) {
      index.Erase(key, key_of);
      model.erase(known);
    }
    ASSERT_EQ(index.size(), model.size());
  }
  for (const auto& [number, place] : model) ASSERT_EQ(index.Find(FlowTo(number), key_of), place);
}

}  // namespace
}  // namespace rocescope
