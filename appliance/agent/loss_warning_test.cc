// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/loss_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr LossWarning::Clock::time_point kStart{};

TEST(LossWarning, WarnsAtMostOnceAMinuteWhileLossesGrow) {
  LossWarning warning;
  EXPECT_EQ(warning.Look({}, kStart), "");
  EXPECT_THAT(warning.Look({.batches = 1, .bytes = 2000}, kStart),
              AllOf(HasSubstr("1 batch (2,000 bytes) dropped"), HasSubstr("`buffer`")));
  EXPECT_EQ(warning.Look({.batches = 2, .bytes = 3000}, kStart + seconds(59)), "");
  EXPECT_THAT(warning.Look({.batches = 2, .bytes = 3000}, kStart + seconds(60)),
              HasSubstr("2 batches (3,000 bytes)"));
  EXPECT_EQ(warning.Look({.batches = 2, .bytes = 3000}, kStart + seconds(600)), "")
      << "nothing new was lost";
}

TEST(LossWarning, ReportsLogsThatWereNotRead) {
  LossWarning warning;
  EXPECT_THAT(warning.Look({.unread_log_bytes = 5000}, kStart),
              testing::StartsWith("5,000 bytes of logs were truncated or removed"));
}

}  // namespace
}  // namespace rocescope
