// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/chunks/chunks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace rocescope {
namespace {

using testing::ElementsAreArray;

struct Item {
  int key = 0;
  int value = 0;
  friend bool operator==(const Item&, const Item&) = default;
};

Chunks<Item> Numbers(int count) {
  std::vector<int> keys;
  std::vector<Item> items;
  for (int i = 0; i < count; ++i) {
    keys.push_back(i);
    items.push_back({.key = i, .value = i});
  }
  return Chunks<Item>().With(keys, items, &Item::key);
}

TEST(Chunks, AreEmptyWithoutElements) {
  const Chunks<Item> none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.begin(), none.end());
  EXPECT_EQ(none.Find(1, &Item::key), nullptr);
  EXPECT_TRUE(none.With(std::vector{1}, {}, &Item::key).empty());
}

TEST(Chunks, ReadLikeAVector) {
  const Chunks<Item> numbers = Numbers(1000);
  ASSERT_EQ(numbers.size(), 1000u);
  EXPECT_EQ(numbers[777].value, 777);
  EXPECT_EQ(numbers.begin()[640].value, 640);
  EXPECT_EQ(numbers.end() - numbers.begin(), 1000);
  EXPECT_EQ((numbers.end() - 1)->value, 999);
  EXPECT_EQ(std::ranges::lower_bound(numbers, 500, {}, &Item::key)->value, 500);
  int next = 0;
  for (const Item& item : numbers) EXPECT_EQ(item.value, next++);
  EXPECT_EQ(next, 1000);
}

TEST(Chunks, FindByKey) {
  const Chunks<Item> numbers = Numbers(1000);
  ASSERT_NE(numbers.Find(998, &Item::key), nullptr);
  EXPECT_EQ(numbers.Find(998, &Item::key)->value, 998);
  EXPECT_EQ(numbers.Find(1000, &Item::key), nullptr);
  EXPECT_EQ(numbers.Find(-1, &Item::key), nullptr);
  EXPECT_EQ(numbers.LowerBound(-1, &Item::key), numbers.begin());
  EXPECT_EQ(numbers.LowerBound(640, &Item::key)->value, 640);
  EXPECT_EQ(numbers.LowerBound(1000, &Item::key), numbers.end());
}

TEST(Chunks, ShareUnchangedChunks) {
  const Chunks<Item> before = Numbers(10 * Chunks<Item>::kFull);
  const Chunks<Item> after = before.With(std::vector{100}, {{.key = 100, .value = -1}}, &Item::key);
  ASSERT_EQ(after.chunks().size(), before.chunks().size());
  for (size_t i = 0; i < after.chunks().size(); ++i) {
    EXPECT_EQ(after.chunks()[i] == before.chunks()[i], i != 100 / Chunks<Item>::kFull) << i;
  }
  EXPECT_EQ(before[100].value, 100);
  EXPECT_EQ(after[100].value, -1);
}

TEST(Chunks, KeepElementsOfOneKeyTogether) {
  std::vector<Item> same(5 * Chunks<Item>::kFull, Item{.key = 7});
  const Chunks<Item> all = Numbers(100).With(std::vector{7}, same, &Item::key);
  EXPECT_EQ(all.size(), 99 + same.size());
  EXPECT_EQ(all.With(std::vector{7}, {}, &Item::key).size(), 99u);
}

// Compares with std::multimap over many versions, and checks that no chunk remains small.
TEST(Chunks, MatchAMultimap) {
  std::mt19937 random(1);
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  std::multimap<int, int> model;
  Chunks<Item> all;
  for (int version = 0; version < 300; ++version) {
    std::set<int> keys;
    for (int i = below(version % 10 == 0 ? 400 : 8); i >= 0; --i) keys.insert(below(1500));
    std::vector<Item> fresh;
    for (const int key : keys) {
      model.erase(key);
      for (int i = below(3); i > 0; --i) {
        model.emplace(key, version);
        fresh.push_back({.key = key, .value = version});
      }
    }
    all = all.With(std::vector<int>(keys.begin(), keys.end()), fresh, &Item::key);
    std::vector<Item> expected;
    for (const auto& [key, value] : model) expected.push_back({.key = key, .value = value});
    ASSERT_THAT(std::vector<Item>(all.begin(), all.end()), ElementsAreArray(expected));
    ASSERT_LE(all.chunks().size(), 1 + 4 * all.size() / Chunks<Item>::kFull);
  }
}

}  // namespace
}  // namespace rocescope
