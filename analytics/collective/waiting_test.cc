// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/waiting.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace rocescope {
namespace {

constexpr size_t kLength = 1200;

void SetFrom(size_t begin, size_t count, Bits& bits) {
  for (size_t i = begin; i < begin + count; ++i) bits.Set(i);
}

// In these iterations, the third member is late.
std::map<size_t, uint32_t> ThirdIn(std::initializer_list<size_t> iterations) {
  std::map<size_t, uint32_t> nics;
  for (const size_t iteration : iterations) nics[iteration] = 3;
  return nics;
}

// Three members exchange data and compute for 92; one enters `late` after the others, and then all
// continue.
struct Exchange {
  std::map<uint32_t, Bits> own;
  Bits all;

  // `late_nics`: by iteration.
  Exchange(const std::map<size_t, uint32_t>& late_nics, size_t late) {
    size_t begin = 50;
    for (size_t k = 0; k < 9; ++k) {
      const auto late_nic = late_nics.find(k);
      const uint32_t last_nic = late_nic == late_nics.end() ? 3 : late_nic->second;
      SetFrom(begin, 2, own[last_nic == 1 ? 2 : 1]);
      SetFrom(begin + 1, 1, own[last_nic == 3 ? 2 : 3]);
      const size_t last = late_nic != late_nics.end() ? begin + late : begin + 1;
      for (uint32_t nic = 1; nic <= 3; ++nic) SetFrom(last, 8, own[nic]);
      begin = last + 100;
    }
    for (const auto& [nic, bits] : own) all |= bits;
  }
  Iterations Find() const {
    Iterations found = FindIterations(all, kLength, 100);
    std::vector<const Bits*> members;
    for (const auto& [nic, bits] : own) members.push_back(&bits);
    JoinUnfinished(members, found);
    return found;
  }
};

TEST(FindLateNic, FindsTheNicThatEntersLastRepeatedly) {
  const Exchange exchange(ThirdIn({3, 4, 5, 6}), 40);
  const auto late = FindLateNic(exchange.own, exchange.own, exchange.Find());
  ASSERT_TRUE(late);
  EXPECT_EQ(late->nic, 3u);
  EXPECT_EQ(late->first, 3u);
  EXPECT_EQ(late->last, 6u);
  EXPECT_EQ(late->iterations, 4u);
  EXPECT_NEAR(late->lateness, 40, 1);
}

// On busy hosts, every member is occasionally late.
TEST(FindLateNic, FindsNoneIfOthersAreLateAsOften) {
  const Exchange busy({{0, 2}, {2, 1}, {4, 3}, {6, 3}, {8, 3}}, 40);
  EXPECT_FALSE(FindLateNic(busy.own, busy.own, busy.Find()));
  const Exchange lasting({{0, 2}, {3, 3}, {4, 3}, {5, 3}, {6, 3}, {7, 3}, {8, 3}}, 40);
  const auto late = FindLateNic(lasting.own, lasting.own, lasting.Find());
  ASSERT_TRUE(late) << "in most of the iterations";
  EXPECT_EQ(late->nic, 3u);
  EXPECT_GE(late->iterations, 5u);
}

TEST(FindLateNic, FindsNoneIfAllEnterTogether) {
  const Exchange exchange(ThirdIn({}), 0);
  EXPECT_FALSE(FindLateNic(exchange.own, exchange.own, exchange.Find()));
}

TEST(FindLateNic, FindsNoneAfterTwoSlips) {
  const Exchange exchange(ThirdIn({2, 6}), 40);
  EXPECT_FALSE(FindLateNic(exchange.own, exchange.own, exchange.Find()));
}

// Four members with two steps every 100: the second step starts 40 after the first, or when the
// last member enters. Then all continue.
struct TwoSteps {
  std::map<uint32_t, Bits> own;
  Iterations iterations = {.begins = {}, .quiet = {}, .seen = 0, .period = 100};

  // `late`: by NIC, the delay in the second step, from iteration 3 to 6.
  explicit TwoSteps(const std::map<uint32_t, size_t>& late) {
    size_t begin = 50;
    for (size_t k = 0; k < 8; ++k) {
      iterations.begins.push_back(static_cast<double>(begin));
      iterations.quiet.push_back(40);
      size_t last = 0;
      for (uint32_t nic = 1; nic <= 4; ++nic) {
        SetFrom(begin, 8, own[nic]);
        const bool waits = k >= 3 && k <= 6 && late.contains(nic);
        const size_t enters = begin + 40 + (waits ? late.at(nic) : 0);
        SetFrom(enters, 2, own[nic]);
        last = std::max(last, enters);
      }
      for (uint32_t nic = 1; nic <= 4; ++nic) SetFrom(last, 8, own[nic]);
      begin = last + 60;
    }
    iterations.begins.push_back(static_cast<double>(begin));
    iterations.quiet.push_back(40);
  }
};

TEST(FindLateNic, FindsTheNicThatEntersALaterStepLast) {
  const TwoSteps job(std::map<uint32_t, size_t>{{2, 30}});
  const auto late = FindLateNic(job.own, job.own, job.iterations);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->nic, 2u);
  EXPECT_EQ(late->first, 3u);
  EXPECT_EQ(late->last, 6u);
  EXPECT_EQ(late->iterations, 4u);
  EXPECT_EQ(late->lateness, 30);
}

TEST(FindLateNic, FindsNoneIfAllEnterALaterStepTogether) {
  const TwoSteps job(std::map<uint32_t, size_t>{});
  EXPECT_FALSE(FindLateNic(job.own, job.own, job.iterations));
}

TEST(FindLateNic, FindsNoneIfTwoAreEquallyLate) {
  const TwoSteps job(std::map<uint32_t, size_t>{{2, 30}, {4, 29}});
  EXPECT_FALSE(FindLateNic(job.own, job.own, job.iterations));
}

TEST(FindLateNic, FindsTheLaterOfTwoLateNics) {
  const TwoSteps job(std::map<uint32_t, size_t>{{2, 40}, {4, 20}});
  const auto late = FindLateNic(job.own, job.own, job.iterations);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->nic, 2u);
}

TEST(FindLateNic, IgnoresMostlyInactiveNics) {
  TwoSteps job(std::map<uint32_t, size_t>{{2, 30}});
  SetFrom(static_cast<size_t>(job.iterations.begins[2]), 3, job.own[5]);
  const auto late = FindLateNic(job.own, job.own, job.iterations);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->nic, 2u);
}

// Its input for each step arrives 30 later than the others', but it computes no longer.
TEST(FindLateNic, IgnoresANicWhoseInputWasLate) {
  const TwoSteps job(std::map<uint32_t, size_t>{{2, 30}});
  std::map<uint32_t, Bits> busy = job.own;
  for (size_t k = 3; k <= 6; ++k) {
    SetFrom(static_cast<size_t>(job.iterations.begins[k]) + 8, 30, busy[2]);
  }
  ASSERT_TRUE(FindLateNic(job.own, job.own, job.iterations));
  EXPECT_FALSE(FindLateNic(job.own, busy, job.iterations));
}

// With three members, the last one may have to wait for the others' data; with four, it is unusual.
TEST(FindLateNic, IgnoresANicThatIsAlwaysLastInASmallGroup) {
  const Exchange exchange(ThirdIn({0, 1, 2, 3, 4, 5, 6, 7, 8}), 40);
  EXPECT_FALSE(FindLateNic(exchange.own, exchange.own, exchange.Find()));
  Exchange larger(ThirdIn({0, 1, 2, 3, 4, 5, 6, 7, 8}), 40);
  larger.own[4] = larger.own[2];
  const auto late = FindLateNic(larger.own, larger.own, larger.Find());
  ASSERT_TRUE(late);
  EXPECT_EQ(late->nic, 3u);
}

TEST(JoinUnfinished, KeepsAnIterationWithALateMemberWhole) {
  const Exchange exchange(ThirdIn({3, 4}), 60);
  const Iterations found = exchange.Find();
  EXPECT_EQ(found.count(), 8u);
}

}  // namespace
}  // namespace rocescope
