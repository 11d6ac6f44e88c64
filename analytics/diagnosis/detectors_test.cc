// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/detectors.h"

#include <gtest/gtest.h>

#include <string>

namespace rocescope {
namespace {

TEST(Detectors, EachStatesItsTelemetryAndATimeForEachOfItsKinds) {
  for (const Detector& detector : kDetectors) {
    EXPECT_FALSE(detector.telemetry.empty()) << detector.name;
    for (size_t i = 0; i < kFaultKinds; ++i) {
      const auto kind = static_cast<FaultKind>(i);
      if (!detector.kinds.Contains(kind)) continue;
      const TimeToDetection time = detector.time(kind, Thresholds{});
      EXPECT_GE(time.windows, 1u) << detector.name;
      EXPECT_FALSE(time.signs.empty()) << detector.name;
      EXPECT_FALSE(time.signs.ends_with('.')) << detector.name;
    }
  }
}

TEST(Detectors, TimesFollowTheThresholds) {
  Thresholds thresholds;
  thresholds.latency_windows = 7;
  thresholds.slow_clock_windows = 5;
  thresholds.naks = 12;
  const auto time = [&](std::string_view name, FaultKind kind) {
    return FindDetector(name)->time(kind, thresholds);
  };
  EXPECT_EQ(time("longer_links", FaultKind::kAddedLatency).windows, 7u);
  EXPECT_EQ(time("straggler", FaultKind::kStraggler).windows, 5u);
  EXPECT_EQ(time("loss_votes", FaultKind::kGrayLoss).signs, "12 NAKs");
}

// 13.8 / ln(2 * 0.98) = 20.5.
TEST(Detectors, HashingNeedsAMillionToOne) {
  const TimeToDetection time =
      FindDetector("hashing")->time(FaultKind::kPolarisation, Thresholds{});
  EXPECT_TRUE(time.signs.starts_with("21 flows that share one of 2 links")) << time.signs;
}

// One event gives half of the greatest confidence, two give three quarters.
TEST(Detectors, ASingleEventIsNoFinding) {
  EXPECT_EQ(FindDetector("pause")->time(FaultKind::kSlowReceiver, Thresholds{}).windows, 2u);
  EXPECT_TRUE(FindDetector("switch_loss")
                  ->time(FaultKind::kMtuMismatch, Thresholds{})
                  .signs.starts_with("2 packets"));
}

TEST(Detectors, AnUnknownNameIsNotFound) { EXPECT_EQ(FindDetector("guess"), nullptr); }

}  // namespace
}  // namespace rocescope
