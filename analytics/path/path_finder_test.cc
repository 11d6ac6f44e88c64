// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/path/path_finder.h"

#include <gtest/gtest.h>

#include "analytics/path/path_fixture.h"

namespace rocescope {
namespace {

class PathFinderTest : public testing::Test {
 protected:
  std::vector<topology::Path> Find(std::string_view from, std::string_view to,
                                   const std::vector<CrossingId>& crossings) {
    return finder_.Find({.source = NicOfHost(fabric_, from),
                         .destination = NicOfHost(fabric_, to),
                         .crossings = crossings});
  }
  CrossingId Over(std::string_view from, std::string_view to) {
    return PortBetween(fabric_, from, to);
  }

  const topology::Fabric fabric_ = SmallFatTree();
  topology::Routes routes_{fabric_};
  CrossingTable crossings_{fabric_};
  PathFinder finder_{routes_, crossings_};
};

// Al-Fares et al.: (k/2)^2 paths between pods, k/2 within a pod, one within a leaf.
TEST_F(PathFinderTest, FindsAllPathsWithoutEvidence) {
  EXPECT_EQ(Find("host0", "host4", {}).size(), 4u);
  EXPECT_EQ(Find("host0", "host2", {}).size(), 2u);
  EXPECT_EQ(Find("host0", "host1", {}).size(), 1u);
  EXPECT_EQ(Find("host0", "host0", {}).size(), 0u);
}

TEST_F(PathFinderTest, FindsThePathsOfTheFabricsPathSet) {
  const topology::NicIndex from = NicOfHost(fabric_, "host0");
  const topology::NicIndex to = NicOfHost(fabric_, "host9");
  const topology::PathSet all(routes_, from, to);
  const auto found = Find("host0", "host9", {});
  ASSERT_EQ(found.size(), all.Count());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], all.At(i));
}

TEST_F(PathFinderTest, TheSpineOfTheOtherPodNarrowsTheCores) {
  const auto found = Find("host0", "host4", {Over("spine2", "leaf2")});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(NodesOf(fabric_, found[0]), "host0 leaf0 spine0 core0 spine2 leaf2 host4");
  EXPECT_EQ(NodesOf(fabric_, found[1]), "host0 leaf0 spine0 core1 spine2 leaf2 host4");
}

TEST_F(PathFinderTest, ACoreLeavesOnePath) {
  const auto found = Find("host0", "host4", {Over("core3", "spine3")});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(NodesOf(fabric_, found[0]), "host0 leaf0 spine1 core3 spine3 leaf2 host4");
}

TEST_F(PathFinderTest, TwoCoresAreInconsistentWithEveryPath) {
  EXPECT_TRUE(Find("host0", "host4", {Over("core3", "spine3"), Over("spine0", "core0")}).empty());
}

TEST_F(PathFinderTest, ALinkOfAnotherPodIsInconsistentWithEveryPath) {
  EXPECT_TRUE(Find("host0", "host4", {Over("leaf7", "spine7")}).empty());
}

}  // namespace
}  // namespace rocescope
