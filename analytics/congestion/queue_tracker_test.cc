// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/congestion/queue_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/generate.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class QueueTrackerTest : public testing::Test {
 protected:
  // A postcard of leaf0 about a packet that left by its first port.
  HopRecord Postcard(int64_t ms, uint32_t bytes, bool congested = false) const {
    HopRecord record;
    record.node_id = fabric_.node(leaf_).int_switch_id;
    record.congested = congested;
    record.arrival_time = FromNanoseconds(ms * 1'000'000);
    record.metadata.present = wire::kIntPorts | wire::kIntQueue | wire::kIntHopLatency;
    record.metadata.egress_port = static_cast<uint16_t>(fabric_.port(port_).number);
    record.metadata.queue_id = 3;
    record.metadata.queue_occupancy = bytes;
    record.metadata.hop_latency = bytes / 10;
    return record;
  }

  const topology::Fabric fabric_ =
      topology::Generate({.hosts = 2, .leaves = 2, .spines = 1}).value();
  const topology::NodeIndex leaf_ = fabric_.FindNode("leaf0");
  const topology::PortIndex port_ = fabric_.node(leaf_).first_port;
  QueueTracker tracker_{fabric_, {.window = std::chrono::milliseconds(1), .queues = 1}};
};

TEST_F(QueueTrackerTest, AWindowHasItsDeepestAndItsLongest) {
  tracker_.Add(Postcard(4, 5000));
  tracker_.Add(Postcard(4, 9000, true));
  tracker_.Add(Postcard(4, 7000, true));
  tracker_.Add(Postcard(6, 100));
  ASSERT_EQ(tracker_.queues().size(), 1u);
  EXPECT_EQ(tracker_.queues().begin()->first, (QueueKey{.port = port_, .queue = 3}));
  EXPECT_THAT(
      tracker_.queues().begin()->second,
      ElementsAre(
          QueueWindow{.window = 4,
                      .peak_bytes = 9000,
                      .longest = Duration(900),
                      .congested = 2,
                      .packets = 3},
          QueueWindow{.window = 6, .peak_bytes = 100, .longest = Duration(10), .packets = 1}));
}

TEST_F(QueueTrackerTest, WhatNamesNoQueueOfTheFabricIsLeftOut) {
  HopRecord record = Postcard(1, 100);
  record.node_id = 0xffff'fffe;
  tracker_.Add(record);
  record = Postcard(1, 100);
  record.metadata.egress_port = 0xfffe;
  tracker_.Add(record);
  record = Postcard(1, 100);
  record.metadata.present = wire::kIntPorts;
  tracker_.Add(record);
  record = Postcard(1, 100);
  record.dropped = true;
  tracker_.Add(record);
  EXPECT_THAT(tracker_.queues(), IsEmpty());
}

TEST_F(QueueTrackerTest, QueuesBeyondTheCapacityAreCounted) {
  tracker_.Add(Postcard(1, 100));
  HopRecord other = Postcard(1, 100);
  other.metadata.queue_id = 4;
  tracker_.Add(other);
  EXPECT_EQ(tracker_.queues().size(), 1u);
  EXPECT_EQ(tracker_.queues_refused(), 1u);
}

}  // namespace
}  // namespace rocescope
