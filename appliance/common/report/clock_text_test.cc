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

std::string ClockText(const std::string& clocks) {
  const std::string reference =
      R"(clocks { kind: KIND_MIRROR name: "leaf0" reference: true known: true })";
  v1::ReplayReport report;
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(reference + clocks, report.mutable_clocks()));
  std::string text;
  AppendClocks(report, text);
  return FitText(text, kNoWidth);
}

TEST(ClockText, IsNoneWhereClocksAgree) {
  EXPECT_EQ(ClockText(R"(clocks { kind: KIND_MIRROR name: "leaf1" known: true
                               offset { nanos: 400 } uncertainty { nanos: 500 } })"),
            "");
  EXPECT_EQ(ClockText(R"(clocks { kind: KIND_MIRROR name: "leaf1" })"), "");
}

TEST(ClockText, ListsClocksWithAnOffsetAndTheirReference) {
  const std::string text = ClockText(R"(
      clocks { kind: KIND_MIRROR name: "leaf1" known: true offset { nanos: -26800 } uncertainty { nanos: 1000 }
               drifts: true drift_ppb: 12300 packets: 1234 }
      clocks { kind: KIND_MIRROR name: "leaf2" known: true offset { nanos: 10 } uncertainty { nanos: 1000 } })");
  EXPECT_THAT(text, HasSubstr("CLOCKS: 1 of 3 "));
  EXPECT_THAT(text, HasSubstr("mirror leaf1"));
  EXPECT_THAT(text, HasSubstr("-26.8 us"));
  EXPECT_THAT(text, HasSubstr("+12.3 ppm"));
  EXPECT_THAT(text, HasSubstr("mirror leaf0"));
  EXPECT_THAT(text, Not(HasSubstr("leaf2")));
}

}  // namespace
}  // namespace rocescope
