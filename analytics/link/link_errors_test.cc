// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/link/link_errors.h"

#include <gtest/gtest.h>

#include <string>

#include "analytics/metric/metric_store.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using std::chrono::seconds;

// Counters of one link, read every 30 s through a MetricStore: leaf0 receives from host0.
class LinkErrorsTest : public testing::Test {
 protected:
  LinkErrorsTest()
      : fabric_(topology::Generate({.hosts = 4, .leaves = 2, .spines = 2}).value()),
        errors_(fabric_),
        store_(fabric_, {.window = seconds(30), .listeners = {&errors_}}),
        receiver_(fabric_.Peer(fabric_.nic(0).port)) {}

  void Report(Metric metric, uint64_t value) {
    CounterEntity entity{.kind = EntityKind::kPort};
    entity.node = fabric_.node(fabric_.port(receiver_).node).name;
    entity.port = fabric_.port(receiver_).name;
    store_.Add({.entity = entity, .metric = metric, .value = value, .event_time = now_});
  }
  // The next reading, after this many frames and errors.
  void Read(uint64_t frames, uint64_t errors) {
    now_ += seconds(30);
    packets_ += frames;
    fcs_ += errors;
    Report(Metric::kRxPackets, packets_);
    Report(counted_, fcs_);
  }
  std::span<const ErrorEpisode> Episodes() const { return errors_.EpisodesOf(receiver_); }

  const topology::Fabric fabric_;
  LinkErrors errors_;
  MetricStore store_;
  const topology::PortIndex receiver_;
  const Timestamp begin_{std::chrono::hours(24 * 365 * 50)};
  Timestamp now_ = begin_;
  uint64_t packets_ = 12'345;
  uint64_t fcs_ = 678;
  Metric counted_ = Metric::kFcsErrors;
};

constexpr uint64_t kFrames = 10'000'000;

TEST_F(LinkErrorsTest, HealthyLinkHasNoEpisode) {
  for (int i = 0; i < 3000; ++i) Read(kFrames, i % 500 == 0 ? 1 : 0);
  EXPECT_TRUE(Episodes().empty()) << "errors from before the first reading do not count either";
}

TEST_F(LinkErrorsTest, PortWithoutFcsErrorsHasReceiveErrors) {
  counted_ = Metric::kRxErrors;
  for (int i = 0; i < 10; ++i) Read(kFrames, 0);
  for (int i = 0; i < 10; ++i) Read(kFrames, 1000);
  ASSERT_EQ(Episodes().size(), 1u);
  EXPECT_EQ(Episodes()[0].errors, 10'000u);
}

TEST_F(LinkErrorsTest, ReceiveErrorsOfAPortWithFcsErrorsAreOthers) {
  for (int i = 0; i < 20; ++i) {
    Read(kFrames, 0);
    Report(Metric::kRxErrors, static_cast<uint64_t>(1000 * i));
  }
  EXPECT_TRUE(Episodes().empty());
}

TEST_F(LinkErrorsTest, EpisodeBeginsAfterTheIdleTimeBeforeIt) {
  for (int i = 0; i < 10; ++i) Read(kFrames, 0);
  for (int i = 0; i < 100; ++i) Read(0, 0);
  const Timestamp busy = now_;
  for (int i = 0; i < 10; ++i) Read(kFrames, 4000);
  ASSERT_EQ(Episodes().size(), 1u);
  EXPECT_EQ(Episodes()[0].from, busy - 3 * seconds(30)) << "the last three readings may be cached";
}

TEST_F(LinkErrorsTest, EpisodeContainsTheTimeOfCachedReadings) {
  for (int i = 0; i < 10; ++i) Read(kFrames, 0);
  const Timestamp onset = now_;
  for (int i = 0; i < 10; ++i) {
    Read(0, 0);
    Read(0, 0);
    Read(3 * kFrames, 12'000);
  }
  ASSERT_EQ(Episodes().size(), 1u);
  EXPECT_EQ(Episodes()[0].from, onset);
}

TEST_F(LinkErrorsTest, EpisodeCoversTheDamageHoweverLongItLasts) {
  for (int i = 0; i < 10; ++i) Read(kFrames, 0);
  const Timestamp onset = now_;
  for (int i = 0; i < 10'000; ++i) {
    Read(kFrames, 40);
    if (i > 10) {
      ASSERT_EQ(Episodes().size(), 1u);
      ASSERT_FALSE(Episodes()[0].is_over);
      ASSERT_EQ(Episodes()[0].from, onset);
    }
  }
  const Timestamp end = now_;
  for (int i = 0; i < 10; ++i) Read(kFrames, 0);
  ASSERT_EQ(Episodes().size(), 1u);
  EXPECT_TRUE(Episodes()[0].is_over);
  EXPECT_EQ(Episodes()[0].last, end);
  EXPECT_EQ(Episodes()[0].errors, 400'000u);
  EXPECT_NEAR(Episodes()[0].frames, 1e4 * (kFrames + 40), 1);
}

TEST_F(LinkErrorsTest, IdleLinkIsNotHealthyAgain) {
  for (int i = 0; i < 20; ++i) Read(kFrames, 40);
  for (int i = 0; i < 1000; ++i) Read(10, 0);
  ASSERT_EQ(Episodes().size(), 1u);
  EXPECT_FALSE(Episodes()[0].is_over);
}

TEST_F(LinkErrorsTest, RestartsOfCountersAreNoDamage) {
  for (int i = 0; i < 10; ++i) Read(kFrames, 0);
  packets_ = fcs_ = 0;
  for (int i = 0; i < 10; ++i) Read(kFrames, 0);
  EXPECT_TRUE(Episodes().empty());
}

// The reading of received frames got lost, so the errors have no frames to compare with.
TEST_F(LinkErrorsTest, ErrorsWaitForTheFramesAmongWhichTheyWere) {
  for (int i = 0; i < 200; ++i) {
    now_ += seconds(30);
    packets_ += kFrames;
    fcs_ += i % 50 == 0;
    if (i % 3 != 0) Report(Metric::kRxPackets, packets_);
    Report(Metric::kFcsErrors, fcs_);
  }
  EXPECT_TRUE(Episodes().empty());
}

TEST_F(LinkErrorsTest, PortThatReportsNoPacketsIsAssumedToBeFull) {
  for (int i = 0; i < 100; ++i) {
    now_ += seconds(30);
    Report(Metric::kFcsErrors, fcs_ += 2);
  }
  EXPECT_TRUE(Episodes().empty()) << "2 among 375 million frames of 1,000 bytes";
  for (int i = 0; i < 100; ++i) {
    now_ += seconds(30);
    Report(Metric::kFcsErrors, fcs_ += 200);
  }
  EXPECT_EQ(Episodes().size(), 1u);
}

}  // namespace
}  // namespace rocescope
