// SPDX-License-Identifier: BSD-3-Clause
// Known pairs with and without matching traffic.
#include "analytics/connection/known_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "analytics/connection/connection_tracker.h"
#include "analytics/connection/observation_builder.h"

namespace rocescope {
namespace {

using ::testing::SizeIs;

const TrueConnection kPair{.a = Host(1), .b = Host(2), .a_qpn = 10, .b_qpn = 20, .segment = 0};

TrueConnection InSegment(TrueConnection c, Segment segment) {
  c.segment = segment;
  return c;
}

// Packets of both directions at different taps: only known pairs can connect them.
void Show(TestTracker& tracker, const TrueConnection& c, int64_t time = 0) {
  tracker.Add(Observation(c.ToB(), time).AtTap(0).Request(kSendOnly, 5'000'000));
  tracker.Add(Observation(c.ToA(), time + 9).AtTap(1).Ack(5'000'000));
}

// Reports that a flow has traffic, by the INT hop of one of its packets.
void ShowHop(TestTracker& tracker, const FlowKey& flow, Timestamp time) {
  RecordBatch batch;
  batch.hops.push_back(
      {.packet = {.known = true, .flow = flow, .opcode = kSendOnly}, .event_time = time});
  tracker.Add(batch);
}

size_t PairedIn(const ConnectionTracker& tracker) {
  const std::vector<Connection> all = tracker.Connections();
  return static_cast<size_t>(std::count_if(all.begin(), all.end(), [](const Connection& c) {
    return c.state == ConnectionState::kPaired;
  }));
}

TEST(KnownPairsOfATracker, BelongToTheSegmentOfTheirPackets) {
  TestTracker tracker;
  tracker.SetKnown({KnownTo(kPair, KnownPairSource::kRdmaResource)});
  Show(tracker, InSegment(kPair, 7));

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].state, ConnectionState::kPaired);
  EXPECT_EQ(all[0].endpoints[0].segment, 7u);
  EXPECT_EQ(all[0].endpoints[1].segment, 7u);
}

// Hosts use the same numbers: two pairs of four kernels report the same, and traffic shows which
// belong together.
TEST(KnownPairsOfATracker, MutualKernelReportsAreMatchedByTraffic) {
  TestTracker tracker;
  tracker.SetKnown({}, {{.address = Host(1), .local = {10}, .remote = {20}},
                        {.address = Host(2), .local = {20}, .remote = {10}},
                        {.address = Host(3), .local = {10}, .remote = {20}},
                        {.address = Host(4), .local = {20}, .remote = {10}}});
  ShowHop(tracker, kPair.ToB(), At(0));
  ShowHop(tracker, TrueConnection{.a = Host(3), .b = Host(4), .a_qpn = 10, .b_qpn = 20}.ToB(),
          At(0));

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(2));
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(all[i].state, ConnectionState::kPaired);
    EXPECT_EQ(all[i].endpoints[0].address, Host(i == 0 ? 1 : 3));
    EXPECT_EQ(all[i].endpoints[1].address, Host(i == 0 ? 2 : 4));
  }
}

TEST(KnownPairsOfATracker, UnconfirmedKernelReportsAreIgnored) {
  TestTracker tracker;
  tracker.SetKnown({}, {{.address = Host(1), .local = {10}, .remote = {20}},
                        {.address = Host(2), .local = {20}, .remote = {11}}});
  ShowHop(tracker, kPair.ToB(), At(0));
  EXPECT_EQ(PairedIn(tracker), 0u);
}

TEST(KnownPairsOfATracker, AreUnusedIfSeveralSegmentsShowTheirPackets) {
  TestTracker tracker;
  tracker.SetKnown({KnownTo(kPair, KnownPairSource::kRdmaResource)});
  Show(tracker, InSegment(kPair, 7));
  Show(tracker, InSegment(kPair, 8));

  EXPECT_EQ(PairedIn(tracker), 0u);
  EXPECT_EQ(tracker.Statistics().known_ambiguous, 1u);
}

// This happens if two hosts with eight NICs are reported as all combinations of their addresses.
TEST(KnownPairsOfATracker, DoNotOccupyTheFlowTable) {
  TestTracker tracker(FlowCapacity{2});
  std::vector<KnownPair> known;
  for (uint32_t a = 0; a < 8; ++a) {
    for (uint32_t b = 0; b < 8; ++b) {
      known.push_back(
          KnownTo({.a = Host(1 + a), .b = Host(100 + b), .a_qpn = 10, .b_qpn = 20, .segment = 0},
                  KnownPairSource::kRdmaResource));
    }
  }
  tracker.SetKnown(known);
  Show(tracker, {.a = Host(3), .b = Host(105), .a_qpn = 10, .b_qpn = 20, .segment = 0});

  EXPECT_THAT(tracker.Connections(), SizeIs(1));
  EXPECT_EQ(PairedIn(tracker), 1u);
  EXPECT_EQ(tracker.Statistics().flows_refused, 0u);
}

TEST(KnownPairsOfATracker, IdentifyAnUnobservedEnd) {
  TestTracker tracker;
  tracker.SetKnown({KnownTo(kPair, KnownPairSource::kNcclLog)});
  tracker.Add(Observation(kPair.ToB(), 0).Request(kSendOnly, 77));

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].state, ConnectionState::kPaired);
  EXPECT_EQ(all[0].endpoints[0].qpn, Qpn{10});
  EXPECT_EQ(all[0].endpoints[1].qpn, Qpn{20});
}

TEST(KnownPairsOfATracker, MayArriveAfterTheTrafficAndReplaceEarlierPairs) {
  TestTracker tracker;
  TrueConnection old = kPair;
  old.a_qpn = 99;
  tracker.SetKnown({KnownTo(old, KnownPairSource::kNcclLog)});
  Show(tracker, kPair);
  tracker.SetKnown({KnownTo(kPair, KnownPairSource::kNcclLog)});

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].endpoints[0].qpn, Qpn{10});
}

TEST(KnownPairsOfATracker, EndWithTheOwnerOfTheNumber) {
  TestTracker tracker;
  tracker.SetKnown({KnownTo(kPair, KnownPairSource::kNcclLog)});
  const auto first_packet = [&](int64_t time, uint32_t rkey) {
    tracker.Add(Observation(kPair.ToB(), time).Request(kWriteOnly, 0).Reth(0x1000, rkey, 64));
  };
  first_packet(0, 1);
  first_packet(60'000'000, 2);  // a minute later with another buffer: the next owner

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(2));
  for (const Connection& c : all) {
    EXPECT_EQ(c.state == ConnectionState::kPaired, c.valid_until.has_value());
  }
}

TEST(KnownPairsOfATracker, BeyondTheLimitAreCounted) {
  ConnectionOptions options;
  options.known_pairs = 1;
  TestTracker tracker(options);
  TrueConnection more = kPair;
  more.a_qpn = 11;
  tracker.SetKnown(
      {KnownTo(kPair, KnownPairSource::kNcclLog), KnownTo(more, KnownPairSource::kNcclLog)});

  EXPECT_EQ(tracker.Statistics().known_refused, 1u);
}

}  // namespace
}  // namespace rocescope
