// SPDX-License-Identifier: BSD-3-Clause
#include "sim/benign/link_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "sim/benign/benign.h"
#include "sim/workload/stream.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

class LinkErrorsTest : public ::testing::Test {
 protected:
  LinkErrorsTest()
      : fabric_(topology::Generate({.shape = topology::Shape::kStar, .hosts = 3}).value()),
        network_(fabric_, {.nics = {.ack_timeout = 100 * kMicrosecond}}) {}

  Port& sender() { return network_.nic(0).port(); }
  LinkErrors& Make(LinkErrors::Options options) {
    errors_ = std::make_unique<LinkErrors>(network_.engine(), sender(), std::move(options));
    sender().SetFault(errors_.get());
    return *errors_;
  }

  topology::Fabric fabric_;
  Network network_;
  std::unique_ptr<LinkErrors> errors_;
};

// The number of events is Poisson: its standard deviation is 31.6 here.
TEST_F(LinkErrorsTest, DamageOccursAtItsRateOnAnIdleLink) {
  LinkErrors& errors = Make({.damage_rate = 1e5, .seed = 3});
  const FecCounts counts = errors.FecAt(10 * kMillisecond);
  EXPECT_NEAR(static_cast<double>(counts.uncorrected), 1000, 4 * 31.6);
  EXPECT_TRUE(errors.broken().empty());
}

TEST_F(LinkErrorsTest, DamageOnABusyLinkBreaksFrames) {
  LinkErrors& errors = Make({.damage_rate = 1e4, .seed = 3});
  Stream stream(network_, {.from = 0, .to = 1});
  stream.Begin();
  network_.engine().Run(20 * kMillisecond);
  const uint64_t wrong = sender().peer()->counters().fcs_errors;
  EXPECT_EQ(errors.broken().size(), wrong);
  // The link is busy most of the time; the sender waits after some losses.
  const FecCounts counts = errors.FecAt(20 * kMillisecond);
  EXPECT_NEAR(static_cast<double>(counts.uncorrected), 200, 4 * 14.2);
  EXPECT_GT(wrong, counts.uncorrected / 4);
  EXPECT_LE(wrong, counts.uncorrected);
}

TEST(LinkErrors, ReadingTheCountsDoesNotChangeWhichFramesBreak) {
  const auto fabric = topology::Generate({.shape = topology::Shape::kStar, .hosts = 2}).value();
  const auto broken = [&](bool reads) {
    Network network(fabric, {.nics = {.ack_timeout = 100 * kMicrosecond}});
    LinkErrors errors(network.engine(), network.nic(0).port(), {.damage_rate = 1e4, .seed = 3});
    network.nic(0).port().SetFault(&errors);
    Stream stream(network, {.from = 0, .to = 1});
    stream.Begin();
    for (SimTime time = 0; time <= 20 * kMillisecond; time += 100 * kNanosecond) {
      network.engine().Run(time);
      if (reads) errors.FecAt(time);
    }
    return errors.broken();
  };
  const std::vector<SimTime> unread = broken(false);
  EXPECT_GT(unread.size(), 50u);
  EXPECT_EQ(broken(true), unread);
}

TEST_F(LinkErrorsTest, CorrectedCodewordsDoNotDependOnWhenTheyAreRead) {
  const LinkErrors::Options options = {.corrected_rate = 3e4, .seed = 9, .number = 4};
  const uint64_t at_once = Make(options).FecAt(50 * kMillisecond).corrected;
  LinkErrors& stepwise = Make(options);
  uint64_t last = 0;
  for (SimTime time = 0; time <= 50 * kMillisecond; time += 130 * kMicrosecond) {
    const uint64_t now = stepwise.FecAt(time).corrected;
    EXPECT_GE(now, last);
    last = now;
  }
  EXPECT_EQ(stepwise.FecAt(50 * kMillisecond).corrected, at_once);
  EXPECT_NEAR(static_cast<double>(at_once), 1500, 4 * std::sqrt(1500.0));
}

TEST_F(LinkErrorsTest, LargeCountsHaveTheirMean) {
  LinkErrors& errors = Make({.corrected_rate = 1e7, .seed = 1});
  EXPECT_NEAR(static_cast<double>(errors.FecAt(100 * kMillisecond).corrected), 1e6, 4e3);
}

TEST_F(LinkErrorsTest, EachStrikeBreaksOneFrame) {
  LinkErrors& errors = Make({.strikes = {kMillisecond, kMillisecond, 3 * kMillisecond}});
  Stream stream(network_, {.from = 0, .to = 1});
  stream.Begin();
  network_.engine().Run(5 * kMillisecond);
  ASSERT_EQ(errors.broken().size(), 3u);
  EXPECT_GE(errors.broken()[0], kMillisecond);
  EXPECT_LT(errors.broken()[0], kMillisecond + 10 * kMicrosecond);
  EXPECT_EQ(sender().peer()->counters().fcs_errors, 3u);
  EXPECT_GT(stream.requester().frames_resent(), 0u);
}

// RS(544,514): 100e9 / 5440 = 18.4 million codewords per second. At a bit error ratio of 1e-6, a
// codeword has a wrong bit with the probability 1 - exp(-5440e-6) = 0.005425.
TEST(BenignTest, RatesFollowFromTheBitErrorRatio) {
  EXPECT_NEAR(CorrectedRate(1e-6, 100e9), 18'382'353 * 0.005425, 20);
  EXPECT_DOUBLE_EQ(DamageRate(1e-13, 100e9, false), 0.01);
  EXPECT_DOUBLE_EQ(DamageRate(1e-13, 100e9, true), 0.01 / 16);
}

TEST(BenignTest, RatiosAndPacesAreWithinTheirRange) {
  double lowest = 2;
  double highest = 0;
  uint32_t below = 0;
  for (uint32_t i = 0; i < 1000; ++i) {
    const double pace = GpuPace(1, i, 0.05);
    lowest = std::min(lowest, pace);
    highest = std::max(highest, pace);
    const double ratio = DrawRatio({.least = 1e-15, .most = 1e-13}, 1, "test", i);
    ASSERT_GE(ratio, 1e-15);
    ASSERT_LE(ratio, 1e-13);
    below += ratio < 1e-14;
  }
  EXPECT_GE(lowest, 1);
  EXPECT_LT(lowest, 1.001);
  EXPECT_LE(highest, 1 / 0.95);
  EXPECT_GT(highest, 1.05);
  EXPECT_NEAR(below, 500, 4 * 15.8);  // half of the logarithmic range
  EXPECT_EQ(GpuPace(1, 0, 0), 1);
  EXPECT_NE(GpuPace(1, 7, 0.05), GpuPace(2, 7, 0.05));
}

}  // namespace
}  // namespace rocescope::sim
