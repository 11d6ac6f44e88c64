// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/connection/answer_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Timestamp At(int64_t us) { return FromNanoseconds(us * 1000); }

class AnswerGroupsTest : public testing::Test {
 protected:
  using Closed = std::pair<uint32_t, std::vector<uint32_t>>;  // PSN, responders in order

  void Respond(uint32_t psn, uint32_t responder, int64_t us) {
    groups_.Add(1, psn, {.responder = responder, .version = {}, .time = At(us)},
                [&](const AnswerGroup& group) { Close(group); });
  }
  void Settle(int64_t us) {
    groups_.Settle(At(us), [&](const AnswerGroup& group) { Close(group); });
  }
  void Close(const AnswerGroup& group) {
    std::vector<uint32_t> responders;
    for (size_t i = 0; i < group.size; ++i) responders.push_back(group.responses[i].responder);
    closed_.emplace_back(group.psn, responders);
  }

  AnswerGroups groups_;
  std::vector<Closed> closed_;
};

TEST_F(AnswerGroupsTest, CollectsResponsesWithOnePsn) {
  Respond(7, 1, 0);
  Respond(8, 1, 1);
  Respond(7, 2, 2);
  Settle(100);
  EXPECT_THAT(closed_, IsEmpty());
  Settle(300);
  EXPECT_THAT(closed_, ElementsAre(Closed(7, {1, 2}), Closed(8, {1})));
}

TEST_F(AnswerGroupsTest, StartsANewGroupForALaterResponse) {
  Respond(7, 1, 0);
  Respond(7, 2, 1000);
  EXPECT_THAT(closed_, ElementsAre(Closed(7, {1})));
  Settle(2000);
  EXPECT_THAT(closed_, ElementsAre(Closed(7, {1}), Closed(7, {2})));
}

TEST_F(AnswerGroupsTest, DropsOverflownGroups) {
  for (uint32_t i = 0; i <= AnswerGroup::kMost; ++i) Respond(7, i, i);
  Settle(1000);
  EXPECT_THAT(closed_, IsEmpty());
}

TEST_F(AnswerGroupsTest, ClosesEachGroupOnce) {
  constexpr uint32_t kMany = 100'000;  // more than there are slots
  for (uint32_t psn = 0; psn < kMany; ++psn) {
    Respond(psn, 1, psn * 10);
    Settle(psn * 10);
  }
  Settle(kMany * 10 + 1000);
  ASSERT_EQ(closed_.size(), kMany);
  std::vector<bool> told(kMany);
  for (const auto& [psn, responders] : closed_) {
    EXPECT_FALSE(told[psn]);
    told[psn] = true;
  }
}

}  // namespace
}  // namespace rocescope
