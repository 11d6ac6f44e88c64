// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/link_losses.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <span>
#include <string>

#include "analytics/metric/metric_store.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Host h sends to its leaf. The host is polled every 10 s, the leaf too but 4 s later and through a
// cache. The link is busy for 95 s and idle for 45 s, again and again.
class LinkLossesTest : public testing::Test {
 protected:
  LinkLossesTest()
      : fabric_(topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value()),
        losses_(fabric_),
        store_(fabric_, {.window = seconds(10), .listeners = {&losses_}}),
        sender_(fabric_.nic(0).port) {}

  // Frames until a time in milliseconds.
  uint64_t SentUntil(int64_t ms) const {
    ms = std::max<int64_t>(0, ms - idle_);
    return static_cast<uint64_t>(1000 * (ms / period_ * busy_ + std::min(ms % period_, busy_)));
  }
  uint64_t ReturnedUntil(int64_t ms) const {
    return answers_ ? SentUntil(ms) / 4 : static_cast<uint64_t>(ms);
  }
  uint64_t LostUntil(int64_t ms) const {
    uint64_t exposed = 0;  // sent while frames are lost
    if (ms > onset_) exposed += SentUntil(std::min(ms, end_)) - SentUntil(onset_);
    if (ms > second_onset_) exposed += SentUntil(ms) - SentUntil(second_onset_);
    return static_cast<uint64_t>(static_cast<double>(exposed) * ratio_);
  }
  void Report(EntityKind kind, const std::string& node, const std::string& port, Metric metric,
              uint64_t value, int64_t ms) {
    CounterEntity entity{.kind = kind};
    entity.node = node;
    entity.port = port;
    store_.Add({.entity = entity,
                .metric = metric,
                .value = value,
                .event_time = begin_ + milliseconds(ms)});
  }
  void PollHost(int64_t ms) {
    Report(EntityKind::kNic, "host0", fabric_.nic(0).device, Metric::kTxPackets, SentUntil(ms), ms);
    Report(EntityKind::kNic, "host0", fabric_.nic(0).device, Metric::kRxPackets, ReturnedUntil(ms),
           ms);
  }
  void PollLeaf(int64_t ms) {
    const topology::PortIndex port = fabric_.Peer(sender_);
    const std::string node = fabric_.node(fabric_.port(port).node).name;
    const int64_t cached = cache_ > 0 ? ms / cache_ * cache_ : ms;
    Report(EntityKind::kPort, node, fabric_.port(port).name, Metric::kTxPackets,
           ReturnedUntil(cached), ms);
    const uint64_t arrived = 5000 + SentUntil(cached) - LostUntil(cached);
    const uint64_t discarded = discards_ ? LostUntil(cached) : 0;
    Report(EntityKind::kPort, node, fabric_.port(port).name, Metric::kRxBytes, 4096 * arrived, ms);
    Report(EntityKind::kPort, node, fabric_.port(port).name, Metric::kRxDiscards, discarded, ms);
    const uint64_t counted = ms < stuck_ ? arrived : std::min(arrived, 5000 + SentUntil(stuck_));
    Report(EntityKind::kPort, node, fabric_.port(port).name, Metric::kRxPackets, counted, ms);
  }
  void Poll(int64_t from_seconds, int64_t until_seconds) {
    std::uniform_int_distribution<int64_t> jitter(0, jitter_);
    for (int64_t s = from_seconds; s < until_seconds; s += 10) {
      PollHost(s * 1000 + jitter(random_));
      PollLeaf(s * 1000 + apart_ + jitter(random_));
    }
  }
  std::span<const LinkLoss> Losses() const { return losses_.LossesFrom(sender_); }
  std::optional<LinkLoss> Loss() const {
    return Losses().empty() ? std::nullopt : std::optional(Losses().back());
  }

  const topology::Fabric fabric_;
  LinkLosses losses_;
  MetricStore store_;
  const topology::PortIndex sender_;
  const Timestamp begin_{std::chrono::hours(24 * 365 * 50)};
  // Milliseconds.
  int64_t cache_ = 0;
  int64_t apart_ = 4'000;  // the polls of the host and the leaf
  int64_t idle_ = 0;       // at the beginning
  int64_t busy_ = 95'000;
  int64_t period_ = 140'000;
  int64_t jitter_ = 0;
  int64_t stuck_ = INT64_MAX;  // when the leaf's packet counter stops, while its bytes grow
  bool discards_ = false;      // the leaf discards what is lost
  bool answers_ = false;       // receivers return a frame for each four
  std::mt19937 random_{1};
  int64_t onset_ = INT64_MAX;
  int64_t end_ = INT64_MAX;
  int64_t second_onset_ = INT64_MAX;
  double ratio_ = 1e-4;
};

TEST_F(LinkLossesTest, HealthyLinkLosesNothing) {
  Poll(0, 20'000);
  EXPECT_FALSE(Loss());
}

TEST_F(LinkLossesTest, CachedCountersOfAHealthyLinkLoseNothing) {
  for (const int64_t cache : {3'000, 10'000, 25'000, 33'000}) {
    cache_ = cache;
    Poll(0, 20'000);
    EXPECT_FALSE(Loss()) << cache;
  }
}

TEST_F(LinkLossesTest, LossIsFoundWithItsSizeAndOnset) {
  onset_ = 1'000'000;
  Poll(0, 3'000);
  ASSERT_TRUE(Loss());
  EXPECT_GE(Loss()->from, begin_ + seconds(800));
  EXPECT_LE(Loss()->from, begin_ + seconds(1'020));
  EXPECT_GE(Loss()->detected_at, begin_ + seconds(1'000));
  EXPECT_LE(Loss()->detected_at, begin_ + seconds(1'200));
  EXPECT_LE(Loss()->frames, LostUntil(3'000'000));
  EXPECT_GE(Loss()->frames, LostUntil(2'700'000));
  EXPECT_FALSE(Loss()->is_over);
}

TEST_F(LinkLossesTest, LossThatEndsIsOver) {
  onset_ = 1'000'000;
  end_ = 2'000'000;
  Poll(0, 4'000);
  ASSERT_TRUE(Loss());
  EXPECT_TRUE(Loss()->is_over);
  EXPECT_LE(Loss()->last, begin_ + seconds(2'100));
  EXPECT_EQ(Loss()->frames, LostUntil(2'000'000));
}

TEST_F(LinkLossesTest, LossThatReturnsIsANewLoss) {
  onset_ = 1'000'000;
  end_ = 2'000'000;
  second_onset_ = 8'000'000;
  Poll(0, 7'000);
  ASSERT_TRUE(Loss());
  const LinkLoss first = *Loss();
  EXPECT_TRUE(first.is_over);
  Poll(7'000, 10'000);
  ASSERT_EQ(Losses().size(), 2u);
  EXPECT_EQ(Losses()[0], first);
  EXPECT_GE(Loss()->from, begin_ + seconds(7'800));
  EXPECT_LE(Loss()->from, begin_ + seconds(8'020));
  EXPECT_GE(Loss()->detected_at, begin_ + seconds(8'000));
  EXPECT_FALSE(Loss()->is_over);
  EXPECT_LE(Loss()->frames, LostUntil(10'000'000) - LostUntil(8'000'000));
  EXPECT_GE(Loss()->frames, LostUntil(9'700'000) - LostUntil(8'000'000));
  EXPECT_LT(Loss()->sent, SentUntil(10'000'000) - SentUntil(7'800'000));
}

// Iterations of 6.3 s, with pauses of 2.3 s. No pause is as long as the time between two polls.
class ShortPausesTest : public LinkLossesTest {
 protected:
  ShortPausesTest() {
    idle_ = 200'000;
    busy_ = 4'000;
    period_ = 6'300;
    jitter_ = 900;
    cache_ = 1'500;
    apart_ = 500;
    answers_ = true;
  }
};

TEST_F(ShortPausesTest, HealthyLinkLosesNothing) {
  Poll(0, 86'400);
  EXPECT_FALSE(Loss());
}

TEST_F(ShortPausesTest, LossIsFoundWithItsSizeAndOnset) {
  onset_ = 6'000'000;
  end_ = 9'000'000;
  Poll(0, 18'000);
  ASSERT_TRUE(Loss());
  EXPECT_EQ(Loss()->frames, LostUntil(9'000'000));
  EXPECT_GE(Loss()->from, begin_ + seconds(5'000));
  EXPECT_LE(Loss()->from, begin_ + seconds(6'010));
  EXPECT_LE(Loss()->last, begin_ + seconds(14'000));
}

TEST_F(LinkLossesTest, ACounterThatIsStuckShowsNoLoss) {
  stuck_ = 1'000'000;
  Poll(0, 4'000);
  EXPECT_FALSE(Loss());
}

// Some devices do not count discarded frames as received.
TEST_F(LinkLossesTest, WhatTheReceiverDiscardsIsNotLost) {
  onset_ = 1'000'000;
  discards_ = true;
  Poll(0, 4'000);
  EXPECT_FALSE(Loss());
}

TEST_F(ShortPausesTest, WhatTheReceiverDiscardsIsNotLost) {
  onset_ = 6'000'000;
  end_ = 9'000'000;
  discards_ = true;
  Poll(0, 18'000);
  EXPECT_FALSE(Loss());
}

// The NIC counts what it sends as received, and the other way round.
TEST_F(LinkLossesTest, ExchangedCountersShowNoLoss) {
  const topology::PortIndex peer = fabric_.Peer(sender_);
  const std::string leaf = fabric_.node(fabric_.port(peer).node).name;
  const std::string port = fabric_.port(peer).name;
  const std::string& nic = fabric_.nic(0).device;
  for (int64_t ms = 0; ms < 4'000'000; ms += 10'000) {
    const uint64_t sent = SentUntil(ms);
    const uint64_t returned = sent / 4;
    Report(EntityKind::kNic, "host0", nic, Metric::kTxPackets, returned, ms);
    Report(EntityKind::kNic, "host0", nic, Metric::kRxPackets, sent, ms);
    Report(EntityKind::kPort, leaf, port, Metric::kTxPackets, returned, ms + 4'000);
    Report(EntityKind::kPort, leaf, port, Metric::kRxPackets, sent, ms + 4'000);
  }
  EXPECT_FALSE(Loss());
  EXPECT_TRUE(losses_.LossesFrom(peer).empty());
}

TEST_F(LinkLossesTest, RestartOfACounterIsNoLoss) {
  Poll(0, 2'000);
  Report(EntityKind::kNic, "host0", fabric_.nic(0).device, Metric::kTxPackets, 0, 2'000'000);
  Report(EntityKind::kNic, "host0", fabric_.nic(0).device, Metric::kTxPackets, 10, 2'005'000);
  EXPECT_FALSE(Loss());
  Poll(2'010, 4'000);
  EXPECT_FALSE(Loss());
}

}  // namespace
}  // namespace rocescope
