// SPDX-License-Identifier: BSD-3-Clause
// Packets on a path with synthetic times; the expected delays are those put in.
#include "analytics/delay/delay_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/wire/opcode.h"
#include "topology/generate.h"

namespace rocescope {
namespace {

using std::chrono::milliseconds;
using topology::Fabric;
using topology::NodeIndex;
using topology::PortIndex;

constexpr int64_t kBegin = 1'000'000'000;

class DelayTrackerTest : public testing::Test {
 protected:
  // host0 and host1 at leaf0 and leaf1 with one spine between them; the mirrors identify ports.
  DelayTrackerTest()
      : leaf0_(fabric_.FindNode("leaf0")),
        leaf1_(fabric_.FindNode("leaf1")),
        spine_(fabric_.FindNode("spine0")),
        flow_({.source = AddressOf("host0"),
               .destination = AddressOf("host1"),
               .destination_qpn = Qpn{7}}),
        back_(
            {.source = flow_.destination, .destination = flow_.source, .destination_qpn = Qpn{9}}) {
  }

  IpAddress AddressOf(const char* host) const {
    return fabric_.nic(fabric_.NicsOf(fabric_.FindNode(host))[0]).addresses[0].address;
  }
  PortIndex PortTo(NodeIndex node, NodeIndex peer) const {
    for (uint32_t i = 0; i < fabric_.node(node).port_count; ++i) {
      const PortIndex port = fabric_.node(node).first_port + i;
      if (fabric_.PeerNode(port) == peer) return port;
    }
    return topology::kNone;
  }
  // A separate tap for each ingress port.
  TapId TapAt(NodeIndex node, NodeIndex from) {
    const PortIndex port = PortTo(node, from);
    const TapLocation place{.tap = static_cast<TapId>(port),
                            .switch_address = fabric_.node(node).erspan_source,
                            .session = 1,
                            .side = TapSide::kIngress,
                            .has_port = true,
                            .port = fabric_.port(port).number};
    tracker_.LearnTap(place);
    small_.LearnTap(place);
    return static_cast<TapId>(port);
  }
  void See(NodeIndex node, NodeIndex from, int64_t ns, ObservationRecord record) {
    record.tap = TapAt(node, from);
    record.event_time = FromNanoseconds(kBegin + ns);
    record.arrival_time = record.event_time;
    RecordBatch batch;
    batch.sightings.push_back(record);
    tracker_.Add(batch);
    small_.Add(batch);
  }
  ObservationRecord Request(uint32_t psn, uint8_t ttl) const {
    return {.flow = flow_,
            .kind = ObservationKind::kRequest,
            .opcode = wire::kOpcodeWriteOnly,
            .ttl = ttl,
            .ack_request = true,
            .psn = psn};
  }
  ObservationRecord Ack(uint32_t psn, uint8_t ttl) const {
    return {.flow = back_,
            .kind = ObservationKind::kAcknowledge,
            .opcode = wire::kOpcodeAcknowledge,
            .ttl = ttl,
            .psn = psn};
  }
  ObservationRecord Notice(uint8_t ttl) const {
    return {.flow = back_, .kind = ObservationKind::kCnp, .opcode = wire::kOpcodeCnp, .ttl = ttl};
  }
  std::vector<DelayWindow> WindowsOf(DelayKind kind) const {
    for (const auto& [key, windows] : tracker_.delays()) {
      if (key.kind == kind) return windows;
    }
    return {};
  }

  const Fabric fabric_ = topology::Generate({.hosts = 2, .leaves = 2, .spines = 1}).value();
  const NodeIndex leaf0_;
  const NodeIndex leaf1_;
  const NodeIndex spine_;
  const FlowKey flow_;
  const FlowKey back_;
  DelayTracker tracker_{fabric_, {.window = milliseconds(1)}};
  DelayTracker small_{fabric_, {.window = milliseconds(1), .places = 0}};
};

TEST_F(DelayTrackerTest, FollowsAPacketFromSwitchToSwitch) {
  const NodeIndex host = fabric_.FindNode("host0");
  for (uint32_t i = 0; i < 3; ++i) {
    See(leaf0_, host, 100'000 * i, Request(i, 64));
    See(spine_, leaf0_, 100'000 * i + 2000 + 500 * i, Request(i, 63));
  }
  ASSERT_EQ(tracker_.delays().size(), 1u);
  const auto& [key, windows] = *tracker_.delays().begin();
  EXPECT_EQ(key.from, leaf0_);
  EXPECT_EQ(key.to, PortTo(spine_, leaf0_));
  EXPECT_EQ(key.hops, 1);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].least, 2000);
  EXPECT_EQ(windows[0].most, 3000);
  EXPECT_EQ(windows[0].next_most, 2500);
  EXPECT_EQ(windows[0].Mean(), 2500);
  EXPECT_EQ(windows[0].count, 3u);
}

// At 20 Mbit/s, a frame of 4 kB takes 1.7 ms.
TEST_F(DelayTrackerTest, AllowsLongerDelaysIfLinksAreSlow) {
  const Fabric slow = topology::Generate({.hosts = 2,
                                          .leaves = 2,
                                          .spines = 1,
                                          .host_bits_per_second = 20'000'000,
                                          .fabric_bits_per_second = 20'000'000})
                          .value();
  DelayTracker tracker(slow);
  for (const auto& [tap, node, from] :
       {std::tuple(TapId{0}, "leaf0", "host0"), std::tuple(TapId{1}, "spine0", "leaf0")}) {
    const NodeIndex at = slow.FindNode(node);
    PortIndex port = slow.node(at).first_port;
    while (slow.PeerNode(port) != slow.FindNode(from)) ++port;
    tracker.LearnTap({.tap = tap,
                      .switch_address = slow.node(at).erspan_source,
                      .session = 1,
                      .side = TapSide::kIngress,
                      .has_port = true,
                      .port = slow.port(port).number});
  }
  const auto see = [&](TapId tap, uint32_t psn, uint8_t ttl, Duration time) {
    ObservationRecord record = Request(psn, ttl);
    record.tap = tap;
    record.event_time = record.arrival_time = FromNanoseconds(kBegin) + time;
    RecordBatch batch;
    batch.sightings.push_back(record);
    tracker.Add(batch);
  };
  see(0, 1, 64, milliseconds(0));
  see(1, 1, 63, milliseconds(150));
  see(0, 2, 64, milliseconds(200));
  see(1, 2, 63, milliseconds(400));  // a retransmission, whose first copy is missing
  ASSERT_EQ(tracker.delays().size(), 1u);
  const std::vector<DelayWindow>& windows = tracker.delays().begin()->second;
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].count, 1u);
  EXPECT_EQ(windows[0].least, 150'000'000);
}

// One clock is an hour off, and both observe a packet at the same time.
TEST_F(DelayTrackerTest, CountsAndIgnoresImpossibleDelays) {
  const NodeIndex host = fabric_.FindNode("host0");
  for (const int64_t hours : {1, -1}) {
    const auto psn = static_cast<uint32_t>(hours + 10);
    See(leaf0_, host, int64_t{1000} * psn, Request(psn, 64));
    ObservationRecord later = Request(psn, 63);
    later.tap = TapAt(spine_, leaf0_);
    later.event_time = FromNanoseconds(kBegin) + std::chrono::hours(hours);
    later.arrival_time = FromNanoseconds(kBegin + int64_t{1000} * psn + 2000);
    RecordBatch batch;
    batch.sightings.push_back(later);
    tracker_.Add(batch);
  }
  EXPECT_TRUE(tracker_.delays().empty());
  EXPECT_EQ(tracker_.impossible(), 2u);
}

TEST_F(DelayTrackerTest, KeepsWindowsSeparate) {
  const NodeIndex host = fabric_.FindNode("host0");
  for (const int64_t ms : {0, 1, 3}) {
    See(leaf0_, host, ms * 1'000'000, Request(static_cast<uint32_t>(ms), 64));
    See(spine_, leaf0_, ms * 1'000'000 + 2000 + ms, Request(static_cast<uint32_t>(ms), 63));
  }
  const auto windows = WindowsOf(DelayKind::kTransit);
  ASSERT_EQ(windows.size(), 3u);
  EXPECT_EQ(windows[2].window - windows[0].window, 3);
  EXPECT_EQ(windows[2].least, 2003);
}

TEST_F(DelayTrackerTest, IgnoresRetransmittedPackets) {
  const NodeIndex host = fabric_.FindNode("host0");
  See(leaf0_, host, 0, Request(1, 64));
  See(leaf0_, host, 50'000, Request(1, 64));
  See(spine_, leaf0_, 52'000, Request(1, 63));
  EXPECT_TRUE(tracker_.delays().empty());
}

// The first ACK shows which flow the ACKs belong to.
TEST_F(DelayTrackerTest, ARequestAndItsAckGiveTheTurnaroundOfANic) {
  See(leaf1_, spine_, 0, Request(4, 62));
  See(leaf1_, fabric_.FindNode("host1"), 1500, Ack(4, 64));
  EXPECT_TRUE(WindowsOf(DelayKind::kTurnaround).empty());
  See(leaf1_, spine_, 50'000, Request(5, 62));
  See(leaf1_, fabric_.FindNode("host1"), 51'700, Ack(5, 64));
  const auto windows = WindowsOf(DelayKind::kTurnaround);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].least, 1700);
}

TEST_F(DelayTrackerTest, IgnoresTwoQueuePairsWithOnePsn) {
  ObservationRecord other = Request(5, 62);
  other.flow.destination_qpn = Qpn{8};
  See(leaf1_, spine_, 0, Request(5, 62));
  See(leaf1_, spine_, 300, other);
  See(leaf1_, fabric_.FindNode("host1"), 1700, Ack(5, 64));
  EXPECT_TRUE(WindowsOf(DelayKind::kTurnaround).empty());
}

// The first copy's ACK would seem to arrive 200 ns after the second request.
TEST_F(DelayTrackerTest, IgnoresRetransmittedRequests) {
  const NodeIndex host = fabric_.FindNode("host1");
  for (uint32_t psn = 1; psn <= 3; ++psn) {
    See(leaf1_, spine_, 100'000 * psn, Request(psn, 62));
    if (psn == 3) See(leaf1_, spine_, 100'000 * psn + 1500, Request(psn, 62));
    See(leaf1_, host, 100'000 * psn + 1700, Ack(psn, 64));
  }
  const auto windows = WindowsOf(DelayKind::kTurnaround);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].count, 1u);
  EXPECT_EQ(windows[0].least, 1700);
}

// The mirror lost the request to which the ACK belongs; another queue pair uses the same PSN.
TEST_F(DelayTrackerTest, DoesNotMatchAnAckOfAnotherQueuePair) {
  const NodeIndex host = fabric_.FindNode("host1");
  for (uint32_t psn = 1; psn <= 3; ++psn) {
    See(leaf1_, spine_, 100'000 * psn, Request(psn, 62));
    See(leaf1_, host, 100'000 * psn + 1700, Ack(psn, 64));
  }
  ObservationRecord other = Request(4, 62);
  other.flow.destination_qpn = Qpn{8};
  See(leaf1_, spine_, 400'000, other);
  See(leaf1_, host, 450'000, Ack(4, 64));
  const auto windows = WindowsOf(DelayKind::kTurnaround);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].count, 2u);
  EXPECT_EQ(windows[0].most, 1700);
}

TEST_F(DelayTrackerTest, MeasuresNoTurnaroundAtTheSendersSwitch) {
  See(leaf0_, fabric_.FindNode("host0"), 0, Request(5, 64));
  See(leaf0_, spine_, 5000, Ack(5, 62));
  EXPECT_TRUE(WindowsOf(DelayKind::kTurnaround).empty());
}

TEST_F(DelayTrackerTest, CountsADelayedCnpAsLate) {
  const NodeIndex host = fabric_.FindNode("host1");
  for (int64_t i = 0; i < 4; ++i) {
    const int64_t begin = 2'000'000 * i;
    See(leaf1_, host, begin, Notice(64));
    See(spine_, leaf1_, begin + (i == 3 ? 40'000 : 1000), Notice(63));
  }
  See(spine_, leaf1_, 8'000'000, Notice(63));  // all copies have arrived by then
  uint32_t late = 0;
  uint32_t all = 0;
  for (const DelayWindow& window : WindowsOf(DelayKind::kCnp)) {
    late += window.late;
    all += window.count;
  }
  EXPECT_EQ(all, 4u);
  EXPECT_EQ(late, 1u);
}

// The leaf's copy of the second CNP arrives after the spine's.
TEST_F(DelayTrackerTest, DoesNotCountACnpAsLateWhoseCopyArrivesLater) {
  const NodeIndex host = fabric_.FindNode("host1");
  See(leaf1_, host, 0, Notice(64));
  See(spine_, leaf1_, 1000, Notice(63));
  See(leaf1_, host, 2'000'000, Notice(64));  // lost after the leaf
  See(spine_, leaf1_, 2'051'000, Notice(63));
  See(leaf1_, host, 2'050'000, Notice(64));
  See(spine_, leaf1_, 8'000'000, Notice(63));
  const auto windows = WindowsOf(DelayKind::kCnp);
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].count, 1u);
  EXPECT_EQ(windows[0].most, 1000);
}

TEST_F(DelayTrackerTest, CountsCnpsThatDisappear) {
  const NodeIndex host = fabric_.FindNode("host1");
  See(leaf1_, host, 0, Notice(64));
  EXPECT_FALSE(tracker_.queues().contains(leaf1_)) << "it may be the last switch";
  See(spine_, leaf1_, 1000, Notice(63));
  See(leaf1_, host, 2'000'000, Notice(64));
  See(leaf1_, host, 4'000'000, Notice(64));
  See(leaf1_, host, 6'000'000, Notice(64));
  EXPECT_THAT(tracker_.queues().at(leaf1_),
              testing::ElementsAre(QueueUse{.window = 1002, .unmatched = 1},
                                   QueueUse{.window = 1004, .unmatched = 1}));
}

// Two frames of 4 kB, one of which may be ahead, take 700 ns at 100 Gb/s and 2.8 us at 25 Gb/s.
TEST_F(DelayTrackerTest, ToleratesLongerWaitsOnSlowLinks) {
  for (const uint64_t speed : {25u, 100u}) {
    const Fabric fabric = topology::Generate({.hosts = 2,
                                              .leaves = 2,
                                              .spines = 1,
                                              .host_bits_per_second = speed * 1'000'000'000,
                                              .fabric_bits_per_second = speed * 1'000'000'000})
                              .value();
    DelayTracker tracker(fabric, {.window = milliseconds(1)});
    for (const char* name : {"leaf1", "spine0"}) {
      const NodeIndex node = fabric.FindNode(name);
      tracker.LearnTap(
          {.tap = static_cast<TapId>(node), .switch_address = fabric.node(node).erspan_source});
    }
    RecordBatch batch;
    const auto see = [&](const char* name, int64_t ns, uint8_t ttl) {
      ObservationRecord record = Notice(ttl);
      record.tap = static_cast<TapId>(fabric.FindNode(name));
      record.event_time = record.arrival_time = FromNanoseconds(kBegin + ns);
      batch.sightings.push_back(record);
    };
    for (const int64_t begin : {0, 2'000'000}) {
      see("leaf1", begin, 64);
      see("spine0", begin + (begin == 0 ? 1000 : 3000), 63);
    }
    see("spine0", 8'000'000, 63);
    tracker.Add(batch);
    uint32_t late = 0;
    for (const auto& [key, windows] : tracker.delays()) {
      for (const DelayWindow& window : windows) late += window.late;
    }
    EXPECT_EQ(late, speed == 25 ? 0u : 1u);
  }
}

// The first one was lost after the leaf: the second one could be mistaken for it.
TEST_F(DelayTrackerTest, DoesNotMatchAmbiguousCnps) {
  const NodeIndex host = fabric_.FindNode("host1");
  See(leaf1_, host, 0, Notice(64));
  See(leaf1_, host, 50'000, Notice(64));
  See(spine_, leaf1_, 51'000, Notice(63));
  EXPECT_TRUE(WindowsOf(DelayKind::kCnp).empty());
}

HopRecord Postcard(const Fabric& fabric, NodeIndex node, const FlowKey& flow, uint8_t opcode,
                   uint8_t queue) {
  HopRecord hop;
  hop.packet = {.known = true, .flow = flow, .opcode = opcode, .ttl = 63};
  hop.node_id = fabric.node(node).int_switch_id;
  hop.metadata.present = wire::kIntQueue;
  hop.metadata.queue_id = queue;
  hop.arrival_time = FromNanoseconds(kBegin);
  return hop;
}

TEST_F(DelayTrackerTest, CountsQueuesOfCnpsByInt) {
  RecordBatch batch;
  batch.hops.push_back(Postcard(fabric_, leaf0_, flow_, wire::kOpcodeWriteMiddle, 3));
  batch.hops.push_back(Postcard(fabric_, leaf0_, back_, wire::kOpcodeCnp, 3));
  batch.hops.push_back(Postcard(fabric_, spine_, flow_, wire::kOpcodeWriteMiddle, 3));
  batch.hops.push_back(Postcard(fabric_, spine_, back_, wire::kOpcodeCnp, 6));
  batch.hops.push_back(Postcard(fabric_, spine_, back_, wire::kOpcodeAcknowledge, 5));
  HopRecord later = Postcard(fabric_, leaf0_, back_, wire::kOpcodeCnp, 3);
  later.arrival_time += milliseconds(2);
  batch.hops.push_back(later);
  tracker_.Add(batch);
  EXPECT_THAT(
      tracker_.queues().at(leaf0_),
      testing::ElementsAre(QueueUse{.window = 1000, .queues = {{.queue = 3, .cnps = 1, .data = 1}}},
                           QueueUse{.window = 1002, .queues = {{.queue = 3, .cnps = 1}}}));
  EXPECT_THAT(tracker_.queues().at(spine_),
              testing::ElementsAre(QueueUse{
                  .window = 1000, .queues = {{.queue = 3, .data = 1}, {.queue = 6, .cnps = 1}}}))
      << "ACKs carry no data";
}

// Three flows of CNPs, with space for two.
TEST_F(DelayTrackerTest, EvictsFlowsAbsentForAWindow) {
  DelayTracker few(fabric_, {.window = milliseconds(1), .flows = 2});
  for (const NodeIndex node : {leaf1_, spine_}) {
    few.LearnTap(
        {.tap = static_cast<TapId>(node), .switch_address = fabric_.node(node).erspan_source});
  }
  const auto see = [&](NodeIndex node, uint32_t qpn, int64_t ns) {
    ObservationRecord record = Notice(node == leaf1_ ? 64 : 63);
    record.flow.destination_qpn = Qpn{qpn};
    record.tap = static_cast<TapId>(node);
    record.event_time = record.arrival_time = FromNanoseconds(kBegin + ns);
    RecordBatch batch;
    batch.sightings.push_back(record);
    few.Add(batch);
  };
  const auto count = [&] {
    uint32_t sum = 0;
    for (const auto& [key, windows] : few.delays()) {
      for (const DelayWindow& window : windows) sum += window.count;
    }
    return sum;
  };
  for (const uint32_t qpn : {1, 2, 3}) see(leaf1_, qpn, 10'000);
  EXPECT_EQ(few.flows_refused(), 1u);
  for (const uint32_t qpn : {1, 2, 3}) see(spine_, qpn, 11'000);
  EXPECT_EQ(count(), 2u) << "flows that were present before remain tracked";
  EXPECT_EQ(few.flows_refused(), 2u);
  see(leaf1_, 3, 2'000'000);
  see(spine_, 3, 2'001'000);
  EXPECT_EQ(count(), 3u);
  EXPECT_EQ(few.flows_refused(), 2u);
}

TEST_F(DelayTrackerTest, PlacesAreBounded) {
  See(leaf0_, fabric_.FindNode("host0"), 0, Request(1, 64));
  See(spine_, leaf0_, 2000, Request(1, 63));
  EXPECT_TRUE(small_.delays().empty());
  EXPECT_EQ(small_.places_refused(), 1u);
}

}  // namespace
}  // namespace rocescope
