// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/service_level/iteration_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rocescope {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsNan;

constexpr Duration kWindow = std::chrono::milliseconds(1);

Timestamp At(int64_t us) { return FromNanoseconds(us * 1000); }
IterationSpan Span(int64_t begin, int64_t end, int64_t sending = 100) {
  return {.begin = At(begin), .end = At(end), .sending = std::chrono::microseconds(sending)};
}

// nccl-tests, doc/PERFORMANCE.md: among n ranks, an all-reduce of S bytes in t has the bus
// bandwidth S/t * 2(n-1)/n. A ring moves 2(n-1)/n * S bytes from each rank to the next.
TEST(BusBandwidth, IsThatOfNcclTests) {
  constexpr double kRanks = 4;
  constexpr double kSize = 1 << 20;
  constexpr double kTime = 250e-6;
  JobIterationPattern iteration_pattern;
  iteration_pattern.collectives.push_back(
      {.kind = CollectiveKind::kRing,
       .groups = {{0, 1, 2, 3}},
       .bytes = static_cast<uint64_t>(kRanks * kSize * 2 * (kRanks - 1) / kRanks)});
  EXPECT_DOUBLE_EQ(BusBandwidth(iteration_pattern, Span(0, 1000, 250)),
                   8 * kSize / kTime * 2 * (kRanks - 1) / kRanks);
}

TEST(BusBandwidth, OfGroupsIsThatOfOneGroup) {
  JobIterationPattern one;
  one.collectives.push_back({.groups = {{0, 1}}, .bytes = 2000});
  JobIterationPattern two;
  two.collectives.push_back({.groups = {{0, 1}, {2, 3}}, .bytes = 4000});
  EXPECT_DOUBLE_EQ(BusBandwidth(one, Span(0, 1000)), BusBandwidth(two, Span(0, 1000)));
}

TEST(BusBandwidth, IsUnknownWithoutTraffic) {
  EXPECT_EQ(BusBandwidth({}, Span(0, 1000)), 0);
  EXPECT_EQ(BusBandwidth({}, Span(0, 1000, 0)), 0);
}

TEST(IterationValues, AreMeansByOverlap) {
  // Window 0: the whole iteration of 750 us and a quarter of a millisecond of the one of 1250 us.
  EXPECT_THAT(IterationValues({}, std::vector{Span(0, 750), Span(750, 2000)},
                              ServiceIndicator::kIterationTime, kWindow, 0, 2),
              ElementsAre(DoubleEq(0.75 * 750e3 + 0.25 * 1250e3), DoubleEq(1250e3)));
}

TEST(IterationValues, AnIterationLongerThanWindowsCoversAllOfThem) {
  EXPECT_THAT(IterationValues({}, std::vector{Span(0, 4000)}, ServiceIndicator::kIterationRate,
                              kWindow, 1, 4),
              ElementsAre(DoubleEq(250), DoubleEq(250), DoubleEq(250)));
}

TEST(IterationValues, AWindowCoveredLessThanHalfHasNoValue) {
  EXPECT_THAT(IterationValues({}, std::vector{Span(600, 1500)}, ServiceIndicator::kIterationTime,
                              kWindow, 0, 3),
              ElementsAre(IsNan(), DoubleEq(900e3), IsNan()));
}

TEST(IterationValues, SkewIsTheLatenessOfTheStraggler) {
  JobIterationPattern iteration_pattern;
  iteration_pattern.period = kWindow;
  const std::vector spans = {Span(0, 1000), Span(1000, 2000), Span(2000, 3000)};
  EXPECT_THAT(IterationValues(iteration_pattern, spans, ServiceIndicator::kSkew, kWindow, 0, 3),
              ElementsAre(0, 0, 0));
  iteration_pattern.straggler = {
      .lateness = std::chrono::microseconds(300), .from = At(1000), .until = At(2000)};
  EXPECT_THAT(IterationValues(iteration_pattern, spans, ServiceIndicator::kSkew, kWindow, 0, 3),
              ElementsAre(0, DoubleEq(0.3), 0));
}

}  // namespace
}  // namespace rocescope
