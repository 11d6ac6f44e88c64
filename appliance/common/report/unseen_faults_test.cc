// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/unseen_faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "rocescope/v1/report.pb.h"
#include "topology/fault/fault_kind.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(UnseenFaults, AreEmptyIfAllAreDetectable) { EXPECT_EQ(UnseenFaultsText({}), ""); }

TEST(UnseenFaults, EachFaultTypeIsListedOnceWithADistinctName) {
  std::string all;
  for (const FaultInfo& info : kFaultInfos) {
    v1::DiagnosisCoverage one;
    one.add_undetectable_kinds(std::string(info.name));
    const std::string text = UnseenFaultsText(one);
    // The heading, and one group of telemetry.
    EXPECT_EQ(std::ranges::count(text, ':'), 2) << info.name << ":\n" << text;
    EXPECT_THAT(all, Not(HasSubstr(text.substr(text.rfind(':') + 2)))) << info.name;
    all += text;
  }
}

TEST(UnseenFaults, AreGroupedByTelemetryOnLinesThatFit) {
  v1::DiagnosisCoverage coverage;
  for (const FaultInfo& info : kFaultInfos) coverage.add_undetectable_kinds(std::string(info.name));
  const std::string text = UnseenFaultsText(coverage);
  EXPECT_THAT(
      text, HasSubstr("    counters of switches or NICs: links that are down, flapping links,\n"));
  EXPECT_THAT(text, Not(HasSubstr("_"))) << "internal names of kinds";
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 98u) << text.substr(begin, end - begin);
    EXPECT_NE(text[end - 1], ' ');
    begin = end + 1;
  }
}

}  // namespace
}  // namespace rocescope
