// SPDX-License-Identifier: BSD-3-Clause

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "appliance/api/message_value.h"
#include "appliance/common/report/replay_report_fixture.h"
#include "rocescope/v1/report.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::Not;

using ReportTextTest = ReplayReportTest;

TEST_F(ReportTextTest, AProcessWithoutARankIsPrintedByItsName) {
  JobRank& receiver = attribution_.jobs[0].job.ranks[1];
  receiver.rank = -1;
  receiver.process_id = 300;
  attribution_.jobs[0].job.ranks_seen = 1;
  attribution_.jobs[0].edges[0].destination_rank = -1;
  attribution_.jobs[0].edges[0].destination_member = 1;
  attribution_.endpoints[0][1]->rank = -1;
  const v1::ReplayReport& report = Build();
  EXPECT_EQ(report.jobs(0).logged_rank_count(), 1u);
  EXPECT_FALSE(report.jobs(0).edges(0).has_destination_rank());
  EXPECT_EQ(report.jobs(0).edges(0).destination_process(), "node1:300");
  EXPECT_EQ(report.jobs(0).ranks(0).queue_pairs(0).peer_process(), "node1:300");
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("JOB nccl-abc: 1 of 2 ranks known, and 1 process without a rank;"));
  EXPECT_THAT(text, HasSubstr("37 (node1:300)"));
  EXPECT_THAT(text, HasSubstr("     0  node1:300  9,007,199,254,740,993"));
}

// The payload of a READ travels from the responder to the requester and is counted in that
// direction.
TEST_F(ReportTextTest, TextWithoutTrafficHasJobAndNotes) {
  flows_.clear();
  connections_.clear();
  attribution_.endpoints.clear();
  const std::string text = RenderText(Build({"a.log:3: expected a rank"}));
  EXPECT_THAT(text, HasSubstr("No RoCE in this capture"));
  EXPECT_THAT(text, HasSubstr("JOB nccl-abc: 2 of 2 ranks known"));
  EXPECT_THAT(text, HasSubstr("0 frames received = 0 decoded + 0 filtered + 0 dropped"));
  EXPECT_THAT(text, HasSubstr("a.log:3: expected a rank"));
}

TEST_F(ReportTextTest, TextNeverOverstatesConfidence) {
  attribution_.jobs[0].edges[0].confidence = 0.998;
  EXPECT_THAT(RenderText(Build()), HasSubstr("0.99\n"));
  attribution_.jobs[0].edges[0].confidence = 0.29;  // not representable as a double
  EXPECT_THAT(RenderText(Build()), HasSubstr("0.29\n"));
}

TEST_F(ReportTextTest, TextPutsProblemsBeforeTheJobAndTheJobBeforeInventories) {
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_received(20);
  report.mutable_ledger()->set_decoded(20);
  const std::string text = RenderText(report);
  size_t last = 0;
  for (const char* heading : {"FAULTS: ", "LOSS AND CONGESTION", "JOB ", "CONNECTIONS: 1 paired",
                              "FLOWS: 2 flows", "LEDGER: 20 frames received"}) {
    const size_t at = text.find(heading);
    ASSERT_NE(at, std::string::npos) << heading;
    EXPECT_GE(at, last) << heading;
    last = at;
  }
  EXPECT_THAT(text, HasSubstr("9,007,199,254,740,993"));
}

TEST_F(ReportTextTest, LossesNameTheOnlyAffectedFlow) {
  flows_[0].total.ce_marked = 3;
  flows_[1].total.ce_marked = 2;
  flows_[1].total.reordered = 1;
  flows_[1].total.class_packets[static_cast<size_t>(OperationClass::kCnp)] = 1;
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(20);
  const std::string text = RenderText(report);
  EXPECT_THAT(text, HasSubstr("2  NAKs: 10.0.0.1 > 10.0.0.2 qp 38\n"));
  EXPECT_THAT(text, testing::ContainsRegex("4  packets missing .*: 10.0.0.1 > 10.0.0.2 qp 38\n"));
  EXPECT_THAT(text, testing::ContainsRegex("5  packets CE-marked, on 2 flows\n"));
  EXPECT_THAT(text,
              testing::ContainsRegex("1  packet out of order .*: 10.0.0.2 > 10.0.0.1 qp 37\n"));
  EXPECT_THAT(text, testing::ContainsRegex("1  CNP .*: 10.0.0.2 > 10.0.0.1 qp 37\n"));
}

TEST_F(ReportTextTest, TextDistinguishesCopiesFromPackets) {
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(43);
  report.mutable_totals()->set_pause_frames(3);
  report.add_taps()->set_frames(23);
  report.mutable_taps(0)->set_frames(20);
  *report.mutable_captured()->mutable_start_time() = TimestampMessage(1'714'564'800'000'000'000);
  *report.mutable_captured()->mutable_end_time() = TimestampMessage(1'714'564'804'500'000'000);
  EXPECT_THAT(RenderText(report),
              HasSubstr("\n\n20 packets, captured as 40 copies in 2 captures, and 3 PAUSE or PFC "
                        "frames, from 2024-05-01 12:00:00.000 to 12:00:04.500 UTC "
                        "(4.50 s)\n"));
}

TEST_F(ReportTextTest, TextReportsThatNoFramePassedTheFilters) {
  flows_.clear();
  connections_.clear();
  attribution_ = {};
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_received(5);
  report.mutable_ledger()->set_filtered(4);
  *report.mutable_extent()->mutable_start_time() = TimestampMessage(1'714'564'800'000'000'000);
  *report.mutable_extent()->mutable_end_time() = TimestampMessage(1'714'651'200'000'000'000);
  EXPECT_THAT(RenderText(report),
              HasSubstr("\n\nNo frame passed the filters; the capture spans 2024-05-01 "
                        "12:00:00.000 to 2024-05-02 12:00:00.000 UTC.\n"));
}

TEST_F(ReportTextTest, TextDistinguishesOtherTrafficFromDrops) {
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_received(20);
  for (const auto& [reason, frames] : {std::pair("not_roce", 18), std::pair("bad_ip", 2)}) {
    v1::DropCount& row = *report.mutable_ledger()->add_dropped();
    row.set_reason(reason);
    row.set_count(static_cast<uint64_t>(frames));
  }
  EXPECT_THAT(RenderText(report),
              HasSubstr("20 frames received = 0 decoded + 0 filtered + 18 non-RoCE + 2 "
                        "dropped\n\n  DROPPED  REASON"));
}

TEST_F(ReportTextTest, ASingleCandidateIsAPossibility) {
  connections_[0].state = ConnectionState::kAmbiguous;
  connections_[0].candidates = {{.qpn = Qpn{37}, .posterior = 0.429}};
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(20);
  EXPECT_THAT(RenderText(report), HasSubstr("1 possible queue pair (0.42)"));
}

TEST_F(ReportTextTest, DatagramsHaveNoConnections) {
  connections_.clear();
  attribution_ = {};
  for (FlowSummary& flow : flows_) {
    flow.total.class_packets = {};
    flow.total.class_packets[static_cast<size_t>(OperationClass::kDatagram)] = flow.total.packets;
  }
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(20);
  EXPECT_THAT(RenderText(report),
              HasSubstr("CONNECTIONS: not applicable: UD queue pairs have no peer"));
}

TEST_F(ReportTextTest, TextLimitsTablesAndCountsTheRest) {
  for (uint32_t n = 0; n < 30; ++n) {
    flows_.push_back(Flow("10.0.1.1", "10.0.1.2", 1000 + n, 100 - n));
  }
  std::sort(flows_.begin(), flows_.end(),
            [](const FlowSummary& a, const FlowSummary& b) { return a.flow < b.flow; });
  v1::ReplayReport report = Build();
  report.mutable_ledger()->set_decoded(1);
  const std::string text = RenderText(report);
  EXPECT_THAT(text, testing::ContainsRegex("and 12 .*more")) << "32 less the 20 shown";
  EXPECT_THAT(text, HasSubstr(" 1017 "));
  EXPECT_THAT(text, Not(HasSubstr(" 1018 ")));
}

TEST_F(ReportTextTest, TheBriefTextFitsOneScreenAndNamesTheOptionsForMore) {
  v1::ReplayReport report = Build(std::vector<std::string>(9, "a.log:3: expected a rank"));
  report.mutable_ledger()->set_received(20);
  report.mutable_ledger()->set_decoded(20);
  report.mutable_diagnosis_coverage()->add_undetectable_kinds("flap");
  for (int i = 0; i < 7; ++i) {
    v1::Finding& finding = *report.add_findings();
    finding.set_sentence("S");
    finding.set_recommended_action("reset it");
    finding.add_evidence("E1");
    finding.add_evidence("E2");
    finding.add_affected_job_ids("nccl-abc");
  }
  const std::string text = RenderBriefText(report);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40) << text;
  for (const char* part :
       {"FAULTS: 7 found\n", "  1. S; confidence 0.00.\n     action       Reset it.\n",
        "evidence     E1\n", "and 3 faults more\n",
        "  1 of 24 fault types cannot be found; --section faults lists them.\n",
        "nccl-abc: 2 of 2 ranks known", "affected by 7 faults\n",
        "LOSS AND CONGESTION (packets): 4 not seen (lost, or not captured)",
        "LEDGER: 20 frames received = 20 decoded", "and 6 notes more\n", "--details",
        "--section NAME"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  for (const char* detail : {"E2", "FLOWS", "CONNECTIONS", "QUEUE PAIRS"}) {
    EXPECT_THAT(text, Not(HasSubstr(detail)));
  }
}

TEST_F(ReportTextTest, WithoutPacketsNoTrafficOfAJobIsCounted) {
  v1::ReplayReport report = Build();
  ASSERT_GT(report.jobs_size(), 0);
  for (v1::Job& job : *report.mutable_jobs()) job.clear_edges();
  report.mutable_totals()->set_packets(0);
  const std::string text = RenderBriefText(report);
  EXPECT_THAT(text, HasSubstr("nccl-abc: 2 of 2 ranks known; no packets were read\n"));
  EXPECT_THAT(text, Not(HasSubstr("0 rank pairs")));
}

TEST_F(ReportTextTest, TheBriefTextNamesTheWorstHotspot) {
  v1::ReplayReport report = Build();
  for (const int dropped : {0, 3, 1}) {
    v1::Hotspot& hotspot = *report.add_hotspots();
    hotspot.set_port("leaf0:Ethernet" + std::to_string(dropped));
    hotspot.set_dropped_packets(static_cast<uint64_t>(dropped));
  }
  EXPECT_THAT(
      RenderBriefText(report),
      HasSubstr("HOTSPOTS: 3 ports with congested queues; worst: leaf0:Ethernet3, 3 packets "
                "dropped; --section hotspots lists them\n"));
}

TEST_F(ReportTextTest, AReportHasTheGivenWidth) {
  v1::ReplayReport report =
      Build({"a.log:3: " + std::string(60, 'x') + " " + std::string(30, 'y')});
  report.mutable_ledger()->set_received(20);
  report.mutable_ledger()->set_decoded(20);
  for (const FaultInfo& info : kFaultInfos) {
    report.mutable_diagnosis_coverage()->add_undetectable_kinds(std::string(info.name));
  }
  const std::string text = RenderText(report, 80);
  EXPECT_THAT(text, HasSubstr("\n    " + std::string(30, 'y') + "\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // The table of connections has no dispensable columns.
    const bool is_table =
        line.find("10.0.0.") != std::string::npos || line.find("A->B") != std::string::npos;
    if (is_table) continue;
    EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST_F(ReportTextTest, SectionsAreSelectedByName) {
  v1::ReplayReport report = Build({"a.log:3: expected a rank"});
  report.mutable_ledger()->set_received(20);
  report.mutable_ledger()->set_decoded(20);
  EXPECT_THAT(RenderSections(report, std::vector<std::string>{"ledger", "flows"}),
              testing::AllOf(testing::StartsWith("FLOWS: 2 flows"), HasSubstr("\n\nLEDGER: 20"),
                             Not(HasSubstr("NOTES"))));
  EXPECT_EQ(RenderSections(report, std::vector<std::string>{"notes"}),
            "NOTES\n\n  a.log:3: expected a rank\n");
  // Together, the sections are the complete report.
  std::vector<std::string> all;
  for (const std::string_view name : SectionNames()) all.emplace_back(name);
  EXPECT_EQ(RenderSections(report, all), RenderText(report));
}

}  // namespace
}  // namespace rocescope
