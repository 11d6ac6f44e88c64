// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/attribution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Claims = std::vector<std::array<int, 2>>;

IpAddress Address(int host) { return *ParseIpAddress("10.0.0." + std::to_string(host)); }

// Rank n sits on host "node<n>" at 10.0.0.<n> as process 100 + n, unless a test says otherwise.
JobRank Rank(int rank) {
  JobRank result;
  result.rank = rank;
  result.host = "node" + std::to_string(rank);
  result.process_id = 100 + static_cast<uint64_t>(rank);
  result.addresses = {Address(rank)};
  result.addresses_complete = true;
  return result;
}

JobQueuePair Sender(uint32_t qpn, int own_rank, int peer_rank,
                    PeerCertainty certainty = PeerCertainty::kExact) {
  JobQueuePair result;
  result.local = Qpn{qpn};
  result.address = Address(own_rank);
  result.role = NcclQueuePairRole::kSend;
  result.peer = {.own_rank = own_rank, .peer_rank = peer_rank};
  result.certainty = certainty;
  result.is_sender = true;
  return result;
}

// By order, in a round of connections to all of `peers`.
JobQueuePair OrderedSender(uint32_t qpn, int own_rank, int peer_rank,
                           const std::vector<int>& peers) {
  JobQueuePair result = Sender(qpn, own_rank, peer_rank, PeerCertainty::kOrdered);
  std::vector<JobPeer> candidates;
  for (const int peer : peers) candidates.push_back({.own_rank = own_rank, .peer_rank = peer});
  result.candidates = std::make_shared<const std::vector<JobPeer>>(std::move(candidates));
  return result;
}

JobQueuePair AmbiguousSender(uint32_t qpn, int own_rank, const std::vector<int>& peers) {
  JobQueuePair result = Sender(qpn, own_rank, -1, PeerCertainty::kAmbiguous);
  std::vector<JobPeer> candidates;
  for (const int peer : peers) candidates.push_back({.own_rank = own_rank, .peer_rank = peer});
  result.candidates = std::make_shared<const std::vector<JobPeer>>(std::move(candidates));
  return result;
}

// What a test knows: logs, dumps, connections and what went over them.
class Facts {
 public:
  Facts& Log(JobRank rank) {
    if (facts_.jobs.empty()) facts_.jobs.push_back({.id = "job", .rank_count = 8});
    facts_.jobs.back().ranks.push_back(std::move(rank));
    return *this;
  }
  Facts& OtherJob() {
    facts_.jobs.push_back({.id = "other", .rank_count = 8});
    return *this;
  }
  Facts& Dump(std::string host, std::vector<RdmaQueuePair> queue_pairs) {
    facts_.rdma.push_back({.host = std::move(host), .queue_pairs = std::move(queue_pairs)});
    return *this;
  }
  Facts& Paired(int host_a, uint32_t qpn_a, int host_b, uint32_t qpn_b, double confidence = 1) {
    connections_.push_back(
        {.endpoints = {ConnectionEndpoint{.address = Address(host_a), .qpn = Qpn{qpn_a}},
                       ConnectionEndpoint{.address = Address(host_b), .qpn = Qpn{qpn_b}}},
         .state = ConnectionState::kPaired,
         .confidence = confidence});
    return *this;
  }
  // The last connection.
  Facts& ClosedAt(Timestamp time) {
    connections_.back().valid_until = time;
    return *this;
  }
  // Part of the last flow, carried until its queue pair number changed hands.
  Facts& OfThese(uint64_t bytes, std::optional<Timestamp> until) {
    FlowCounts counts;
    counts.payload_bytes = bytes;
    counts.messages = 1;
    flows_.back().incarnations.push_back({.until = until, .counts = counts});
    return *this;
  }
  // That incarnation's last WRITE.
  Facts& WithKey(uint32_t rkey) {
    flows_.back().incarnations.back().counts.last_rkey = rkey;
    return *this;
  }
  // The last connection.
  Facts& InSegment(Segment segment) {
    for (ConnectionEndpoint& end : connections_.back().endpoints) end.segment = segment;
    return *this;
  }
  // Packets to a queue pair whose partner nobody knows.
  Facts& OneSided(int host, uint32_t qpn, int peer_host) {
    connections_.push_back(
        {.endpoints = {ConnectionEndpoint{.address = Address(host), .qpn = Qpn{qpn}},
                       ConnectionEndpoint{.address = Address(peer_host), .qpn = std::nullopt}}});
    return *this;
  }
  FlowCounts& Flow(int from, int to, uint32_t qpn) {
    flows_.push_back(
        {.flow = {
             .source = Address(from), .destination = Address(to), .destination_qpn = Qpn{qpn}}});
    return flows_.back().total;
  }
  Facts& Sent(int from, int to, uint32_t qpn, uint64_t bytes, uint64_t messages = 1) {
    FlowCounts& stream = Flow(from, to, qpn);
    stream.payload_bytes = bytes;
    stream.messages = messages;
    return *this;
  }
  Facts& Asked(int from, int to, uint32_t qpn, uint64_t messages = 1) {
    FlowCounts& stream = Flow(from, to, qpn);
    stream.payload_bytes = stream.control_bytes = 64 * messages;
    stream.messages = stream.control_messages = messages;
    return *this;
  }

  Attribution Attribute() {
    std::sort(flows_.begin(), flows_.end(),
              [](const FlowSummary& a, const FlowSummary& b) { return a.flow < b.flow; });
    return AttributeJobs(facts_, connections_, flows_);
  }
  Claims Ranks() {
    Claims ranks;
    for (const auto& ends : Attribute().endpoints) {
      ranks.push_back({ends[0] ? ends[0]->rank : -1, ends[1] ? ends[1]->rank : -1});
    }
    return ranks;
  }
  const HostFacts& host_facts() const { return facts_; }

 private:
  HostFacts facts_;
  std::vector<Connection> connections_;
  std::vector<FlowSummary> flows_;
};

JobRank With(JobRank rank, std::vector<JobQueuePair> queue_pairs) {
  rank.queue_pairs = std::move(queue_pairs);
  return rank;
}

RdmaQueuePair KernelQp(uint32_t local, uint32_t remote, uint64_t process_id) {
  RdmaQueuePair result;
  result.local = Qpn{local};
  result.remote = Qpn{remote};
  result.type = "RC";
  result.state = "RTS";
  result.process_id = process_id;
  return result;
}

TEST(Attribution, OwnLogNamesTheSenderAndThePeer) {
  const Attribution result =
      Facts().Log(With(Rank(1), {Sender(11, 1, 2)})).Log(Rank(2)).Paired(1, 11, 2, 22).Attribute();
  ASSERT_TRUE(result.endpoints[0][0] && result.endpoints[0][1]);
  EXPECT_EQ(result.endpoints[0][0]->rank, 1);
  EXPECT_EQ(result.endpoints[0][0]->source, RankSource::kNcclLog);
  EXPECT_EQ(result.endpoints[0][1]->rank, 2);
  EXPECT_EQ(result.endpoints[0][1]->source, RankSource::kPeer);
}

TEST(Attribution, IsTheSameWhicheverEndComesFirst) {
  EXPECT_THAT(
      Facts().Log(With(Rank(3), {Sender(11, 3, 2)})).Log(Rank(2)).Paired(2, 22, 3, 11).Ranks(),
      ElementsAre(std::array{2, 3}));
}

TEST(Attribution, TrustsAnExactPeerMoreThanAnOrderedOne) {
  const auto confidence = [](PeerCertainty certainty) {
    return Facts()
        .Log(With(Rank(1), {Sender(11, 1, 2, certainty)}))
        .Log(Rank(2))
        .Paired(1, 11, 2, 22)
        .Attribute()
        .endpoints[0][1]
        ->confidence;
  };
  EXPECT_GT(confidence(PeerCertainty::kExact), confidence(PeerCertainty::kOrdered));
  EXPECT_GT(confidence(PeerCertainty::kOrdered), 0.5);
}

TEST(Attribution, TheAddressPicksOneOfSeveralCandidates) {
  EXPECT_THAT(Facts()
                  .Log(With(Rank(1), {AmbiguousSender(11, 1, {2, 3})}))
                  .Log(Rank(2))
                  .Log(Rank(3))
                  .Paired(1, 11, 3, 33)
                  .Ranks(),
              ElementsAre(std::array{1, 3}));
}

TEST(Attribution, LeavesThePeerOpenIfTheAddressFitsSeveralCandidates) {
  JobRank neighbour = Rank(3);
  neighbour.addresses = {Address(2)};
  EXPECT_THAT(Facts()
                  .Log(With(Rank(1), {AmbiguousSender(11, 1, {2, 3})}))
                  .Log(Rank(2))
                  .Log(neighbour)
                  .Paired(1, 11, 2, 22)
                  .Ranks(),
              ElementsAre(std::array{1, -1}));
}

TEST(Attribution, DoesNotTakeARankThatIsNoCandidateForItsAddress) {
  EXPECT_THAT(Facts()
                  .Log(With(Rank(1), {AmbiguousSender(11, 1, {2, 3})}))
                  .Log(Rank(4))
                  .Paired(1, 11, 4, 44)
                  .Ranks(),
              ElementsAre(std::array{1, -1}));
}

TEST(Attribution, TheAddressOverrulesTheOrder) {
  EXPECT_THAT(Facts()
                  .Log(With(Rank(1), {OrderedSender(11, 1, 2, {2, 3})}))
                  .Log(Rank(2))
                  .Log(Rank(3))
                  .Paired(1, 11, 3, 33)
                  .Ranks(),
              ElementsAre(std::array{1, 3}));
}

TEST(Attribution, TheAddressOverrulesTheOrderOnlyForARankThatTheOrderCouldConfuse) {
  EXPECT_THAT(Facts()
                  .Log(With(Rank(1), {OrderedSender(11, 1, 2, {2, 4})}))
                  .Log(Rank(2))
                  .Log(Rank(3))
                  .Paired(1, 11, 3, 33)
                  .Ranks(),
              ElementsAre(std::array{1, -1}));
}

TEST(Attribution, TheAddressDoesNotOverruleTheOrderWhereTheStatedRanksAddressIsUnknown) {
  JobRank receiver = Rank(2);
  receiver.addresses = {};
  receiver.addresses_complete = false;
  const Attribution result = Facts()
                                 .Log(With(Rank(1), {OrderedSender(11, 1, 2, {2, 3})}))
                                 .Log(receiver)
                                 .Paired(1, 11, 7, 33)
                                 .Attribute();
  ASSERT_TRUE(result.endpoints[0][1]);
  EXPECT_EQ(result.endpoints[0][1]->rank, 2);
  EXPECT_DOUBLE_EQ(result.endpoints[0][1]->confidence, kPeerUnplaced);
}

TEST(Attribution, NothingOverrulesAPeerThatTheLogStatesExactly) {
  EXPECT_THAT(Facts()
                  .Log(With(Rank(1), {Sender(11, 1, 2)}))
                  .Log(Rank(2))
                  .Log(Rank(3))
                  .Paired(1, 11, 3, 33)
                  .Ranks(),
              ElementsAre(std::array{1, 2}));
}

TEST(Attribution, ACandidateWhoseAddressIsUnknownKeepsThePeerOpen) {
  EXPECT_THAT(Facts()
                  .Log(With(Rank(1), {AmbiguousSender(11, 1, {2, 3})}))
                  .Log(Rank(2))
                  .Paired(1, 11, 2, 22)
                  .Ranks(),
              ElementsAre(std::array{1, -1}))
      << "rank 3 left no log and may share the host";
}

TEST(Attribution, NamesAPeerWhoseLogIsMissing) {
  EXPECT_THAT(Facts().Log(With(Rank(1), {Sender(11, 1, 2)})).Paired(1, 11, 2, 22).Ranks(),
              ElementsAre(std::array{1, 2}));
}

TEST(Attribution, BelievesNeitherOfTwoJobsThatHeldTheSameQueuePair) {
  const Claims ranks = Facts()
                           .Log(With(Rank(1), {Sender(11, 1, 2)}))
                           .Log(Rank(2))
                           .OtherJob()
                           .Log(With(Rank(1), {Sender(11, 1, 3)}))
                           .Log(Rank(3))
                           .Paired(1, 11, 2, 22)
                           .Sent(1, 2, 22, 1000)
                           .Ranks();
  EXPECT_THAT(ranks, ElementsAre(std::array{-1, -1}));
}

TEST(Attribution, TheSameNumberOnAnotherHostIsAnotherQueuePair) {
  EXPECT_THAT(
      Facts().Log(With(Rank(1), {Sender(11, 1, 2)})).Log(Rank(2)).Paired(3, 11, 4, 22).Ranks(),
      ElementsAre(std::array{-1, -1}));
}

TEST(Attribution, AQueuePairThatSeveralSegmentsShowIsAttributedInNone) {
  Facts facts;
  facts.Log(With(Rank(1), {Sender(11, 1, 2)})).Log(Rank(2)).Paired(1, 11, 2, 22);
  facts.Paired(1, 11, 2, 22).InSegment(8);
  const Attribution result = facts.Attribute();
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{-1, -1}, std::array{-1, -1}));
  EXPECT_THAT(result.jobs[0].job.notes, ElementsAre(HasSubstr("several segments")));
}

TEST(Attribution, AQueuePairInAnOverlayIsAttributedInItsOneSegment) {
  EXPECT_THAT(Facts()
                  .Log(With(Rank(1), {Sender(11, 1, 2)}))
                  .Log(Rank(2))
                  .Paired(1, 11, 2, 22)
                  .InSegment(8)
                  .Ranks(),
              ElementsAre(std::array{1, 2}));
}

TEST(Attribution, ANumberThatChangedHandsIsAttributedToNeitherConnection) {
  Facts facts;
  facts.Log(With(Rank(1), {Sender(11, 1, 2)})).Log(Rank(2));
  facts.Paired(1, 11, 2, 22).ClosedAt(FromNanoseconds(5'000)).Paired(1, 11, 2, 22);
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{-1, -1}, std::array{-1, -1}));
  EXPECT_THAT(facts.Attribute().jobs[0].job.notes, ElementsAre(HasSubstr("changed hands")));
}

TEST(Attribution, ThePeersAddressTellsWhichConnectionOfANumberTheLogMeans) {
  Facts facts;
  facts.Log(With(Rank(1), {Sender(11, 1, 2)})).Log(Rank(2)).Log(Rank(3));
  facts.Paired(1, 11, 3, 33).ClosedAt(FromNanoseconds(5'000)).Paired(1, 11, 2, 22);
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{-1, -1}, std::array{1, 2}));
}

TEST(Attribution, TheKeyOfClearToSendsTellsWhichConnectionOfANumberTheLogMeans) {
  const Timestamp closed = FromNanoseconds(5'000);
  JobQueuePair sender = Sender(11, 1, 2);
  sender.fifo_rkey = 0x68b6;
  Facts facts;
  facts.Log(With(Rank(1), {sender})).Log(Rank(2));
  facts.Paired(1, 11, 2, 22).ClosedAt(closed).Paired(1, 11, 2, 22);
  facts.Sent(1, 2, 22, 1500).OfThese(1000, closed).OfThese(500, std::nullopt);
  facts.Asked(2, 1, 11, 2);
  facts.OfThese(64, closed).WithKey(0x68b6).OfThese(64, std::nullopt).WithKey(0x7777);
  const Attribution result = facts.Attribute();
  EXPECT_THAT(facts.Ranks(), ElementsAre(std::array{1, 2}, std::array{-1, -1}));
  EXPECT_EQ(result.jobs[0].edges.at(0).bytes, 1000u);
  EXPECT_THAT(result.jobs[0].job.notes, IsEmpty());
}

TEST(Attribution, IgnoresFlushQueuePairs) {
  JobQueuePair flush = Sender(11, 1, 2);
  flush.role = NcclQueuePairRole::kFlush;
  EXPECT_THAT(Facts().Log(With(Rank(1), {flush})).Log(Rank(2)).Paired(1, 11, 2, 22).Ranks(),
              ElementsAre(std::array{-1, -1}));
}

TEST(Attribution, TheKernelsListGivesTheProcessAndTheLogItsRank) {
  const Attribution result = Facts()
                                 .Log(Rank(1))
                                 .Log(Rank(2))
                                 .Dump("node1", {KernelQp(11, 22, 101), KernelQp(12, 22, 999)})
                                 .Dump("node2.example.net", {KernelQp(22, 11, 102)})
                                 .Paired(1, 11, 2, 22)
                                 .Paired(1, 12, 2, 23)
                                 .Attribute();
  ASSERT_TRUE(result.endpoints[0][0] && result.endpoints[0][1]);
  EXPECT_EQ(result.endpoints[0][0]->rank, 1);
  EXPECT_EQ(result.endpoints[0][0]->source, RankSource::kRdmaResource);
  EXPECT_EQ(result.endpoints[0][1]->rank, 2);
  EXPECT_FALSE(result.endpoints[1][0]) << "its process is no rank of the job";
}

TEST(Attribution, TheKernelsListSettlesWhichOfTwoLogsHeldTheQueuePair) {
  JobRank earlier = With(Rank(1), {Sender(11, 1, 3)});
  earlier.process_id = 50;
  const Attribution result = Facts()
                                 .Log(earlier)
                                 .Log(Rank(3))
                                 .OtherJob()
                                 .Log(With(Rank(1), {Sender(11, 1, 2)}))
                                 .Log(Rank(2))
                                 .Dump("node1", {KernelQp(11, 22, 101)})
                                 .Paired(1, 11, 2, 22)
                                 .Attribute();
  ASSERT_TRUE(result.endpoints[0][0] && result.endpoints[0][1]);
  EXPECT_EQ(result.endpoints[0][0]->job, 1u);
  EXPECT_EQ(result.endpoints[0][1]->rank, 2);
}

TEST(Attribution, TheKernelsListDoesNotTellTheRanksOfOneProcessApart) {
  JobRank other_gpu = Rank(1);
  other_gpu.rank = 5;
  EXPECT_THAT(Facts()
                  .Log(Rank(1))
                  .Log(other_gpu)
                  .Log(Rank(2))
                  .Dump("node1", {KernelQp(11, 22, 101)})
                  .Paired(1, 11, 2, 22)
                  .Ranks(),
              ElementsAre(std::array{-1, -1}));
}

// Rank 1's log says that it sends to 2 and receives from 2; rank 2 left no log.
Facts ReceiverWithoutSendersLog() {
  JobRank receiver = With(Rank(1), {Sender(11, 1, 2)});
  receiver.receives_from = {2};
  Facts facts;
  facts.Log(receiver).Paired(1, 11, 2, 22).Paired(1, 12, 2, 23);
  facts.Sent(1, 2, 22, 1000).Asked(2, 1, 11);
  return facts;
}

TEST(Attribution, AReceiversLogPlacesWhatComesFromARankWithoutALog) {
  const Attribution result =
      ReceiverWithoutSendersLog().Sent(2, 1, 12, 500).Asked(1, 2, 23).Attribute();
  ASSERT_TRUE(result.endpoints[1][0] && result.endpoints[1][1]);
  EXPECT_EQ(result.endpoints[1][0]->rank, 1);
  EXPECT_EQ(result.endpoints[1][1]->rank, 2);
  EXPECT_EQ(result.endpoints[1][0]->source, RankSource::kReceiver);
  EXPECT_LT(result.endpoints[1][0]->confidence, result.endpoints[0][0]->confidence);
}

TEST(Attribution, AReceiversLogSaysNothingOfDataThatItSends) {
  EXPECT_THAT(ReceiverWithoutSendersLog().Asked(2, 1, 12).Sent(1, 2, 23, 500).Ranks(),
              ElementsAre(std::array{1, 2}, std::array{-1, -1}));
}

TEST(Attribution, AReceiversLogIsNotUsedIfTheSendersLogDoesNotNameTheQueuePair) {
  EXPECT_THAT(ReceiverWithoutSendersLog().Log(Rank(2)).Sent(2, 1, 12, 500).Asked(1, 2, 23).Ranks(),
              ElementsAre(std::array{1, 2}, std::array{-1, -1}));
}

TEST(Attribution, AReceiversLogIsNotUsedIfAnotherReceiverSitsAtItsAddress) {
  JobRank neighbour = Rank(3);
  neighbour.addresses = {Address(1)};
  neighbour.receives_from = {2};
  EXPECT_THAT(
      ReceiverWithoutSendersLog().Log(neighbour).Sent(2, 1, 12, 500).Asked(1, 2, 23).Ranks(),
      ElementsAre(std::array{1, 2}, std::array{-1, -1}));
}

TEST(Attribution, AReceiversLogIsNotUsedForAnotherSendersAddress) {
  Facts facts = ReceiverWithoutSendersLog();
  facts.Paired(1, 13, 4, 24).Sent(4, 1, 13, 500);
  EXPECT_EQ(facts.Ranks().back(), (std::array{-1, -1}));
}

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
  ASSERT_EQ(result.jobs[0].edges.size(), 1u) << "clear-to-sends alone make no edge";
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

TEST(RankEdges, OfProcessesOutsideTheNumberingAreKeptApart) {
  // Rank 0 sends to two processes that are in smaller communicators only.
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

TEST(RankEdges, KeepControlApartFromData) {
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
  EXPECT_EQ(back.control_bytes, 192u);  // three clear-to-sends of 64 octets
  EXPECT_EQ(back.control_messages, 3u);
  EXPECT_THAT(back.source_qpns, ElementsAre(Qpn{21})) << "QP 22 sent control alone";
}

TEST(RankEdges, AreAsSureAsTheConnectionsThatCarryTheirData) {
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

TEST(RankEdges, OfAReadGoTheWayTheDataGoes) {
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

TEST(RankEdges, CarryWhatWentWrong) {
  Facts facts;
  facts.Log(With(Rank(1), {Sender(11, 1, 2)})).Log(Rank(2)).Paired(1, 11, 2, 22);
  facts.Flow(1, 2, 22) = {
      .payload_bytes = 1000, .messages = 1, .unseen = 4, .resent = 5, .ce_marked = 6};
  facts.Flow(2, 1, 11).class_packets[static_cast<size_t>(OperationClass::kCnp)] = 7;
  const RankEdge edge = facts.Attribute().jobs[0].edges.at(0);
  EXPECT_EQ(edge.unseen, 4u);
  EXPECT_EQ(edge.resent, 5u);
  EXPECT_EQ(edge.ce_marked, 6u);
  EXPECT_EQ(edge.cnps, 7u);
}

TEST(RankEdges, CountOnlyWhatTheirIncarnationOfTheFlowCarried) {
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

TEST(RankEdges, CountDataWhoseMessageBeganBeforeTheCapture) {
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

TEST(KnownPairs, AreThoseThatTwoKernelsStateMutually) {
  Facts facts;
  facts.Log(Rank(1)).Log(Rank(2));
  facts.Dump("node1", {KernelQp(11, 22, 101), KernelQp(12, 29, 101)});
  facts.Dump("node2", {KernelQp(22, 11, 102), KernelQp(23, 12, 102)});
  const std::vector<KnownPair> pairs = KnownPairsOf(facts.host_facts());
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a.address, Address(1));
  EXPECT_EQ(pairs[0].a.qpn, Qpn{11});
  EXPECT_EQ(pairs[0].b.address, Address(2));
  EXPECT_EQ(pairs[0].b.qpn, Qpn{22});
  EXPECT_EQ(pairs[0].source, KnownPairSource::kRdmaResource);
}

TEST(KnownPairs, TakeADumpsNameAsItsAddressWithoutAnyLog) {
  Facts facts;
  facts.Dump("10.0.0.1", {KernelQp(11, 22, 1)}).Dump("10.0.0.2", {KernelQp(22, 11, 1)});
  const std::vector<KnownPair> pairs = KnownPairsOf(facts.host_facts());
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a.address, Address(1));
  EXPECT_EQ(pairs[0].b.address, Address(2));
}

TEST(KnownPairs, LeaveOutDatagramQueuePairs) {
  RdmaQueuePair datagram = KernelQp(11, 22, 1);
  datagram.type = "UD";
  Facts facts;
  facts.Dump("10.0.0.1", {datagram}).Dump("10.0.0.2", {KernelQp(22, 11, 1)});
  EXPECT_THAT(KnownPairsOf(facts.host_facts()), IsEmpty());
}

// A quarter of a minute when every connection walked over the ranks; a walk over 10,000 ranks for
// each of these 160,000 claims is 1.6e9 steps, which no machine does in the time allowed here.
TEST(Attribution, OfTenThousandRanksTakesTheTimeOfSorting) {
  constexpr uint32_t kRanks = 10'000;
  constexpr uint32_t kPeers = 16;
  const auto address = [](uint32_t rank) { return IpAddress::FromV4(0x0a000000u + rank); };
  HostFacts facts;
  Job& job = facts.jobs.emplace_back();
  job.rank_count = job.ranks_seen = kRanks;
  std::vector<Connection> connections;
  std::vector<FlowSummary> flows;
  for (uint32_t r = 0; r < kRanks; ++r) {
    JobRank rank = Rank(static_cast<int>(r));
    rank.addresses = {address(r)};
    for (uint32_t k = 0; k < kPeers; ++k) {
      const uint32_t peer = (r + 1 + k) % kRanks;
      JobQueuePair qp = Sender(100 + k, 0, static_cast<int>(peer), PeerCertainty::kOrdered);
      qp.address = address(r);
      qp.peer.own_rank = static_cast<int>(r);
      rank.queue_pairs.push_back(std::move(qp));
      Connection& connection = connections.emplace_back();
      connection.state = ConnectionState::kPaired;
      connection.confidence = 1;
      connection.endpoints = {ConnectionEndpoint{.address = address(r), .qpn = Qpn{100 + k}},
                              ConnectionEndpoint{.address = address(peer), .qpn = Qpn{5000 + k}}};
      FlowSummary& flow = flows.emplace_back();
      flow.flow = {
          .source = address(r), .destination = address(peer), .destination_qpn = Qpn{5000 + k}};
      flow.total.payload_bytes = 1000;
      flow.total.messages = 1;
    }
    job.ranks.push_back(std::move(rank));
  }
  std::ranges::sort(flows, {}, &FlowSummary::flow);

  const std::clock_t start = std::clock();
  const Attribution result = AttributeJobs(facts, connections, flows);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;

  ASSERT_EQ(result.jobs[0].edges.size(), size_t{kRanks} * kPeers);
  EXPECT_DOUBLE_EQ(result.jobs[0].edges[0].confidence, kPeerOrdered);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 8) << "of processor time";
#else
  static_cast<void>(seconds);
#endif
}

RdmaQueuePair KernelQpOn(std::string device, uint32_t local, uint32_t remote, uint64_t process) {
  RdmaQueuePair result = KernelQp(local, remote, process);
  result.device = std::move(device);
  result.port = 1;
  return result;
}

// A host of eight ports with an address each; every port's is in the log of one rank.
void LogEightPorts(int host, Facts& facts) {
  for (int port = 0; port < 8; ++port) {
    JobRank rank;
    rank.rank = 8 * host + port;
    rank.host = "node" + std::to_string(host);
    rank.process_id = static_cast<uint64_t>(100 + port);
    JobQueuePair qp = Sender(900, rank.rank, -1);
    qp.address = Address(100 * host + port);
    qp.device = "mlx5_" + std::to_string(port);
    qp.port = 1;
    rank.queue_pairs = {qp};
    facts.Log(std::move(rank));
  }
}

TEST(KnownPairs, OfHostsWithManyPortsAreBetweenTheAddressesOfThePortsThatTheDumpsName) {
  Facts facts;
  LogEightPorts(1, facts);
  LogEightPorts(2, facts);
  facts.Dump("node1", {KernelQpOn("mlx5_3", 11, 22, 103)});
  facts.Dump("node2", {KernelQpOn("mlx5_5", 22, 11, 105)});
  const std::vector<KnownPair> pairs = KnownPairsOf(facts.host_facts());
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a.address, Address(103));
  EXPECT_EQ(pairs[0].b.address, Address(205));
  EXPECT_THAT(NotesOnDumps(facts.host_facts()), IsEmpty());
}

TEST(KnownPairs, ThatStandInEveryDumpAreNotMultiplied) {
  Facts facts;
  for (int host = 1; host <= 200; ++host) {
    facts.Dump("10.0.0." + std::to_string(host), {KernelQp(11, 11, 1)});
  }
  EXPECT_THAT(KnownPairsOf(facts.host_facts()), IsEmpty());
  EXPECT_THAT(NotesOnDumps(facts.host_facts()), testing::Contains(HasSubstr("so many of them")));
}

TEST(KnownPairs, AreOfTheHostThatHasTheAddressThatADumpIsNamedAfter) {
  JobRank rank = Rank(1);
  JobQueuePair qp = Sender(900, 1, 2);
  qp.device = "mlx5_3";
  qp.port = 1;
  Facts facts;
  facts.Log(With(rank, {qp}));
  facts.Dump("10.0.0.1", {KernelQpOn("mlx5_3", 11, 22, 101)});
  facts.Dump("10.0.0.2", {KernelQpOn("mlx5_0", 22, 11, 102)});
  facts.Paired(1, 11, 2, 22);
  EXPECT_EQ(KnownPairsOf(facts.host_facts()).size(), 1u);
  EXPECT_EQ(facts.Ranks()[0], (std::array{1, -1})) << "the process that the dump names is rank 1's";
}

TEST(DumpNotes, NameAHostWhoseAddressNobodyTells) {
  Facts facts;
  facts.Dump("node1", {KernelQpOn("mlx5_0", 11, 22, 101)});
  EXPECT_THAT(NotesOnDumps(facts.host_facts()),
              ElementsAre(testing::AllOf(HasSubstr("rdma dump node1"), HasSubstr("mlx5_0"))));
}

TEST(DumpNotes, NameADumpThatNoOtherAnswers) {
  Facts facts;
  facts.Dump("10.0.0.1", {KernelQp(11, 22, 101)}).Dump("10.0.0.2", {KernelQp(22, 12, 102)});
  EXPECT_THAT(NotesOnDumps(facts.host_facts()),
              ElementsAre(HasSubstr("rdma dump 10.0.0.1: not used"),
                          HasSubstr("rdma dump 10.0.0.2: not used")));
}

TEST(DumpNotes, AreNoneWhereADumpTellsARank) {
  Facts facts;
  facts.Log(Rank(1)).Dump("node1", {KernelQp(11, 22, 101)});
  EXPECT_THAT(NotesOnDumps(facts.host_facts()), IsEmpty());
}

TEST(KnownPairs, OfGinAreBetweenTheAddressesOfItsRanks) {
  // `Connected main QP` prints both numbers and no address.
  JobQueuePair gin = Sender(0x2a, 1, 2);
  gin.address.reset();
  gin.remote = Qpn{0x2b};
  gin.role = NcclQueuePairRole::kDeviceMain;
  const std::vector<KnownPair> pairs =
      KnownPairsOf(Facts().Log(With(Rank(1), {gin})).Log(Rank(2)).host_facts());
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a.address, Address(1));
  EXPECT_EQ(pairs[0].a.qpn, Qpn{0x2a});
  EXPECT_EQ(pairs[0].b.address, Address(2));
  EXPECT_EQ(pairs[0].b.qpn, Qpn{0x2b});
}

TEST(KnownPairs, AreAlsoThoseThatALogPairs) {
  JobQueuePair sender = Sender(11, 1, 2);
  sender.remote = Qpn{22};
  const std::vector<KnownPair> pairs =
      KnownPairsOf(Facts().Log(With(Rank(1), {sender})).Log(Rank(2)).host_facts());
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].b.address, Address(2));
  EXPECT_EQ(pairs[0].b.qpn, Qpn{22});
  EXPECT_EQ(pairs[0].source, KnownPairSource::kNcclLog);
}

}  // namespace
}  // namespace rocescope
