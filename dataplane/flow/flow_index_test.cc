// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/flow_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <unordered_set>

#include "base/hash.h"

namespace rocescope {
namespace {

// An index with its expected content. `spread` is the number of different hashes.
class Index {
 public:
  explicit Index(uint64_t spread = UINT64_MAX) : spread_(spread) {}

  uint64_t HashOf(uint32_t number) const { return Mix64(number) % spread_; }
  size_t Insert(uint32_t number) {
    size_t asked = 0;
    index_.Insert(HashOf(number), number, [&](uint32_t stored) {
      ++asked;
      return HashOf(stored);
    });
    stored_.insert(number);
    return asked;
  }
  void Erase(uint32_t number) {
    index_.Erase(HashOf(number), number, [&](uint32_t stored) { return HashOf(stored); });
    stored_.erase(number);
  }
  bool Knows(uint32_t number) {
    const uint32_t found =
        index_.Find(HashOf(number), [&](uint32_t candidate) { return candidate == number; });
    return found == number;
  }
  bool Holds(uint32_t number) const { return stored_.contains(number); }
  FlowIndex& index() { return index_; }

 private:
  const uint64_t spread_;
  FlowIndex index_{16};
  std::unordered_set<uint32_t> stored_;
};

TEST(FlowIndex, AgreesWithASetWhileGrowing) {
  // The second one has many collisions.
  for (const uint64_t spread : {UINT64_MAX, uint64_t{3000}}) {
    Index index(spread);
    std::mt19937 random(7);
    for (uint32_t i = 0; i < 60'000; ++i) {
      const auto number = static_cast<uint32_t>(random() % (10 + i / 4));
      ASSERT_EQ(index.Knows(number), index.Holds(number)) << i;
      if (index.Holds(number)) {
        index.Erase(number);
      } else {
        index.Insert(number);
      }
    }
    for (uint32_t number = 0; number < 16'000; ++number) {
      ASSERT_EQ(index.Knows(number), index.Holds(number));
    }
  }
}

TEST(FlowIndex, MovesOnlyAFewSlotsPerFlow) {
  Index index;
  for (uint32_t number = 0; number < 300'000; ++number) ASSERT_LE(index.Insert(number), 16u);
  for (uint32_t number = 0; number < 300'000; ++number) ASSERT_TRUE(index.Knows(number));
}

// Immediately after a lookup, or after enough new flows.
TEST(FlowIndex, GuessesMovedEntries) {
  Index index;
  for (uint32_t number = 0; number < 100'000; ++number) index.Insert(number);
  uint32_t guessed = 0;
  for (uint32_t number = 0; number < 100'000; ++number) {
    ASSERT_TRUE(index.Knows(number));
    guessed += index.index().Guess(index.HashOf(number)) == number;
  }
  EXPECT_GT(guessed, 75'000u);  // the others are not in their first slot, at a load of 0.1 to 0.25
}

}  // namespace
}  // namespace rocescope
