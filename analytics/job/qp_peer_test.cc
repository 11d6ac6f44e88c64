// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/qp_peer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "dataplane/host/nccl_log_builder.h"

namespace rocescope {
namespace {

using test::LogText;
using testing::ElementsAre;
using Certainty = PeerCertainty;

// The initialising thread and the connecting thread.
constexpr uint64_t kMain = 1;
constexpr uint64_t kProxy = 2;

struct Seen {
  uint32_t qpn;
  int peer;
  Certainty certainty;

  friend bool operator==(const Seen&, const Seen&) = default;
};

void PrintTo(const Seen& seen, std::ostream* os) {
  *os << fmt::format("{} to {} ({})", seen.qpn, seen.peer, static_cast<int>(seen.certainty));
}

std::vector<Seen> Peers(const NcclProcess& process) {
  std::vector<Seen> result;
  for (const QueuePairPeer& peer : JoinQueuePairs(process)) {
    result.push_back({.qpn = process.queue_pairs[peer.queue_pair].local.value,
                      .peer = peer.peer.peer_rank,
                      .certainty = peer.certainty});
  }
  return result;
}

std::vector<int> CandidateRanks(const QueuePairPeer& peer) {
  std::vector<int> ranks;
  for (const PeerCandidate& candidate : *peer.candidates) ranks.push_back(candidate.peer_rank);
  return ranks;
}

TEST(QueuePairPeers, FollowTheOrderOfChannels) {
  const NcclProcess process = LogText()
                                  .On(kMain)
                                  .Begin(0, 4)
                                  .Send(0, 1)
                                  .Send(0, 2)
                                  .On(kProxy)
                                  .Connect(10)
                                  .Connect(11)
                                  .On(kMain)
                                  .Send(0, 3)
                                  .On(kProxy)
                                  .Connect(12)
                                  .Process();
  EXPECT_THAT(Peers(process),
              ElementsAre(Seen{10, 1, Certainty::kOrdered}, Seen{11, 2, Certainty::kOrdered},
                          Seen{12, 3, Certainty::kOrdered}));
}

TEST(QueuePairPeers, AreExactWithOnePossiblePeer) {
  const NcclProcess process =
      LogText().On(kMain).Begin(0, 2).Send(0, 1, 0).Send(0, 1, 1).On(kProxy).Connect(10).Process();
  EXPECT_THAT(Peers(process), ElementsAre(Seen{10, 1, Certainty::kExact}));
}

TEST(QueuePairPeers, OfOneConnectionAreConsecutive) {
  const NcclProcess process = LogText()
                                  .On(kMain)
                                  .Begin(0, 4)
                                  .Send(0, 1)
                                  .Send(0, 2)
                                  .On(kProxy)
                                  .Connect(10)
                                  .Connect(11)
                                  .Connect(12)
                                  .Connect(13)
                                  .Process();
  EXPECT_THAT(Peers(process),
              ElementsAre(Seen{10, 1, Certainty::kOrdered}, Seen{11, 1, Certainty::kOrdered},
                          Seen{12, 2, Certainty::kOrdered}, Seen{13, 2, Certainty::kOrdered}));
}

TEST(QueuePairPeers, OfMergedPortsAlternateBetweenThem) {
  const std::string merged =
      "NET/IB: NCCL MergedDev 4 IbDev {} Port 1 qpn {} mtu 5 GID 3 (0/B9D4E80AFFFF0000) "
      "fifoRkey=0x1 fifoLkey=0x2";
  LogText text;
  text.On(kMain).Begin(0, 4).Send(0, 1, 0, "4").Send(0, 2, 0, "4").On(kProxy);
  for (int i = 0; i < 4; ++i) text.Info(fmt::format(fmt::runtime(merged), i % 2, 20 + i));
  EXPECT_THAT(Peers(text.Process()),
              ElementsAre(Seen{20, 1, Certainty::kOrdered}, Seen{21, 1, Certainty::kOrdered},
                          Seen{22, 2, Certainty::kOrdered}, Seen{23, 2, Certainty::kOrdered}));
}

TEST(QueuePairPeers, AreJoinedPerNetDevice) {
  const NcclProcess process = LogText()
                                  .On(kMain)
                                  .Begin(0, 4)
                                  .Send(0, 1, 0, "0")
                                  .Send(0, 2, 1, "1")
                                  .On(kProxy)
                                  .Connect(11, 1, 1)
                                  .Connect(10, 0, 0)
                                  .Process();
  EXPECT_THAT(Peers(process),
              ElementsAre(Seen{11, 2, Certainty::kExact}, Seen{10, 1, Certainty::kExact}));
}

TEST(QueuePairPeers, OfSeveralGpusInOneProcessAreSeparate) {
  const NcclProcess process = LogText()
                                  .On(kMain, 0)
                                  .Begin(0, 4, "0xabc", "0x1")
                                  .Send(0, 2)
                                  .On(kMain, 1)
                                  .Begin(1, 4, "0xabc", "0x2")
                                  .Send(1, 3)
                                  .On(kProxy, 1)
                                  .Connect(11)
                                  .On(kProxy, 0)
                                  .Connect(10)
                                  .Process();
  EXPECT_THAT(Peers(process),
              ElementsAre(Seen{11, 3, Certainty::kExact}, Seen{10, 2, Certainty::kExact}));
}

TEST(QueuePairPeers, AreCandidatesIfTheCountsDiffer) {
  const NcclProcess process = LogText()
                                  .On(kMain)
                                  .Begin(0, 8)
                                  .Send(0, 5)
                                  .Send(0, 2)
                                  .On(kProxy)
                                  .Connect(10)
                                  .Connect(11)
                                  .Connect(12)
                                  .Process();
  const std::vector<QueuePairPeer> peers = JoinQueuePairs(process);
  ASSERT_EQ(peers.size(), 3u);
  for (const QueuePairPeer& peer : peers) {
    EXPECT_EQ(peer.certainty, Certainty::kAmbiguous);
    EXPECT_EQ(peer.peer.peer_rank, -1);
    EXPECT_THAT(CandidateRanks(peer), ElementsAre(2, 5));
  }
}

TEST(QueuePairPeers, OfAMatchingRoundStayOrderedNextToAMismatch) {
  const NcclProcess process = LogText()
                                  .On(kMain)
                                  .Begin(0, 8)
                                  .Send(0, 1)
                                  .Send(0, 2)
                                  .On(kProxy)
                                  .Connect(10)
                                  .Connect(11)
                                  .On(kMain)
                                  .Send(0, 3)
                                  .Send(0, 4)
                                  .On(kProxy)
                                  .Connect(12)
                                  .Process();
  EXPECT_THAT(Peers(process),
              ElementsAre(Seen{10, 1, Certainty::kOrdered}, Seen{11, 2, Certainty::kOrdered},
                          Seen{12, -1, Certainty::kAmbiguous}));
  EXPECT_THAT(CandidateRanks(JoinQueuePairs(process)[2]), ElementsAre(3, 4));
}

TEST(QueuePairPeers, WithoutChannelLinesAreUnknown) {
  const std::vector<QueuePairPeer> peers =
      JoinQueuePairs(LogText().On(kProxy).Connect(10).Process());
  ASSERT_EQ(peers.size(), 1u);
  EXPECT_EQ(peers[0].certainty, Certainty::kAmbiguous);
  EXPECT_TRUE(peers[0].candidates->empty());
}

TEST(QueuePairPeers, MayServeOtherRanksOfTheHost) {
  // Local rank 1 asks this process, local rank 0, to connect for it.
  const NcclProcess process =
      LogText()
          .On(kMain)
          .Begin(0, 4)
          .Info("comm 0x1000 rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0")
          .Send(0, 2)
          .On(kProxy)
          .Info("New proxy send connection 1 from local rank 1, transport 2")
          .Connect(10)
          .Connect(11)
          .Process();
  // The other rank's request is unknown, so the known peer is not the only possible one.
  EXPECT_THAT(Peers(process), ElementsAre(Seen{10, -1, Certainty::kAmbiguous},
                                          Seen{11, -1, Certainty::kAmbiguous}));

  const ProxiedChannel proxied{.net_device = 0,
                               .peer = {.communicator = 0, .own_rank = 1, .peer_rank = 3}};
  const std::vector<QueuePairPeer> peers = JoinQueuePairs(process, std::span(&proxied, 1));
  EXPECT_THAT(*peers[0].candidates,
              ElementsAre(PeerCandidate{.communicator = 0, .own_rank = 0, .peer_rank = 2},
                          PeerCandidate{.communicator = 0, .own_rank = 1, .peer_rank = 3}));
}

TEST(QueuePairPeers, DoNotCountConnectionsThatAnotherProcessMakes) {
  const NcclProcess process = LogText()
                                  .On(kMain)
                                  .Begin(1, 4)
                                  .Send(1, 2, 0, "0(0)")
                                  .Send(1, 3)
                                  .On(kProxy)
                                  .Connect(10)
                                  .Process();
  EXPECT_THAT(Peers(process), ElementsAre(Seen{10, 3, Certainty::kExact}));
}

std::string Created(std::string_view function, int qpn) {
  return fmt::format(
      "NET/IB: {}: QP created: port=1 dev=0 devName=mlx5_0 ndevs=1 nmdevs=1 "
      "qp_num={} pkey=0 pd=0x1",
      function, qpn);
}

TEST(QueuePairPeers, OfReceiversAreTheSources) {
  LogText text;
  text.On(kMain).Begin(2, 4).Receive(0, 2).Receive(1, 2).On(kProxy);
  // A receiver's queue pair and the loopback that flushes the GPU's writes, twice.
  for (int qpn = 30; qpn < 34; ++qpn) text.Info(Created("ncclIbReceiverQpsCreateToRts", qpn));
  const NcclProcess process = text.Process();
  EXPECT_THAT(Peers(process),
              ElementsAre(Seen{30, 0, Certainty::kOrdered}, Seen{31, 0, Certainty::kOrdered},
                          Seen{32, 1, Certainty::kOrdered}, Seen{33, 1, Certainty::kOrdered}));
  const std::vector<QueuePairPeer> peers = JoinQueuePairs(process);
  EXPECT_FALSE(peers[0].is_sender);
  EXPECT_FALSE(peers[0].may_be_loopback);
  EXPECT_TRUE(peers[1].may_be_loopback);
  EXPECT_FALSE(peers[2].may_be_loopback);
  EXPECT_TRUE(peers[3].may_be_loopback);
}

TEST(QueuePairPeers, OfGinAreStated) {
  const NcclProcess process =
      LogText()
          .On(kMain)
          .Begin(0, 4)
          .Info("[0] Connected main QP: qp_idx=3, main_qpn=0xa, remote_rank=3, remote_qpn=0xb")
          .Process();
  const std::vector<QueuePairPeer> peers = JoinQueuePairs(process);
  ASSERT_EQ(peers.size(), 1u);
  EXPECT_EQ(peers[0].certainty, Certainty::kExact);
  EXPECT_EQ(peers[0].peer, (PeerCandidate{.communicator = 0, .own_rank = 0, .peer_rank = 3}));
  EXPECT_EQ(peers[0].remote, Qpn{0xb});
}

TEST(QueuePairPeers, OfUnknownCommunicatorsShareTheirCandidates) {
  LogText log;
  for (uint64_t i = 0; i < 3; ++i) {
    log.On(10 + i).Begin(0, 2, fmt::format("{:#x}", i + 1), fmt::format("{:#x}", i + 1));
  }
  log.On(kProxy).Send(0, 1, 0).Connect(10).Send(0, 1, 1).Connect(11);
  const std::vector<QueuePairPeer> peers = JoinQueuePairs(log.Process());
  ASSERT_EQ(peers.size(), 2u);
  ASSERT_NE(peers[0].candidates, nullptr);
  EXPECT_EQ(peers[0].candidates->size(), 3u);
  EXPECT_EQ(peers[0].candidates, peers[1].candidates);  // the same object
}

// Queue pairs of more GPUs than a host has share the candidates of their NIC.
TEST(QueuePairPeers, OfManyGpusOnOneNicShareTheProxiedCandidates) {
  constexpr int kGpus = 100;
  NcclProcess process;
  std::vector<ProxiedChannel> proxied;
  for (int i = 0; i < kGpus; ++i) {
    process.communicators.push_back({.rank = i, .rank_count = 200, .cuda_device = i});
    process.queue_pairs.push_back({.line = static_cast<size_t>(i),
                                   .cuda_device = i,
                                   .role = NcclQueuePairRole::kSend,
                                   .net_device = 0});
    proxied.push_back({.net_device = 0, .peer = {.own_rank = i, .peer_rank = i + 1}});
  }
  const std::vector<QueuePairPeer> peers = JoinQueuePairs(process, proxied);
  ASSERT_NE(peers[0].candidates, nullptr);
  EXPECT_EQ(peers[0].candidates->size(), size_t{kGpus});
  for (const QueuePairPeer& peer : peers) EXPECT_EQ(peer.candidates, peers[0].candidates);
}

// Visiting all 50,000 net devices for each of the 50,000 proxied channels took 18 s when it was
// measured.
TEST(QueuePairPeers, HandleManyProxiedChannels) {
  constexpr int kMany = 50'000;
  NcclProcess process;
  std::vector<ProxiedChannel> proxied;
  for (int i = 0; i < kMany; ++i) {
    process.queue_pairs.push_back(
        {.line = static_cast<size_t>(i), .role = NcclQueuePairRole::kSend, .net_device = i});
    proxied.push_back({.net_device = kMany - 1, .peer = {.own_rank = 1, .peer_rank = 2}});
  }
  const std::clock_t start = std::clock();
  const std::vector<QueuePairPeer> peers = JoinQueuePairs(process, proxied);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_EQ(peers.back().peer.peer_rank, 2);
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(seconds, 3) << "processor time";
#else
  static_cast<void>(seconds);
#endif
}

// --- Which communicator ---

std::vector<std::vector<int>> Communicators(const NcclProcess& process) {
  const ChannelCommunicators found =
      CommunicatorsOfChannels(process.communicators, process.channels);
  std::vector<std::vector<int>> by_channel;
  for (size_t i = 0; i < process.channels.size(); ++i) by_channel.push_back(found[i]);
  return by_channel;
}

std::vector<int> Only(int communicator) { return {communicator}; }

TEST(ChannelCommunicators, AreThoseThatTheThreadInitialises) {
  const NcclProcess process = LogText()
                                  .On(1)
                                  .Begin(0, 4, "0xa", "0x1")
                                  .On(2)
                                  .Begin(0, 4, "0xb", "0x2")
                                  .On(1)
                                  .Send(0, 1)
                                  .On(2)
                                  .Send(0, 2)
                                  .On(1)
                                  .Complete(0, 4, "0xa", "0x1")
                                  .Begin(0, 4, "0xc", "0x3")
                                  .Send(0, 3)
                                  .Process();
  EXPECT_THAT(Communicators(process), ElementsAre(Only(0), Only(1), Only(2)));
}

TEST(ChannelCommunicators, BeforeRelease2_18AreThoseThatTheThreadCompletesNext) {
  const std::string complete = "comm {} rank 0 nranks {} cudaDev 0 busId 0 - Init COMPLETE";
  const NcclProcess process = LogText()
                                  .On(1)
                                  .Send(0, 3)
                                  .Info(fmt::format(fmt::runtime(complete), "0x1", 4))
                                  .Send(0, 1)
                                  .Info(fmt::format(fmt::runtime(complete), "0x2", 2))
                                  .Process();
  EXPECT_THAT(Communicators(process), ElementsAre(Only(0), Only(1)));
}

TEST(ChannelCommunicators, OfLaterConnectionsMatchByRankAndSize) {
  const NcclProcess process = LogText()
                                  .On(1)
                                  .Begin(5, 8, "0xa", "0x1")
                                  .Complete(5, 8, "0xa", "0x1")
                                  .On(1)
                                  .Begin(1, 2, "0xb", "0x2")
                                  .Complete(1, 2, "0xb", "0x2")
                                  .On(9)
                                  .Send(5, 6)
                                  .Send(1, 0)
                                  .Receive(7, 5)
                                  .Send(3, 4)
                                  .Process();
  EXPECT_THAT(Communicators(process), ElementsAre(Only(0), Only(1), Only(0), std::vector<int>{}));
}

TEST(ChannelCommunicators, OfLaterConnectionsAreAllThatMatch) {
  // Both are alive and use the same GPU; the launching thread identifies neither.
  const NcclProcess process = LogText()
                                  .On(1)
                                  .Begin(0, 4, "0xa", "0x1")
                                  .Complete(0, 4, "0xa", "0x1")
                                  .On(2)
                                  .Begin(0, 2, "0xb", "0x2")
                                  .Complete(0, 2, "0xb", "0x2")
                                  .On(2)
                                  .Send(0, 1)
                                  .Send(0, 3)
                                  .Process();
  EXPECT_THAT(Communicators(process), ElementsAre(std::vector<int>{0, 1}, Only(0)));
}

// --- Remote queue pair numbers from set_ece ---

std::vector<int> Remotes(const NcclProcess& process) {
  std::vector<int> result;
  for (const QueuePairPeer& peer : JoinQueuePairs(process)) {
    result.push_back(peer.remote ? static_cast<int>(peer.remote->value) : -1);
  }
  return result;
}

TEST(RemoteQpns, FollowTheirConnection) {
  const NcclProcess process = LogText()
                                  .On(kMain)
                                  .Begin(0, 4)
                                  .Send(0, 1)
                                  .On(kProxy)
                                  .Connect(10)
                                  .Connect(11)
                                  .SetEce(70)
                                  .SetEce(71)
                                  .On(kMain)
                                  .Send(0, 2)
                                  .On(kProxy)
                                  .Connect(12)
                                  .Connect(13)
                                  .SetEce(72)
                                  .SetEce(73)
                                  .Process();
  EXPECT_THAT(Remotes(process), ElementsAre(70, 71, 72, 73));
}

TEST(RemoteQpns, AreUnknownWhileSeveralConnectionsWait) {
  // It is unknown which of 10 and 11 got its answer first; 12 waited alone.
  const NcclProcess process = LogText()
                                  .On(kMain)
                                  .Begin(0, 4)
                                  .Send(0, 1)
                                  .Send(0, 2)
                                  .On(kProxy)
                                  .Connect(10)
                                  .Connect(11)
                                  .SetEce(71)
                                  .SetEce(70)
                                  .On(kMain)
                                  .Send(0, 3)
                                  .On(kProxy)
                                  .Connect(12)
                                  .SetEce(72)
                                  .Process();
  EXPECT_THAT(Remotes(process), ElementsAre(-1, -1, 72));
}

}  // namespace
}  // namespace rocescope
