// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/score/cause.h"

#include <gtest/gtest.h>

#include "rocescope/v1/diagnosis.pb.h"
#include "rocescope/v1/truth.pb.h"

namespace rocescope {
namespace {

constexpr const char* kLink = "leaf0:E1-host1:mlx5_0";
constexpr FindingTime kTime = {.start_ns = 10'000, .end_ns = 12'000};
constexpr int64_t kTolerance = 500;

class CauseTest : public testing::Test {
 protected:
  void Event(const char* kind, const char* place, int64_t start, int64_t end) {
    v1::TruthBenign& event = *truth_.add_benign();
    event.set_kind(kind);
    event.set_place(place);
    event.set_start_ns(start);
    event.set_end_ns(end);
  }
  v1::TruthFault& Fault(const char* kind, const char* place, int64_t visible = 9'000) {
    v1::TruthFault& fault = *truth_.add_faults();
    fault.set_kind(kind);
    fault.set_place(place);
    fault.set_start_ns(8'000);
    fault.set_visible_ns(visible);
    return fault;
  }
  static v1::Finding Finding(const char* kind, const char* place) {
    v1::Finding finding;
    finding.set_kind(kind);
    finding.set_place(place);
    return finding;
  }
  std::string EventAt(const char* place) {
    CauseFinder finder(truth_, kTolerance);
    const v1::TruthBenign* event = finder.BenignEvent(Finding("bit_errors", place), kTime);
    return event == nullptr ? "" : event->kind();
  }
  std::string FaultBehind(const char* kind, const char* place, int except = -1) {
    const CauseFinder finder(truth_, kTolerance);
    const v1::TruthFault* fault = finder.FaultBehind(Finding(kind, place), kTime, except);
    return fault == nullptr ? "" : fault->kind();
  }

  v1::Truth truth_;
};

TEST_F(CauseTest, AnEventHasToOverlapInTime) {
  Event("frame_error", kLink, 12'501, 13'000);
  Event("frame_error", kLink, 9'000, 9'499);
  EXPECT_EQ(EventAt(kLink), "");
  Event("frame_error", kLink, 9'000, 9'500);
  EXPECT_EQ(EventAt(kLink), "frame_error");
}

TEST_F(CauseTest, AnEventHasToBeAtAnAdjacentElement) {
  Event("host_reboot", "host1", 10'000, 11'000);
  EXPECT_EQ(EventAt("host1:mlx5_0"), "host_reboot");
  EXPECT_EQ(EventAt(kLink), "host_reboot");
  EXPECT_EQ(EventAt("leaf0"), "");
  EXPECT_EQ(EventAt("leaf0:E2-host2:mlx5_0"), "");
}

TEST_F(CauseTest, TwoLinksOfASwitchAreNotAdjacent) {
  Event("link_drain", "leaf0:E9-spine0:E1", 10'000, 11'000);
  EXPECT_EQ(EventAt(kLink), "");
}

TEST_F(CauseTest, TheClosestPlaceWinsThenTheClosestTime) {
  Event("host_reboot", "host1", 10'000, 11'000);
  Event("frame_error", kLink, 7'000, 11'000);
  EXPECT_EQ(EventAt(kLink), "frame_error");
  Event("link_drain", kLink, 10'500, 11'000);
  EXPECT_EQ(EventAt(kLink), "link_drain");
}

TEST_F(CauseTest, AnEventOfAJobConcernsTheElementsThatItUses) {
  truth_.add_jobs()->set_name("train");
  v1::TruthConnection& connection = *truth_.add_connections();
  connection.set_job("train");
  connection.mutable_first()->set_host("host1");
  connection.mutable_first()->set_device("mlx5_0");
  connection.mutable_second()->set_host("host7");
  connection.mutable_second()->set_device("mlx5_1");
  v1::TruthPath& path = *connection.add_forward();
  for (const char* port : {"leaf0:E9", "spine0:E3", "leaf3:E1"}) path.add_ports(port);
  Event("job_restart", "train", 10'000, 11'000);
  for (const char* place : {kLink, "leaf0:E9-spine0:E1", "spine0", "host7:mlx5_1", "host7:gpu:3"}) {
    EXPECT_EQ(EventAt(place), "job_restart") << place;
  }
  for (const char* place : {"host7:mlx5_0", "spine1", "leaf0:E8-spine1:E1", "host2:gpu:0"}) {
    EXPECT_EQ(EventAt(place), "") << place;
  }
  Event("frame_error", kLink, 12'000, 12'000);
  EXPECT_EQ(EventAt(kLink), "frame_error") << "an event of the element itself comes first";
}

TEST_F(CauseTest, AFaultExplainsFindingsNearby) {
  Fault("switch_crash", "leaf0");
  EXPECT_EQ(FaultBehind("link_down", kLink), "switch_crash");
  EXPECT_EQ(FaultBehind("link_down", "leaf1:E1-spine0:E2"), "");
  EXPECT_EQ(FaultBehind("straggler", "leaf0"), "") << "a crash does not explain stragglers";
  EXPECT_EQ(FaultBehind("link_down", kLink, 0), "");
}

TEST_F(CauseTest, SomeFaultsExplainFindingsAnywhere) {
  Fault("pfc_storm", "host1:mlx5_0");
  EXPECT_EQ(FaultBehind("slow_receiver", "host9:mlx5_0"), "pfc_storm");
}

TEST_F(CauseTest, AFaultHasToBeVisibleBeforeTheFindingEnds) {
  Fault("pfc_storm", "host1:mlx5_0", 0);
  Fault("pfc_storm", "host1:mlx5_0", 12'001);
  EXPECT_EQ(FaultBehind("slow_receiver", "host9:mlx5_0"), "");
  Fault("pfc_storm", "host1:mlx5_0").set_start_ns(10'501);
  EXPECT_EQ(FaultBehind("slow_receiver", "host9:mlx5_0"), "") << "it started after the finding";
  truth_.mutable_faults(2)->set_start_ns(10'500);
  EXPECT_EQ(FaultBehind("slow_receiver", "host9:mlx5_0"), "pfc_storm");
}

}  // namespace
}  // namespace rocescope
