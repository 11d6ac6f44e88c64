// SPDX-License-Identifier: BSD-3-Clause
#include "sim/engine/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace rocescope::sim {
namespace {

using ::testing::ElementsAre;

class EngineTest : public ::testing::Test {
 protected:
  Engine engine_;
  std::vector<int> happened_;
};

TEST_F(EngineTest, SimultaneousEventsRunInSchedulingOrder) {
  engine_.At(5, [&] { happened_.push_back(1); });
  engine_.At(3, [&] { happened_.push_back(2); });
  engine_.At(5, [&] { happened_.push_back(3); });
  engine_.Run();
  EXPECT_THAT(happened_, ElementsAre(2, 1, 3));
  EXPECT_EQ(engine_.events(), 3u);
}

TEST_F(EngineTest, CountsPicoseconds) {
  SimTime now = 0;
  engine_.At(kSecond + 1, [&] { now = engine_.Now(); });
  engine_.Run();
  EXPECT_EQ(now, 1'000'000'000'001);
}

TEST_F(EngineTest, StopsAtTheEndAndContinuesFromThere) {
  engine_.At(10, [&] { happened_.push_back(1); });
  engine_.At(20, [&] { happened_.push_back(2); });
  engine_.Run(15);
  EXPECT_THAT(happened_, ElementsAre(1));
  EXPECT_EQ(engine_.Now(), 15);
  engine_.Run(25);
  EXPECT_THAT(happened_, ElementsAre(1, 2));
}

struct Alarm {
  explicit Alarm(Engine& engine) : timer(engine, *this), engine_(engine) {}
  void Ring() { rang.push_back(engine_.Now()); }

  std::vector<SimTime> rang;
  Timer<Alarm, &Alarm::Ring> timer;

 private:
  Engine& engine_;
};

TEST_F(EngineTest, TimerMovedLaterExpiresOnce) {
  Alarm alarm(engine_);
  alarm.timer.Arm(10);
  engine_.At(5, [&] { alarm.timer.Arm(20); });
  engine_.Run();
  EXPECT_THAT(alarm.rang, ElementsAre(20));
  EXPECT_FALSE(alarm.timer.armed());
}

TEST_F(EngineTest, TimerMovedEarlierExpiresOnce) {
  Alarm alarm(engine_);
  alarm.timer.Arm(20);
  engine_.At(5, [&] { alarm.timer.Arm(10); });
  engine_.Run();
  EXPECT_THAT(alarm.rang, ElementsAre(10));
}

TEST_F(EngineTest, TimerMovedEarlierAndThenLaterExpiresOnce) {
  Alarm alarm(engine_);
  alarm.timer.Arm(20);
  engine_.At(5, [&] { alarm.timer.Arm(10); });
  engine_.At(8, [&] { alarm.timer.Arm(30); });
  engine_.Run();
  EXPECT_THAT(alarm.rang, ElementsAre(30));
}

TEST_F(EngineTest, DisarmedTimerDoesNotExpireAndCanBeRearmed) {
  Alarm alarm(engine_);
  alarm.timer.Arm(10);
  engine_.At(5, [&] { alarm.timer.Disarm(); });
  engine_.At(15, [&] { alarm.timer.Arm(25); });
  engine_.Run();
  EXPECT_THAT(alarm.rang, ElementsAre(25));
}

TEST(TransmitTimeTest, IsExactIfABitTakesWholePicoseconds) {
  EXPECT_EQ(TransmitTime(1048, 100'000'000'000), 83'840);
  EXPECT_EQ(TransmitTime(1, 400'000'000'000), 20);
  EXPECT_EQ(TransmitTime(9216, 40'000'000'000), 1'843'200);
}

}  // namespace
}  // namespace rocescope::sim
