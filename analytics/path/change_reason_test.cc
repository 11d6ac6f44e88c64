// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/path/change_reason.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>

#include "analytics/path/path_fixture.h"

namespace rocescope {
namespace {

using topology::LinkIndex;

constexpr Timestamp At(int64_t us) { return FromNanoseconds(1'000'000'000 + us * 1000); }

// Flows from pod 0 to pod 1 of a k = 4 fat tree that use one core and later another.
class ChangeReasonTest : public testing::Test {
 protected:
  LinkIndex LinkOf(std::string_view a, std::string_view b) const {
    return fabric_.port(PortBetween(fabric_, a, b)).link;
  }
  PathInterval By(std::initializer_list<std::string_view> nodes, int64_t from, int64_t until,
                  PathChange began = PathChange::kRerouted) const {
    PathInterval stretch = {.from = At(from), .until = At(until), .began = began};
    const std::vector<std::string_view> names(nodes);
    for (size_t i = 1; i < names.size(); ++i) {
      stretch.path.ports[stretch.path.length++] = PortBetween(fabric_, names[i - 1], names[i]);
    }
    stretch.certain.assign(stretch.path.hops().begin(), stretch.path.hops().end());
    stretch.state = PathState::kExact;
    return stretch;
  }
  // Observed at core0 until 1000 us and at core1 from 1500 us on.
  void Changes(uint32_t qpn) {
    paths_.push_back(
        {.flow = {.destination_qpn = {qpn}},
         .source = NicOfHost(fabric_, "host0"),
         .destination = NicOfHost(fabric_, "host4"),
         .intervals = {
             By({"host0", "leaf0", "spine0", "core0", "spine2", "leaf2", "host4"}, 0, 1000,
                PathChange::kFirstSeen),
             By({"host0", "leaf0", "spine0", "core1", "spine2", "leaf2", "host4"}, 1500, 9000)}});
  }
  // Read at the time, and 300 us later.
  LinkChange Change(std::string_view a, std::string_view b, int64_t read, bool up) const {
    return {.link = LinkOf(a, b), .after = At(read), .by = At(read + 300), .up = up};
  }
  const PathInterval& Explained(std::vector<LinkChange> changes) {
    const auto explained =
        ExplainChanges(fabric_, changes, std::make_shared<const FlowPaths>(paths_));
    paths_.assign(explained->begin(), explained->end());
    return paths_[0].intervals.back();
  }

  const topology::Fabric fabric_ = SmallFatTree();
  std::vector<FlowPath> paths_;
};

TEST_F(ChangeReasonTest, ReportsALinkDownOnTheOldPath) {
  Changes(1);
  const PathInterval& after = Explained({Change("core0", "spine2", 900, false)});
  EXPECT_EQ(after.reason, PathReason::kLinkDown);
  EXPECT_EQ(after.reason_link, LinkOf("core0", "spine2"));
  EXPECT_EQ(after.reason_time, At(1200));
  EXPECT_EQ(paths_[0].intervals.front().reason, PathReason::kUnknown);
}

TEST_F(ChangeReasonTest, IgnoresALinkOnBothPaths) {
  Changes(1);
  EXPECT_NE(Explained({Change("leaf0", "spine0", 900, false)}).reason, PathReason::kLinkDown);
}

TEST_F(ChangeReasonTest, IgnoresALinkDownAtAnotherTime) {
  Changes(1);
  EXPECT_EQ(Explained({Change("core0", "spine2", 200, false)}).reason, PathReason::kUnknown);
  EXPECT_EQ(Explained({Change("core0", "spine2", 2000, false)}).reason, PathReason::kUnknown);
}

TEST_F(ChangeReasonTest, ReportsASwitchWithAllLinksDown) {
  Changes(1);
  std::vector<LinkChange> changes;
  for (const char* spine : {"spine0", "spine2", "spine4", "spine6"}) {
    changes.push_back(Change("core0", spine, 900, false));
  }
  const PathInterval& after = Explained(changes);
  EXPECT_EQ(after.reason, PathReason::kSwitchDown);
  EXPECT_EQ(fabric_.node(after.reason_node).name, "core0");
}

TEST_F(ChangeReasonTest, ReportsALinkUpOnTheNewPath) {
  Changes(1);
  const PathInterval& after = Explained({Change("core1", "spine2", 800, true)});
  EXPECT_EQ(after.reason, PathReason::kLinkUp);
  EXPECT_EQ(after.reason_link, LinkOf("core1", "spine2"));
}

TEST_F(ChangeReasonTest, ReportsRehashingByALinkOfAnotherPath) {
  Changes(1);
  const PathInterval& after = Explained({Change("spine3", "core2", 900, false)});
  EXPECT_EQ(after.reason, PathReason::kRehashed);
  EXPECT_EQ(after.reason_link, LinkOf("spine3", "core2"));
}

TEST_F(ChangeReasonTest, IgnoresALinkOfAnotherPod) {
  Changes(1);
  EXPECT_EQ(Explained({Change("spine5", "core2", 900, false)}).reason, PathReason::kUnknown);
}

TEST_F(ChangeReasonTest, ReportsANewSourcePort) {
  Changes(1);
  paths_[0].intervals.back().began = PathChange::kNewSourcePort;
  EXPECT_EQ(Explained({}).reason, PathReason::kNewSourcePort);
}

TEST_F(ChangeReasonTest, ReportsASilentLinkWithoutCounters) {
  for (uint32_t qpn = 1; qpn <= 3; ++qpn) Changes(qpn);
  // core0's other link is in use.
  paths_.push_back(
      {.flow = {.destination_qpn = {9}},
       .intervals = {By({"host0", "leaf0", "spine0", "core0", "spine4", "leaf4", "host8"}, 0, 9000,
                        PathChange::kFirstSeen)}});
  const PathInterval& after = Explained({});
  EXPECT_EQ(after.reason, PathReason::kLinkSilent);
  EXPECT_EQ(after.reason_link, LinkOf("core0", "spine2"));
}

TEST_F(ChangeReasonTest, IgnoresASingleFlowThatLeftALink) {
  Changes(1);
  EXPECT_EQ(Explained({}).reason, PathReason::kUnknown);
}

}  // namespace
}  // namespace rocescope
