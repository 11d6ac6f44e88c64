// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/core/answers.h"

#include <gtest/gtest.h>

#include <thread>

namespace rocescope {
namespace {

using std::chrono::milliseconds;

Answer OneAnswer() { return {.snapshot = std::make_shared<const Snapshot>()}; }

TEST(Answers, StartWithNone) {
  Answers answers;
  EXPECT_EQ(answers.Latest(), nullptr);
  EXPECT_EQ(answers.WaitForOther(0, milliseconds(0)), nullptr);
}

TEST(Answers, CountUp) {
  Answers answers;
  answers.Publish(OneAnswer());
  const auto first = answers.Latest();
  answers.Publish(OneAnswer());
  EXPECT_EQ(first->version, 1u);
  EXPECT_EQ(answers.Latest()->version, 2u);
  EXPECT_EQ(answers.WaitForOther(1, milliseconds(0))->version, 2u);
  EXPECT_EQ(answers.WaitForOther(2, milliseconds(0)), nullptr);
}

TEST(Answers, WakeWaitingReaders) {
  Answers answers;
  std::thread publisher([&] { answers.Publish(OneAnswer()); });
  const auto answer = answers.WaitForOther(0, milliseconds(20'000));
  publisher.join();
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->version, 1u);
}

TEST(Answers, WakeWaitingReadersOnClose) {
  Answers answers;
  std::thread closer([&] { answers.Close(); });
  EXPECT_EQ(answers.WaitForOther(0, milliseconds(20'000)), nullptr);
  closer.join();
}

}  // namespace
}  // namespace rocescope
