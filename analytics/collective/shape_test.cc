// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/shape.h"

#include <gtest/gtest.h>

#include <numeric>

namespace rocescope {
namespace {

// Communication patterns according to the literature: Patarasuk and Yuan, 2009, for the ring;
// Thakur, Rabenseifner and Gropp, 2005, for halving and doubling; NCCL's graph/trees.cc for the
// trees; Huang et al., 2019, for the pipeline.
Arc Send(uint32_t from, uint32_t to, double bytes = 1000, double transfers = 1) {
  return {.from = from,
          .to = to,
          .bytes = bytes,
          .transfers = transfers,
          .center = 10,
          .length = 10,
          .onset = 5};
}

Shape Of(const std::vector<Arc>& arcs, uint32_t members) {
  std::vector<uint32_t> hosts(members);
  std::iota(hosts.begin(), hosts.end(), 0);
  return ShapeOf(arcs, hosts);
}

std::vector<Arc> Ring(uint32_t n) {
  std::vector<Arc> arcs;
  for (uint32_t rank = 0; rank < n; ++rank) arcs.push_back(Send(rank, (rank + 1) % n));
  return arcs;
}

std::vector<Arc> Cube(uint32_t n) {
  std::vector<Arc> arcs;
  for (uint32_t distance = n / 2; distance > 0; distance /= 2) {
    for (uint32_t rank = 0; rank < n; ++rank) {
      arcs.push_back(Send(rank, rank ^ distance, 1000.0 * distance, 2));
    }
  }
  return arcs;
}

// Both trees of n ranks, n even: the second tree mirrors the first.
std::vector<Arc> Trees(uint32_t n) {
  std::map<std::pair<uint32_t, uint32_t>, double> bytes;
  for (uint32_t place = 1; place < n; ++place) {
    const uint32_t bit = place & (~place + 1);
    uint32_t parent = (place ^ bit) | bit << 1;
    if (parent >= n) parent = place ^ bit;
    for (const auto& [child, above] :
         {std::pair(place, parent), std::pair(n - 1 - place, n - 1 - parent)}) {
      bytes[{child, above}] += 500;
      bytes[{above, child}] += 500;
    }
  }
  std::vector<Arc> arcs;
  for (const auto& [pair, sum] : bytes) arcs.push_back(Send(pair.first, pair.second, sum, 16));
  return arcs;
}

std::vector<Arc> Pipeline(uint32_t stages) {
  std::vector<Arc> arcs;
  for (uint32_t stage = 0; stage + 1 < stages; ++stage) {
    Arc forward = Send(stage, stage + 1);
    Arc backward = Send(stage + 1, stage);
    forward.onset = stage;
    forward.center = 4.0 + stage;
    backward.onset = 2.0 * stages - stage;
    backward.center = 4.0 + 2.0 * stages - stage;
    arcs.push_back(forward);
    arcs.push_back(backward);
  }
  return arcs;
}

std::vector<Arc> AllToAll(uint32_t n) {
  std::vector<Arc> arcs;
  for (uint32_t from = 0; from < n; ++from) {
    for (uint32_t to = 0; to < n; ++to) {
      if (from != to) arcs.push_back(Send(from, to));
    }
  }
  return arcs;
}

TEST(ShapeOf, RecognisesARing) {
  for (const uint32_t n : {3u, 4u, 8u, 25u}) {
    EXPECT_EQ(Of(Ring(n), n).kind, CollectiveKind::kRing) << n;
  }
}

TEST(ShapeOf, RecognisesHalvingDoubling) {
  for (const uint32_t n : {4u, 8u, 16u}) {
    EXPECT_EQ(Of(Cube(n), n).kind, CollectiveKind::kHalvingDoubling) << n;
  }
}

TEST(ShapeOf, RecognisesTwoTrees) {
  for (const uint32_t n : {4u, 6u, 8u, 16u, 32u}) {
    EXPECT_EQ(Of(Trees(n), n).kind, CollectiveKind::kTree) << n;
  }
}

TEST(ShapeOf, RecognisesAnAllToAll) {
  for (const uint32_t n : {3u, 5u, 8u, 16u}) {
    EXPECT_EQ(Of(AllToAll(n), n).kind, CollectiveKind::kAllToAll) << n;
  }
}

TEST(ShapeOf, RecognisesAnAllToAllWithNvlinkInHosts) {
  std::vector<Arc> arcs;  // two NICs for each of four hosts
  for (uint32_t from = 0; from < 8; ++from) {
    for (uint32_t to = 0; to < 8; ++to) {
      if (from / 2 != to / 2) arcs.push_back(Send(from, to));
    }
  }
  const std::vector<uint32_t> hosts = {0, 0, 1, 1, 2, 2, 3, 3};
  EXPECT_EQ(ShapeOf(arcs, hosts).kind, CollectiveKind::kAllToAll);
}

TEST(ShapeOf, RecognisesAPipeline) {
  for (const uint32_t n : {2u, 3u, 4u, 8u}) {
    EXPECT_EQ(Of(Pipeline(n), n).kind, CollectiveKind::kPipeline) << n;
  }
}

TEST(ShapeOf, DistinguishesOneExchangeFromReduceAndGather) {
  EXPECT_EQ(Of({Send(0, 1), Send(1, 0)}, 2).kind, CollectiveKind::kAllToAll);
  const Shape twice = Of({Send(0, 1, 1000, 2), Send(1, 0, 1000, 2)}, 2);
  EXPECT_EQ(twice.kind, CollectiveKind::kRing);
  EXPECT_EQ(twice.alternative, CollectiveKind::kHalvingDoubling);  // identical for two members
  EXPECT_EQ(Of({Send(0, 1, 1000, 16), Send(1, 0, 1000, 16)}, 2).kind, CollectiveKind::kTree);
}

// With two members, only the delay distinguishes patterns. If it is small, chunks of a tree may
// return in the same order as microbatches.
TEST(ShapeOf, ReportsAnAlternativeForTwoMembersWithoutDelay) {
  Arc back = Send(1, 0, 1000, 8);
  back.onset += 1;
  back.center += 1;
  const Shape soon = Of({Send(0, 1, 1000, 8), back}, 2);
  EXPECT_EQ(soon.kind, CollectiveKind::kPipeline);
  EXPECT_EQ(soon.alternative, CollectiveKind::kTree);
  back.onset += 9;
  back.center += 9;
  const Shape behind = Of({Send(0, 1, 1000, 8), back}, 2);
  EXPECT_EQ(behind.kind, CollectiveKind::kPipeline);
  EXPECT_EQ(behind.alternative, std::nullopt);
}

TEST(ShapeOf, ToleratesAMissingArc) {
  std::vector<Arc> trees = Trees(16);
  std::erase_if(trees, [](const Arc& arc) { return arc.from == 0; });
  ASSERT_LT(trees.size(), Trees(16).size());
  EXPECT_EQ(Of(trees, 16).kind, CollectiveKind::kTree);
  std::vector<Arc> all = AllToAll(16);
  std::erase_if(all, [](const Arc& arc) { return arc.to == 7 && arc.from % 3 == 0; });
  ASSERT_LT(all.size(), AllToAll(16).size());
  EXPECT_EQ(Of(all, 16).kind, CollectiveKind::kAllToAll);
}

// Some members retransmit, or were observed for one iteration more.
TEST(ShapeOf, RecognisesAnUnequalAllToAllByItsNumberOfArcs) {
  std::vector<Arc> arcs = AllToAll(5);
  for (size_t i = 0; i < arcs.size(); i += 2) arcs[i].bytes *= 2.5;
  EXPECT_EQ(Of(arcs, 5).kind, CollectiveKind::kAllToAll);
}

// With three members, two trees also link every pair, but trees send in chunks.
TEST(ShapeOf, DistinguishesTreesFromAllToAllOfThreeMembers) {
  std::vector<Arc> arcs = AllToAll(3);
  for (Arc& arc : arcs) arc.transfers = 8;
  EXPECT_EQ(Of(arcs, 3).kind, CollectiveKind::kTree);
}

TEST(ShapeOf, ReportsUnknownPatterns) {
  EXPECT_EQ(Of({}, 0).kind, CollectiveKind::kUnknown);
  EXPECT_EQ(Of({Send(0, 1)}, 2).kind, CollectiveKind::kUnknown);  // one direction only
  EXPECT_EQ(Of({Send(0, 1), Send(1, 2), Send(0, 2)}, 3).kind, CollectiveKind::kUnknown);
}

}  // namespace
}  // namespace rocescope
