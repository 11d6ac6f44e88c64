// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/report/traffic_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> NotesOn(std::vector<FlowSummary> flows,
                                 TrafficStatistics statistics = {}) {
  const Snapshot snapshot{.flows = std::make_shared<const FlowSummaries>(flows),
                          .traffic_statistics = statistics};
  std::vector<Tap> taps;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) taps.push_back({.name = name});
  return NotesOnTraffic(snapshot, taps);
}

FlowSummary FlowAt(std::vector<TapId> taps, TapAgreement agreement) {
  FlowSummary flow{.agreement = agreement};
  for (const TapId tap : taps) flow.streams.push_back({.tap = tap, .ttl = 64});
  return flow;
}

TEST(NotesOnTraffic, AreEmptyWithoutProblems) {
  EXPECT_THAT(NotesOn({FlowAt({0, 1}, TapAgreement::kAgree)}), IsEmpty());
}

TEST(NotesOnTraffic, ReportCombinedCounts) {
  EXPECT_THAT(NotesOn({FlowAt({0, 1}, TapAgreement::kJoined), FlowAt({0}, TapAgreement::kAgree)}),
              ElementsAre(AllOf(HasSubstr(" 1 flow;"), HasSubstr("the taps a, b"))));
}

TEST(NotesOnTraffic, ReportContradictions) {
  EXPECT_THAT(
      NotesOn({FlowAt({0, 1}, TapAgreement::kDisagree), FlowAt({1, 2}, TapAgreement::kDisagree)}),
      ElementsAre(AllOf(HasSubstr("about 2 flows"), HasSubstr("(a, b, c)"))));
}

TEST(NotesOnTraffic, NameAFewTapsOnly) {
  EXPECT_THAT(NotesOn({FlowAt({0, 1, 2, 3, 4, 5}, TapAgreement::kJoined)}),
              ElementsAre(HasSubstr("the taps a, b, c, d and 2 more")));
}

TEST(NotesOnTraffic, ReportEvictedFlows) {
  EXPECT_THAT(NotesOn({}, {.flows_evicted = 3, .incarnations_merged = 1}),
              ElementsAre(HasSubstr("3 flows no longer listed"), HasSubstr("1 owner")));
}

TEST(NotesOnTraffic, NameNodesMissingFromTheTopology) {
  const Snapshot snapshot{
      .flows = std::make_shared<const FlowSummaries>(),
      .cabling = std::make_shared<const CablingAnswer>(
          CablingAnswer{.counters = {.records = 1234, .examples = {"leaf8", "leaf9"}, .more = true},
                        .switches = {.records = 1, .examples = {"INT node 7"}}})};
  EXPECT_THAT(
      NotesOnTraffic(snapshot, {}),
      ElementsAre("1,234 counter values of nodes that the topology does not contain: leaf8, leaf9 "
                  "and others",
                  "1 report of switches (INT, sFlow, mirrors) that the topology does not contain: "
                  "INT node 7"));
}

}  // namespace
}  // namespace rocescope
