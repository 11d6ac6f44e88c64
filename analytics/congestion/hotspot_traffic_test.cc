// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/hotspot_traffic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/congestion/congestion_fixture.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The hotspot is leaf0's port to spine0 unless a test says otherwise, for a millisecond.
class HotspotTrafficTest : public CongestionTest {
 protected:
  static constexpr uint64_t kLine = 12'500'000;  // octets in a millisecond

  static Timestamp At(int64_t us) { return FromNanoseconds(us * 1000); }
  void Goes(const std::vector<std::string>& nodes, uint32_t qpn, uint64_t bytes,
            int64_t from_us = 1000, int64_t until_us = 2000) {
    Takes(nodes, qpn,
          {.from = At(from_us), .until = At(until_us), .state = PathState::kExact, .bytes = bytes});
  }
  // The connection whose first end sends `flow`, and whose both ends a rank of a job has.
  void Belongs(const FlowKey& flow, uint32_t job, int rank) {
    Connects(flow, flow.destination_qpn.value + 1000);
    attribution_.endpoints.push_back({RankClaim{.job = job, .rank = rank}, std::nullopt});
  }
  HotspotTraffic Traffic() {
    const ConnectionList connections(connections_);
    return TrafficOf(std::span(&hotspot_, 1), Paths(), FlowOwners(connections, attribution_),
                     metrics_, fabric_)[0];
  }

  MetricStore metrics_{fabric_, {.window = std::chrono::milliseconds(1)}};
  Hotspot hotspot_{.port = Port("leaf0", "spine0"), .from = At(1000), .until = At(2000)};
  Attribution attribution_;
};

TEST_F(HotspotTrafficTest, CulpritsAreTheFewestThatHoldFourFifths) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, 500);
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 3, 50);
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 4, 400);
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 5, 50);
  const HotspotTraffic traffic = Traffic();
  ASSERT_EQ(traffic.culprits.size(), 2u);
  EXPECT_EQ(traffic.culprits[0].flow.destination_qpn, Qpn{2});
  EXPECT_DOUBLE_EQ(traffic.culprits[0].share, 0.5);
  EXPECT_EQ(traffic.culprits[1].bytes, 400u);
  EXPECT_EQ(traffic.bytes, 1000u);
  EXPECT_EQ(traffic.flows, 4u);
  EXPECT_DOUBLE_EQ(traffic.imbalance, 2) << "500 of a mean of 250";
}

TEST_F(HotspotTrafficTest, OnlyWhatCameByMeanwhileCounts) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, 1000, 0, 1000);     // a moment in common
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 3, 1000, 0, 4000);     // a quarter of it
  Goes({"host0", "leaf0", "spine1", "leaf1", "host4"}, 4, 1000);              // another way
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 5, 1000, 2000, 3000);  // after
  const HotspotTraffic traffic = Traffic();
  ASSERT_EQ(traffic.culprits.size(), 1u);
  EXPECT_EQ(traffic.culprits[0].flow.destination_qpn, Qpn{3});
  EXPECT_EQ(traffic.culprits[0].bytes, 250u);
}

TEST_F(HotspotTrafficTest, AFlowThatCameByTwiceIsOne) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, 100, 1000, 1200);
  paths_[0].intervals.push_back(paths_[0].intervals[0]);
  paths_[0].intervals[1].from = At(1500);
  paths_[0].intervals[1].until = At(1600);
  const HotspotTraffic traffic = Traffic();
  ASSERT_EQ(traffic.culprits.size(), 1u);
  EXPECT_EQ(traffic.culprits[0].bytes, 200u);
}

TEST_F(HotspotTrafficTest, FlowsOnOneLinkWhileTheOtherHasRoomCollide) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, kLine / 2);
  Goes({"host1", "leaf0", "spine0", "leaf1", "host5"}, 3, kLine / 2);
  Goes({"host2", "leaf0", "spine1", "leaf1", "host6"}, 4, kLine / 5);
  const HotspotTraffic traffic = Traffic();
  EXPECT_EQ(traffic.cause, HotspotCause::kCollision);
  EXPECT_EQ(traffic.group_links, 2u);
  EXPECT_NEAR(traffic.group_utilization, 0.6, 0.001);
}

TEST_F(HotspotTrafficTest, WhereAllLinksAreFullItIsTooMuch) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, kLine);
  Goes({"host2", "leaf0", "spine1", "leaf1", "host6"}, 4, kLine);
  EXPECT_EQ(Traffic().cause, HotspotCause::kOverload);
}

// Of the other link nobody mirrors anything.
TEST_F(HotspotTrafficTest, APortsOwnCountGoesBeforeFlowsThatAreKnown) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, kLine);
  for (const char* spine : {"spine0", "spine1"}) {
    const topology::Port& port = fabric_.port(Port("leaf0", spine));
    for (int64_t ms = 0; ms <= 3; ++ms) {
      metrics_.Add(
          {.entity = {.kind = EntityKind::kPort, .node = "leaf0", .port = std::string(port.name)},
           .metric = Metric::kTxBytes,
           .value = static_cast<uint64_t>(ms) * kLine,
           .event_time = At(ms * 1000)});
    }
  }
  EXPECT_EQ(Traffic().cause, HotspotCause::kOverload);
}

TEST_F(HotspotTrafficTest, ManyToOneIsAnIncast) {
  hotspot_.port = Port("leaf1", "host4");
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, kLine / 2);
  Goes({"host1", "leaf0", "spine1", "leaf1", "host4"}, 3, kLine / 2);
  EXPECT_EQ(Traffic().cause, HotspotCause::kIncast);
  EXPECT_EQ(Traffic().group_links, 1u);
}

TEST_F(HotspotTrafficTest, OneToOneIsASenderThatIsTooFast) {
  hotspot_.port = Port("leaf1", "host4");
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, kLine / 2);
  Goes({"host0", "leaf0", "spine1", "leaf1", "host4"}, 3, kLine / 2);
  EXPECT_EQ(Traffic().cause, HotspotCause::kOneSender);
}

TEST_F(HotspotTrafficTest, WhatIsHeldForHalfOfTheTimeIsHeld) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, kLine / 2);
  hotspot_.paused = std::chrono::microseconds(499);
  EXPECT_NE(Traffic().cause, HotspotCause::kHeld);
  hotspot_.paused = std::chrono::microseconds(500);
  EXPECT_EQ(Traffic().cause, HotspotCause::kHeld);
}

TEST_F(HotspotTrafficTest, WithoutAFlowNobodyKnowsWhy) {
  const HotspotTraffic traffic = Traffic();
  EXPECT_EQ(traffic.cause, HotspotCause::kUnknown);
  EXPECT_THAT(traffic.culprits, IsEmpty());
  EXPECT_THAT(traffic.lost, IsEmpty());
}

// Two jobs share the link evenly, and it is held for a fifth: each loses half and a fifth.
TEST_F(HotspotTrafficTest, AJobLosesTheTimeInWhichOthersAreSentOrNobody) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, kLine * 2 / 5);
  Goes({"host1", "leaf0", "spine0", "leaf1", "host5"}, 3, kLine / 5);
  Goes({"host2", "leaf0", "spine0", "leaf1", "host6"}, 4, kLine / 5);
  Belongs(Flow("host0", "host4", 2), 0, 7);
  Belongs(Flow("host1", "host5", 3), 1, 4);
  Belongs(Flow("host2", "host6", 4), 1, 2);
  hotspot_.paused = std::chrono::microseconds(200);
  const std::vector<LostTime> lost = Traffic().lost;
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_NEAR(static_cast<double>(lost[0].time.count()), 600e3, 1000);
  EXPECT_NEAR(static_cast<double>(lost[1].time.count()), 600e3, 1000);
  EXPECT_THAT(lost[0].ranks, ElementsAre(7));
  EXPECT_THAT(lost[1].ranks, ElementsAre(2, 4));
}

TEST_F(HotspotTrafficTest, NobodyLosesMoreThanAllOfTheTime) {
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 2, kLine);
  Goes({"host1", "leaf0", "spine0", "leaf1", "host5"}, 3, 1000);
  Belongs(Flow("host1", "host5", 3), 0, 0);
  hotspot_.paused = std::chrono::microseconds(900);
  ASSERT_EQ(Traffic().lost.size(), 1u);
  EXPECT_EQ(Traffic().lost[0].time, std::chrono::milliseconds(1));
}

}  // namespace
}  // namespace rocescope
