// SPDX-License-Identifier: BSD-3-Clause
// Sights of flows are made up here: what is expected is what set the marks that were put in.
#include "analytics/congestion/marked_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using topology::PortIndex;

constexpr Duration kWindow = std::chrono::milliseconds(1);

// host0 to host3 at leaf0, host4 to host7 at leaf1, two spines.
class MarkedQueueTest : public testing::Test {
 protected:
  PortIndex Port(std::string_view from, std::string_view to) const {
    const topology::Node& node = fabric_.node(fabric_.FindNode(from));
    for (uint32_t i = 0; i < node.port_count; ++i) {
      if (fabric_.PeerNode(node.first_port + i) == fabric_.FindNode(to)) return node.first_port + i;
    }
    return topology::kNone;
  }
  IpAddress AddressOf(std::string_view host) const {
    return fabric_.nic(fabric_.NicsOf(fabric_.FindNode(host)).front()).addresses.front().address;
  }
  // From one host's queue pair to another's of the same number.
  FlowKey Goes(const std::vector<std::string>& nodes, uint32_t qpn,
               PathState state = PathState::kExact) {
    FlowPath path{.flow = {.source = AddressOf(nodes.front()),
                           .destination = AddressOf(nodes.back()),
                           .destination_qpn = {qpn}}};
    PathStretch stretch{.from = Timestamp(0 * kWindow),
                        .until = Timestamp(10 * kWindow),
                        .state = state,
                        .bytes = 10'000'000};
    for (size_t i = 0; i + 1 < nodes.size(); ++i) {
      stretch.certain.push_back(Port(nodes[i], nodes[i + 1]));
      stretch.path.ports[stretch.path.length++] = stretch.certain.back();
    }
    path.stretches.push_back(std::move(stretch));
    paths_.push_back(std::move(path));
    Connection connection;
    connection.endpoints[0] = {.address = paths_.back().flow.source, .qpn = Qpn{qpn}};
    connection.endpoints[1] = {.address = paths_.back().flow.destination, .qpn = Qpn{qpn}};
    connections_.push_back(connection);
    return paths_.back().flow;
  }
  void Sees(std::string_view node, uint8_t ttl, const FlowKey& flow, int64_t window,
            uint64_t packets, uint32_t marked, uint32_t notices = 0) {
    FlowRecord record;
    record.flow = flow;
    record.tap = static_cast<TapId>(fabric_.FindNode(node));
    record.ttl = ttl;
    record.interval_start = Timestamp(window * kWindow);
    record.packets = packets;
    record.ce_marked = marked;
    record.class_packets[static_cast<size_t>(OperationClass::kCnp)] = notices;
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
    std::ranges::sort(paths_, {}, &FlowPath::flow);
    return MarkedQueues(tracker_, FlowPaths(paths_), ConnectionList(connections_), fabric_);
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 8, .leaves = 2, .spines = 2}).value();
  MarkTracker tracker_{fabric_, {.window = kWindow}};
  RecordBatch batch_;
  std::vector<FlowPath> paths_;
  std::vector<Connection> connections_;
};

TEST_F(MarkedQueueTest, BetweenTwoSightsInARowThereIsOneQueue) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("leaf0", 64, flow, 3, 100, 0);
  Sees("spine0", 63, flow, 3, 100, 20);
  Sees("leaf1", 62, flow, 3, 100, 25);
  EXPECT_THAT(Marked(), testing::UnorderedElementsAre(
                            MarkedQueue{.port = Port("leaf0", "spine0"), .window = 3, .marks = 20},
                            MarkedQueue{.port = Port("spine0", "leaf1"), .window = 3, .marks = 5}));
}

// Whichever lane a packet takes at the end of a window, its mark is not set twice.
TEST_F(MarkedQueueTest, WhatIsUnderWayAtAWindowsEndIsNotMarkedThere) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("spine0", 63, flow, 3, 100, 40);
  Sees("leaf1", 62, flow, 3, 90, 30);
  Sees("spine0", 63, flow, 4, 100, 0);
  Sees("leaf1", 62, flow, 4, 100, 10);
  EXPECT_THAT(Marked(),
              ElementsAre(MarkedQueue{
                  .port = Port("leaf0", "spine0"), .window = 3, .marks = 40, .inferred = false}));
}

// Ten copies are missing at the spine: marked ones may be among them.
TEST_F(MarkedQueueTest, CopiesThatTheMirrorLostAreNoMarks) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("spine0", 63, flow, 3, 90, 10);
  Sees("leaf1", 62, flow, 3, 100, 18);
  const std::vector<MarkedQueue> marked = Marked();
  ASSERT_EQ(marked.size(), 1u);
  EXPECT_EQ(marked[0].port, Port("leaf0", "spine0"));
}

// Only leaves are mirrored. What leaves leaf0 for either spine is marked, if it goes to host4's
// leaf by spine0; flows by spine1 and the other flows from leaf0 are not.
TEST_F(MarkedQueueTest, WhereSeveralQueuesMayHaveMarkedItIsTheOneThatExplainsAll) {
  const FlowKey hurt = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 1);
  const FlowKey also = Goes({"host1", "leaf0", "spine0", "leaf1", "host5"}, 2);
  Goes({"host2", "leaf0", "spine1", "leaf1", "host6"}, 3);
  // By the same port of leaf1's, and unmarked: another leaf's would be, here it comes back.
  const FlowKey spared = Goes({"host4", "leaf1", "spine0", "leaf0", "host0"}, 4);
  for (const FlowKey& flow : {hurt, also}) {
    Sees("leaf0", 64, flow, 3, 100, 0);
    Sees("leaf1", 62, flow, 3, 100, 30);
  }
  Sees("leaf1", 64, spared, 3, 100, 0);
  Sees("leaf0", 62, spared, 3, 100, 0);
  double all = 0;
  for (const MarkedQueue& queue : Marked()) {
    EXPECT_TRUE(queue.inferred);
    EXPECT_TRUE(queue.port == Port("leaf0", "spine0") || queue.port == Port("spine0", "leaf1"));
    all += queue.marks;
  }
  EXPECT_NEAR(all, 60, 1e-6) << "each mark is set once";
}

// Nobody saw a mark, on none of the switches; and the receiver says that there are some.
TEST_F(MarkedQueueTest, NotificationsTellOfTheQueueBehindTheLastSight) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("leaf1", 62, flow, 3, 100, 0);
  Sees("leaf1", 64, Back(flow), 3, 3, 0, 3);
  Sees("leaf0", 62, Back(flow), 3, 3, 0, 3);  // the same ones
  EXPECT_THAT(Marked(),
              ElementsAre(MarkedQueue{.port = Port("leaf1", "host4"), .window = 3, .marks = 3}));
}

TEST_F(MarkedQueueTest, NotificationsOfWhatCameMarkedSayNothingNew) {
  const FlowKey flow = Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7);
  Sees("leaf0", 64, flow, 3, 100, 0);
  Sees("spine0", 63, flow, 3, 100, 10);
  Sees("leaf1", 62, flow, 3, 100, 10);
  Sees("leaf1", 64, Back(flow), 4, 3, 0, 3);
  EXPECT_THAT(Marked(), ElementsAre(testing::Field(&MarkedQueue::port, Port("leaf0", "spine0"))));
}

TEST_F(MarkedQueueTest, AFlowWhoseWayNobodyKnowsTellsNothing) {
  const FlowKey flow =
      Goes({"host0", "leaf0", "spine0", "leaf1", "host4"}, 7, PathState::kAmbiguous);
  Sees("leaf0", 64, flow, 3, 100, 0);
  Sees("leaf1", 62, flow, 3, 100, 30);
  EXPECT_THAT(Marked(), IsEmpty());
}

}  // namespace
}  // namespace rocescope
