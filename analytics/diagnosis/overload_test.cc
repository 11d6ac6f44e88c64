// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

constexpr const char* kSenders[] = {"host4", "host5", "host6", "host8", "host9", "host12"};

class OverloadTest : public DiagnosisTest {
 protected:
  // The last link to host0 runs at 95 % of its rate from window 8 on.
  void FillLink() {
    for (size_t w = 8; w < kWindows; ++w) {
      Grows(Port("leaf0", "host0"), Metric::kTxBytes, w, kLine * 95 / 100);
    }
  }
  Findings Found() { return DiagnosisTest::Found(DetectOverload); }
};

TEST_F(OverloadTest, ManyNewSendersThatFillALinkAreAnIncast) {
  FillLink();
  for (const char* sender : kSenders) Sends(sender, "host0", 17, 8);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kIncast);
  EXPECT_EQ(found[0].place, Nic("host0"));
  EXPECT_EQ(found[0].from, Begin(8));
  EXPECT_EQ(found[0].detected_at, End(9));
  EXPECT_THAT(found[0].evidence[0], testing::HasSubstr("and to no other NIC"));
  EXPECT_THAT(found[0].evidence[0], testing::HasSubstr("in 12 of 12 windows"));
  std::vector<FlowKey> culprits;
  for (const char* sender : kSenders) culprits.push_back(Flow(sender, "host0"));
  EXPECT_THAT(found[0].culprits, testing::UnorderedElementsAreArray(culprits));
  EXPECT_TRUE(std::ranges::is_sorted(found[0].culprits));
}

TEST_F(OverloadTest, MarksAtTheLastPortSayThatItIsFullToo) {
  Grows(Port("leaf0", "host0"), Metric::kEcnMarked, 10, 5, kRoce);
  for (const char* sender : kSenders) Sends(sender, "host0", 17, 8);
  EXPECT_TRUE(Found().empty()) << "one window is a queue as there are many";
  Grows(Port("leaf0", "host0"), Metric::kEcnMarked, 12, 5, kRoce);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].detected_at, End(12));
}

// What they did before is seen: they have not come for this alone.
TEST_F(OverloadTest, SendersWhoAlsoSendToOthersAreNotSaidToSendToNobodyElse) {
  FillLink();
  Sends("host4", "host0", 17, 8);
  Sends("host8", "host0", 17, 8);
  Sends("host4", "host12", 18, 0);
  Sends("host8", "host13", 18, 0);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].evidence[0], testing::HasSubstr("which started recently"));
}

// The senders begin to send to others as well, but long before or after this.
TEST_F(OverloadTest, OtherNewFlowsOfTheSendersAtOtherTimesAreNoCollective) {
  FillLink();
  for (const char* sender : {"host4", "host8"}) {
    Sends(sender, "host0", 17, 8);
    Sends(sender, "host12", 18, 15);
    Sends("host13", sender, 19, 15);
  }
  EXPECT_EQ(Found().size(), 1u);
  Sends("host4", "host13", 18, 10);
  Sends("host8", "host13", 18, 10);
  EXPECT_TRUE(Found().empty());
}

class CheckpointTest : public OverloadTest {
 protected:
  CheckpointTest() {
    FillLink();
    for (const char* sender : kSenders) Sends(sender, "host0", 17, 8);
  }
  void HasJob(const std::vector<const char*>& hosts) {
    attribution_.jobs.emplace_back();
    JobIterationPattern& pattern = iteration_patterns_.emplace_back();
    pattern.job = static_cast<uint32_t>(attribution_.jobs.size() - 1);
    for (const char* host : hosts) pattern.members.push_back({.address = AddressOf(host)});
  }
};

TEST_F(CheckpointTest, AJobThatWritesACheckpointIsNoIncast) {
  HasJob({"host4", "host5", "host6"});
  EXPECT_EQ(Found().size(), 1u) << "the other senders belong to no job";
  HasJob({"host8", "host9", "host12", "host13"});
  EXPECT_TRUE(Found().empty());
}

// The NIC belongs to a rank of another job.
TEST_F(CheckpointTest, NoJobWritesToTheRanksOfAnother) {
  HasJob({"host4", "host5", "host6", "host8", "host9", "host12"});
  EXPECT_TRUE(Found().empty());
  HasJob({"host0", "host1"});
  attribution_.jobs.back().job.identity = JobIdentity::kWire;
  EXPECT_TRUE(Found().empty()) << "a job that is only inferred may contain the storage";
  attribution_.jobs.back().job.identity = JobIdentity::kNcclLog;
  EXPECT_EQ(Found().size(), 1u);
}

// Two hosts of the second job write, too.
TEST_F(CheckpointTest, AnotherJobMayBeginToWriteThere) {
  HasJob({"host4", "host5", "host6", "host8"});
  HasJob({"host9", "host10", "host11", "host12", "host13"});
  EXPECT_TRUE(Found().empty());
  attribution_.jobs.clear();
  iteration_patterns_.clear();
  HasJob({"host4", "host5", "host7"});
  HasJob({"host6", "host8", "host9", "host10", "host11", "host12", "host13", "host14"});
  EXPECT_EQ(Found().size(), 1u) << "only two of six senders belong to a job that writes";
}

TEST_F(CheckpointTest, APartOfAJobThatSendsToOneOfItsOwnIsAnIncast) {
  HasJob({"host0", "host4", "host5", "host6", "host8", "host9", "host12"});
  EXPECT_EQ(Found().size(), 1u);
}

TEST_F(OverloadTest, ASenderThatWasThereBeforeDoesNotBeginAnIncast) {
  FillLink();
  for (const char* sender : {"host4", "host5", "host6", "host8", "host9"}) {
    Sends(sender, "host0", 17, 8);
  }
  Sends("host12", "host0", 18, 0);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kIncast);
  EXPECT_GE(found[0].from, Begin(8));
  EXPECT_EQ(found[0].culprits.size(), 5u);
}

// The job restarts in window 8. Without its logs, its new flows look like those of the senders.
TEST_F(OverloadTest, SendersMayBeNicsOfAJobThatRestarts) {
  FillLink();
  for (const char* sender : kSenders) Sends(sender, "host0", 17, 8);
  for (const char* sender : kSenders) {
    Sends("host0", sender, 30, 8);
    Sends(sender, "host0", 20, 8);
  }
  EXPECT_TRUE(Found().empty());
  attribution_.jobs.resize(1);
  for (const char* sender : kSenders) {
    Connection connection{.state = ConnectionState::kPaired};
    connection.endpoints[0] = {.address = AddressOf("host0"), .qpn = Qpn{20}};
    connection.endpoints[1] = {.address = AddressOf(sender), .qpn = Qpn{30}};
    connections_.push_back(connection);
    const RankClaim claim{.job = 0, .rank = 3, .confidence = 0.99};
    attribution_.endpoints.push_back({claim, claim});
  }
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kIncast);
  EXPECT_EQ(found[0].culprits.size(), std::size(kSenders));
}

TEST_F(OverloadTest, AFewNewSendersAreNoisyNeighbours) {
  FillLink();
  Sends("host4", "host0", 17, 8);
  Sends("host8", "host0", 17, 8);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kNoisyNeighbour);
  EXPECT_EQ(found[0].place, Nic("host0"));
}

TEST_F(OverloadTest, ALinkThatDoesNotFillIsNoFault) {
  for (const char* sender : kSenders) Sends(sender, "host0", 17, 8);
  EXPECT_TRUE(Found().empty());
}

TEST_F(OverloadTest, ManyThatAreThereFromTheBeginningAreAnIncastIfTheySendToNobodyElse) {
  FillLink();
  for (const char* sender : kSenders) Sends(sender, "host0", 17, 0);
  Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, FaultKind::kIncast);
  EXPECT_EQ(found[0].culprits.size(), 6u);
  EXPECT_EQ(found[0].detected_at, End(9)) << "the link was not full before";
}

TEST_F(OverloadTest, AFewThatAreThereFromTheBeginningMayBeWhatTheNicIsFor) {
  FillLink();
  for (const char* sender : {"host4", "host5", "host6", "host8"}) Sends(sender, "host0", 17, 0);
  EXPECT_TRUE(Found().empty());
}

TEST_F(OverloadTest, SendersWithOtherFlowsThatAreThereFromTheBeginningAreTheJob) {
  FillLink();
  for (const char* sender : kSenders) {
    Sends(sender, "host0", 17, 0);
    Sends(sender, "host1", 17, 0);
  }
  EXPECT_TRUE(Found().empty());
}

TEST_F(OverloadTest, SendersThatGetAnswersAreTheJob) {
  FillLink();
  for (const char* sender : kSenders) {
    Sends(sender, "host0", 17, 0);
    Sends("host0", sender, 18, 0);
  }
  EXPECT_TRUE(Found().empty());
}

// host1 > host0 > host2: host1 sends to nobody else, but gets from host3.
TEST_F(OverloadTest, WhoIsBeforeItInARingIsNotToBlame) {
  FillLink();
  const char* ring[] = {"host3", "host1", "host0", "host2"};
  for (size_t i = 0; i < 4; ++i) Sends(ring[i], ring[(i + 1) % 4], 17, 0);
  for (const char* sender : kSenders) Sends(sender, "host0", 17, 2);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprits.size(), 6u);
  EXPECT_EQ(found[0].from, Begin(2));
}

// The job's NIC sends as before.
TEST_F(OverloadTest, AJobsNicMayBeTheOneThatIsHit) {
  FillLink();
  Sends("host0", "host1", 18, 2);
  Sends("host1", "host0", 18, 2);
  for (const char* sender : kSenders) Sends(sender, "host0", 17, 2);
  const Findings found = Found();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].culprits.size(), 6u);
}

// An all-to-all that begins in the midst: who gets from many sends to many.
TEST_F(OverloadTest, AnAllToAllsNewFlowsAreNoIncast) {
  FillLink();
  for (const char* from : kSenders) {
    Sends(from, "host0", 17, 8);
    Sends("host0", from, 17, 8);
    for (const char* to : kSenders) {
      if (from != to) Sends(from, to, 17, 8);
    }
  }
  EXPECT_TRUE(Found().empty());
}

// A change of phase: the same pairs of a job, by new queue pairs, with answers.
TEST_F(OverloadTest, ARingThatBeginsAnewIsNoIncast) {
  FillLink();
  for (const char* from : {"host4", "host8"}) {
    Sends(from, "host0", 99, 8);
    Sends("host0", from, 99, 8);
  }
  EXPECT_TRUE(Found().empty());
}

}  // namespace
}  // namespace rocescope
