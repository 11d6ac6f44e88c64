// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/process/watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class WatchdogTest : public testing::Test {
 protected:
  // Runs the watchdog at `second` since the start.
  void Look(int second, const Watchdog::Beats& beats) {
    watchdog_.Look(Watchdog::Clock::time_point(seconds(1000 + second)), beats);
  }

  int fed_ = 0;
  std::vector<std::string> told_;
  Watchdog watchdog_{seconds(30), [this] { ++fed_; },
                     [this](Severity, const std::string& text) { told_.push_back(text); }};
};

TEST_F(WatchdogTest, NotifiesThreeTimesAPeriod) {
  for (int second = 0; second < 60; ++second) {
    Look(second, {{"analysis", second}, {"dpdk", 20 * second}});
  }
  EXPECT_EQ(fed_, 6);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(WatchdogTest, StopsWhenAWorkerHangsForHalfAPeriod) {
  for (int second = 0; second < 60; ++second) {
    Look(second, {{"analysis", second}, {"dpdk", std::min(second, 20)}});
  }
  // Calls at 0, 10, 20 and 30 s. The worker's last progress is at 20 s.
  EXPECT_EQ(fed_, 4);
  EXPECT_THAT(told_, ElementsAre(HasSubstr("dpdk has made no progress for 15 s")));
}

TEST_F(WatchdogTest, DistinguishesWorkersWithTheSameName) {
  for (int second = 0; second < 60; ++second) Look(second, {{"dpdk", second}, {"dpdk", 7}});
  EXPECT_EQ(fed_, 2) << "at 0 and 10 s";
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(WatchdogTest, ResumesWhenTheWorkerContinuesOrEnds) {
  Look(0, {{"analysis", 1}, {"udp", 1}});
  Look(20, {{"analysis", 2}, {"udp", 1}});
  EXPECT_EQ(fed_, 1);
  Look(21, {{"analysis", 3}, {"udp", 2}});
  EXPECT_EQ(fed_, 2);
  Look(50, {{"analysis", 4}});
  EXPECT_EQ(fed_, 3);
}

}  // namespace
}  // namespace rocescope
