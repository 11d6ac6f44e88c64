// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/rank_edges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/job/host_facts_builder.h"

namespace rocescope {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of the builder
using testing::ElementsAre;
using testing::IsEmpty;

TEST(RankEdges, AddUpTheDataOfAllConnectionsBetweenTwoRanks) {
  const Attribution result = Facts()
                                 .Log(With(Rank(1), {Sender(12, 1, 2), Sender(11, 1, 2)}))
                                 .Log(Rank(2))
                                 .Paired(1, 11, 2, 22, 0.9)
                                 .Paired(1, 12, 2, 21, 0.7)
                                 .Sent(1, 2, 22, 1000, 2)
                                 .Sent(1, 2, 21, 300, 1)
                                 .Asked(2, 1, 11, 2)
                                 .Asked(2, 1, 12, 1)
                                 .Attribute();
  ASSERT_EQ(result.jobs[0].edges.size(), 1u) << "clear-to-sends alone form no edge";
  const RankEdge& edge = result.jobs[0].edges[0];
  EXPECT_EQ(edge.source_rank, 1);
  EXPECT_EQ(edge.destination_rank, 2);
  EXPECT_EQ(edge.bytes, 1300u);
  EXPECT_EQ(edge.messages, 3u);
  EXPECT_EQ(edge.control_messages, 0u);
  EXPECT_THAT(edge.source_qpns, ElementsAre(Qpn{11}, Qpn{12}));
  EXPECT_THAT(edge.destination_qpns, ElementsAre(Qpn{22}, Qpn{21}));
  EXPECT_DOUBLE_EQ(edge.confidence, 0.7);
}

TEST(RankEdges, OfProcessesOutsideTheNumberingAreSeparate) {
  // Rank 0 sends to two processes that are only in smaller communicators.
  const auto process = [](int host) {
    JobRank rank = Rank(host);
    rank.rank = -1;
    return rank;
  };
  const auto sender = [](uint32_t qpn, int member) {
    JobQueuePair qp = Sender(qpn, 0, -1);
    qp.peer.peer_member = member;
    return qp;
  };
  const Attribution result = Facts()
                                 .Log(With(Rank(0), {sender(11, 1), sender(12, 2)}))
                                 .Log(process(5))
                                 .Log(process(6))
                                 .Paired(0, 11, 5, 55)
                                 .Paired(0, 12, 6, 66)
                                 .Sent(0, 5, 55, 1000)
                                 .Sent(0, 6, 66, 300)
                                 .Attribute();
  ASSERT_EQ(result.jobs[0].edges.size(), 2u);
  EXPECT_EQ(result.jobs[0].edges[0].destination_member, 1);
  EXPECT_EQ(result.jobs[0].edges[0].bytes, 1000u);
  EXPECT_EQ(result.jobs[0].edges[1].destination_member, 2);
  EXPECT_EQ(result.jobs[0].edges[1].bytes, 300u);
}

TEST(RankEdges, SeparateControlFromData) {
  const Attribution result = Facts()
                                 .Log(With(Rank(1), {Sender(11, 1, 2)}))
                                 .Log(With(Rank(2), {Sender(21, 2, 1)}))
                                 .Paired(1, 11, 2, 22)
                                 .Paired(1, 12, 2, 21)
                                 .Sent(1, 2, 22, 1000)
                                 .Asked(2, 1, 11, 3)
                                 .Sent(2, 1, 12, 500)
                                 .Attribute();
  ASSERT_EQ(result.jobs[0].edges.size(), 2u);
  const RankEdge& back = result.jobs[0].edges[1];
  EXPECT_EQ(back.source_rank, 2);
  EXPECT_EQ(back.bytes, 500u);
  EXPECT_EQ(back.messages, 1u);
  EXPECT_EQ(back.control_bytes, 192u);  // three clear-to-sends of 64 bytes
  EXPECT_EQ(back.control_messages, 3u);
  EXPECT_THAT(back.source_qpns, ElementsAre(Qpn{21})) << "QP 22 sent only control messages";
}

TEST(RankEdges, HaveTheLowestConfidenceOfTheirConnections) {
  const Attribution result = Facts()
                                 .Log(With(Rank(1), {Sender(11, 1, 2)}))
                                 .Log(With(Rank(2), {Sender(21, 2, 1)}))
                                 .Paired(1, 11, 2, 22, 0.9)
                                 .Paired(1, 12, 2, 21, 0.6)
                                 .Sent(1, 2, 22, 1000)
                                 .Asked(1, 2, 21)
                                 .Sent(2, 1, 12, 500)
                                 .Attribute();
  ASSERT_EQ(result.jobs[0].edges.size(), 2u);
  EXPECT_DOUBLE_EQ(result.jobs[0].edges[0].confidence, 0.9);
  EXPECT_DOUBLE_EQ(result.jobs[0].edges[1].confidence, 0.6);
}

TEST(RankEdges, OfAReadFollowTheData) {
  Facts facts;
  facts.Log(With(Rank(1), {Sender(11, 1, 2)})).Log(Rank(2)).Paired(1, 11, 2, 22);
  FlowCounts& requests = facts.Flow(1, 2, 22);
  requests.messages = 3;
  requests.class_packets[static_cast<size_t>(OperationClass::kReadRequest)] = 3;
  FlowCounts& responses = facts.Flow(2, 1, 11);
  responses.payload_bytes = 12'288;
  responses.class_packets[static_cast<size_t>(OperationClass::kReadResponse)] = 12;

  const Attribution result = facts.Attribute();

  ASSERT_EQ(result.jobs[0].edges.size(), 1u);
  const RankEdge& edge = result.jobs[0].edges[0];
  EXPECT_EQ(edge.source_rank, 2);
  EXPECT_EQ(edge.destination_rank, 1);
  EXPECT_EQ(edge.bytes, 12'288u);
  EXPECT_EQ(edge.messages, 3u);
  EXPECT_THAT(edge.source_qpns, ElementsAre(Qpn{22}));
}

TEST(RankEdges, ContainErrors) {
  Facts facts;
  facts.Log(With(Rank(1), {Sender(11, 1, 2)})).Log(Rank(2)).Paired(1, 11, 2, 22);
  FlowCounts& data = facts.Flow(1, 2, 22);
  data.payload_bytes = 1000;
  data.messages = 1;
  data.missing = 4;
  data.retransmitted = 5;
  data.ce_marked = 6;
  facts.Flow(2, 1, 11).class_packets[static_cast<size_t>(OperationClass::kCnp)] = 7;
  const RankEdge edge = facts.Attribute().jobs[0].edges.at(0);
  EXPECT_EQ(edge.missing, 4u);
  EXPECT_EQ(edge.retransmitted, 5u);
  EXPECT_EQ(edge.ce_marked, 6u);
  EXPECT_EQ(edge.cnps, 7u);
}

TEST(RankEdges, CountOnlyTheirIncarnationOfTheFlow) {
  const Timestamp closed = FromNanoseconds(5'000);
  const Attribution result = Facts()
                                 .Log(With(Rank(1), {Sender(11, 1, 2)}))
                                 .Log(Rank(2))
                                 .Paired(1, 11, 2, 22)
                                 .ClosedAt(closed)
                                 .Sent(1, 2, 22, 1500)
                                 .OfThese(1000, closed)
                                 .Attribute();
  ASSERT_EQ(result.jobs[0].edges.size(), 1u);
  EXPECT_EQ(result.jobs[0].edges[0].bytes, 1000u);
}

TEST(RankEdges, CountDataOfMessagesStartedBeforeTheCapture) {
  const Attribution result = Facts()
                                 .Log(With(Rank(1), {Sender(11, 1, 2)}))
                                 .Log(Rank(2))
                                 .Paired(1, 11, 2, 22)
                                 .Sent(1, 2, 22, 3000, 0)
                                 .Attribute();
  ASSERT_EQ(result.jobs[0].edges.size(), 1u);
  EXPECT_EQ(result.jobs[0].edges[0].bytes, 3000u);
  EXPECT_EQ(result.jobs[0].edges[0].messages, 0u);
}

TEST(RankEdges, NeedBothEndsOfAConnection) {
  const Attribution result = Facts()
                                 .Log(With(Rank(1), {Sender(11, 1, 2)}))
                                 .Log(Rank(2))
                                 .OneSided(2, 22, 1)
                                 .OneSided(1, 11, 2)
                                 .Sent(1, 2, 22, 1000)
                                 .Sent(2, 1, 11, 1000)
                                 .Attribute();
  EXPECT_THAT(result.jobs[0].edges, IsEmpty());
}

}  // namespace
}  // namespace rocescope
