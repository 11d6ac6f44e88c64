// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/path/path_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/flow/with_own_flows.h"
#include "analytics/path/path_fixture.h"

namespace rocescope {
namespace {

using std::chrono::microseconds;
using testing::ElementsAre;
using topology::PortIndex;

constexpr Timestamp At(int64_t us) { return FromNanoseconds(1'000'000'000 + us * 1000); }

// Flows from host0 (pod 0) to host4 (pod 1) in a k = 4 fat tree, which has four paths between them.
class PathTrackerTest : public testing::Test {
 protected:
  // A tap that identifies its port: frames that `at` receives from `from`.
  TapId Tap(std::string_view at, std::string_view from) {
    const topology::Port& port = fabric_.port(PortBetween(fabric_, at, from));
    const TapId tap = next_tap_++;
    tracker_.LearnTap({.tap = tap,
                       .switch_address = fabric_.node(port.node).erspan_source,
                       .session = 1,
                       .side = TapSide::kIngress,
                       .has_port = true,
                       .port = port.number});
    return tap;
  }
  IpAddress AddressOf(std::string_view host) const {
    return fabric_.nic(NicOfHost(fabric_, host)).addresses.front().address;
  }
  FlowKey Flow() const {
    return {
        .source = AddressOf("host0"), .destination = AddressOf("host4"), .destination_qpn = {17}};
  }
  void Sees(TapId tap, int64_t from_us, int64_t until_us, uint64_t packets = 100) {
    tracker_.Add({.flow = Flow(),
                  .tap = tap,
                  .udp_source_port = 50'000,
                  .first_seen = At(from_us),
                  .last_seen = At(until_us),
                  .packets = packets,
                  .bytes = packets * 1000});
  }
  void Reports(std::string_view node, std::string_view from, std::string_view to, int64_t us) {
    HopRecord hop;
    hop.packet = {.known = true, .flow = Flow()};
    hop.node_id = fabric_.node(fabric_.FindNode(node)).int_switch_id;
    hop.metadata.present = wire::kIntPorts;
    hop.metadata.ingress_port =
        static_cast<uint16_t>(fabric_.port(PortBetween(fabric_, node, from)).number);
    hop.metadata.egress_port =
        static_cast<uint16_t>(fabric_.port(PortBetween(fabric_, node, to)).number);
    hop.event_time = At(us);
    tracker_.Add(hop);
  }
  void Samples(std::string_view node, std::string_view from, std::string_view to, int64_t us) {
    tracker_.Add({.agent = fabric_.node(fabric_.FindNode(node)).sflow_agent,
                  .input_port = fabric_.port(PortBetween(fabric_, node, from)).number,
                  .output_port = fabric_.port(PortBetween(fabric_, node, to)).number,
                  .sampling_rate = 1000,
                  .packet = {.known = true, .flow = Flow()},
                  .frame_length = 4000,
                  .event_time = At(us)});
  }
  std::vector<PathInterval> Stretches() {
    const FlowPaths paths = *tracker_.Paths();
    return paths.empty() ? std::vector<PathInterval>() : paths.front().intervals;
  }
  std::string NodesIn(const PathInterval& stretch) const { return NodesOf(fabric_, stretch.path); }

  const topology::Fabric fabric_ = SmallFatTree();
  WithOwnFlows<PathTracker> tracker_{fabric_};
  TapId next_tap_ = 1;
};

TEST_F(PathTrackerTest, MirrorsAtEveryPortShowThePath) {
  Sees(Tap("leaf0", "host0"), 0, 900);
  Sees(Tap("spine1", "leaf0"), 1, 901);
  Sees(Tap("core2", "spine1"), 2, 902);
  Sees(Tap("spine3", "core2"), 3, 903);
  Sees(Tap("leaf2", "spine3"), 4, 904);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 1u);
  EXPECT_EQ(intervals[0].state, PathState::kExact);
  EXPECT_EQ(NodesIn(intervals[0]), "host0 leaf0 spine1 core2 spine3 leaf2 host4");
  EXPECT_EQ(intervals[0].from, At(0));
  EXPECT_EQ(intervals[0].until, At(904));
  EXPECT_EQ(intervals[0].packets, 100u);
}

TEST_F(PathTrackerTest, MirrorsOnlyAtLeavesLeaveTheCoreAmbiguous) {
  Sees(Tap("leaf0", "host0"), 0, 900);
  Sees(Tap("leaf2", "spine3"), 4, 904);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 1u);
  EXPECT_EQ(intervals[0].state, PathState::kAmbiguous);
  EXPECT_EQ(intervals[0].candidates, 2u);
  EXPECT_DOUBLE_EQ(intervals[0].probability, 0.5);
  EXPECT_THAT(
      intervals[0].certain,
      ElementsAre(PortBetween(fabric_, "host0", "leaf0"), PortBetween(fabric_, "leaf0", "spine1"),
                  PortBetween(fabric_, "spine3", "leaf2"), PortBetween(fabric_, "leaf2", "host4")));
}

TEST_F(PathTrackerTest, OneSampleOfTheCoreIsEnough) {
  Sees(Tap("leaf2", "spine3"), 4, 904);
  Samples("spine3", "core3", "leaf2", 500);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 1u);
  EXPECT_EQ(intervals[0].state, PathState::kExact);
  EXPECT_EQ(NodesIn(intervals[0]), "host0 leaf0 spine1 core3 spine3 leaf2 host4");
  EXPECT_EQ(intervals[0].sources, kFromMirror | kFromSflow);
  EXPECT_EQ(intervals[0].packets, 100u) << "counted where it is mirrored; a sample is an estimate";
  EXPECT_EQ(intervals[0].bytes, 100'000u);
}

TEST_F(PathTrackerTest, PacketsThatAPortMirrorsAndThenSamplesAreCountedOnce) {
  Sees(Tap("leaf2", "spine3"), 4, 904);
  Samples("leaf2", "spine3", "host4", 950);
  EXPECT_EQ(Stretches()[0].packets, 100u);
  EXPECT_EQ(Stretches()[0].bytes, 100'000u);
}

TEST_F(PathTrackerTest, PacketsThatTwoSessionsMirrorAreCountedOnce) {
  Sees(Tap("leaf2", "spine3"), 4, 904);
  Sees(Tap("leaf2", "spine3"), 4, 904, 90);
  EXPECT_EQ(Stretches()[0].packets, 100u);
  EXPECT_EQ(Stretches()[0].bytes, 100'000u);
}

TEST_F(PathTrackerTest, PacketsThatAPortSamplesAndThenMirrorsAreCountedOnce) {
  const TapId tap = Tap("leaf2", "spine3");
  Samples("leaf2", "spine3", "host4", 2);
  Sees(tap, 4, 904);
  EXPECT_EQ(Stretches()[0].packets, 100u);
  EXPECT_EQ(Stretches()[0].bytes, 100'000u);
}

TEST_F(PathTrackerTest, OnePostcardOfTheCoreIsEnough) {
  Reports("core0", "spine0", "spine2", 7);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 1u);
  EXPECT_EQ(intervals[0].state, PathState::kExact);
  EXPECT_EQ(NodesIn(intervals[0]), "host0 leaf0 spine0 core0 spine2 leaf2 host4");
}

// The tap at core2 is active, so a flow that it does not show did not pass.
TEST_F(PathTrackerTest, ATapThatShowsNothingRulesItsLinkOut) {
  const TapId core2 = Tap("core2", "spine1");
  tracker_.Add({.flow = {.source = AddressOf("host1"),
                         .destination = AddressOf("host4"),
                         .destination_qpn = {9}},
                .tap = core2,
                .first_seen = At(0),
                .last_seen = At(1000),
                .packets = 5});
  Sees(Tap("leaf2", "spine3"), 4, 904);
  const FlowPaths paths = *tracker_.Paths();
  ASSERT_EQ(paths.size(), 2u);
  const PathInterval& stretch =
      paths[0].flow == Flow() ? paths[0].intervals[0] : paths[1].intervals[0];
  EXPECT_EQ(stretch.state, PathState::kExact);
  EXPECT_EQ(NodesIn(stretch), "host0 leaf0 spine1 core3 spine3 leaf2 host4");
}

TEST_F(PathTrackerTest, ALaterPathIsAChange) {
  const TapId before = Tap("leaf2", "spine2");
  const TapId after = Tap("leaf2", "spine3");
  Sees(Tap("leaf0", "host0"), 0, 900);
  Sees(before, 4, 400);
  Sees(after, 450, 904);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 2u);
  EXPECT_EQ(intervals[0].began, PathChange::kFirstSeen);
  EXPECT_EQ(intervals[1].began, PathChange::kRerouted);
  EXPECT_EQ(intervals[1].from, At(450));
  EXPECT_EQ(intervals[0].until, At(400));
  EXPECT_EQ(intervals[0].path.ports[4], PortBetween(fabric_, "spine2", "leaf2"));
  EXPECT_EQ(intervals[1].path.ports[4], PortBetween(fabric_, "spine3", "leaf2"));
}

TEST_F(PathTrackerTest, LateRecordsOfTheOldPathBelongToTheSameChange) {
  const TapId before = Tap("leaf2", "spine2");
  const TapId after = Tap("leaf2", "spine3");
  Sees(before, 4, 300);
  Sees(after, 450, 904);
  Sees(before, 310, 400);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 2u);
  EXPECT_EQ(intervals[0].packets, 200u);
}

TEST_F(PathTrackerTest, ThereAndBackAreTwoChanges) {
  const TapId one = Tap("leaf2", "spine2");
  const TapId other = Tap("leaf2", "spine3");
  Sees(one, 0, 1000);
  Sees(other, 1100, 2000);
  Sees(one, 2100, 3000);
  EXPECT_EQ(Stretches().size(), 3u);
}

TEST_F(PathTrackerTest, TwoPathsAtATimeAreASpread) {
  Sees(Tap("leaf2", "spine2"), 0, 1000, 30);
  Sees(Tap("leaf2", "spine3"), 1, 1001, 90);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 1u);
  EXPECT_EQ(intervals[0].state, PathState::kSpread);
  ASSERT_EQ(intervals[0].shares.size(), 2u);
  EXPECT_DOUBLE_EQ(intervals[0].shares[0].share, 0.25);
  EXPECT_DOUBLE_EQ(intervals[0].shares[1].share, 0.75);
  EXPECT_EQ(intervals[0].shares[1].bytes, 1000u);
}

TEST_F(PathTrackerTest, ReportsObservationsThatNoDeclaredCableExplains) {
  Sees(Tap("leaf5", "spine4"), 0, 1000);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 1u);
  EXPECT_EQ(intervals[0].state, PathState::kStray);
  EXPECT_EQ(tracker_.Statistics().stray, 1u);
}

// leaf3's clock is 300 us behind leaf2's.
TEST_F(PathTrackerTest, CorrectsTimesOfWrongClocks) {
  const TapId before = Tap("leaf2", "spine2");
  const TapId after = Tap("leaf3", "spine3");
  ClockOffsets clocks;
  clocks.LearnTap(
      {.tap = before, .switch_address = fabric_.node(fabric_.FindNode("leaf2")).erspan_source});
  clocks.LearnTap(
      {.tap = after, .switch_address = fabric_.node(fabric_.FindNode("leaf3")).erspan_source});
  RecordBatch batch;
  for (uint32_t psn = 0; psn < 20; ++psn) {
    for (const bool first : {true, false}) {
      const bool at_leaf2 = first == (psn % 2 == 0);
      ObservationRecord record;
      record.tap = at_leaf2 ? before : after;
      record.ttl = first ? 64 : 63;
      record.psn = psn;
      record.arrival_time = At(psn * 10 + (first ? 0 : 1));
      record.event_time = record.arrival_time - microseconds(at_leaf2 ? 0 : 300);
      batch.sightings.push_back(record);
    }
  }
  clocks.Add(batch);
  clocks.Settle();
  tracker_.SetClocks(&clocks);
  Sees(after, 200, 900);
  EXPECT_EQ(Stretches()[0].from, At(500));
}

// An observation inconsistent with every path does not show whether the rest of the path changed.
TEST_F(PathTrackerTest, AStrayIsNoPathChange) {
  Sees(Tap("leaf5", "spine4"), 0, 1000);
  Sees(Tap("leaf2", "spine3"), 0, 1000);
  Sees(Tap("leaf0", "host0"), 1100, 2000);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 1u);
  EXPECT_EQ(intervals[0].state, PathState::kStray);
  EXPECT_EQ(intervals[0].shares.size(), 3u);
}

TEST_F(PathTrackerTest, AnUndeclaredAddressIsUnknown) {
  tracker_.Add({.flow = {.source = *ParseIpAddress("192.0.2.1"),
                         .destination = AddressOf("host4"),
                         .destination_qpn = {1}},
                .tap = Tap("leaf2", "spine2"),
                .first_seen = At(0),
                .last_seen = At(1),
                .packets = 1});
  EXPECT_EQ(Stretches()[0].state, PathState::kUnknown);
}

TEST_F(PathTrackerTest, AnotherOwnerOfTheNumberStartsANewStretch) {
  const TapId one = Tap("leaf2", "spine2");
  Sees(one, 0, 1000);
  tracker_.Cut(Flow(), At(1500));
  Sees(one, 1600, 2000);
  const auto intervals = Stretches();
  ASSERT_EQ(intervals.size(), 2u);
  EXPECT_EQ(intervals[1].began, PathChange::kNewOwner);
}

// Four sessions per switch, each for every fourth port: the switches on the path provide most of
// the information.
TEST(PathTrackerPortSets, SessionsWithoutPortInformationNarrowThePath) {
  topology::Fabric::Parts parts = SmallFatTree().parts();
  const topology::Fabric plain = SmallFatTree();
  const auto add = [&](std::string_view node, std::vector<PortIndex> ports) {
    parts.taps.push_back({.node = plain.FindNode(node),
                          .session = 3,
                          .direction = topology::TapDirection::kIngress,
                          .names_port = false,
                          .ports = std::move(ports)});
  };
  add("core1", {PortBetween(plain, "core1", "spine0"), PortBetween(plain, "core1", "spine6")});
  const topology::Fabric fabric = topology::Fabric::Make(std::move(parts)).value();
  WithOwnFlows<PathTracker> tracker(fabric);
  tracker.LearnTap({.tap = 1,
                    .switch_address = fabric.node(fabric.FindNode("core1")).erspan_source,
                    .session = 3,
                    .side = TapSide::kIngress});
  const auto address = [&](std::string_view host) {
    return fabric.nic(NicOfHost(fabric, host)).addresses.front().address;
  };
  tracker.Add({.flow = {.source = address("host0"), .destination = address("host4")},
               .tap = 1,
               .first_seen = At(0),
               .last_seen = At(10),
               .packets = 4});
  const FlowPaths paths = *tracker.Paths();
  ASSERT_EQ(paths.size(), 1u);
  EXPECT_EQ(paths[0].intervals[0].state, PathState::kExact);
  EXPECT_EQ(NodesOf(fabric, paths[0].intervals[0].path),
            "host0 leaf0 spine0 core1 spine2 leaf2 host4");
}

// Queue pairs are replaced continuously, without any sign of their end.
TEST_F(PathTrackerTest, EvictsIdleFlowsForNewOnes) {
  WithOwnFlows<PathTracker> tracker(FlowCapacity{2}, fabric_);
  const topology::Port& port = fabric_.port(PortBetween(fabric_, "leaf0", "host0"));
  tracker.LearnTap({.tap = 1,
                    .switch_address = fabric_.node(port.node).erspan_source,
                    .session = 1,
                    .side = TapSide::kIngress,
                    .has_port = true,
                    .port = port.number});
  const auto sees = [&](uint32_t qpn, int64_t second) {
    tracker.SetTime(At(second * 1'000'000));
    FlowKey flow = Flow();
    flow.destination_qpn = {qpn};
    tracker.Add({.flow = flow,
                 .tap = 1,
                 .udp_source_port = 50'000,
                 .first_seen = At(second * 1'000'000),
                 .last_seen = At(second * 1'000'000 + 900),
                 .packets = 100,
                 .bytes = 100'000});
  };
  const auto told = [&] {
    std::vector<uint32_t> numbers;
    for (const FlowPath& path : *tracker.Paths()) {
      numbers.push_back(path.flow.destination_qpn.value);
    }
    return numbers;
  };
  sees(1, 0);
  sees(2, 5);
  EXPECT_THAT(told(), ElementsAre(1, 2));
  sees(3, 9);
  EXPECT_EQ(tracker.Statistics().flows_refused, 1u) << "no flow was idle for long";
  sees(3, 12);
  EXPECT_THAT(told(), ElementsAre(2, 3));
  sees(1, 30);
  sees(2, 31);  // evicted and added again between two answers
  EXPECT_THAT(told(), ElementsAre(1, 2));
  EXPECT_EQ(tracker.Paths()->front().intervals.front().from, At(30'000'000));
  EXPECT_EQ(tracker.Paths()->begin()[1].intervals.front().from, At(31'000'000));
  EXPECT_EQ(tracker.Statistics().flows_evicted, 3u);
}

}  // namespace
}  // namespace rocescope
