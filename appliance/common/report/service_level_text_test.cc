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

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string ServiceLevelText(const std::string& levels) {
  v1::ReplayReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(levels, &report));
  std::string text;
  AppendServiceLevels(report, text);
  return FitText(text, kNoWidth);
}

TEST(ServiceLevelText, IsEmptyWithoutIndicators) {
  EXPECT_EQ(ServiceLevelText("service_levels { objective: 0.95 }"), "");
}

TEST(ServiceLevelText, ReportsMissingData) {
  const std::string text =
      ServiceLevelText("service_levels { indicators { name: 'iteration_time' no_data_count: 2 } }");
  EXPECT_THAT(text, HasSubstr("SERVICE LEVELS: no data"));
  EXPECT_THAT(text, Not(HasSubstr("iteration_time")));
}

TEST(ServiceLevelText, HasARowForEachIndicatorWithTheWorstEntity) {
  const std::string text = ServiceLevelText(R"(service_levels {
      objective: 0.95 short_window_count: 5 long_window_count: 60
      indicators { name: 'bus_bandwidth' layer: SERVICE_LAYER_COLLECTIVE unit: 'bit/s' violation: VIOLATION_BELOW met_count: 2
          missed_count: 1 worst { entity: 'job7' bound: 9e10 bound_learnt: true last_value: 2.5e10
              short_window_ratio: 0 long_window_ratio: 0.25 } }
      indicators { name: 'ce_share' layer: SERVICE_LAYER_FABRIC unit: 'ratio' violation: VIOLATION_ABOVE met_count: 1200
          at_risk_count: 1 no_data_count: 3 worst { entity: 'leaf0:Ethernet1' bound: 0.1 last_value: 0.5
              short_window_ratio: 0.8 long_window_ratio: 0.9 } }
      indicators { name: 'naks' layer: SERVICE_LAYER_NIC unit: 'packets' violation: VIOLATION_ABOVE met_count: 16 } })");
  EXPECT_THAT(text, HasSubstr("1,220 levels: 1 missed, 1 at risk\n"));
  EXPECT_THAT(text, HasSubstr("95 % of the windows"));
  EXPECT_THAT(text, HasSubstr("the last 5 windows (SHORT) and also in the last 60 (LONG)"));
  EXPECT_THAT(text, ContainsRegex("collective +bus_bandwidth +2 +- +1 +- +job7 +0 % +25 % +"
                                  "25 Gbit/s +at least 90 Gbit/s .learnt."));
  EXPECT_THAT(text, ContainsRegex("fabric +ce_share +1,200 +1 +- +3 +leaf0:Ethernet1 +80 % +90 % +"
                                  "50.0 % +at most 10.0 %"));
  EXPECT_THAT(text, ContainsRegex("nic +naks +16 +- +- +- +-"));
}

TEST(ServiceLevelText, LossesThatPortsDoNotCountAreNotClaimed) {
  EXPECT_THAT(
      ServiceLevelText("service_levels { indicators { name: 'frames_lost' met_count: 3 } }"),
      HasSubstr("frames_lost (counted drops)"));
}

TEST(ServiceLevelText, EscapesNames) {
  EXPECT_THAT(ServiceLevelText("service_levels { indicators { name: 'naks' missed_count: 1 "
                               "worst { entity: 'a\\033[2J' } } }"),
              Not(HasSubstr("\033")));
}

}  // namespace
}  // namespace rocescope
