// SPDX-License-Identifier: BSD-3-Clause
#include "sim/workload/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace rocescope::sim {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

struct Totals {
  std::vector<uint64_t> sent;
  std::vector<uint64_t> received;
};
Totals TotalsOf(const Plan& plan) {
  Totals totals{std::vector<uint64_t>(plan.ranks()), std::vector<uint64_t>(plan.ranks())};
  for (const Plan::Transfer& transfer : plan.transfers()) {
    totals.sent[transfer.from] += transfer.bytes;
    totals.received[transfer.to] += transfer.bytes;
  }
  return totals;
}

// Steps that the plan takes if each transfer takes one; fails if something never begins.
uint32_t Steps(const Plan& plan) {
  std::vector<uint32_t> waits;
  std::vector<uint32_t> ready;
  for (uint32_t i = 0; i < plan.transfers().size(); ++i) {
    waits.push_back(plan.transfers()[i].waits);
    if (waits.back() == 0) ready.push_back(i);
  }
  uint32_t steps = 0;
  size_t done = 0;
  for (; !ready.empty(); ++steps) {
    std::vector<uint32_t> next;
    done += ready.size();
    for (const uint32_t number : ready) {
      for (const uint32_t later : plan.DependantsOf(plan.transfers()[number])) {
        if (--waits[later] == 0) next.push_back(later);
      }
    }
    ready = std::move(next);
  }
  EXPECT_EQ(done, plan.transfers().size());
  return steps;
}

Plan Make(CollectiveOptions options) { return MakePlan(options).value(); }

TEST(CollectiveTest, ARingSendsTwiceAllButOneShare) {
  const Plan plan = Make({.kind = CollectiveKind::kRing, .ranks = 8, .bytes = 8'000});
  EXPECT_THAT(TotalsOf(plan).sent, Each(2 * 7 * 1'000));
  EXPECT_EQ(Steps(plan), 14u);
}

// Every rank is inner in one tree only: none sends or receives more than twice the data.
TEST(CollectiveTest, TwoTreesShareTheWork) {
  for (const uint32_t ranks : {2u, 3u, 7u, 8u, 13u, 32u}) {
    const Plan plan =
        Make({.kind = CollectiveKind::kTree, .ranks = ranks, .bytes = 16'000, .chunks = 4});
    const Totals totals = TotalsOf(plan);
    EXPECT_EQ(std::accumulate(totals.sent.begin(), totals.sent.end(), uint64_t{0}),
              uint64_t{2} * (ranks - 1) * 16'000)
        << ranks;
    EXPECT_LE(*std::max_element(totals.sent.begin(), totals.sent.end()), 2u * 16'000) << ranks;
    EXPECT_GT(Steps(plan), 0u);
  }
}

TEST(CollectiveTest, AllToAllReachesEveryOtherRankOnce) {
  const Plan plan =
      Make({.kind = CollectiveKind::kAllToAll, .ranks = 8, .bytes = 8'000, .at_once = 3});
  std::set<std::pair<uint32_t, uint32_t>> pairs;
  for (const Plan::Transfer& transfer : plan.transfers()) {
    EXPECT_EQ(transfer.bytes, 1'000u);
    EXPECT_TRUE(pairs.emplace(transfer.from, transfer.to).second);
  }
  EXPECT_EQ(pairs.size(), 56u);
  EXPECT_EQ(Steps(plan), 3u);  // 7 sends, 3 at once
}

TEST(CollectiveTest, HalvingDoublingTakesTwiceTheLogarithm) {
  const Plan plan = Make({.kind = CollectiveKind::kHalvingDoubling, .ranks = 16, .bytes = 16'000});
  EXPECT_THAT(TotalsOf(plan).sent, Each(2 * 15 * 1'000));
  EXPECT_EQ(Steps(plan), 8u);
}

TEST(CollectiveTest, HalvingDoublingRefusesWhatIsNoPowerOfTwo) {
  const auto plan = MakePlan({.kind = CollectiveKind::kHalvingDoubling, .ranks = 12});
  ASSERT_FALSE(plan.has_value());
  EXPECT_THAT(plan.error().message, HasSubstr("12"));
}

// Each microbatch crosses every boundary both ways; stages overlap.
TEST(CollectiveTest, APipelineOverlapsItsMicrobatches) {
  const Plan plan =
      Make({.kind = CollectiveKind::kPipeline, .ranks = 4, .bytes = 8'000, .microbatches = 8});
  EXPECT_EQ(plan.transfers().size(), 8u * 3 * 2);
  // Forward: 8 + 3 - 1 steps; the first one back follows the first one forward at the last stage,
  // the last one the last.
  EXPECT_EQ(Steps(plan), 8u + 3 - 1 + 3);
}

TEST(CollectiveTest, ARankKnowsHowManyTransfersItHasAPartIn) {
  const Plan plan = Make({.kind = CollectiveKind::kRing, .ranks = 4, .bytes = 4'000});
  for (uint32_t rank = 0; rank < 4; ++rank) EXPECT_EQ(plan.InvolvedIn(rank), 12u);
}

TEST(CollectiveTest, NamesAndKindsMatch) {
  for (const auto kind : {CollectiveKind::kRing, CollectiveKind::kTree, CollectiveKind::kAllToAll,
                          CollectiveKind::kHalvingDoubling, CollectiveKind::kPipeline}) {
    EXPECT_EQ(ParseCollectiveKind(NameOf(kind)).value(), kind);
  }
  EXPECT_THAT(ParseCollectiveKind("rings").error().message, HasSubstr("halving_doubling"));
}

}  // namespace
}  // namespace rocescope::sim
