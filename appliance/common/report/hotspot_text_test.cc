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

std::string HotspotText(const std::string& hotspots) {
  v1::ReplayReport report;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(hotspots, &report));
  std::string text;
  AppendHotspots(report, text);
  return FitText(text, kNoWidth);
}

TEST(HotspotText, IsEmptyWithoutCongestedQueues) { EXPECT_EQ(HotspotText(""), ""); }

TEST(HotspotText, ListsTheMostHarmfulFirst) {
  const std::string text = HotspotText(R"(
      hotspots { port: "leaf0:Ethernet1" priority: 3 start_time { nanos: 1000000 } end_time { nanos: 2000000 } ce_marked_packets: 5 }
      hotspots { port: "leaf1:Ethernet2"  end_time { nanos: 1000000 } dropped_packets: 1 }
      hotspots { port: "leaf1:Ethernet2" start_time { nanos: 5000000 } end_time { nanos: 6000000 }
                 paused_duration { nanos: 400000 } peak_queue_bytes: 1500000 })");
  EXPECT_THAT(text, HasSubstr("HOTSPOTS: 2 ports with congested queues, 3 hotspots in total"));
  const size_t dropped = text.find("leaf1:Ethernet2");
  const size_t marked = text.find("leaf0:Ethernet1");
  ASSERT_NE(marked, std::string::npos);
  EXPECT_LT(dropped, text.find("400.0 us"));
  EXPECT_LT(text.find("400.0 us"), marked);
  EXPECT_THAT(text, HasSubstr("1.5 MB"));
  EXPECT_THAT(text, Not(HasSubstr("-1")));
}

TEST(HotspotText, StatesThatACongestedQueueIsNotAFault) {
  EXPECT_THAT(
      HotspotText("hotspots { port: 'leaf0:Ethernet1' ce_marked_packets: 5 }"),
      HasSubstr(
          "1 hotspot in total (hotspots are not faults: healthy collectives congest queues, too)"));
}

TEST(HotspotText, ListsJobDelaysBeforeMarks) {
  const std::string text = HotspotText(R"(
      hotspots { port: "marked" ce_marked_packets: 5000 }
      hotspots { port: "costly" ce_marked_packets: 5 lost_times { job_id: "a" lost_duration { nanos: 1000 } } }
      hotspots { port: "dropping" dropped_packets: 1 })");
  EXPECT_LT(text.find("dropping"), text.find("costly"));
  EXPECT_LT(text.find("costly"), text.find("marked "));
}

TEST(HotspotText, PrintsTimesRelativeToZero) {
  EXPECT_THAT(
      HotspotText(
          "reference_time { seconds: 1000 } hotspots { port: 'a' start_time { seconds: "
          "1000 nanos: 2000000 } end_time { seconds: 1000 nanos: 3000000 } ce_marked_packets: 1 }"),
      HasSubstr("+2.0 ms"));
}

TEST(HotspotText, NamesTheJobsOfTheFlows) {
  const std::string text = HotspotText(R"(
      hotspots { port: "leaf0:Ethernet1" end_time { nanos: 1000000 } ce_marked_packets: 5
                 culprits { share: 0.5 job_id: "train" }
                 culprits { share: 0.3 }
                 culprits { share: 0.12 job_id: "train" } })");
  EXPECT_THAT(text, HasSubstr("train 62 %, no job 30 %"));
}

TEST(HotspotText, NamesTheCauseAndTheMostDelayedJob) {
  const std::string text = HotspotText(R"(
      hotspots { port: "leaf0:Ethernet1" end_time { nanos: 1000000 } ce_marked_packets: 5 flow_count: 12
                 cause: CAUSE_COLLISION group_link_count: 4 group_utilization: 0.454
                 lost_times { job_id: "small" lost_duration { nanos: 900000 } } lost_times { job_id: "train" lost_duration { nanos: 1200000 } } }
      hotspots { port: "leaf1:Ethernet1" end_time { nanos: 1000000 } ce_marked_packets: 4 cause: CAUSE_INCAST
                 lost_times { job_id: "alone" lost_duration { } } })");
  EXPECT_THAT(text, HasSubstr("hash collision (4 parallel links, together 45 % utilised)"));
  EXPECT_THAT(text, HasSubstr("train 1.2 ms"));
  EXPECT_THAT(text, Not(HasSubstr("small")));
  EXPECT_THAT(text, Not(HasSubstr("alone")));
  EXPECT_THAT(text, HasSubstr("incast"));
}

}  // namespace
}  // namespace rocescope
