// SPDX-License-Identifier: BSD-3-Clause
// Start and end of connections when QPNs are reused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "analytics/connection/connection_tracker.h"
#include "analytics/connection/observation_builder.h"

namespace rocescope {
namespace {

using ::testing::SizeIs;

constexpr int64_t kSecond = 1'000'000;  // microseconds

const TrueConnection kFirst{.a = Host(1), .b = Host(2), .a_qpn = 10, .b_qpn = 20, .segment = 0};
const TrueConnection kSecondUser{
    .a = Host(1), .b = Host(2), .a_qpn = 11, .b_qpn = 20, .segment = 0};

void Exchanges(TestTracker& tracker, const TrueConnection& c, uint32_t first_psn, int64_t time,
               uint32_t rkey) {
  for (uint32_t i = 0; i < 10; ++i) {
    tracker.Add(Observation(c.ToB(), time + i * 20)
                    .Request(kWriteOnly, first_psn + i)
                    .Reth(0x100000 + i * 4096, rkey, 4096));
    tracker.Add(Observation(c.ToA(), time + i * 20 + 6).Ack(first_psn + i));
  }
}

void Connect(TestTracker& tracker, const TrueConnection& c, uint32_t comm_id, int64_t time) {
  ManagementRecord request = Management(wire::CmAttribute::kConnectRequest, c.a, c.b, time);
  request.message.local_comm_id = comm_id;
  request.message.local_qpn = {c.a_qpn};
  tracker.Add(request);
  ManagementRecord reply = Management(wire::CmAttribute::kConnectReply, c.b, c.a, time + 100);
  reply.message.local_comm_id = comm_id + 1000;
  reply.message.remote_comm_id = comm_id;
  reply.message.local_qpn = {c.b_qpn};
  tracker.Add(reply);
}

void Disconnect(TestTracker& tracker, const TrueConnection& c, int64_t time) {
  ManagementRecord request = Management(wire::CmAttribute::kDisconnectRequest, c.a, c.b, time);
  request.message.remote_qpn = {c.b_qpn};
  tracker.Add(request);
}

TEST(ConnectionLifetime, DisconnectEndsAConnectionAndTheNumberIsReused) {
  TestTracker tracker;
  Connect(tracker, kFirst, 1, 0);
  Exchanges(tracker, kFirst, 5'000'000, 200, 1);
  Disconnect(tracker, kFirst, 10 * kSecond);
  Connect(tracker, kSecondUser, 2, 20 * kSecond);
  Exchanges(tracker, kSecondUser, 9'000'000, 20 * kSecond + 200, 2);

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].endpoints[0].qpn, Qpn{10});
  EXPECT_EQ(all[0].endpoints[1].qpn, Qpn{20});
  EXPECT_EQ(all[0].valid_from, At(100));
  EXPECT_EQ(all[0].valid_until, At(10 * kSecond));
  EXPECT_EQ(all[1].endpoints[0].qpn, Qpn{11});
  EXPECT_EQ(all[1].endpoints[1].qpn, Qpn{20});
  EXPECT_EQ(all[1].valid_from, At(20 * kSecond + 100));
  EXPECT_EQ(all[1].valid_until, std::nullopt);
}

TEST(ConnectionLifetime, DisconnectsOfBothSidesAndTheirCopiesEndOnce) {
  TestTracker tracker;
  Connect(tracker, kFirst, 1, 0);
  Exchanges(tracker, kFirst, 5'000'000, 200, 1);
  Disconnect(tracker, kFirst, kSecond);
  Disconnect(tracker, kFirst.Reversed(), kSecond + 30);
  Disconnect(tracker, kFirst, kSecond + 90);
  tracker.Add(Observation(kFirst.ToA(), kSecond + 40).Ack(5'000'010));  // a late packet

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].valid_until, At(kSecond));
}

TEST(ConnectionLifetime, BatchAppliesDisconnectAfterEarlierPackets) {
  RecordBatch batch;
  for (uint32_t i = 0; i < 10; ++i) {
    batch.sightings.push_back(Observation(kFirst.ToB(), i * 20).Request(kSendOnly, 700'000 + i));
    batch.sightings.push_back(Observation(kFirst.ToA(), i * 20 + 6).Ack(700'000 + i));
  }
  ManagementRecord request =
      Management(wire::CmAttribute::kDisconnectRequest, Host(1), Host(2), kSecond);
  request.message.remote_qpn = {20};
  batch.management.push_back(request);
  TestTracker tracker;
  tracker.Add(batch);

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].state, ConnectionState::kPaired);
  EXPECT_EQ(all[0].valid_until, At(kSecond));
}

// Without another pair to compare with, a pair that starts at PSN 0 would not be reported.
TEST(ConnectionLifetime, PsnZeroWithAnotherTargetIsARestart) {
  const TrueConnection apart{.a = Host(1), .b = Host(2), .a_qpn = 40, .b_qpn = 41, .segment = 0};
  TestTracker tracker;
  Exchanges(tracker, apart, 3'000'000, -1000, 0xcccc);
  Exchanges(tracker, kFirst, 0, 0, 0xaaaa);
  Exchanges(tracker, kSecondUser, 0, 30 * kSecond, 0xbbbb);

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all[0].endpoints[0].qpn, Qpn{10});
  EXPECT_EQ(all[0].valid_from, At(0));
  EXPECT_EQ(all[0].valid_until, At(30 * kSecond));
  EXPECT_EQ(all[1].endpoints[0].qpn, Qpn{11});
  EXPECT_EQ(all[1].valid_from, At(30 * kSecond));
  EXPECT_TRUE(all[1].beginning_seen);
  EXPECT_EQ(all[1].valid_until, std::nullopt);
  EXPECT_EQ(tracker.Statistics().restarts, 1u);
}

TEST(ConnectionLifetime, RetransmittedFirstPacketIsNoRestart) {
  TestTracker tracker;
  tracker.SetKnown({KnownTo(kFirst, KnownPairSource::kNcclLog)});
  Exchanges(tracker, kFirst, 0, 0, 0xaaaa);
  tracker.Add(
      Observation(kFirst.ToB(), 3 * kSecond).Request(kWriteOnly, 0).Reth(0x100000, 0xaaaa, 4096));

  EXPECT_THAT(tracker.Connections(), SizeIs(1));
  EXPECT_EQ(tracker.Statistics().restarts, 0u);
}

FlowRecord RequestsIn(const FlowKey& flow, int64_t start, uint32_t last_psn, uint32_t restarts) {
  FlowRecord record;
  record.flow = flow;
  record.interval_start = At(start);
  record.interval_width = std::chrono::milliseconds(100);
  record.first_seen = At(start);
  record.last_seen = At(start + 50'000);
  record.packets = 10;
  record.class_packets[static_cast<size_t>(OperationClass::kWrite)] = 10;
  record.requests.valid = true;
  record.requests.last_psn = last_psn;
  record.requests.restarts = restarts;
  return record;
}

TEST(ConnectionLifetime, FlowRecordsOfBothDirectionsRestartTheConnectionOnce) {
  TestTracker tracker;
  Exchanges(tracker, kFirst, 7'000'000, 0, 1);
  tracker.Add(RequestsIn(kFirst.ToB(), 0, 7'000'009, 0));
  tracker.Add(RequestsIn(kFirst.ToA(), 0, 12, 0));
  tracker.Add(RequestsIn(kFirst.ToB(), 5 * kSecond, 30, 1));
  tracker.Add(RequestsIn(kFirst.ToA(), 5 * kSecond, 9'000'000, 1));

  size_t closed = 0;
  for (const Connection& c : tracker.Connections()) closed += c.valid_until.has_value();

  EXPECT_EQ(closed, 1u);
  EXPECT_EQ(tracker.Statistics().restarts, 1u);
}

// A job with many queue pairs between two hosts restarts: the number of matched flows grows
// linearly with the number of queue pairs, not quadratically.
TEST(ConnectionLifetime, RestartOfManyQueuePairsTakesLinearWork) {
  for (const uint32_t count : {100u, 200u, 400u}) {
    TestTracker tracker;
    std::vector<TrueConnection> all;
    for (uint32_t i = 0; i < count; ++i) {
      all.push_back({.a = Host(1), .b = Host(2), .a_qpn = 2 * i + 2, .b_qpn = 2 * i + 3});
      Exchanges(tracker, all[i], 20'000 * (i + 1), i * 1000, 1);
      tracker.Add(RequestsIn(all[i].ToB(), 0, 20'000 * (i + 1), 0));
    }
    for (uint32_t i = 0; i < count; ++i) {
      tracker.Add(RequestsIn(all[i].ToB(), 60 * kSecond, i, 1));
    }

    size_t closed_as_true = 0;
    for (const Connection& c : tracker.Connections()) {
      closed_as_true += c.valid_until && c.state == ConnectionState::kPaired &&
                        c.endpoints[0].qpn->value + 1 == c.endpoints[1].qpn->value;
    }

    EXPECT_EQ(closed_as_true, count);
    EXPECT_EQ(tracker.Statistics().restarts, count);
    const uint64_t flows = 2 * count;
    EXPECT_LE(tracker.Statistics().flows_matched_to_close,
              flows + 2 * count * ClosingAnswers::kFlowsPerRecord)
        << "the first matching, and one per kFlowsPerRecord records: two for each restart";
  }
}

TEST(ConnectionLifetime, MirrorGapIsNoRestart) {
  TestTracker tracker;
  tracker.Add(RequestsIn(kFirst.ToB(), 0, 7'000'009, 0));
  tracker.Add(RequestsIn(kFirst.ToB(), kSecond, 7'000'009 + 200'000, 1));

  EXPECT_THAT(tracker.Connections(), SizeIs(1));
  EXPECT_EQ(tracker.Statistics().restarts_ignored, 1u);
}

TEST(ConnectionLifetime, IdleFlowsAreForgottenAndTheirSlotsReused) {
  TestTracker tracker(FlowCapacity{4});
  Exchanges(tracker, kFirst, 7'000'000, 0, 1);
  tracker.Advance(At(0));
  tracker.Advance(At(2 * 3600 * kSecond));
  EXPECT_THAT(tracker.Connections(), SizeIs(0));
  EXPECT_EQ(tracker.Statistics().flows_expired, 2u);
  for (uint32_t i = 0; i < 2; ++i) {
    Exchanges(tracker, {.a = Host(5 + i), .b = Host(9), .a_qpn = 10, .b_qpn = 20, .segment = 0},
              500'000, 2 * 3600 * kSecond, 1);
  }

  EXPECT_THAT(tracker.Connections(), SizeIs(2));
  EXPECT_EQ(tracker.Statistics().flows_refused, 0u);
}

// Two jobs share two hosts; the first one's queue pairs become idle for good, the other continues.
TEST(ConnectionLifetime, IdleFlowsOfActiveHostsAreForgotten) {
  const TrueConnection other{.a = Host(1), .b = Host(2), .a_qpn = 40, .b_qpn = 41, .segment = 0};
  TestTracker tracker;
  Exchanges(tracker, kFirst, 7'000'000, 0, 1);
  Exchanges(tracker, other, 3'000'000, 100, 1);
  for (int64_t minute = 0; minute <= 120; ++minute) {
    Exchanges(tracker, other, 3'000'010 + static_cast<uint32_t>(10 * minute), minute * 60 * kSecond,
              1);
    tracker.Advance(At(minute * 60 * kSecond));
  }
  const std::vector<Connection> all = tracker.Connections();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].endpoints[0].qpn, Qpn{40});
  EXPECT_EQ(all[0].endpoints[1].qpn, Qpn{41});
}

// Queue pairs are replaced continuously, without any sign of their end.
TEST(ConnectionLifetime, FullTableEvictsIdleFlows) {
  constexpr uint32_t kAtOnce = 8;
  constexpr uint32_t kGenerations = 40;
  TestTracker tracker(FlowCapacity{4 * 2 * kAtOnce});
  std::vector<TrueConnection> now;
  for (uint32_t generation = 0; generation < kGenerations; ++generation) {
    now.clear();
    for (uint32_t i = 0; i < kAtOnce; ++i) {
      const uint32_t number = 100 + generation * kAtOnce + i;
      now.push_back({.a = Host(1 + i % 2),
                     .b = Host(5),
                     .a_qpn = number,
                     .b_qpn = number + 0x10000,
                     .segment = 0});
      Exchanges(tracker, now.back(), 1'000'000 + 1000 * i, generation * 5 * kSecond + 500 * i, i);
    }
    tracker.Advance(At((generation + 1) * 5 * kSecond));
    tracker.Answer();
  }
  EXPECT_LT(tracker.Statistics().flows_refused, 64u) << "of 6,400 packets";
  EXPECT_EQ(tracker.Statistics().flows_evicted, 2 * kAtOnce * (kGenerations - 4));
  const std::vector<Connection> all = tracker.Connections();
  EXPECT_THAT(all, SizeIs(4 * kAtOnce));
  for (const TrueConnection& connection : now) {
    EXPECT_TRUE(std::ranges::any_of(all, [&](const Connection& one) {
      return one.state == ConnectionState::kPaired &&
             one.endpoints[0].qpn == Qpn{connection.a_qpn} &&
             one.endpoints[1].qpn == Qpn{connection.b_qpn};
    })) << connection.a_qpn;
  }
  EXPECT_EQ(tracker.Answer()->size(), all.size());
}

TEST(ConnectionLifetime, FullHostPairEvictsItsIdleFlows) {
  ConnectionOptions options;
  options.limits.flows_per_side = 1;
  TestTracker tracker(options);
  tracker.Advance(At(0));
  Exchanges(tracker, kFirst, 7'000'000, 0, 1);
  tracker.Advance(At(5 * kSecond));
  Exchanges(tracker, kSecondUser, 9'000'000, 5 * kSecond, 2);
  EXPECT_GT(tracker.Statistics().flows_refused, 0u) << "it may continue at any time";
  tracker.Advance(At(20 * kSecond));
  Exchanges(tracker, kSecondUser, 9'000'100, 20 * kSecond, 2);
  const std::vector<Connection> all = tracker.Connections();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].endpoints[0].qpn, Qpn{11});
}

// Whether a flow is idle depends on the event time, not on another switch's clock.
TEST(ConnectionLifetime, WrongClockEvictsNothing) {
  TestTracker tracker(FlowCapacity{2});
  tracker.Advance(At(0));
  Exchanges(tracker, kFirst, 7'000'000, 0, 1);
  Exchanges(tracker, kSecondUser, 9'000'000, 3600 * kSecond, 2);
  tracker.Advance(At(kSecond));
  Exchanges(tracker, kSecondUser, 9'000'100, 3601 * kSecond, 2);
  EXPECT_EQ(tracker.Statistics().flows_evicted, 0u);
  ASSERT_THAT(tracker.Connections(), SizeIs(1));
  EXPECT_EQ(tracker.Connections()[0].endpoints[0].qpn, Qpn{10});
}

// The number of the replier's end belongs to an old, idle flow: it must not be evicted for the
// other end.
TEST(ConnectionLifetime, BothEndsOfAnExchangeFitIntoAFullTable) {
  TestTracker tracker(FlowCapacity{4});
  tracker.Advance(At(0));
  const TrueConnection other{.a = Host(7), .b = Host(8), .a_qpn = 70, .b_qpn = 80, .segment = 0};
  Exchanges(tracker, kFirst, 7'000'000, 0, 1);
  Exchanges(tracker, other, 3'000'000, 1000, 1);
  tracker.Advance(At(60 * kSecond));
  Connect(tracker, kSecondUser, 2, 60 * kSecond);  // has kFirst's number at one end
  Exchanges(tracker, kSecondUser, 9'000'000, 60 * kSecond + 200, 2);
  const std::vector<Connection> all = tracker.Connections();
  EXPECT_TRUE(std::ranges::any_of(all, [](const Connection& one) {
    return one.state == ConnectionState::kPaired && one.endpoints[0].qpn == Qpn{11} &&
           one.endpoints[1].qpn == Qpn{20} && !one.valid_until;
  }));
}

// Recent results for the pair remain valid for the remaining flows.
TEST(ConnectionLifetime, ConnectionEndingAfterAnEvictionKeepsItsPartner) {
  TestTracker tracker(FlowCapacity{6});
  tracker.Advance(At(0));
  const auto connection = [](uint32_t number) {
    return TrueConnection{
        .a = Host(1), .b = Host(2), .a_qpn = number, .b_qpn = 1000 + number, .segment = 0};
  };
  for (uint32_t i = 0; i < 3; ++i) {
    Exchanges(tracker, connection(10 + i), 1'000'000 * (i + 1), 300 * i, i + 1);
  }
  tracker.Advance(At(60 * kSecond));
  for (uint32_t i = 1; i < 3; ++i) {
    Exchanges(tracker, connection(10 + i), 1'000'000 * (i + 1) + 10, 60 * kSecond + 300 * i, i + 1);
  }
  // The first one is evicted for two more; then the others restart.
  Exchanges(tracker, connection(40), 5'000'000, 61 * kSecond, 9);
  EXPECT_EQ(tracker.Statistics().flows_evicted, 2u);
  for (uint32_t i = 1; i < 3; ++i) {
    Connect(tracker, connection(10 + i), 7 + i, 70 * kSecond);
  }
  size_t closed = 0;
  for (const Connection& one : tracker.Connections()) {
    if (!one.valid_until) continue;
    ++closed;
    EXPECT_EQ(one.state, ConnectionState::kPaired);
  }
  EXPECT_EQ(closed, 2u);
}

TEST(ConnectionLifetime, FullTableRefusesAndCounts) {
  TestTracker tracker(FlowCapacity{2});
  Exchanges(tracker, kFirst, 7'000'000, 0, 1);
  tracker.Add(Observation(kSecondUser.ToA(), 400).Ack(5));

  EXPECT_THAT(tracker.Connections(), SizeIs(1));
  EXPECT_EQ(tracker.Statistics().flows_refused, 1u);
}

}  // namespace
}  // namespace rocescope
