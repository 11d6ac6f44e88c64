// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/finding_sentence.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "appliance/api/message_value.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

// 2024-05-01 12:00:00 UTC.
constexpr int64_t kNoon = 1'714'564'800'000'000'000;

v1::ReplayReport Report(const std::string& jobs = "") {
  v1::ReplayReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(jobs, &report));
  *report.mutable_reference_time() = TimestampMessage(kNoon);
  return report;
}

TEST(FindingSentence, NamesPlacesByWhatTheyAre) {
  EXPECT_EQ(FaultText("switch_crash", "leaf0", ""), "leaf0: switch down, with all of its links");
  EXPECT_EQ(FaultText("nic_crash", "host3:mlx5_1", ""), "NIC host3:mlx5_1: down");
  EXPECT_EQ(FaultText("straggler", "host3:gpu:5", ""),
            "host3:gpu:5: straggler (computes more slowly than the job's other GPUs, which wait)");
  EXPECT_EQ(FaultText("degraded_rate", "leaf0:E1-spine0:E2", ""),
            "link leaf0:E1-spine0:E2: runs below its nominal speed");
}

TEST(FindingSentence, NamesTheSenderOfALinkFirst) {
  EXPECT_EQ(FaultText("degraded_rate", "leaf-0:E1-spine-0:E2", "leaf-0:E1"),
            "link from leaf-0:E1 to spine-0:E2: runs below its nominal speed");
  EXPECT_EQ(FaultText("degraded_rate", "leaf-0:E1-spine-0:E2", "spine-0:E2"),
            "link from spine-0:E2 to leaf-0:E1: runs below its nominal speed");
}

TEST(FindingSentence, PrintsAnUnknownKindByItsName) {
  EXPECT_EQ(FaultText("gremlins", "leaf0", ""), "gremlins at leaf0");
}

TEST(FindingSentence, PrintsTimeAndOffset) {
  EXPECT_EQ(WhenText(Report(), kNoon + 9'000'000, 0), "since 12:00:00.009 UTC (+9.0 ms)");
  EXPECT_EQ(WhenText(Report(), kNoon - 1'000'000, kNoon + 18'000'000),
            "from 11:59:59.999 to 12:00:00.018 UTC (-1.0 ms, for 19.0 ms)");
}

TEST(FindingSentence, CountsHowOftenAFaultWasActive) {
  v1::Finding finding;
  finding.set_kind("flap");
  finding.set_place("a-b");
  finding.set_active_count(3);
  *finding.mutable_start_time() = TimestampMessage(kNoon + 9'000'000);
  EXPECT_THAT(SentenceOf(Report(), finding), HasSubstr("; 3 times since 12:00:00.009 UTC (+9.0"));
  finding.set_active_count(1);
  EXPECT_THAT(SentenceOf(Report(), finding), HasSubstr("; since 12:00:00.009 UTC (+9.0"));
}

TEST(FindingSentence, OmitsAnUnknownTime) {
  v1::Finding finding;
  finding.set_kind("nic_crash");
  finding.set_place("host3:mlx5_1");
  finding.add_affected_job_ids("nccl-1");
  EXPECT_EQ(SentenceOf({}, finding), "NIC host3:mlx5_1: down; it affects nccl-1");
}

TEST(FindingSentence, PrintsMicrosecondsForShortWindows) {
  v1::ReplayReport report = Report();
  *report.mutable_diagnosis_coverage()->mutable_window_duration() = DurationMessage(1'000'000);
  EXPECT_EQ(WhenText(report, kNoon + 1'851'000, 0), "since 12:00:00.001851 UTC (+1.9 ms)");
  *report.mutable_diagnosis_coverage()->mutable_window_duration() = DurationMessage(1'000'000'000);
  EXPECT_EQ(WhenText(report, kNoon + 1'851'000, 0), "since 12:00:00.001 UTC (+1.9 ms)");
}

TEST(FindingSentence, PrintsADifferentDay) {
  constexpr int64_t kDay = 86'400'000'000'000;
  EXPECT_EQ(WhenText(Report(), kNoon + kDay, 0), "since 2024-05-02 12:00:00.000 UTC (+1 d 0 h)");
  EXPECT_EQ(WhenText({}, kNoon, 0), "since 2024-05-01 12:00:00.000 UTC");
  EXPECT_EQ(WhenText({}, kNoon, kNoon + 2'000'000),
            "from 2024-05-01 12:00:00.000 to 2024-05-01 12:00:00.002 UTC (for 2.0 ms)");
}

TEST(FindingSentence, ListsAFew) {
  EXPECT_EQ(ListText({}, "others"), "");
  EXPECT_EQ(ListText({"a"}, "others"), "a");
  EXPECT_EQ(ListText({"a", "b"}, "others"), "a and b");
  EXPECT_EQ(ListText({"a", "b", "c", "d"}, "others"), "a, b, c and d");
  EXPECT_EQ(ListText({"a", "b", "c", "d", "e"}, "others"), "a, b, c and 2 others");
}

TEST(FindingSentence, StatesFaultPlaceTimeAndAffectedJobs) {
  const v1::ReplayReport report = Report(
      R"(diagnosis_coverage { flow_count: 1 } jobs { job_id: "nccl-1" allocation { scheduler_job_id: 7 name: "pretrain" } } jobs { job_id: "b" })");
  v1::Finding finding;
  finding.set_kind("nic_crash");
  finding.set_place("host3:mlx5_1");
  *finding.mutable_start_time() = TimestampMessage(kNoon + 4'000'000'000);
  EXPECT_EQ(SentenceOf(report, finding),
            "NIC host3:mlx5_1: down; since 12:00:04.000 UTC (+4.00 s); no known job sent traffic "
            "through it");
  finding.add_exposed_job_ids("b");
  EXPECT_EQ(SentenceOf(report, finding),
            "NIC host3:mlx5_1: down; since 12:00:04.000 UTC (+4.00 s); no effect on a job was "
            "measured; b sends traffic through it");
  finding.clear_exposed_job_ids();
  finding.add_affected_job_ids("nccl-1");
  finding.add_affected_job_ids("b");
  EXPECT_EQ(SentenceOf(report, finding),
            "NIC host3:mlx5_1: down; since 12:00:04.000 UTC (+4.00 s); it affects nccl-1 "
            "[slurm 7 \"pretrain\"] and b");
}

TEST(FindingSentence, DoesNotExcludeJobsWithoutPackets) {
  const v1::ReplayReport report = Report("diagnosis_coverage { window_count: 9 }");
  v1::Finding finding;
  finding.set_kind("nic_crash");
  finding.set_place("host3:mlx5_1");
  *finding.mutable_start_time() = TimestampMessage(kNoon);
  const std::string unknown =
      "NIC host3:mlx5_1: down; since 12:00:00.000 UTC (+0 ns); the affected jobs are unknown, "
      "because no packets of their flows were received";
  EXPECT_EQ(SentenceOf(report, finding), unknown);
  EXPECT_EQ(SentenceOf(report, finding, {"nccl-1"}), unknown + "; nccl-1 has ranks there");
  finding.add_affected_job_ids("nccl-2");  // known from the rank of a GPU
  EXPECT_EQ(SentenceOf(report, finding, {"nccl-1"}),
            "NIC host3:mlx5_1: down; since 12:00:00.000 UTC (+0 ns); it affects nccl-2");
}

}  // namespace
}  // namespace rocescope
