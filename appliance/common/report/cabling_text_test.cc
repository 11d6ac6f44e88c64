// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "appliance/api/message_value.h"
#include "appliance/common/report/fitted_text.h"
#include "appliance/common/report/text_section.h"
#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

std::string CablingText(const std::string& cabling) {
  v1::ReplayReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(cabling, report.mutable_cabling()));
  *report.mutable_reference_time() = TimestampMessage(1'000'000'000);
  std::string text;
  AppendCabling(report, text);
  return FitText(text, kNoWidth);
}

TEST(CablingText, IsNoneWithoutATopology) { EXPECT_EQ(CablingText(""), ""); }

TEST(CablingText, CountsConfirmedLinks) {
  EXPECT_EQ(CablingText("link_count: 80 confirmed_link_count: 64"),
            "CABLING: 64 of 80 links confirmed to match the topology\n\n");
}

TEST(CablingText, NamesThePortsAndObservationsOfASwap) {
  const std::string text = CablingText(R"(
      link_count: 80 confirmed_link_count: 78 contradicted_link_count: 2
      findings {
        kind: KIND_SWAPPED
        declared_links: "leaf0:E17-spine0:E1" declared_links: "leaf1:E18-spine1:E2"
        actual_cables { a: "leaf0:E17" b: "spine1:E2" b_declared: "spine0:E1" }
        actual_cables { a: "leaf1:E18" b: "spine0:E1" b_declared: "spine1:E2" }
        confidence: 0.98 unexplained_flow_count: 14 agreeing_flow_count: 1 excess_bytes: 52000000 first_seen_time { seconds: 1 nanos: 1000000 }
      })");
  EXPECT_THAT(text, HasSubstr("78 of 80 links confirmed to match the topology, 2 contradicted\n"));
  EXPECT_THAT(text, HasSubstr("swapped  leaf0:E17 is connected to spine1:E2, not to spine0:E1; "
                              "leaf1:E18 is connected to spine0:E1, not to spine1:E2"));
  EXPECT_THAT(text, HasSubstr("14 flows, 1 as declared; 52.0 MB received but not sent by the "
                              "declared peers"));
  EXPECT_THAT(text, HasSubstr("+1.0 ms"));
  EXPECT_THAT(text, HasSubstr("0.98\n"));
}

TEST(CablingText, DistinguishesALinkThatIsDownFromOneWithoutTraffic) {
  const std::string link = R"(kind: KIND_MISSING declared_links: "leaf0:E1-spine0:E1")";
  EXPECT_THAT(CablingText("link_count: 1 findings { reading_count: 5 " + link + "}"),
              HasSubstr("leaf0:E1-spine0:E1  down and idle at both ends"));
  EXPECT_THAT(CablingText("link_count: 1 findings {" + link + "}"),
              HasSubstr("leaf0:E1-spine0:E1  no traffic counted at either switch"));
}

TEST(CablingText, NamesTheSenderIfThePeerPortIsUnknown) {
  EXPECT_THAT(CablingText(R"(link_count: 1 findings {
                kind: KIND_DISAGREES declared_links: "leaf0:E1-spine0:E1"
                receiver: "spine0:E1" sender: "leaf3" unexplained_flow_count: 3 })"),
              HasSubstr("disagrees  spine0:E1 receives what leaf3 sends, not leaf0:E1-spine0:E1"));
}

}  // namespace
}  // namespace rocescope
