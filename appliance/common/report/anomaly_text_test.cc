// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "appliance/common/report/fitted_text.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string AnomalyText(const std::string& anomalies) {
  v1::ReplayReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(anomalies, &report));
  std::string text;
  AppendAnomalies(report, text);
  return FitText(text, kNoWidth);
}

TEST(AnomalyText, IsEmptyWithoutAnomalies) {
  EXPECT_EQ(AnomalyText("anomalies { statistics { evaluated_count: 100 unstable_count: 3 } }"), "");
}

TEST(AnomalyText, ListsPlaceDeviationAndTime) {
  const std::string text = AnomalyText(R"(
      reference_time { seconds: 1 }
      anomalies { anomalies {
          kind: KIND_PORT place: "leaf0:Ethernet1" priority: 3 start_time { seconds: 3 }
          end_time { seconds: 5 } probability: 1e-9
          metrics { metric: "queue_drops" unit: "frames" observed: 812 expected: 0 share: 0.7 }
          metrics { metric: "pfc_tx" unit: "frames" observed: 40 expected: 3 share: 0.26 }
          metrics { metric: "pfc_rx" unit: "frames" observed: 1 expected: 0 share: 0.04 } } })");
  EXPECT_THAT(text, HasSubstr("ANOMALIES: 1 period with metrics outside the range"));
  EXPECT_THAT(text, HasSubstr("port leaf0:Ethernet1 priority 3"));
  EXPECT_THAT(text, HasSubstr("+2.00 s"));
  EXPECT_THAT(text,
              HasSubstr("queue_drops 812 (expected 0) frames, pfc_tx 40 (expected 3) frames"));
  EXPECT_THAT(text, Not(HasSubstr("pfc_rx")));
}

TEST(AnomalyText, ListsTheFewMostUnlikelyFirst) {
  std::string anomalies;
  for (int i = 0; i < 7; ++i) {
    anomalies += "anomalies { kind: KIND_NIC place: \"host" + std::to_string(i) +
                 ":mlx5_0\" probability: 1e-" + std::to_string(7 + i) + " }";
  }
  const std::string text = AnomalyText("anomalies {" + anomalies + "}");
  EXPECT_LT(text.find("host6"), text.find("host5"));
  EXPECT_THAT(text, Not(HasSubstr("host1:")));
  EXPECT_THAT(text, Not(HasSubstr("priority")));
  EXPECT_THAT(text, HasSubstr("and 2 more"));
}

TEST(AnomalyText, ListsEpisodesInsteadOfTheirAnomalies) {
  const std::string text = AnomalyText(R"(
      anomalies {
        anomalies { kind: KIND_PORT place: "leaf0:Ethernet1" probability: 1e-9 episode: 1 }
        anomalies { kind: KIND_PORT place: "leaf0:Ethernet2" probability: 1e-8 }
        episodes { sentence: "inferred job 1 started on 12 ports at 08:12:00" } })");
  EXPECT_THAT(text, HasSubstr("ANOMALIES: 1 period with"));
  EXPECT_THAT(text, HasSubstr("leaf0:Ethernet2"));
  EXPECT_THAT(text, Not(HasSubstr("leaf0:Ethernet1")));
  EXPECT_THAT(text,
              HasSubstr("EPISODES: 1 change of traffic or other metrics; they explain 1 other "
                        "anomaly\n"));
  EXPECT_THAT(text, HasSubstr("\n  inferred job 1 started on 12 ports at 08:12:00\n"));
}

TEST(AnomalyText, IsCountedInTheBriefReport) {
  v1::ReplayReport report;
  std::string text;
  AppendBriefAnomalies(report, text);
  EXPECT_EQ(text, "");
  for (int i = 0; i < 2; ++i) report.mutable_anomalies()->add_anomalies();
  AppendBriefAnomalies(report, text);
  EXPECT_EQ(text,
            "ANOMALIES: 2 periods with unusual metrics; --section anomalies lists the least likely "
            "ones\n\n");
  report.mutable_anomalies()->add_episodes();
  for (v1::Anomaly& one : *report.mutable_anomalies()->mutable_anomalies()) one.set_episode(1);
  text.clear();
  AppendBriefAnomalies(report, text);
  EXPECT_EQ(text,
            "EPISODES: 1 change of traffic or other metrics; --section anomalies lists them\n\n");
}

}  // namespace
}  // namespace rocescope
