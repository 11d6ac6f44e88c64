// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/flow/observation_rate.h"

#include <gtest/gtest.h>

#include <barrier>
#include <random>
#include <thread>
#include <vector>

#include "dataplane/flow/observation_budget.h"

namespace rocescope {
namespace {

constexpr int64_t kEpoch = 17'000'000'000;  // epochs of 100 ms, at a realistic time

TEST(ObservationRate, IsDeterminedByTheSumOverLcores) {
  ObservationRate rate({.chosen_per_interval = 100});
  ObservationRate::Member one = rate.Join();
  ObservationRate::Member other = rate.Join();
  one.Enter(kEpoch);
  other.Enter(kEpoch);
  one.Publish(90);
  other.Publish(90);
  EXPECT_EQ(one.Enter(kEpoch + 1), 1);  // 180 exceed 100, and 180 / 2 do not
  EXPECT_EQ(other.Enter(kEpoch + 1), 1);
}

// A later lcore has published more, but k of the epoch is already determined.
TEST(ObservationRate, IsDeterminedOncePerEpoch) {
  ObservationRate rate({.chosen_per_interval = 100});
  ObservationRate::Member early = rate.Join();
  ObservationRate::Member late = rate.Join();
  early.Enter(kEpoch);
  late.Enter(kEpoch);
  early.Publish(50);
  EXPECT_EQ(early.Enter(kEpoch + 1), 0);
  late.Publish(160);
  EXPECT_EQ(late.Enter(kEpoch + 1), 0);
}

TEST(ObservationRate, IsBasedOnTheLastEpochWithPackets) {
  ObservationRate rate({.chosen_per_interval = 100});
  ObservationRate::Member busy = rate.Join();
  ObservationRate::Member quiet = rate.Join();
  quiet.Enter(kEpoch);
  quiet.Publish(1);
  busy.Enter(kEpoch + 5);
  busy.Publish(150);
  EXPECT_EQ(quiet.Enter(kEpoch + 9), 1);
}

TEST(ObservationRate, IsRaisedForAllLcoresOnOverrun) {
  ObservationRate rate({.chosen_per_interval = 100});
  ObservationRate::Member one = rate.Join();
  ObservationRate::Member other = rate.Join();
  one.Enter(kEpoch);
  other.Enter(kEpoch);
  EXPECT_EQ(one.Publish(150).exponent, 0);
  EXPECT_EQ(other.Publish(50).exponent, 0);
  EXPECT_EQ(other.Publish(51).exponent, 1);  // 201 is more than twice 100
  EXPECT_EQ(one.Publish(151).exponent, 1);
}

TEST(ObservationRate, IsStableForPastEpochs) {
  ObservationRate rate({.chosen_per_interval = 100});
  ObservationRate::Member ahead = rate.Join();
  ObservationRate::Member behind = rate.Join();
  for (int64_t i = 0; i < 10; ++i) {
    ahead.Enter(kEpoch + i);
    ahead.Publish(i == 3 ? 150 : 10);
  }
  EXPECT_EQ(behind.Enter(kEpoch + 3), 0);
  EXPECT_EQ(behind.Enter(kEpoch + 4), 1);
  EXPECT_EQ(behind.Enter(kEpoch + 5), 0);
}

// Event times before 1970, as from a mirror whose clock was never set.
TEST(ObservationRate, IsUndeterminedBeforeTheEpochIsEntered) {
  for (int64_t epoch = -130; epoch < 130; ++epoch) {
    ObservationRate rate({.chosen_per_interval = 100});
    EXPECT_EQ(rate.Join().Enter(epoch), 0) << epoch;
  }
}

TEST(ObservationRate, IsNeverLessThanTheMinimum) {
  ObservationRate rate({.chosen_per_interval = 100, .minimum_exponent = 5});
  ObservationRate::Member member = rate.Join();
  EXPECT_EQ(member.Enter(kEpoch), 5);
  member.Publish(1);
  EXPECT_EQ(member.Enter(kEpoch + 1), 5);
}

TEST(ObservationRate, RequestsPublicationBeforeTheSumIsInaccurate) {
  ObservationRate rate({.chosen_per_interval = 6400});
  ObservationRate::Member one = rate.Join();
  ObservationRate::Member other = rate.Join();
  one.Enter(kEpoch);
  other.Enter(kEpoch);
  uint64_t count = 0;
  int publications = 0;
  while (count < 6400) {
    const uint64_t next = one.Publish(count).next;
    ASSERT_GT(next, count);
    ASSERT_LE(next - count, 6400u / 32);
    count = next;
    ++publications;
  }
  EXPECT_LE(publications, 100);
}

// Compares an unshared budget with one whose rate has only one member, packet by packet.
TEST(ObservationRate, OfOneLcoreEqualsAnUnsharedBudget) {
  std::mt19937 random(3);
  ObservationBudget alone({.chosen_per_interval = 64});
  ObservationBudget sharing({.chosen_per_interval = 64,
                             .rate = std::make_shared<ObservationRate>(
                                 ObservationRate::Options{.chosen_per_interval = 64})});
  uint8_t largest = 0;
  int64_t epoch = kEpoch;
  for (int interval = 0; interval < 300; ++interval) {
    alone.BeginInterval(epoch);
    sharing.BeginInterval(epoch);
    for (uint32_t left = 1 + random() % (1u << random() % 14); left > 0; --left) {
      ASSERT_EQ(alone.exponent(), sharing.exponent()) << "interval " << interval;
      alone.CountEligible();
      sharing.CountEligible();
    }
    largest = std::max(largest, alone.exponent());
    alone.EndInterval();
    sharing.EndInterval();
    epoch += 1 + random() % 3;
  }
  EXPECT_GE(largest, 6);
}

TEST(ObservationBudget, RespectsMinimum) {
  ObservationBudget budget({.chosen_per_interval = 64, .minimum_exponent = 3});
  EXPECT_EQ(budget.exponent(), 3);
  budget.CountEligible();
  budget.EndInterval();
  EXPECT_EQ(budget.exponent(), 3);
}

TEST(ObservationBudget, LimitsTheMinimum) {
  ObservationBudget budget({.minimum_exponent = 200});
  budget.EndInterval();
  EXPECT_EQ(budget.exponent(), kMaximumObservationExponent);
}

// Runs under ThreadSanitizer, and checks agreement: if all lcores publish an epoch before any of
// them continues, each gets the k of the sum.
TEST(ObservationRate, IsEqualForConcurrentLcores) {
  constexpr uint32_t kLcores = 4;
  constexpr int kEpochs = 200;
  ObservationRate rate({.chosen_per_interval = 1000});
  std::barrier step(kLcores);
  std::vector<std::vector<uint8_t>> found(kLcores);
  std::vector<std::thread> lcores;
  for (uint32_t lcore = 0; lcore < kLcores; ++lcore) {
    lcores.emplace_back([&, lcore] {
      ObservationRate::Member member = rate.Join();
      step.arrive_and_wait();
      for (int i = 0; i < kEpochs; ++i) {
        found[lcore].push_back(member.Enter(kEpoch + i));
        step.arrive_and_wait();
        uint64_t next = 0;
        const uint64_t packets = uint64_t{100} << (i % 8);
        while (next < packets) next = member.Publish(next).next;
        member.Publish(packets);
        step.arrive_and_wait();
      }
    });
  }
  for (std::thread& lcore : lcores) lcore.join();
  for (int i = 1; i < kEpochs; ++i) {
    const uint8_t expected = ExponentFor(uint64_t{100 * kLcores} << ((i - 1) % 8), 1000, 0);
    for (const std::vector<uint8_t>& exponents : found) ASSERT_EQ(exponents[i], expected) << i;
  }
}

// Without a barrier the lcores drift apart, but they continue and terminate.
TEST(ObservationRate, AllowsLcoresToDrift) {
  constexpr uint32_t kLcores = 4;
  const auto rate =
      std::make_shared<ObservationRate>(ObservationRate::Options{.chosen_per_interval = 64});
  std::vector<std::thread> lcores;
  std::vector<uint64_t> chosen(kLcores);
  constexpr int kEpochs = 100;
  constexpr uint32_t kPackets = 4096;
  for (uint32_t lcore = 0; lcore < kLcores; ++lcore) {
    lcores.emplace_back([&, lcore] {
      ObservationBudget budget({.chosen_per_interval = 64, .rate = rate});
      for (int i = 0; i < kEpochs; ++i) {
        budget.BeginInterval(kEpoch + i);
        for (uint32_t packet = 0; packet < kPackets; ++packet) {
          const uint64_t seed = uint64_t{lcore} << 32 | static_cast<uint64_t>(i) << 16;
          chosen[lcore] += budget.Chooses(Mix64(seed + packet));
          budget.CountEligible();
        }
        budget.EndInterval();
      }
    });
  }
  for (std::thread& lcore : lcores) lcore.join();
  for (const uint64_t count : chosen) EXPECT_LT(count, uint64_t{kEpochs} * kPackets / 4);
}

}  // namespace
}  // namespace rocescope
