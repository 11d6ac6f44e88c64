// SPDX-License-Identifier: BSD-3-Clause
// The observations of flows are synthetic; the expected results are the queues that set the marks
// in them.
#include "analytics/congestion/marked_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "analytics/congestion/congestion_fixture.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr Duration kWindow = std::chrono::milliseconds(1);

class MarkedQueueTest : public CongestionTest {
 protected:
  // From one host's queue pair to another's with the same number, for ten windows.
  FlowKey Goes(const std::vector<std::string>& nodes, uint32_t qpn,
               PathState state = PathState::kExact) {
    const FlowKey flow = Takes(nodes, qpn,
                               {.from = Timestamp(0 * kWindow),
                                .until = Timestamp(10 * kWindow),
                                .state = state,
                                .bytes = 10'000'000});
    Connects(flow, qpn);
    return flow;
  }
  void Sees(std::string_view node, uint8_t ttl, const FlowKey& flow, int64_t window,
            uint64_t packets, uint32_t marked, uint32_t cnps = 0) {
    FlowRecord record;
    record.flow = flow;
    record.tap = static_cast<TapId>(fabric_.FindNode(node));
    record.ttl = ttl;
    record.interval_start = Timestamp(window * kWindow);
    record.packets = packets;
    record.ce_marked = marked;
    record.class_packets[static_cast<size_t>(OperationClass::kCnp)] = cnps;
    batch_.flows.push_back(record);
  }
  static FlowKey Back(const FlowKey& flow) {
    return {.source = flow.destination,
            .destination = flow.source,
            .destination_qpn = flow.destination_qpn};
  }
  std::vector<MarkedQueue> Marked() {
    for (topology::NodeIndex node = 0; node < fabric_.nodes().size(); ++node) {
      if (!fabric_.node(node).IsSwitch()) continue;
      tracker_.LearnTap({.tap = static_cast<TapId>(node),
                         .switch_address = fabric_.node(node).erspan_source,
                         .side = TapSide::kIngress});
    }
    tracker_.Add(batch_);
    return MarkedQueues(tracker_, Paths(), ConnectionList(connections_), fabric_);
  }

  MarkTracker tracker_{fabric_, {.window = kWindow}};
  RecordBatch batch_;
};

TEST_F(MarkedQueueTest, LocatesMarksBetweenConsecutiveObservations) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("leaf0", 64, flow, 3, 100, 0);
  Sees("spine0", 63, flow, 3, 100, 20);
  Sees("leaf1", 62, flow, 3, 100, 25);
  EXPECT_THAT(Marked(), UnorderedElementsAre(
                            MarkedQueue{.port = Port("leaf0", "spine0"), .window = 3, .marks = 20},
                            MarkedQueue{.port = Port("spine0", "leaf1"), .window = 3, .marks = 5}));
}

// A packet in flight at the end of a window must not be counted as marked twice.
TEST_F(MarkedQueueTest, PacketsInFlightAtAWindowsEndAreNotMarks) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("spine0", 63, flow, 3, 100, 40);
  Sees("leaf1", 62, flow, 3, 90, 30);
  Sees("spine0", 63, flow, 4, 100, 0);
  Sees("leaf1", 62, flow, 4, 100, 10);
  EXPECT_THAT(Marked(),
              ElementsAre(MarkedQueue{
                  .port = Port("leaf0", "spine0"), .window = 3, .marks = 40, .inferred = false}));
}

// Ten copies are missing at the spine; some of them may be marked.
TEST_F(MarkedQueueTest, LostCopiesAreNotMarks) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("spine0", 63, flow, 3, 90, 10);
  Sees("leaf1", 62, flow, 3, 100, 18);
  const std::vector<MarkedQueue> marked = Marked();
  ASSERT_EQ(marked.size(), 1u);
  EXPECT_EQ(marked[0].port, Port("leaf0", "spine0"));
}

// A flow from each leaf to each other leaf over spine0; only leaves are mirrored. All flows are
// equal, so each queue from a leaf to spine0 or back carries the bytes of two flows.
class TomographyTest : public MarkedQueueTest {
 protected:
  // Marks of some flows, by the numbers of their source and destination leaf.
  std::vector<MarkedQueue> QueuesOf(std::map<std::pair<int, int>, uint32_t> marks) {
    uint32_t qpn = 0;
    for (const int from : {0, 1, 2}) {
      for (const int to : {0, 1, 2}) {
        if (from == to) continue;
        const std::string near = "leaf" + std::to_string(from);
        const std::string far = "leaf" + std::to_string(to);
        const FlowKey flow = Goes({"host" + std::to_string(4 * from), near, "spine0", far,
                                   "host" + std::to_string(4 * to)},
                                  ++qpn);
        Sees(near, 64, flow, 3, 100, 0);
        Sees(far, 62, flow, 3, 100, marks[{from, to}]);
      }
    }
    return Marked();
  }
  auto Inferred(std::string_view from, std::string_view to, double marks) const {
    return testing::AllOf(testing::Field(&MarkedQueue::port, Port(from, to)),
                          testing::Field(&MarkedQueue::marks, testing::DoubleNear(marks, 1e-9)),
                          testing::Field(&MarkedQueue::inferred, true));
  }
};

// Let r be the rate of leaf0 -> spine0, s that of spine0 -> leaf1, and also that of spine0 -> leaf2
// by symmetry. A round assigns 60 r / (r + s) and 30 s / (r + s) marks, and new rates by twice a
// flow's bytes: s / r is halved. After 50 rounds it is 2^-49, which leaves 5e-14 marks for s. In
// the limit s = 0, r is 30 marks per flow's bytes, as both flows show.
TEST_F(TomographyTest, AssignsMarksOfAllFlowsFromALeafToTheLeaf) {
  EXPECT_THAT(QueuesOf({{{0, 1}, 30}, {{0, 2}, 30}}), ElementsAre(Inferred("leaf0", "spine0", 60)));
}

// The opposite case: 0 -> 1 is marked as before, and so are other flows to leaf1.
TEST_F(TomographyTest, AssignsMarksOfAllFlowsToALeafToTheSpine) {
  EXPECT_THAT(QueuesOf({{{0, 1}, 30}, {{2, 1}, 30}}), ElementsAre(Inferred("spine0", "leaf1", 60)));
}

// Rates of 30 and 10 marks per flow's bytes explain the observations exactly, which is the maximum
// likelihood. Each queue has two flows, so these are 60 and 20 of the 80 marks.
TEST_F(TomographyTest, SplitsMarksBetweenTwoQueuesOnAPath) {
  EXPECT_THAT(
      QueuesOf({{{0, 1}, 40}, {{0, 2}, 30}, {{2, 1}, 10}}),
      UnorderedElementsAre(Inferred("leaf0", "spine0", 60), Inferred("spine0", "leaf1", 20)));
}

TEST_F(TomographyTest, SplitsMarksEquallyBetweenIndistinguishableQueues) {
  EXPECT_THAT(QueuesOf({{{0, 1}, 30}}), UnorderedElementsAre(Inferred("leaf0", "spine0", 15),
                                                             Inferred("spine0", "leaf1", 15)));
}

// Bytes of four flows against two: as above, a round halves the rate that fits less well.
TEST_F(TomographyTest, UnmarkedTrafficLowersTheRateOfAQueue) {
  Goes({"host9", "leaf2", "spine0", "leaf1", "host5"}, 17);
  Goes({"host10", "leaf2", "spine0", "leaf1", "host6"}, 18);
  EXPECT_THAT(QueuesOf({{{0, 1}, 30}}), ElementsAre(Inferred("leaf0", "spine0", 30)));
}

// No switch shows a mark, but the receiver sends CNPs.
TEST_F(MarkedQueueTest, CnpsShowMarksAfterTheLastObservation) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("leaf1", 62, flow, 3, 100, 0);
  Sees("leaf1", 64, Back(flow), 3, 3, 0, 3);
  Sees("leaf0", 62, Back(flow), 3, 3, 0, 3);  // the same ones
  EXPECT_THAT(Marked(),
              ElementsAre(MarkedQueue{.port = Port("leaf1", "host4"), .window = 3, .marks = 3}));
}

TEST_F(MarkedQueueTest, CnpsForObservedMarksAddNothing) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("leaf0", 64, flow, 3, 100, 0);
  Sees("spine0", 63, flow, 3, 100, 10);
  Sees("leaf1", 62, flow, 3, 100, 10);
  Sees("leaf1", 64, Back(flow), 4, 3, 0, 3);
  EXPECT_THAT(Marked(), ElementsAre(testing::Field(&MarkedQueue::port, Port("leaf0", "spine0"))));
}

TEST_F(MarkedQueueTest, IgnoresFlowsWithoutAKnownPath) {
  const FlowKey flow =
      Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7, PathState::kAmbiguous);
  Sees("leaf0", 64, flow, 3, 100, 0);
  Sees("leaf1", 62, flow, 3, 100, 30);
  EXPECT_THAT(Marked(), IsEmpty());
}

}  // namespace
}  // namespace rocescope
