// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/job/known_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/job/host_facts_builder.h"

namespace rocescope {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the words of the builder
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(KnownPairs, AreReportedByTwoKernelsMutually) {
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

TEST(KnownPairs, UseADumpsNameAsAddressWithoutLogs) {
  Facts facts;
  facts.Dump("10.0.0.1", {KernelQp(11, 22, 1)}).Dump("10.0.0.2", {KernelQp(22, 11, 1)});
  const std::vector<KnownPair> pairs = KnownPairsOf(facts.host_facts());
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].a.address, Address(1));
  EXPECT_EQ(pairs[0].b.address, Address(2));
}

TEST(KnownPairs, ExcludeDatagramQueuePairs) {
  RdmaQueuePair datagram = KernelQp(11, 22, 1);
  datagram.type = "UD";
  Facts facts;
  facts.Dump("10.0.0.1", {datagram}).Dump("10.0.0.2", {KernelQp(22, 11, 1)});
  EXPECT_THAT(KnownPairsOf(facts.host_facts()), IsEmpty());
}

// A host with eight ports and one address each; the address of each port is in the log of one rank.
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

TEST(KnownPairs, InEveryDumpAreNotMultiplied) {
  Facts facts;
  for (int host = 1; host <= 200; ++host) {
    facts.Dump("10.0.0." + std::to_string(host), {KernelQp(11, 11, 1)});
  }
  EXPECT_THAT(KnownPairsOf(facts.host_facts()), IsEmpty());
  EXPECT_THAT(NotesOnDumps(facts.host_facts()), testing::Contains(HasSubstr("so many dumps")));
}

TEST(KnownPairs, UseTheHostWithTheAddressInTheDumpsName) {
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

TEST(DumpNotes, ReportAHostWithoutAnAddress) {
  Facts facts;
  facts.Dump("node1", {KernelQpOn("mlx5_0", 11, 22, 101)});
  EXPECT_THAT(NotesOnDumps(facts.host_facts()),
              ElementsAre(testing::AllOf(HasSubstr("rdma dump node1"), HasSubstr("mlx5_0"))));
}

TEST(DumpNotes, ReportADumpWithoutAMatchingDump) {
  Facts facts;
  facts.Dump("10.0.0.1", {KernelQp(11, 22, 101)}).Dump("10.0.0.2", {KernelQp(22, 12, 102)});
  EXPECT_THAT(NotesOnDumps(facts.host_facts()),
              ElementsAre(HasSubstr("rdma dump 10.0.0.1: not used"),
                          HasSubstr("rdma dump 10.0.0.2: not used")));
}

TEST(DumpNotes, AreEmptyIfADumpIdentifiesARank) {
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

TEST(KnownPairs, AQueuePairOfAPortWithTooManyAddressesHasNone) {
  for (const int count : {8, 9}) {
    HostNic nic = {.host = "node1", .device = "mlx5_0", .addresses = {}};
    for (int i = 0; i < count; ++i) nic.addresses.push_back(Address(i));
    HostFacts facts;
    facts.nics = {nic};
    facts.rdma = {{.host = "node1", .queue_pairs = {KernelQpOn("mlx5_0", 11, 22, 103)}}};
    EXPECT_EQ(KnownQueuePairsOf(facts).size(), count == 8 ? 8u : 0u);
  }
}

TEST(KnownPairs, IncludePairsFromLogs) {
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
