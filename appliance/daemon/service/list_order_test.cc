// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/service/list_order.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rocescope/v1/report.pb.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::Finding FindingOf(const std::string& text) {
  v1::Finding finding;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &finding)) << text;
  return finding;
}

std::vector<std::string> Ordered(const std::string& order_by) {
  const std::vector<v1::Finding> findings = {
      FindingOf("kind: 'b' confidence: 0.5 end_time { seconds: 9 }"),
      FindingOf("kind: 'a' confidence: 0.7"),
      FindingOf("kind: 'c' confidence: 0.5 end_time { seconds: 3 }")};
  const auto order = ListOrder::Parse(order_by, *v1::Finding::descriptor());
  if (!order) return {order.error().message};
  std::vector<ListOrder::Row> rows;
  for (size_t i = 0; i < findings.size(); ++i) rows.push_back(order->RowOf(i, findings[i]));
  order->Sort(rows);
  std::vector<std::string> kinds;
  for (const ListOrder::Row& row : rows) kinds.push_back(findings[row.index].kind());
  return kinds;
}

TEST(ListOrder, SortsByKeysInTheirOrder) {
  EXPECT_THAT(Ordered(""), ElementsAre("b", "a", "c"));
  EXPECT_THAT(Ordered("kind"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Ordered("kind desc"), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Ordered("confidence"), ElementsAre("b", "c", "a")) << "stable";
  EXPECT_THAT(Ordered(" confidence desc , kind desc "), ElementsAre("a", "c", "b"));
  EXPECT_THAT(Ordered("end_time"), ElementsAre("a", "c", "b")) << "unset values come first";
}

TEST(ListOrder, ErrorsSayWhatIsExpected) {
  EXPECT_THAT(Ordered("kind down"), ElementsAre(HasSubstr("expected \"asc\" or \"desc\"")));
  EXPECT_THAT(Ordered("nothing"), ElementsAre(HasSubstr("no field \"nothing\"")));
  EXPECT_THAT(Ordered("affected_job_ids"), ElementsAre(HasSubstr("not a single value")));
  EXPECT_THAT(Ordered("reach"), ElementsAre(HasSubstr("not a single value")));
  EXPECT_THAT(Ordered("kind, kind desc"), ElementsAre(HasSubstr("the field kind occurs twice")));
  EXPECT_THAT(Ordered("kind,place,direction,confidence,start_time,end_time,detection_time,sentence,"
                      "recommended_action"),
              ElementsAre(HasSubstr("at most 8 fields")));
}

TEST(ListOrder, EachCommaIsBetweenTwoFields) {
  for (const char* text : {"kind,", ",kind", "kind,,place", ",", "kind, ,place"}) {
    EXPECT_THAT(Ordered(text), ElementsAre(HasSubstr("before and after each comma"))) << text;
  }
}

TEST(ListOrder, LengthIsLimited) {
  EXPECT_THAT(Ordered("kind" + std::string(1020, ' ')), ElementsAre("a", "b", "c"));
  EXPECT_THAT(Ordered("kind" + std::string(1021, ' ')),
              ElementsAre(HasSubstr("longer than 1024 bytes")));
}

}  // namespace
}  // namespace rocescope
