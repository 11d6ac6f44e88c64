// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/forgeable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

using testing::Contains;
using testing::HasSubstr;

class Forgeable : public DiagnosisTest {
 protected:
  // Damaged frames on the link between two switches.
  void Damage() {
    for (size_t w = 0; w < kWindows; ++w) {
      Carries(Port("leaf0", "spine0"), w, 5000, w < 5 ? 0 : 20);
      Grows(Port("spine0", "leaf0"), Metric::kFcsErrors, w, w < 5 ? 0 : 20);
    }
  }
};

TEST_F(Forgeable, LimitsTheConfidenceInWhatOnlySflowShows) {
  Damage();
  are_ports_from_sflow_ = is_udp_forgeable_ = true;
  const Findings found = Diagnosed();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kBitErrors);
  EXPECT_EQ(found[0].confidence, kForgeable);
  EXPECT_THAT(found[0].evidence, Contains(HasSubstr("based on sFlow or INT telemetry")));
}

TEST_F(Forgeable, TrustsOtherSourcesAndFiles) {
  Damage();
  is_udp_forgeable_ = true;
  const Findings collected = Diagnosed();
  ASSERT_EQ(collected.size(), 1u);
  EXPECT_GT(collected[0].confidence, kForgeable);
  are_ports_from_sflow_ = true;
  is_udp_forgeable_ = false;
  EXPECT_EQ(Diagnosed().at(0).evidence, collected[0].evidence) << "a file that the user selected";
}

// Bytes that a host reports do not prove an error that only sFlow shows.
TEST_F(Forgeable, OtherCountersOfThePlaceProveNothing) {
  for (size_t w = 0; w < kWindows; ++w) {
    Carries(Port("host0", "leaf0"), w, 5000, w < 5 ? 0 : 20);
    Grows(Port("leaf0", "host0"), Metric::kFcsErrors, w, w < 5 ? 0 : 20);
  }
  are_ports_from_sflow_ = is_udp_forgeable_ = true;
  const Findings found = Diagnosed();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_LE(found[0].confidence, kForgeable);
  EXPECT_THAT(found[0].evidence, Contains(HasSubstr("based on sFlow or INT telemetry")));
}

// A host's agent is authenticated, so the errors that its NIC counts are not forged.
TEST_F(Forgeable, TrustsALinkWhoseHostReportsTheErrors) {
  for (size_t w = 0; w < kWindows; ++w) {
    Carries(Port("leaf0", "host0"), w, 5000, w < 5 ? 0 : 20);
    Grows(Port("host0", "leaf0"), Metric::kFcsErrors, w, w < 5 ? 0 : 20);
  }
  are_ports_from_sflow_ = is_udp_forgeable_ = true;
  const Findings found = Diagnosed();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].evidence, testing::Not(Contains(HasSubstr("based on sFlow"))));
}

TEST_F(Forgeable, PathsAreForgeableWithoutMirroredFlowsThroughThePlace) {
  Finding finding{
      .kind = FaultKind::kSwappedCables, .place = Link("leaf0", "spine0"), .detector = "cables"};
  const auto is_forgeable = [&] {
    return In([&](const DiagnosisInput& input) { return IsForgeable(input, finding); });
  };
  EXPECT_TRUE(is_forgeable());
  Goes({"host0", "leaf0", "spine1", "leaf1", "host4"}, 17);
  Sends("host0", "host4", 17);
  EXPECT_TRUE(is_forgeable()) << "elsewhere";
  Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 18);
  EXPECT_TRUE(is_forgeable()) << "the path is known from INT or sFlow only";
  Sends("host0", "host4", 18);
  EXPECT_FALSE(is_forgeable());
}

// spine1 never reports anything, so only its neighbours can show the crash.
TEST_F(Forgeable, NeighboursReportACrash) {
  for (const char* leaf : {"leaf0", "leaf1", "leaf2", "leaf3"}) {
    for (size_t w = 0; w < kWindows; ++w) {
      Carries(Port(leaf, "spine0"), w, 1000);
      if (w < 9) Carries(Port(leaf, "spine1"), w, 1000);
      if (w >= 8) Says(Port(leaf, "spine1"), Metric::kLinkUp, w, 0);
    }
    FallsSilent(EntityOf(Port("spine1", leaf)), 0);
  }
  is_udp_forgeable_ = true;
  ASSERT_EQ(Diagnosed().size(), 1u);
  EXPECT_GT(Diagnosed()[0].confidence, kForgeable);
  are_ports_from_sflow_ = true;
  const Findings found = Diagnosed();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kSwitchCrash);
  EXPECT_LE(found[0].confidence, kForgeable);
}

TEST_F(Forgeable, IntReportsAlone) {
  for (const char* const detector : {"late_cnps", "longer_links"}) {
    Finding finding{
        .kind = FaultKind::kAddedLatency, .place = Link("leaf0", "spine0"), .detector = detector};
    const auto is_forgeable = [&] {
      return In([&](const DiagnosisInput& input) { return IsForgeable(input, finding); });
    };
    EXPECT_FALSE(is_forgeable()) << detector;
    finding.is_by_int = true;
    EXPECT_TRUE(is_forgeable()) << detector;
  }
}

TEST_F(Forgeable, QueueWatermarksThatExplainDelays) {
  const Finding finding{.kind = FaultKind::kAddedLatency,
                        .place = Link("host0", "leaf0"),
                        .detector = "late_answers"};
  const auto is_forgeable = [&] {
    return In([&](const DiagnosisInput& input) { return IsForgeable(input, finding); });
  };
  are_ports_from_sflow_ = true;
  EXPECT_FALSE(is_forgeable()) << "other counters do not explain delays";
  for (size_t w = 0; w < kWindows; ++w) {
    Says(Port("leaf0", "spine0"), Metric::kQueueWatermark, w, 0);
  }
  EXPECT_TRUE(is_forgeable());
  are_ports_from_sflow_ = false;
  EXPECT_FALSE(is_forgeable());
}

TEST_F(Forgeable, PathsThatLocateTheErrorsOfNics) {
  for (const char* const detector : {"corruption", "nic_votes", "loss_votes", "overload"}) {
    const Finding finding{
        .kind = FaultKind::kCorruption, .place = Switch("spine0"), .detector = detector};
    EXPECT_TRUE(In([&](const DiagnosisInput& input) { return IsForgeable(input, finding); }))
        << detector;
  }
}

}  // namespace
}  // namespace rocescope
