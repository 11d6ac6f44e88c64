// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/culprit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

constexpr topology::PortIndex kHot = 7;

Timestamp At(int64_t us) { return FromNanoseconds(us * 1000); }

// Of host 1 to host `to`.
FlowPath Flow(uint32_t to, int64_t from_us, int64_t until_us, uint64_t bytes,
              std::vector<topology::PortIndex> ports = {3, kHot, 9}) {
  FlowPath path;
  path.flow = {.source = IpAddress::FromV4(1), .destination = IpAddress::FromV4(to)};
  path.stretches.push_back({.from = At(from_us),
                            .until = At(until_us),
                            .state = PathState::kExact,
                            .certain = std::move(ports),
                            .bytes = bytes});
  return path;
}

std::vector<Culprit> Blamed(const std::vector<FlowPath>& flows) {
  const Hotspot hotspot{.port = kHot, .from = At(1000), .until = At(2000)};
  return CulpritsOf(std::span(&hotspot, 1), FlowPaths(flows))[0];
}

TEST(CulpritsOf, TheFewestThatHoldFourFifths) {
  const auto culprits = Blamed({Flow(2, 1000, 2000, 500), Flow(3, 1000, 2000, 50),
                                Flow(4, 1000, 2000, 400), Flow(5, 1000, 2000, 50)});
  ASSERT_EQ(culprits.size(), 2u);
  EXPECT_EQ(culprits[0].flow.destination, IpAddress::FromV4(2));
  EXPECT_DOUBLE_EQ(culprits[0].share, 0.5);
  EXPECT_EQ(culprits[1].bytes, 400u);
}

TEST(CulpritsOf, OnlyWhatCameByMeanwhileCounts) {
  const auto culprits = Blamed({
      Flow(2, 0, 1000, 1000),             // before: a single moment in common
      Flow(3, 0, 4000, 1000),             // a quarter of it
      Flow(4, 1000, 2000, 1000, {3, 9}),  // another way
      Flow(5, 2000, 3000, 1000),          // after
  });
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ(culprits[0].flow.destination, IpAddress::FromV4(3));
  EXPECT_EQ(culprits[0].bytes, 250u);
}

TEST(CulpritsOf, AFlowThatCameByTwiceIsOne) {
  FlowPath path = Flow(2, 1000, 1200, 100);
  path.stretches.push_back(path.stretches[0]);
  path.stretches[1].from = At(1500);
  path.stretches[1].until = At(1600);
  const auto culprits = Blamed({path});
  ASSERT_EQ(culprits.size(), 1u);
  EXPECT_EQ(culprits[0].bytes, 200u);
}

}  // namespace
}  // namespace rocescope
