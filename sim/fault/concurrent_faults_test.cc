// SPDX-License-Identifier: BSD-3-Clause
// Several faults at one place, and faults that grow.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "sim/fault/injector.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

class ConcurrentFaultsTest : public ::testing::Test {
 protected:
  ConcurrentFaultsTest()
      : fabric_(topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value()),
        network_(fabric_, {.nics = {.ack_timeout = 100 * kMicrosecond}}),
        injector_(network_, {}, {.end = kRunEnd}),
        stream_(network_, {.from = 0, .to = 2}),
        uplink_(fabric_.port(network_.PathOf(stream_.requester())[0]).link) {
    stream_.Begin();
  }
  void Add(const FaultOptions& fault) { ASSERT_TRUE(injector_.Add(fault).has_value()); }
  bool LinkIsUp(topology::LinkIndex link) {
    const auto& ends = fabric_.link(link).ends;
    EXPECT_EQ(network_.port(ends[0]).up(), network_.port(ends[1]).up());
    return network_.port(ends[0]).up();
  }

  static constexpr SimTime kRunEnd = 20 * kMillisecond;
  topology::Fabric fabric_;
  Network network_;
  Injector injector_;
  Stream stream_;
  topology::LinkIndex uplink_;
};

TEST_F(ConcurrentFaultsTest, LinkIsUpAgainWhenTheLastFaultEnds) {
  const topology::NodeIndex spine = fabric_.PeerNode(fabric_.link(uplink_).ends[0]);
  const topology::NodeIndex at = fabric_.node(spine).tier == topology::Tier::kSpine
                                     ? spine
                                     : fabric_.PeerNode(fabric_.link(uplink_).ends[1]);
  Add({.kind = FaultKind::kLinkDown,
       .onset = kMillisecond,
       .duration = 4 * kMillisecond,
       .link = uplink_});
  Add({.kind = FaultKind::kSwitchCrash,
       .onset = 2 * kMillisecond,
       .duration = kMillisecond,
       .node = at});
  const auto up_at = [&](SimTime time) {
    network_.engine().Run(time);
    return LinkIsUp(uplink_);
  };
  EXPECT_TRUE(up_at(kMillisecond / 2));
  EXPECT_FALSE(up_at(2 * kMillisecond + 1));
  EXPECT_FALSE(up_at(4 * kMillisecond));  // the switch is back, its link is not
  EXPECT_TRUE(network_.switch_at(at).is_up());
  for (const topology::Port& port : fabric_.PortsOf(at)) {
    if (port.link == topology::kNone || port.link == uplink_) continue;
    EXPECT_TRUE(LinkIsUp(port.link));
  }
  EXPECT_TRUE(up_at(6 * kMillisecond));
}

TEST_F(ConcurrentFaultsTest, FlapThatEndsWhileDownLeavesTheLinkUp) {
  Add({.kind = FaultKind::kFlap,
       .onset = kMillisecond,
       .duration = 900 * kMicrosecond,  // two periods and a quarter
       .link = uplink_,
       .period = 400 * kMicrosecond});
  network_.engine().Run(1'850 * kMicrosecond);
  EXPECT_FALSE(LinkIsUp(uplink_));
  network_.engine().Run(1'950 * kMicrosecond);
  EXPECT_TRUE(LinkIsUp(uplink_));
  network_.engine().Run(3 * kMillisecond);
  EXPECT_TRUE(LinkIsUp(uplink_));
}

TEST_F(ConcurrentFaultsTest, GrayLossAndBitErrorsActOnOneLink) {
  Add({.kind = FaultKind::kGrayLoss, .link = uplink_, .probability = 0.01});
  Add({.kind = FaultKind::kBitErrors,
       .onset = 2 * kMillisecond,
       .duration = 5 * kMillisecond,
       .link = uplink_,
       .probability = 0.01});
  network_.engine().Run(10 * kMillisecond);
  injector_.Finish();
  const Injector::Happened& loss = injector_.happened()[0];
  const Injector::Happened& errors = injector_.happened()[1];
  EXPECT_GT(errors.affected, 20u);
  EXPECT_EQ(network_.shared().lost[static_cast<size_t>(LossCause::kBitError)], errors.affected);
  EXPECT_EQ(network_.shared().lost[static_cast<size_t>(LossCause::kWireFault)], loss.affected);
  // The loss continues after the bit errors have ended.
  const uint64_t before = loss.affected;
  network_.engine().Run(20 * kMillisecond);
  injector_.Finish();
  EXPECT_GT(injector_.happened()[0].affected, before + 20);
}

TEST_F(ConcurrentFaultsTest, GrowingLossIsRareAtFirst) {
  Add({.kind = FaultKind::kGrayLoss, .link = uplink_, .probability = 0.05, .growth = 1e-3});
  network_.engine().Run(kRunEnd / 2);
  injector_.Finish();
  const auto first = static_cast<double>(injector_.happened()[0].affected);
  network_.engine().Run(kRunEnd);
  injector_.Finish();
  const double second = static_cast<double>(injector_.happened()[0].affected) - first;
  // The integral of 1000^(t-1): its second half is sqrt(1000) = 31.6 times its first half, if the
  // stream sends equally fast. It sends more slowly when more frames are lost.
  EXPECT_GT(second, 5 * first);
}

TEST_F(ConcurrentFaultsTest, InactiveFaultHasNoEffect) {
  ASSERT_TRUE(injector_
                  .Add({.kind = FaultKind::kIncast, .nic = 2, .senders = {1, 3}},
                       /*active=*/false)
                  .has_value());
  ASSERT_TRUE(
      injector_.Add({.kind = FaultKind::kLinkDown, .link = uplink_}, /*active=*/false).has_value());
  EXPECT_EQ(network_.queue_pair_count(), 6u);  // the queue pairs of the incast exist
  network_.engine().Run(2 * kMillisecond);
  EXPECT_TRUE(LinkIsUp(uplink_));
  EXPECT_EQ(network_.nic(1).counters().tx_frames, 0u);
  EXPECT_EQ(injector_.happened()[1].visible, kNever);
}

// Nobody can see that the link of a switch that is down is broken, until the switch is up again.
TEST_F(ConcurrentFaultsTest, ABrokenLinkOfACrashedSwitchShowsAfterwards) {
  const topology::NodeIndex leaf = fabric_.port(fabric_.link(uplink_).ends[0]).node;
  Add({.kind = FaultKind::kSwitchCrash,
       .onset = kMillisecond,
       .duration = 4 * kMillisecond,
       .node = leaf});
  Add({.kind = FaultKind::kLinkDown,
       .onset = 2 * kMillisecond,
       .duration = kMillisecond,
       .link = uplink_});
  Add({.kind = FaultKind::kLinkDown,
       .onset = 3 * kMillisecond,
       .duration = 5 * kMillisecond,
       .link = uplink_});
  network_.engine().Run(10 * kMillisecond);
  injector_.Finish();
  EXPECT_EQ(injector_.happened()[0].visible, kMillisecond);
  EXPECT_EQ(injector_.happened()[1].visible, kNever);
  EXPECT_GE(injector_.happened()[2].visible, 5 * kMillisecond);
  EXPECT_LE(injector_.happened()[2].visible, 5 * kMillisecond + 10 * kMicrosecond);
}

TEST_F(ConcurrentFaultsTest, DrainedLinkCarriesNothingAndStaysUp) {
  network_.engine().Run(kMillisecond);
  injector_.outages().Drain(uplink_, true);
  network_.engine().Run(kMillisecond + 50 * kMicrosecond);  // what was queued leaves
  const Port& port = network_.port(network_.PathOf(stream_.requester())[0]);
  EXPECT_NE(fabric_.port(network_.PathOf(stream_.requester())[0]).link, uplink_);
  const topology::PortIndex leaf_end = fabric_.link(uplink_).ends[0];
  const uint64_t sent = network_.port(leaf_end).counters().tx_frames;
  network_.engine().Run(2 * kMillisecond);
  EXPECT_EQ(network_.port(leaf_end).counters().tx_frames, sent);
  EXPECT_TRUE(LinkIsUp(uplink_));
  EXPECT_GT(port.counters().tx_frames, 0u);
  for (const uint64_t lost : network_.shared().lost) EXPECT_EQ(lost, 0u);
}

TEST(SeverityTest, GrowsExponentiallyUntilTheEnd) {
  const FaultOptions fault = {.kind = FaultKind::kGrayLoss,
                              .onset = 10 * kSecond,
                              .duration = 10 * kSecond,
                              .growth = 0.01};
  EXPECT_DOUBLE_EQ(SeverityAt(fault, 10 * kSecond, 100 * kSecond), 0.01);
  EXPECT_DOUBLE_EQ(SeverityAt(fault, 15 * kSecond, 100 * kSecond), 0.1);
  EXPECT_DOUBLE_EQ(SeverityAt(fault, 20 * kSecond, 100 * kSecond), 1);
  // The run ends first: the severity is final then.
  EXPECT_DOUBLE_EQ(SeverityAt(fault, 12 * kSecond, 14 * kSecond), 0.1);
  EXPECT_DOUBLE_EQ(SeverityAt({.kind = FaultKind::kGrayLoss}, kSecond, 2 * kSecond), 1);
}

}  // namespace
}  // namespace rocescope::sim
