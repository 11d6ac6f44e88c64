// SPDX-License-Identifier: BSD-3-Clause
// Each scenario defines a truth, adds its packets to the tracker and compares the answer with it.
#include "analytics/connection/connection_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "analytics/connection/observation_builder.h"

namespace rocescope {
namespace {

using ::testing::SizeIs;

std::vector<Connection> Paired(const ConnectionTracker& tracker) {
  std::vector<Connection> all = tracker.Connections();
  std::erase_if(all, [](const Connection& c) { return c.state != ConnectionState::kPaired; });
  return all;
}

bool Is(const Connection& c, const TrueConnection& truth) {
  ConnectionEndpoint a{.segment = truth.segment, .address = truth.a, .qpn = Qpn{truth.a_qpn}};
  ConnectionEndpoint b{.segment = truth.segment, .address = truth.b, .qpn = Qpn{truth.b_qpn}};
  if (b < a) std::swap(a, b);
  return c.state == ConnectionState::kPaired && c.endpoints[0] == a && c.endpoints[1] == b;
}

// The answer for the true pair of ends; nullptr: none.
const Connection* FindTrue(const std::vector<Connection>& all, const TrueConnection& truth) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Connection& c) { return Is(c, truth); });
  return found == all.end() ? nullptr : &*found;
}

const ConnectionEvidence* EvidenceOf(const Connection& c, EvidenceKind kind) {
  for (const ConnectionEvidence& evidence : c.evidence) {
    if (evidence.kind == kind) return &evidence;
  }
  return nullptr;
}

// A SEND from a to b, acknowledged 5 µs later.
void Exchange(TestTracker& tracker, const TrueConnection& c, uint32_t psn, int64_t time,
              TapId tap = 0) {
  tracker.Add(Observation(c.ToB(), time).AtTap(tap).Request(kSendOnly, psn));
  tracker.Add(Observation(c.ToA(), time + 5).AtTap(tap).Ack(psn));
}

std::vector<TrueConnection> BetweenTwoHosts(size_t count) {
  std::vector<TrueConnection> all;
  for (uint32_t i = 0; i < count; ++i) {
    // Numbers that do not correspond in order or distance.
    all.push_back({.a = Host(1), .b = Host(2), .a_qpn = 100 + (i * 7) % 64, .b_qpn = 900 - i * 3});
  }
  return all;
}

TEST(ConnectionTracker, CmExchangeIdentifiesBothEnds) {
  TestTracker tracker;
  ManagementRecord request = Management(wire::CmAttribute::kConnectRequest, Host(1), Host(2), 0);
  request.message.local_comm_id = 77;
  request.message.local_qpn = {0x2b};
  tracker.Add(request);
  ManagementRecord reply = Management(wire::CmAttribute::kConnectReply, Host(2), Host(1), 300);
  reply.message.local_comm_id = 88;
  reply.message.remote_comm_id = 77;
  reply.message.local_qpn = {0x2c};
  tracker.Add(reply);

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_TRUE(Is(all[0], {.a = Host(1), .b = Host(2), .a_qpn = 0x2b, .b_qpn = 0x2c}));
  EXPECT_GE(all[0].confidence, 0.99);
  EXPECT_EQ(all[0].valid_from, At(300));
  EXPECT_TRUE(all[0].beginning_seen);
  const ConnectionEvidence* evidence = EvidenceOf(all[0], EvidenceKind::kManagement);
  ASSERT_NE(evidence, nullptr);
  EXPECT_EQ(evidence->comm_ids[0], 77u);
  EXPECT_EQ(evidence->comm_ids[1], 88u);
}

TEST(ConnectionTracker, ReplyToAnotherHostsRequestIsIgnored) {
  TestTracker tracker;
  ManagementRecord request = Management(wire::CmAttribute::kConnectRequest, Host(1), Host(2), 0);
  request.message.local_comm_id = 77;
  request.message.local_qpn = {0x2b};
  tracker.Add(request);
  ManagementRecord reply = Management(wire::CmAttribute::kConnectReply, Host(3), Host(1), 300);
  reply.message.remote_comm_id = 77;
  reply.message.local_qpn = {0x2c};
  tracker.Add(reply);

  EXPECT_THAT(tracker.Connections(), SizeIs(0));
  EXPECT_EQ(tracker.Statistics().management_unmatched, 1u);
}

// The two connections and packets of the capture tree2_node0, as listed by tshark: frames 65 to
// 126, with the first bytes of the clear-to-sends from their payloads.
TEST(ConnectionTracker, RethEchoPairsTheTreesConnections) {
  const IpAddress a = IpAddress::FromV4(0xac1e0019);  // 172.30.0.25
  const IpAddress b = IpAddress::FromV4(0xac1e000c);  // 172.30.0.12
  const TrueConnection to_46{.a = a, .b = b, .a_qpn = 39, .b_qpn = 46};
  const TrueConnection to_43{.a = a, .b = b, .a_qpn = 38, .b_qpn = 43};
  TestTracker tracker;
  tracker.Add(Observation(to_46.ToA(), 0)
                  .Request(kWriteOnly, 0)
                  .Reth(0x7b112407e100, 0x68b6, 64)
                  .Grants(0x742640f30000, 0x80000, 0x8f09));
  tracker.Add(Observation(to_46.ToB(), 42).Ack(0));
  tracker.Add(Observation(to_43.ToB(), 7851)
                  .Request(kWriteOnly, 0)
                  .Reth(0x74265001f100, 0x7c8d, 64)
                  .Grants(0x7b1139b30000, 0x80000, 0x6753));
  tracker.Add(Observation(to_43.ToA(), 8206).Ack(0));
  tracker.Add(Observation(to_43.ToA(), 8228)
                  .Request(kWriteOnlyImmediate, 0)
                  .Reth(0x7b1139b30000, 0x6753, 1));
  tracker.Add(Observation(to_43.ToB(), 8240).Ack(0));
  tracker.Add(Observation(to_46.ToB(), 8272)
                  .Request(kWriteOnlyImmediate, 0)
                  .Reth(0x742640f30000, 0x8f09, 1));
  tracker.Add(Observation(to_46.ToA(), 8512).Ack(0));
  // The second round: 24 packets in each direction after a clear-to-send each.
  tracker.Add(Observation(to_46.ToA(), 10020000)
                  .Request(kWriteOnly, 1)
                  .Reth(0x7b112407e300, 0x68b6, 64)
                  .Grants(0x742640fb0000, 0x80000, 0x8f09));
  tracker.Add(Observation(to_46.ToB(), 10020046).Ack(1));
  tracker.Add(Observation(to_43.ToB(), 10021000)
                  .Request(kWriteOnly, 1)
                  .Reth(0x74265001f300, 0x7c8d, 64)
                  .Grants(0x7b1139bb0000, 0x80000, 0x6753));
  tracker.Add(Observation(to_43.ToA(), 10021133).Ack(1));
  for (const auto& [c, start] : {std::pair(to_43.Reversed(), 10021134), {to_46, 10021400}}) {
    const bool is_43 = c.b_qpn == 38;
    tracker.Add(Observation(c.ToB(), start)
                    .Request(kWriteFirst, 1, false)
                    .Reth(is_43 ? 0x7b1139bb0000 : 0x742640fb0000, is_43 ? 0x6753 : 0x8f09, 24576));
    for (uint32_t psn = 2; psn < 24; ++psn) {
      tracker.Add(Observation(c.ToB(), start + psn).Request(kWriteMiddle, psn, false));
    }
    tracker.Add(Observation(c.ToB(), start + 24).Request(kWriteLastImmediate, 24));
    tracker.Add(Observation(c.ToA(), start + 160).Ack(24));
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(2));
  const Connection* found = FindTrue(all, to_46);
  ASSERT_NE(found, nullptr);
  EXPECT_GE(found->confidence, 0.9);
  const ConnectionEvidence* echo = EvidenceOf(*found, EvidenceKind::kRethEcho);
  ASSERT_NE(echo, nullptr);
  EXPECT_EQ(echo->count, 2u);
  EXPECT_EQ(echo->address, 0x742640f30000u);
  EXPECT_EQ(echo->rkey, 0x8f09u);
  EXPECT_EQ(echo->cause_time, At(0));
  EXPECT_EQ(echo->echo_time, At(8272));
  EXPECT_EQ(found->valid_from, At(0));
  EXPECT_TRUE(found->beginning_seen);
  const Connection* other = FindTrue(all, to_43);
  ASSERT_NE(other, nullptr);
  EXPECT_GE(other->confidence, 0.9);
}

TEST(ConnectionTracker, OneRethEchoIsNotCertain) {
  const TrueConnection c{.a = Host(1), .b = Host(2), .a_qpn = 10, .b_qpn = 20};
  TestTracker tracker;
  tracker.Add(Observation(c.ToA(), 0)
                  .Request(kWriteOnly, 5)
                  .Reth(0x1000, 1, 64)
                  .Grants(0x7f0000001000, 0x8000, 0xabcd));
  tracker.Add(Observation(c.ToB(), 50).Request(kWriteOnly, 9).Reth(0x7f0000001000, 0xabcd, 4096));

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_TRUE(Is(all[0], c));
  EXPECT_LT(all[0].confidence, 0.9);
}

TEST(ConnectionTracker, SameAddressWithAnotherKeyIsNoRethEcho) {
  const TrueConnection c{.a = Host(1), .b = Host(2), .a_qpn = 10, .b_qpn = 20};
  TestTracker tracker;
  tracker.Add(Observation(c.ToA(), 0)
                  .Request(kWriteOnly, 5)
                  .Reth(0x1000, 1, 64)
                  .Grants(0x7f0000001000, 0x8000, 0xabcd));
  tracker.Add(Observation(c.ToB(), 50).Request(kWriteOnly, 9).Reth(0x7f0000001000, 0xabce, 4096));

  for (const Connection& found : tracker.Connections()) {
    EXPECT_EQ(found.state, ConnectionState::kOneSided);
  }
}

TEST(ConnectionTracker, PsnEchoPairsEightConnectionsWithRandomStarts) {
  const std::vector<TrueConnection> truth = BetweenTwoHosts(8);
  TestTracker tracker;
  int64_t time = 0;
  for (uint32_t round = 0; round < 10; ++round) {
    for (size_t i = 0; i < truth.size(); ++i) {
      const uint32_t start = static_cast<uint32_t>(i * 1'900'000 + 12345);
      Exchange(tracker, truth[i], start + round, time += 3);
    }
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(8));
  for (const TrueConnection& c : truth) {
    const Connection* found = FindTrue(all, c);
    ASSERT_NE(found, nullptr);
    EXPECT_GE(found->confidence, 0.95);
    const ConnectionEvidence* echo = EvidenceOf(*found, EvidenceKind::kPsnEcho);
    ASSERT_NE(echo, nullptr);
    EXPECT_EQ(echo->count, 10u);
    EXPECT_EQ(echo->of, 10u);
    EXPECT_EQ(echo->echo_time - echo->cause_time, std::chrono::microseconds(5));
  }
}

TEST(ConnectionTracker, PsnWrapDoesNotDisturbTheEcho) {
  const std::vector<TrueConnection> truth = BetweenTwoHosts(2);
  TestTracker tracker;
  for (uint32_t i = 0; i < 20; ++i) {
    Exchange(tracker, truth[0], (0xfffff6 + i) & k24BitMask, i * 20);
    Exchange(tracker, truth[1], 500 + i, i * 20 + 7);
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(2));
  EXPECT_NE(FindTrue(all, truth[0]), nullptr);
  EXPECT_NE(FindTrue(all, truth[1]), nullptr);
}

TEST(ConnectionTracker, OnePsnEchoAmongOthersIsNotCertain) {
  const std::vector<TrueConnection> truth = BetweenTwoHosts(4);
  TestTracker tracker;
  for (uint32_t i = 0; i < 4; ++i) Exchange(tracker, truth[i], 1000 * i, 10 * i);

  for (const Connection& found : tracker.Connections()) EXPECT_LT(found.confidence, 0.9);
}

// All requests of a round are sent before the first acknowledgement: PSNs cannot distinguish the
// four stripes.
void LockStepRound(TestTracker& tracker, const std::vector<TrueConnection>& truth, uint32_t psn,
                   int64_t time) {
  for (size_t i = 0; i < truth.size(); ++i) {
    tracker.Add(
        Observation(truth[i].ToB(), time + static_cast<int64_t>(i)).Request(kSendOnly, psn));
  }
  for (size_t i = 0; i < truth.size(); ++i) {
    tracker.Add(Observation(truth[i].ToA(), time + 20 + static_cast<int64_t>(i)).Ack(psn));
  }
}

TEST(ConnectionTracker, LockStepStripesStayAmbiguousWithTheTruthAmongTheCandidates) {
  const std::vector<TrueConnection> truth = BetweenTwoHosts(4);
  TestTracker tracker;
  for (uint32_t psn = 0; psn < 200; ++psn) LockStepRound(tracker, truth, psn, psn * 100);

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(8));
  for (const Connection& found : all) {
    EXPECT_EQ(found.state, ConnectionState::kAmbiguous);
    ASSERT_THAT(found.candidates, SizeIs(4));
    double sum = 0;
    for (const ConnectionCandidate& candidate : found.candidates) sum += candidate.posterior;
    EXPECT_LE(sum, 1.0001);
    EXPECT_NEAR(found.candidates[0].posterior, found.candidates[3].posterior, 0.01);
  }
}

// A spine switch sees the data of one stripe (to QP 101) and the responses of another (to QP 202):
// in lock step from PSN 0 on, they always look like partners.
TEST(ConnectionTracker, LonePairFromPsnZeroIsNotReportedFromPsnEchoAlone) {
  const TrueConnection seen{.a = Host(1), .b = Host(2), .a_qpn = 202, .b_qpn = 101};
  for (const uint32_t messages : {3u, 10u, 1000u}) {
    TestTracker tracker;
    for (uint32_t psn = 0; psn < messages; ++psn) {
      Exchange(tracker, seen, psn, psn * 50);
      Exchange(tracker, seen.Reversed(), psn, psn * 50 + 20);
    }

    const std::vector<Connection> all = tracker.Connections();

    ASSERT_THAT(all, SizeIs(2)) << messages;
    for (const Connection& c : all) {
      EXPECT_EQ(c.state, ConnectionState::kAmbiguous) << messages;
      EXPECT_THAT(c.candidates, SizeIs(1)) << messages;
    }
  }
}

TEST(ConnectionTracker, EvidenceContainsTheEchoingEnd) {
  const TrueConnection c{.a = Host(1), .b = Host(2), .a_qpn = 10, .b_qpn = 20};
  TestTracker tracker;
  for (uint32_t psn = 0; psn < 5; ++psn) Exchange(tracker, c, 7'000'000 + psn, psn * 50);

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  ASSERT_THAT(all[0].evidence, SizeIs(1));
  EXPECT_EQ(all[0].endpoints[all[0].evidence[0].echoed_by].address, Host(2)) << "b acknowledges";
}

TEST(ConnectionTracker, RethEchoResolvesLockStepStripes) {
  const std::vector<TrueConnection> truth = BetweenTwoHosts(4);
  TestTracker tracker;
  for (uint32_t psn = 0; psn < 50; ++psn) LockStepRound(tracker, truth, psn, psn * 100);
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint64_t buffer = 0x7f0000000000 + 0x100000 * i + 0x1000 * round;
      const int64_t time = 10000 + 1000 * round + 10 * i;
      tracker.Add(Observation(truth[i].ToA(), time)
                      .Request(kWriteOnly, round)
                      .Reth(0x5000 + i, 7, 64)
                      .Grants(buffer, 0x1000, 0x4000 + i));
      tracker.Add(Observation(truth[i].ToB(), time + 500)
                      .Request(kWriteOnly, 50 + round)
                      .Reth(buffer, 0x4000 + i, 4096));
    }
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(4));
  for (const TrueConnection& c : truth) {
    const Connection* found = FindTrue(all, c);
    ASSERT_NE(found, nullptr);
    EXPECT_GE(found->confidence, 0.9);
  }
}

// One clear-to-send is sent on the first stripe; the data is spread over all four at offsets.
TEST(ConnectionTracker, GrantUsedByManyMakesAStripeGroupAndPsnEchoDecidesInside) {
  const std::vector<TrueConnection> truth = BetweenTwoHosts(5);
  TestTracker tracker;
  for (uint32_t round = 0; round < 12; ++round) {
    const int64_t time = round * 1000;
    const uint64_t buffer = 0x7f0000000000 + 0x8000 * round;
    tracker.Add(Observation(truth[0].ToA(), time)
                    .Request(kWriteOnly, 70 + round)
                    .Reth(0x5000, 7, 64)
                    .Grants(buffer, 0x4000, 0x4321));
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t psn = 100000 * i + round;  // after some time the stripes differ
      tracker.Add(Observation(truth[i].ToB(), time + 10 + i)
                      .Request(kWriteOnly, psn)
                      .Reth(buffer + 0x1000 * i, 0x4321, 0x1000));
      tracker.Add(Observation(truth[i].ToA(), time + 30 + i).Ack(psn));
    }
    Exchange(tracker, truth[4], 8'000'000 + round, time + 50);
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(5));
  for (uint32_t i = 0; i < 5; ++i) {
    const Connection* found = FindTrue(all, truth[i]);
    ASSERT_NE(found, nullptr) << i;
    EXPECT_GE(found->confidence, 0.9) << i;
    EXPECT_EQ(found->stripe_group, i < 4 ? 1u : 0u) << i;
  }
}

// Tap 1's clock is two seconds ahead: across taps an acknowledgement would precede its request.
TEST(ConnectionTracker, TapsWithSkewedClocksAgree) {
  const std::vector<TrueConnection> truth = BetweenTwoHosts(3);
  TestTracker tracker;
  for (uint32_t round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 3; ++i) {
      const uint32_t psn = 3'000'000 * i + round;
      const int64_t time = round * 100 + i * 7;
      Exchange(tracker, truth[i], psn, time, 0);
      Exchange(tracker, truth[i], psn, time + 2'000'000, 1);
    }
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(3));
  for (const TrueConnection& c : truth) ASSERT_NE(FindTrue(all, c), nullptr);
}

// Requests at one tap and responses at the other: PSNs prove nothing.
TEST(ConnectionTracker, ResponsesAtAnotherTapThanTheRequestsAreNoEvidence) {
  const TrueConnection c{.a = Host(1), .b = Host(2), .a_qpn = 10, .b_qpn = 20};
  TestTracker tracker;
  for (uint32_t psn = 0; psn < 20; ++psn) {
    tracker.Add(Observation(c.ToB(), psn * 10).AtTap(0).Request(kSendOnly, psn));
    tracker.Add(Observation(c.ToA(), psn * 10 + 5).AtTap(1).Ack(psn));
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(2));
  for (const Connection& found : all) EXPECT_EQ(found.state, ConnectionState::kOneSided);
}

TEST(ConnectionTracker, OneDirectionAloneIsOneSided) {
  const TrueConnection c{.a = Host(1), .b = Host(2), .a_qpn = 10, .b_qpn = 20};
  TestTracker tracker;
  for (uint32_t psn = 0; psn < 20; ++psn) {
    tracker.Add(Observation(c.ToB(), psn * 10).Request(kSendOnly, psn));
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].state, ConnectionState::kOneSided);
  EXPECT_EQ(all[0].confidence, 0);
  EXPECT_EQ(all[0].endpoints[0].address, Host(2));
  EXPECT_EQ(all[0].endpoints[0].qpn, Qpn{20});
  EXPECT_EQ(all[0].endpoints[1].address, Host(1));
  EXPECT_EQ(all[0].endpoints[1].qpn, std::nullopt);
}

// READ: request PSN p reserves p to p+3; the responses use them, but only p belongs to a request.
TEST(ConnectionTracker, ReadResponsesEchoTheirRequests) {
  const std::vector<TrueConnection> truth = BetweenTwoHosts(4);
  TestTracker tracker;
  for (uint32_t round = 0; round < 10; ++round) {
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t psn = 2'000'000 * i + 4 * round;
      const int64_t time = round * 100 + i * 20;
      tracker.Add(Observation(truth[i].ToB(), time)
                      .Request(kReadRequestOpcode, psn)
                      .Reth(0x9000 * i, 3, 4 * 4096));
      tracker.Add(Observation(truth[i].ToA(), time + 5).Response(kReadResponseFirst, psn));
      tracker.Add(Observation(truth[i].ToA(), time + 6).Response(kReadResponseMiddle, psn + 1));
      tracker.Add(Observation(truth[i].ToA(), time + 7).Response(kReadResponseMiddle, psn + 2));
      tracker.Add(Observation(truth[i].ToA(), time + 8).Response(kReadResponseLast, psn + 3));
    }
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(4));
  for (const TrueConnection& c : truth) {
    const Connection* found = FindTrue(all, c);
    ASSERT_NE(found, nullptr);
    EXPECT_GE(found->confidence, 0.9);
    EXPECT_EQ(found->evidence[0].of, 10u);
  }
}

TEST(ConnectionTracker, SameNumbersOnOtherHostsAndSegmentsStaySeparate) {
  TestTracker tracker;
  std::vector<TrueConnection> truth;
  for (uint32_t host = 0; host < 20; ++host) {
    for (Segment segment = 0; segment < 2; ++segment) {
      const uint32_t other = 100 + (host + segment) % 20;
      truth.push_back(
          {.a = Host(host), .b = Host(other), .a_qpn = 38, .b_qpn = 39, .segment = segment});
      truth.push_back({.a = Host(host),
                       .b = Host(other),
                       .a_qpn = 40 + segment,
                       .b_qpn = 37,
                       .segment = segment});
    }
  }
  for (uint32_t round = 0; round < 10; ++round) {
    for (size_t i = 0; i < truth.size(); ++i) {
      Exchange(tracker, truth[i], static_cast<uint32_t>(i * 1000 + round),
               static_cast<int64_t>(round * 1000 + i * 10));
    }
  }

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(truth.size()));
  for (const TrueConnection& c : truth) EXPECT_NE(FindTrue(all, c), nullptr);
}

TEST(ConnectionTracker, OrderAcrossHostPairsDoesNotMatter) {
  std::vector<std::vector<ObservationRecord>> pairs;
  for (uint32_t pair = 0; pair < 5; ++pair) {
    const TrueConnection c{.a = Host(pair), .b = Host(50 - pair), .a_qpn = 10, .b_qpn = 20};
    const TrueConnection d{.a = Host(pair), .b = Host(50 - pair), .a_qpn = 11, .b_qpn = 21};
    std::vector<ObservationRecord>& records = pairs.emplace_back();
    for (uint32_t i = 0; i < 6; ++i) {
      // Grants of c are used on both flows: a stripe group in every pair.
      records.push_back(Observation(c.ToA(), i * 100)
                            .Request(kWriteOnly, 70 + i)
                            .Reth(0x5000, 7, 64)
                            .Grants(0x100000 + i * 0x1000, 0x1000, 5));
      for (const TrueConnection& stripe : {c, d}) {
        const uint32_t psn = stripe.a_qpn * 1000 + i;
        records.push_back(Observation(stripe.ToB(), i * 100 + 10)
                              .Request(kWriteOnly, psn)
                              .Reth(0x100000 + i * 0x1000, 5, 0x800));
        records.push_back(Observation(stripe.ToA(), i * 100 + 20).Ack(psn));
      }
    }
  }
  TestTracker one_by_one;
  for (const auto& records : pairs) {
    for (const ObservationRecord& record : records) one_by_one.Add(record);
  }
  TestTracker interleaved;
  for (size_t i = 0; i < pairs[0].size(); ++i) {
    for (size_t pair = pairs.size(); pair-- > 0;) interleaved.Add(pairs[pair][i]);
  }

  const std::vector<Connection> a = one_by_one.Connections();
  const std::vector<Connection> b = interleaved.Connections();

  ASSERT_THAT(a, SizeIs(10));
  ASSERT_THAT(b, SizeIs(10));
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].endpoints, b[i].endpoints);
    EXPECT_EQ(a[i].confidence, b[i].confidence);
    EXPECT_EQ(a[i].stripe_group, b[i].stripe_group);
    EXPECT_EQ(a[i].stripe_group, i / 2 + 1);
  }
}

TEST(ConnectionTracker, KnownPairJoinsFlowsWithoutOtherEvidence) {
  const TrueConnection c{.a = Host(1), .b = Host(2), .a_qpn = 10, .b_qpn = 20};
  const TrueConnection wrong_hosts{.a = Host(3), .b = Host(4), .a_qpn = 10, .b_qpn = 20};
  TestTracker tracker;
  tracker.SetKnown({KnownTo(c, KnownPairSource::kRdmaResource),
                    KnownTo(wrong_hosts, KnownPairSource::kRdmaResource)});
  tracker.Add(Observation(c.ToB(), 0).Request(kSendOnly, 77));
  tracker.Add(Observation(TrueConnection{c}.ToA(), 9).AtTap(3).Ack(77));

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1)) << "a pair without traffic is no connection yet";
  EXPECT_TRUE(Is(all[0], c));
  EXPECT_GE(all[0].confidence, 0.9);
  EXPECT_EQ(all[0].evidence[0].kind, EvidenceKind::kRdmaResource);
}

TEST(ConnectionTracker, KnownPairContradictedByTrafficHasLowConfidence) {
  const std::vector<TrueConnection> truth = BetweenTwoHosts(2);
  TestTracker tracker;
  TrueConnection wrong = truth[0];
  wrong.b_qpn = truth[1].b_qpn;
  tracker.SetKnown({KnownTo(wrong, KnownPairSource::kNcclLog)});
  for (uint32_t round = 0; round < 40; ++round) {
    Exchange(tracker, truth[0], 500 + round, round * 20);
    Exchange(tracker, truth[1], 900'000 + round, round * 20 + 9);
  }

  for (const Connection& found : Paired(tracker)) {
    EXPECT_TRUE(Is(found, truth[0]) || Is(found, truth[1]) || found.confidence < 0.9);
  }
}

TEST(ConnectionTracker, DatagramsAndManagementPacketsAreNoConnections) {
  TestTracker tracker;
  ObservationRecord datagram = Observation(
      {.source = Host(1), .destination = Host(2), .destination_qpn = {99}, .segment = 0}, 0);
  datagram.kind = ObservationKind::kDatagram;
  tracker.Add(datagram);
  FlowRecord flow;
  flow.flow = {.source = Host(1), .destination = Host(2), .destination_qpn = {1}, .segment = 0};
  flow.packets = 3;
  tracker.Add(flow);

  EXPECT_THAT(tracker.Connections(), SizeIs(0));
  EXPECT_EQ(tracker.Statistics().datagrams, 4u);
}

TEST(ConnectionTracker, UnreliableConnectionIsReportedAsSuch) {
  const TrueConnection c{.a = Host(1), .b = Host(2), .a_qpn = 10, .b_qpn = 20};
  TestTracker tracker;
  tracker.Add(Observation(c.ToB(), 0).Request(kUcWriteOnly, 5).Reth(0x1000, 1, 64));

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].transport, ConnectionTransport::kUnreliable);
}

TEST(ConnectionTracker, FlowRecordAloneMakesAOneSidedConnection) {
  TestTracker tracker;
  FlowRecord flow;
  flow.flow = {.source = Host(1), .destination = Host(2), .destination_qpn = {50}, .segment = 0};
  flow.packets = 3;
  flow.class_packets[static_cast<size_t>(OperationClass::kWrite)] = 3;
  flow.first_seen = At(10);
  flow.last_seen = At(30);
  flow.began = true;
  tracker.Add(flow);

  const std::vector<Connection> all = tracker.Connections();

  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].valid_from, At(10));
  EXPECT_TRUE(all[0].beginning_seen);
  EXPECT_EQ(all[0].last_seen, At(30));
}

}  // namespace
}  // namespace rocescope
