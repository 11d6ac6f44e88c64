// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "appliance/common/report/fitted_text.h"
#include "appliance/common/report/replay_report.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

v1::ReplayReport FindingReport(const std::string& fields) {
  v1::ReplayReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(fields, &report));
  return report;
}

std::string FindingText(const std::string& fields) {
  std::string text;
  AppendFindings(FindingReport(fields), text);
  return FitText(text, kNoWidth);
}

constexpr const char* kAll =
    "diagnosis_coverage { window_count: 22 window_duration { nanos: 1000000 } "
    "reporting_switch_count: 40 reporting_nic_count: 128 "
    "reporting_gpu_count: 1 flow_count: 600 "
    "} ";

TEST(FindingText, WithoutATopologyNamesTheOption) {
  EXPECT_EQ(FindingText(""),
            "FAULTS: not diagnosed: no topology\n\n"
            "  Use --topology FILE (see `rocescope topology --help`), or add topology.yaml to the "
            "run directory.\n\n");
}

TEST(FindingText, SaysThatCountersAreReadTooSeldomForTheWindow) {
  EXPECT_THAT(
      FindingText(
          "diagnosis_coverage { window_count: 22 window_duration { nanos: 1000000 } flow_count: 3 "
          "obstacle: OBSTACLE_SPARSE_READINGS polling_interval { nanos: 15000000 } "
          "undetectable_kinds: 'flap' }"),
      AllOf(StartsWith("FAULTS: none found; only 23 of 24 fault types are detectable"),
            HasSubstr("  Counters are read only every 15.0 ms, but the analysis window is 1.0 ms."),
            HasSubstr("Use a --window of 15.0 ms or longer.\n")));
}

TEST(FindingText, ExplainsWhyTelemetryIsNotUsable) {
  EXPECT_EQ(FindingText("diagnosis_coverage { window_count: 22 obstacle: OBSTACLE_FOREIGN_TOPOLOGY "
                        "address_count: 1128 "
                        "known_address_count: 16 undetectable_kinds: 'flap' }"),
            "FAULTS: not diagnosed: the topology describes another fabric: of 1,128 addresses with "
            "traffic it contains 16\n\n"
            "  Use --topology with the topology of the captured fabric.\n\n");
  EXPECT_THAT(
      FindingText("diagnosis_coverage { window_count: 22 obstacle: OBSTACLE_FOREIGN_TOPOLOGY "
                  "contradicted_link_count: 88 confirmed_link_count: 3 }"),
      StartsWith("FAULTS: not diagnosed: the topology describes another fabric: counters "
                 "or flows contradict 88 links and confirm 3\n\n"));
  EXPECT_THAT(FindingText("diagnosis_coverage { window_count: 22 obstacle: OBSTACLE_OTHER_TIME }"),
              StartsWith("FAULTS: not diagnosed: no counter was read during the capture\n\n"));
  EXPECT_THAT(FindingText("diagnosis_coverage { window_count: 1 window_duration { nanos: 1000000 } "
                          "obstacle: OBSTACLE_FEW_WINDOWS }"),
              StartsWith("FAULTS: not diagnosed: 1 window of 1.0 ms is too few; at least 4 are "
                         "required\n\n  Use a shorter --window"));
}

TEST(FindingText, FindingsInFewWindowsAreReported) {
  EXPECT_THAT(FindingText("diagnosis_coverage { window_count: 1 obstacle: OBSTACLE_FEW_WINDOWS } "
                          "findings { sentence: 'S' }"),
              StartsWith("FAULTS: 1 found\n"));
}

TEST(FindingText, UnlikelySymptomsAreOmitted) {
  const std::string text = FindingText(
      "diagnosis_coverage { } findings { sentence: 'S' "
      "symptoms { kind: 'flap' place: 'a-b' probability: 0.9 } "
      "symptoms { kind: 'gray_loss' place: 'c-d' probability: 0.02 } }");
  EXPECT_THAT(text, HasSubstr("related      flap of a-b\n"));
  EXPECT_THAT(text, Not(HasSubstr("c-d")));
}

TEST(FindingText, LeadsTheReport) {
  EXPECT_THAT(RenderText(FindingReport(kAll)), StartsWith("FAULTS: none found"));
}

TEST(FindingText, WithoutFindingsListsTheTelemetry) {
  EXPECT_EQ(FindingText(kAll),
            "FAULTS: none found in counters of 40 switches, 128 NICs and 1 GPU over 22 windows of "
            "1.0 ms, and the paths of 600 flows\n\n");
}

TEST(FindingText, CountsMissingAndSilentNodes) {
  EXPECT_EQ(FindingText("diagnosis_coverage { window_count: 10 window_duration { nanos: 1000000 } "
                        "reporting_switch_count: 7 "
                        "total_switch_count: 8 reporting_nic_count: 64 total_nic_count: 64 "
                        "reporting_gpu_count: 1 total_gpu_count: 64 "
                        "silences { node: 'leaf0' window_count: 4 } silences { node: 'host1' "
                        "window_count: 3 } }"),
            "FAULTS: none found in counters of 7 of 8 switches, 64 NICs and 1 of 64 GPUs over 10 "
            "windows of 1.0 ms; leaf0 did not report in 4 of them, host1 in 3\n\n");
}

TEST(FindingText, StatesThePartOfALongRecordingThatItCovers) {
  const std::string fields =
      "diagnosis_coverage { window_count: 256 window_duration { seconds: 30 } "
      "earlier_window_count: 2624 reporting_switch_count: 1 } ";
  constexpr const char* kPart =
      "\n\n  Anomalies and hotspots cover only the last 256 of 2,880 windows (2 h 8 min of 1 d 0 "
      "h). "
      "Use a longer --window, or --until for an earlier part.\n\n";
  EXPECT_THAT(FindingText(fields), HasSubstr(kPart));
  const v1::ReplayReport report = FindingReport(fields + "findings { sentence: 'S' }");
  EXPECT_THAT(RenderFaultsText(report), StartsWith(std::string("FAULTS: 1 found") + kPart));
  EXPECT_THAT(RenderBriefText(report), StartsWith(std::string("FAULTS: 1 found") + kPart));
}

TEST(FindingText, UndetectableFaultTypesAreListed) {
  EXPECT_EQ(
      FindingText("diagnosis_coverage { window_count: 3 window_duration { seconds: 1 } "
                  "reporting_switch_count: 1 "
                  "undetectable_kinds: 'straggler' undetectable_kinds: 'corruption' }"),
      "FAULTS: none found; only 22 of 24 fault types are detectable with this telemetry: "
      "counters of 1 switch over 3 windows of 1.00 s\n\n"
      "  Without both counters of NICs and paths of flows (mirrors, INT, sFlow), switches that "
      "corrupt packets cannot be found.\n"
      "  Without clocks and memory use of GPUs, or mirrored packets of several iterations, "
      "stragglers cannot be found.\n\n");
}

TEST(FindingText, FindingsDoNotHideUndetectableFaultTypes) {
  const std::string text = FindingText(
      "diagnosis_coverage { window_count: 3 undetectable_kinds: 'flap' } findings { sentence: 'S' "
      "}");
  EXPECT_THAT(text, StartsWith("FAULTS: 1 found\n"));
  EXPECT_THAT(text, HasSubstr("error counters of switches or NICs, flapping links cannot be"));
}

std::string AllKindsBut(std::initializer_list<std::string_view> seen) {
  std::string fields;
  for (const FaultInfo& info : kFaultInfos) {
    if (std::ranges::find(seen, info.name) != seen.end()) continue;
    fields += " undetectable_kinds: '" + std::string(info.name) + "'";
  }
  return fields;
}

TEST(FindingText, OneKindIsCountedAsOne) {
  EXPECT_THAT(FindingText("diagnosis_coverage { flow_count: 1" + AllKindsBut({"straggler"}) + " }"),
              StartsWith("FAULTS: none found; only 1 of 24 fault types are detectable with this "
                         "telemetry: the paths of 1 flow\n"));
}

TEST(FindingText, WithoutTelemetryFaultsAreUnknown) {
  EXPECT_THAT(FindingText("diagnosis_coverage {" + AllKindsBut({}) + " }"),
              StartsWith("FAULTS: unknown: there are no counters and no flow paths to analyse\n"));
  EXPECT_THAT(FindingText("diagnosis_coverage { flow_count: 2" + AllKindsBut({}) + " }"),
              StartsWith("FAULTS: unknown: the paths of 2 flows cannot show any fault\n"));
}

TEST(FindingText, CanBePrintedAlone) {
  const v1::ReplayReport report =
      FindingReport(std::string(kAll) + "findings { sentence: 'S' } notes: 'a line was cut'");
  const std::string text = RenderFaultsText(report);
  EXPECT_THAT(text, StartsWith("FAULTS: 1 found\n"));
  EXPECT_THAT(text, testing::EndsWith("\nNOTES\n\n  a line was cut\n"));
  EXPECT_THAT(text, Not(HasSubstr("LEDGER")));
  const std::string json = RenderFaultsJson(report);
  EXPECT_THAT(json, HasSubstr("\"sentence\": \"S\""));
  EXPECT_THAT(json, HasSubstr("\"reporting_switch_count\": 40"));
  EXPECT_THAT(json, Not(HasSubstr("\"ledger\"")));
}

TEST(FindingText, HasHeadlineAndActionForEachFault) {
  const std::string text = FindingText(std::string(kAll) + R"(
      findings { kind: "nic_crash" place: "host3:mlx5_1" confidence: 0.958
                 sentence: "The NIC host3:mlx5_1 is gone; since noon; affects a"
                 recommended_action: "reset the NIC" }
      findings { kind: "straggler" place: "host3:gpu:5" confidence: 0.8
                 sentence: "host3:gpu:5 is slow; since noon; affects b" recommended_action: "move the rank" })");
  EXPECT_EQ(text,
            "FAULTS: 2 found\n\n"
            "  1. The NIC host3:mlx5_1 is gone; since noon; affects a; confidence 0.95.\n"
            "     action       Reset the NIC.\n"
            "  2. host3:gpu:5 is slow; since noon; affects b; confidence 0.80.\n"
            "     action       Move the rank.\n\n");
}

TEST(FindingText, ListsEvidenceAndAlternatives) {
  const std::string text = FindingText(std::string(kAll) + R"(
      findings { sentence: "S" recommended_action: "r" confidence: 0.5
                 evidence: "it went down" evidence: "nobody answers"
                 alternatives { kind: "link_down" place: "a:E1-b:E2" probability: 0.5 }
                 missing_telemetry: "the NIC's own counters" })");
  EXPECT_THAT(text, HasSubstr("confidence 0.50.\n"
                              "     action       R.\n"
                              "     evidence     it went down\n"
                              "     evidence     nobody answers\n"
                              "     alternative  link a:E1-b:E2: down, carries no traffic (0.50)\n"
                              "     to confirm   the NIC's own counters\n"));
}

TEST(FindingText, ListsExposedJobsNextToAffectedOnes) {
  const std::string text = FindingText(std::string(kAll) + R"(
      findings { sentence: "S" affected_job_ids: "a" exposed_job_ids: "b" exposed_job_ids: "c" }
      findings { sentence: "T" exposed_job_ids: "d" })");
  EXPECT_THAT(text, HasSubstr("     exposed      b and c\n"));
  EXPECT_THAT(text, Not(HasSubstr("exposed      d"))) << "the sentence names it";
}

TEST(FindingText, ListsCulprits) {
  const std::string text = FindingText(std::string(kAll) + R"(
      findings { culprits { source: "10.0.0.1" } culprits { source: "10.0.0.1" }
                 culprits { source: "10.0.0.9" job_id: "train" rank: 7 }
                 culprits { source: "10.0.0.8" job_id: "train" rank: 3 } })");
  EXPECT_THAT(text, HasSubstr("caused by    2 flows of no known job, from 10.0.0.1\n"));
  EXPECT_THAT(text, HasSubstr("caused by    2 flows of train, from rank 3 and rank 7\n"));
}

TEST(FindingText, ListsTheJobsWithMostCulpritFlows) {
  std::string culprits;
  for (const char* job : {"a", "b", "c", "d", "e", "e"}) {
    culprits += std::string(" culprits { rank: 0 job_id: '") + job + "' }";
  }
  const std::string text = FindingText(std::string(kAll) + "findings {" + culprits + "}");
  EXPECT_THAT(text, HasSubstr("     caused by    2 flows of e, from rank 0\n"
                              "     caused by    1 flow of a, from rank 0\n"
                              "     caused by    1 flow of b, from rank 0\n"
                              "     caused by    2 flows of 2 other jobs\n"));
}

TEST(FindingText, ReportsTheImpact) {
  EXPECT_THAT(
      FindingText(std::string(kAll) +
                  "findings { reach { job_count: 2 rank_count: 36 gpu_count: 36 host_count: 5 } }"),
      HasSubstr("     used by      36 ranks of 2 jobs, on 36 GPUs of 5 hosts\n"));
  EXPECT_THAT(FindingText(std::string(kAll) + "findings { reach { job_count: 1 rank_count: 1 } }"),
              Not(HasSubstr("used by")));
}

TEST(FindingText, ALoopIsPrintedClosed) {
  EXPECT_THAT(FindingText(std::string(kAll) + "findings { loop_ports: 'a:E1' loop_ports: 'b:E2' }"),
              HasSubstr("loop         a:E1 > b:E2 > a:E1\n"));
}

TEST(FindingText, GroupsSymptomsByKind) {
  const std::string text = FindingText(std::string(kAll) + R"(
      findings { symptoms { kind: "flap" place: "a" probability: 1 }
                 symptoms { kind: "blackhole" place: "leaf0" probability: 0.9 }
                 symptoms { kind: "flap" place: "b" probability: 1 }
                 symptoms { kind: "flap" place: "c" probability: 1 }
                 symptoms { kind: "flap" place: "d" probability: 1 }
                 symptoms { kind: "flap" place: "e" probability: 0.5 } })");
  EXPECT_THAT(text, HasSubstr("related      flap of a, b, c and 2 others; blackhole of leaf0\n"));
}

TEST(FindingText, LimitsTheListAndCountsTheRest) {
  std::string fields = kAll;
  for (int i = 0; i < 23; ++i) fields += "findings { sentence: 'S' }";
  const std::string text = FindingText(fields);
  EXPECT_THAT(text, HasSubstr("FAULTS: 23 found"));
  EXPECT_THAT(text, HasSubstr(" 20. S"));
  EXPECT_THAT(text, Not(HasSubstr(" 21. S")));
  EXPECT_THAT(text, HasSubstr("and 3 more faults"));
}

// Names come from input files.
TEST(FindingText, EscapesControlCharacters) {
  const std::string text = FindingText(
      std::string(kAll) + "findings { sentence: 'S\\033[2J' evidence: 'e\\nFAULTS: none' }");
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, Not(HasSubstr("e\nFAULTS")));
}

TEST(FindingText, ListsSuspectedFaultsApart) {
  const std::string text = FindingText(R"(
      diagnosis_coverage { window_count: 9 reporting_switch_count: 2 total_switch_count: 2 }
      suspected_findings { sentence: "leaf1: blackhole" confidence: 0.4 evidence: "448 frames"
                           missing_telemetry: "counters of packets without a route" })");
  EXPECT_THAT(text, HasSubstr("FAULTS: none found"));
  EXPECT_THAT(text, HasSubstr("SUSPECTED: 1 fault; verify it before you act"));
  EXPECT_THAT(text, HasSubstr("leaf1: blackhole; confidence 0.4"));
  EXPECT_THAT(text, HasSubstr("448 frames"));
  EXPECT_THAT(text, HasSubstr("counters of packets without a route"));
}

}  // namespace
}  // namespace rocescope
