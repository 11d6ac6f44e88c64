// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/flow/idle_evictor.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace rocescope {
namespace {

TEST(IdleEvictor, ReturnsTheLeastRecentlyActiveOfAFew) {
  std::vector<int> last = {9, 4, 2, 7};
  IdleEvictor<int> hand;
  const auto last_of = [&](uint32_t place) { return last[place]; };
  EXPECT_EQ(hand.Find(4, 8, last_of), 2u);
  last[2] = 10;
  EXPECT_EQ(hand.Find(4, 8, last_of), 1u);
  EXPECT_EQ(hand.Find(4, 4, last_of), IdleEvictor<int>::kNone) << "4 is not less than 4";
  EXPECT_EQ(hand.Find(0, 8, last_of), IdleEvictor<int>::kNone);
}

TEST(IdleEvictor, ScansAllPlacesAFewAtATime) {
  std::vector<int> last(1000);
  std::iota(last.begin(), last.end(), 0);
  IdleEvictor<int> hand;
  std::set<uint32_t> found;
  int most = 0;
  for (int i = 0; i < 4000; ++i) {
    int looks = 0;
    const uint32_t place = hand.Find(1000, 1000, [&](uint32_t at) {
      ++looks;
      return last[at];
    });
    most = std::max(most, looks);
    if (place == IdleEvictor<int>::kNone) continue;
    EXPECT_TRUE(found.insert(place).second);
    last[place] = 2000;
  }
  EXPECT_EQ(most, int{IdleEvictor<int>::kLooks});
  EXPECT_EQ(found.size(), 1000u);
}

TEST(IdleEvictor, PausesWhileAllAreActive) {
  std::vector<int> last(100, 50);
  last[70] = 40;
  IdleEvictor<int> hand;
  int looks = 0;
  const auto find = [&](int since) {
    return hand.Find(100, since, [&](uint32_t at) {
      ++looks;
      return last[at];
    });
  };
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(find(40), IdleEvictor<int>::kNone);
  EXPECT_LT(looks, 100 + int{IdleEvictor<int>::kLooks});
  uint32_t found = IdleEvictor<int>::kNone;
  for (int i = 0; i < 10 && found == IdleEvictor<int>::kNone; ++i) found = find(41);
  EXPECT_EQ(found, 70u);
}

}  // namespace
}  // namespace rocescope
