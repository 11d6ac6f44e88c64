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
using testing::StartsWith;

TEST(UnseenFaults, AreEmptyIfAllAreDetectable) { EXPECT_EQ(UnseenFaultsText({}), ""); }

TEST(UnseenFaults, EachFaultTypeIsListedOnceWithADistinctName) {
  std::string all;
  for (const FaultInfo& info : kFaultInfos) {
    v1::DiagnosisCoverage one;
    one.add_undetectable_kinds(std::string(info.name));
    const std::string text = UnseenFaultsText(one);
    EXPECT_THAT(text, StartsWith("  Without ")) << info.name;
    EXPECT_THAT(text, HasSubstr(std::string(info.plural) + " cannot")) << info.name;
    EXPECT_THAT(all, Not(HasSubstr(", " + std::string(info.plural) + " cannot"))) << info.name;
    all += text;
  }
}

TEST(UnseenFaults, NameTheSwitchesWithoutTheTelemetry) {
  v1::DiagnosisCoverage coverage;
  v1::DiagnosisCoverage::BlindSpot& spot = *coverage.add_blind_spots();
  spot.set_kind("mtu_mismatch");
  spot.add_switches("leaf7");
  EXPECT_EQ(UnseenFaultsText(coverage),
            "  At leaf7, MTU mismatches cannot be found without MTU drop counters of switches."
            "\n\n");
  for (const char* name : {"leaf8", "leaf9", "spine0", "spine1"}) spot.add_switches(name);
  EXPECT_THAT(UnseenFaultsText(coverage),
              StartsWith("  At leaf7, leaf8, leaf9, spine0 and spine1, MTU mismatches cannot be "));
  spot.add_switches("spine2");
  EXPECT_THAT(UnseenFaultsText(coverage),
              StartsWith("  At leaf7, leaf8, leaf9, spine0 and 2 more switches, MTU mismatches "));
}

TEST(UnusableCounters, NameThePortsAndTheReason) {
  v1::DiagnosisCoverage coverage;
  v1::DiagnosisCoverage::UnusableCounters& unusable = *coverage.add_unusable_counters();
  unusable.set_reason("they are rounded to multiples of 1,000");
  unusable.add_ports("leaf1:Ethernet3");
  EXPECT_EQ(UnusableCountersText(coverage),
            "  The counters of leaf1:Ethernet3 seem to be wrong: they are rounded to multiples of "
            "1,000.\n\n");
}

TEST(UnseenFaults, AreBlamedOnTheTopologyIfItHasNoLinks) {
  v1::DiagnosisCoverage coverage;
  for (const char* kind : {"link_down", "gray_loss", "mtu_mismatch"}) {
    coverage.add_undetectable_kinds(kind);
  }
  coverage.set_topology_has_no_links(true);
  EXPECT_EQ(UnseenFaultsText(coverage),
            "  Without the links of the fabric in the topology (--topology), links that are down "
            "and links with silent packet loss cannot be found.\n"
            "  Without MTU drop counters of switches, MTU mismatches cannot be found.\n\n");
  EXPECT_EQ(
      MissingTelemetryText(coverage),
      "  3 of 24 fault types cannot be found; --section faults lists them.\n"
      "    Finding 2 fault types requires the links of the fabric in the topology (--topology).\n"
      "    Finding MTU mismatches requires MTU drop counters of switches.\n\n");
}

TEST(UnseenFaults, TheSummaryCountsAllFaultTypes) {
  v1::DiagnosisCoverage coverage;
  for (const FaultInfo& info : kFaultInfos) coverage.add_undetectable_kinds(std::string(info.name));
  const std::string text = MissingTelemetryText(coverage);
  size_t counted = 0;
  size_t from = text.find('\n') + 1;  // the first line has the total
  for (size_t at = from; (at = text.find_first_of("0123456789", at)) != std::string::npos;) {
    size_t length = 0;
    counted += std::stoul(text.substr(at), &length);
    at += length;
  }
  EXPECT_EQ(counted, std::size(kFaultInfos)) << text;
}

TEST(UnseenFaults, AreGroupedByTelemetry) {
  v1::DiagnosisCoverage coverage;
  for (const FaultInfo& info : kFaultInfos) coverage.add_undetectable_kinds(std::string(info.name));
  const std::string text = UnseenFaultsText(coverage);
  EXPECT_THAT(text,
              HasSubstr("  Without link state, speed and error counters of switches or NICs, links "
                        "that are down, flapping links, "));
  EXPECT_THAT(text, Not(HasSubstr("_"))) << "internal names of kinds";
}

}  // namespace
}  // namespace rocescope
