// SPDX-License-Identifier: BSD-3-Clause
#include "base/shared_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SharedList, CopiesShareTheElements) {
  const SharedList<std::string> list = {"a", "b"};
  const SharedList<std::string> copy = list;
  EXPECT_THAT(copy, ElementsAre("a", "b"));
  EXPECT_EQ(&copy[1], &list[1]);
}

TEST(SharedList, AnEmptyListHasNoElements) {
  EXPECT_THAT(SharedList<int>(), IsEmpty());
  EXPECT_THAT(SharedList<int>(std::vector<int>()), IsEmpty());
  EXPECT_EQ(SharedList<int>().begin(), SharedList<int>().end());
  EXPECT_EQ(SharedList<int>(), SharedList<int>(std::vector<int>()));
}

TEST(SharedList, ComparesElements) {
  const SharedList<int> list = {1, 2};
  EXPECT_EQ(list, (SharedList<int>{1, 2}));
  EXPECT_NE(list, (SharedList<int>{1, 3}));
  EXPECT_NE(list, SharedList<int>());
}

}  // namespace
}  // namespace rocescope
