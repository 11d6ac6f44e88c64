// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/job_slowdown.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace rocescope {
namespace {

constexpr Duration kMillisecond = std::chrono::milliseconds(1);

Timestamp At(int milliseconds) { return Timestamp(milliseconds * kMillisecond); }

// Iterations of these lengths, one after the other, from time 0.
JobIterationPattern Lasting(std::initializer_list<int> milliseconds) {
  JobIterationPattern pattern;
  Timestamp at = At(0);
  for (const int length : milliseconds) {
    pattern.spans.push_back({.begin = at, .end = at + length * kMillisecond});
    at = pattern.spans.back().end;
  }
  return pattern;
}

TEST(JobSlowdown, ComparesIterationsDuringTheFaultWithThoseBefore) {
  const JobIterationPattern pattern = Lasting({10, 10, 10, 13, 13, 13, 10, 10, 10, 10, 10});
  EXPECT_TRUE(IsSlower(pattern, At(30), At(69)));
  EXPECT_FALSE(IsSlower(pattern, At(30), {})) << "most are as long as before";
  EXPECT_FALSE(IsSlower(pattern, At(69), {})) << "they became shorter";
}

TEST(JobSlowdown, IgnoresOneEvaluationAndSmallDifferences) {
  EXPECT_FALSE(IsSlower(Lasting({10, 10, 10, 10, 40, 10, 10}), At(30), {}));
  EXPECT_FALSE(IsSlower(Lasting({10, 10, 10, 11, 11, 11}), At(30), {}));
}

TEST(JobSlowdown, SeesASmallDifferenceInManyIterations) {
  EXPECT_TRUE(IsSlower(Lasting({50, 51, 52, 50, 51, 54, 53, 55, 54, 53}), At(254), {}));
  EXPECT_FALSE(IsSlower(Lasting({50, 55, 51, 50, 54, 51, 54, 55, 50, 53}), At(260), {}))
      << "not all are longer";
}

TEST(JobSlowdown, IsUnknownWithFewIterations) {
  EXPECT_FALSE(IsSlower(Lasting({10, 10, 20, 20, 20}), At(20), {}));
  EXPECT_FALSE(IsSlower(Lasting({10, 10, 10, 20, 20}), At(30), {}));
  EXPECT_FALSE(HasStopped(Lasting({10}), At(5), At(1000)));
}

TEST(JobSlowdown, FindsAJobThatStopsWithTheFault) {
  const JobIterationPattern pattern = Lasting({10, 10, 10, 10});
  EXPECT_TRUE(HasStopped(pattern, At(35), At(90)));
  EXPECT_FALSE(HasStopped(pattern, At(35), At(60))) << "the iteration may still be an evaluation";
  EXPECT_FALSE(HasStopped(pattern, At(10), At(90))) << "it went on for long during the fault";
  EXPECT_FALSE(HasStopped(pattern, At(80), At(190))) << "it had stopped before the fault";
}

}  // namespace
}  // namespace rocescope
