// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/diagnosis/affected_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/diagnosis/diagnosis_fixture.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Job 0 goes from host0 by spine0 to host4, job 1 from host1 by spine1 to host5.
class VictimsTest : public DiagnosisTest {
 protected:
  VictimsTest() {
    attribution_.jobs.resize(2);
    Talk(0, "host0", "host4", "spine0");
    Talk(1, "host1", "host5", "spine1");
  }

  // Queue pair 20 of the one with 30 of the other. Both leaves are those of the hosts above.
  void Talk(uint32_t job, const std::string& a, const std::string& b, const std::string& spine,
            size_t first = 0, size_t last = kWindows - 1) {
    Goes({a, "leaf0", spine, "leaf1", b}, 30, first, last);
    Goes({b, "leaf1", spine, "leaf0", a}, 20, first, last);
    for (FlowPath& path : paths_) path.intervals[0].sources = kFromMirror;
    Connection connection{.state = ConnectionState::kPaired};
    connection.endpoints[0] = {.address = AddressOf(a), .qpn = Qpn{20}};
    connection.endpoints[1] = {.address = AddressOf(b), .qpn = Qpn{30}};
    connections_.push_back(connection);
    attribution_.endpoints.push_back({RankClaim{.job = job}, RankClaim{.job = job}});
  }
  Finding At(const Place& place, size_t first = 8, size_t last = 12) const {
    return {.place = place, .from = Begin(first), .until = End(last)};
  }
  Finding Filled(const Finding& finding) {
    return In([&](const DiagnosisInput& input) {
      Findings findings = {finding};
      FillVictims(input, findings);
      return findings[0];
    });
  }
  std::vector<uint32_t> HurtBy(const Finding& finding) { return Filled(finding).affected_jobs; }
  // Nothing shows that the fault affects a job, unless a test says so.
  std::vector<uint32_t> ExposedTo(const Finding& finding) { return Filled(finding).exposed_jobs; }

  // Iterations of half a window, and of `during` from the eighth window on.
  void Iterates(uint32_t job, Duration during, Timestamp until = End(kWindows - 1)) {
    JobIterationPattern pattern{.job = job};
    Timestamp at = Begin(0);
    while (at < until) {
      const Timestamp end = at + (at < Begin(8) ? kWindow / 2 : during);
      pattern.spans.push_back({.begin = at, .end = end});
      at = end;
    }
    iteration_patterns_.push_back(pattern);
  }
  // The NIC pauses its switch for a tenth of each window.
  void Pauses(const std::string& host, const std::string& leaf) {
    for (size_t w = 8; w <= 12; ++w) {
      Grows(Port(leaf, host), Metric::kPfcRxTime, w, kWindow.count() / 10, kRoce);
    }
  }
};

TEST_F(VictimsTest, AreTheJobsWhoseFlowsPassTheLink) {
  EXPECT_THAT(ExposedTo(At(Link("leaf0", "spine0"))), ElementsAre(0));
  EXPECT_THAT(ExposedTo(At(Link("leaf2", "spine0"))), IsEmpty());
}

TEST_F(VictimsTest, OfOneDirectionAreThoseWhoGoThatWay) {
  // Nothing comes back that way.
  std::erase_if(paths_, [](const FlowPath& path) { return path.flow.destination_qpn == Qpn{20}; });
  EXPECT_THAT(ExposedTo(At(OneWay("leaf0", "spine0"))), ElementsAre(0));
  EXPECT_THAT(ExposedTo(At(OneWay("spine0", "leaf0"))), IsEmpty());
}

TEST_F(VictimsTest, OfASwitchAreAllThatItForwards) {
  EXPECT_THAT(ExposedTo(At(Switch("leaf0"))), ElementsAre(0, 1));
  EXPECT_THAT(ExposedTo(At(Switch("spine1"))), ElementsAre(1));
}

TEST_F(VictimsTest, OfANicAndOfAGpuNextToItAreThoseWhoUseIt) {
  EXPECT_THAT(ExposedTo(At(Nic("host5"))), ElementsAre(1));
  EXPECT_THAT(HurtBy(At(Gpu("host4"))), ElementsAre(0));
  EXPECT_THAT(ExposedTo(At(Gpu("host9"))), IsEmpty());
}

TEST_F(VictimsTest, OfALoopAreAllWhoPassAnyOfItsPorts) {
  Finding deadlock = At(OneWay("leaf3", "spine0"));
  deadlock.loop = {Port("leaf3", "spine0"), Port("leaf0", "spine1")};
  EXPECT_THAT(HurtBy(deadlock), ElementsAre(1)) << "they wait in a paused queue";
  EXPECT_THAT(ExposedTo(deadlock), IsEmpty());
}

TEST_F(VictimsTest, AreOnlyThoseWhoWereThereMeanwhile) {
  attribution_.jobs.resize(4);
  Talk(2, "host2", "host6", "spine0", 0, 4);    // long gone
  Talk(3, "host3", "host7", "spine0", 14, 19);  // came later
  EXPECT_THAT(ExposedTo(At(Link("leaf0", "spine0"))), ElementsAre(0));
}

TEST_F(VictimsTest, WhoStopsAtOnceWasLastSeenAWindowBefore) {
  attribution_.jobs.resize(3);
  Talk(2, "host2", "host6", "spine0", 0, 7);
  EXPECT_THAT(ExposedTo(At(Link("leaf0", "spine0"))), ElementsAre(0, 2));
}

TEST_F(VictimsTest, AFlowThatTookAnotherWayIsNotHurtByTheOldOne) {
  PathInterval later = paths_[0].intervals[0];
  paths_[0].intervals[0].until = Begin(5);
  paths_[1].intervals[0].until = Begin(5);
  later.from = Begin(5);
  later.certain[1] = Port("leaf0", "spine1");
  later.certain[2] = Port("spine1", "leaf1");
  paths_[0].intervals.push_back(later);
  EXPECT_THAT(ExposedTo(At(Switch("spine0"))), IsEmpty());
  EXPECT_THAT(ExposedTo(At(Switch("spine1"))), ElementsAre(0, 1));
}

TEST_F(VictimsTest, PacketsThatAreSpreadAreHurtWhereSomeOfThemGo) {
  PathInterval& stretch = paths_[0].intervals[0];
  stretch.state = PathState::kSpread;
  stretch.certain = {Port("host0", "leaf0"), Port("leaf1", "host4")};
  stretch.shares = {{.port = Port("leaf0", "spine0"), .share = 0.5},
                    {.port = Port("leaf0", "spine1"), .share = 0.5}};
  EXPECT_THAT(ExposedTo(At(OneWay("leaf0", "spine1"))), ElementsAre(0, 1));
}

TEST_F(VictimsTest, CulpritsAndThoseWhoAnswerThemAreNone) {
  Finding finding = At(Nic("host4"));
  finding.culprits = {Flow("host0", "host4", 30)};
  EXPECT_THAT(ExposedTo(finding), IsEmpty());
}

// Job 0 was affected before. Job 1, whose flows also pass leaf0, starts during the fault.
TEST_F(VictimsTest, OfALastingFindingAreTheKnownJobsAndThoseThatStartDuringIt) {
  Finding lasting = At(Switch("leaf0"));
  lasting.until.reset();
  lasting.affected_jobs = {0};
  Finding filled = Filled(lasting);
  EXPECT_THAT(filled.affected_jobs, ElementsAre(0));
  EXPECT_THAT(filled.exposed_jobs, ElementsAre(1));
  Loses(Flow("host1", "host5", 30), 9, 3, 0);
  filled = Filled(filled);
  EXPECT_THAT(filled.affected_jobs, ElementsAre(0, 1));
  EXPECT_THAT(filled.exposed_jobs, IsEmpty());
}

TEST_F(VictimsTest, JobsWithoutTrafficStayAffectedByALastingFinding) {
  for (EndClaims& ends : attribution_.endpoints) ends = {};
  Finding lasting = At(Switch("leaf0"));
  lasting.affected_jobs = {0};
  lasting.exposed_jobs = {1};
  EXPECT_EQ(Filled(lasting), lasting);
}

// A straggler is the rank that the other ranks of this job wait for.
TEST_F(VictimsTest, TheJobThatWaitsForAStragglerIsKept) {
  Finding finding = At(Nic("host4"));
  finding.basis = Basis::kWaiting;
  finding.affected_jobs = {1};
  EXPECT_THAT(HurtBy(finding), ElementsAre(1));
  EXPECT_THAT(ExposedTo(finding), IsEmpty());
}

TEST_F(VictimsTest, NobodysFlowsHurtNobody) {
  for (EndClaims& ends : attribution_.endpoints) ends = {};
  EXPECT_THAT(ExposedTo(At(Switch("leaf0"))), IsEmpty());
}

// As connections have them that were not attributed yet.
TEST_F(VictimsTest, FewerClaimsThanConnectionsAreNoTrouble) {
  attribution_.endpoints.resize(1);
  EXPECT_THAT(ExposedTo(At(Switch("leaf0"))), ElementsAre(0));
}

TEST_F(VictimsTest, OfLossAreThoseWhoRetransmitOrGetNaks) {
  Loses(Flow("host0", "host4", 30), 9, 3, 0);
  EXPECT_THAT(HurtBy(At(Switch("leaf0"))), ElementsAre(0));
  EXPECT_THAT(ExposedTo(At(Switch("leaf0"))), ElementsAre(1));
  EXPECT_THAT(HurtBy(At(Switch("spine1"))), IsEmpty()) << "it lost nothing there";
  EXPECT_THAT(HurtBy(At(Switch("leaf0"), 11, 12)), IsEmpty()) << "the loss was before the fault";
  Loses(Flow("host5", "host1", 20), 14, 0, 1);
  EXPECT_THAT(HurtBy(At(Switch("leaf0"))), ElementsAre(0, 1)) << "timeouts delay signs of loss";
}

// sFlow samples do not show which flows lose packets, but NICs count it.
TEST_F(VictimsTest, OfLossWithoutMirrorsAreThoseWhoseNicsCountLosses) {
  for (FlowPath& path : paths_) path.intervals[0].sources = kFromSflow;
  Finding loss = At(Link("leaf0", "spine0"));
  loss.kind = FaultKind::kGrayLoss;
  EXPECT_THAT(HurtBy(loss), ElementsAre(0)) << "no NIC reports losses: it is not known better";
  for (size_t w = 0; w < kWindows; ++w) {
    Grows(OfNic(NicOf("host0")), Metric::kPacketSequenceError, w, w == 3 ? 9 : 0);
    Grows(OfNic(NicOf("host4")), Metric::kPacketSequenceError, w, 0);
  }
  EXPECT_THAT(HurtBy(loss), IsEmpty()) << "counted before the fault";
  Grows(OfNic(NicOf("host0")), Metric::kPacketSequenceError, 10, 9);
  EXPECT_THAT(HurtBy(loss), ElementsAre(0));
}

TEST_F(VictimsTest, OfAnOverloadAreThoseWhoSendToTheNic) {
  Finding overload = At(Nic("host4"));
  overload.kind = FaultKind::kNoisyNeighbour;
  EXPECT_THAT(HurtBy(overload), ElementsAre(0));
  overload.place = Nic("host5");
  EXPECT_THAT(HurtBy(overload), ElementsAre(1));
}

TEST_F(VictimsTest, OfAFaultThatLosesNothingAreNotThoseWhoRetransmit) {
  Loses(Flow("host0", "host4", 30), 9, 3, 0);
  Finding slow = At(Switch("leaf0"));
  slow.kind = FaultKind::kMisconfiguredEcn;
  EXPECT_THAT(HurtBy(slow), IsEmpty());
  EXPECT_THAT(ExposedTo(slow), ElementsAre(0, 1));
}

TEST_F(VictimsTest, OfLossAreThoseWhoStop) {
  Iterates(0, kWindow / 2, Begin(9));
  Iterates(1, kWindow / 2);
  Finding blackhole = At(Switch("leaf0"));
  blackhole.kind = FaultKind::kBlackhole;
  EXPECT_THAT(HurtBy(blackhole), ElementsAre(0));
  EXPECT_THAT(ExposedTo(blackhole), ElementsAre(1));
}

TEST_F(VictimsTest, OfANicThatPausesItsSwitchAreThoseWhoSendToIt) {
  Finding slow = At(Nic("host4"));
  slow.kind = FaultKind::kSlowReceiver;
  EXPECT_THAT(HurtBy(slow), IsEmpty());
  Pauses("host4", "leaf1");
  EXPECT_THAT(HurtBy(slow), ElementsAre(0));
  std::erase_if(paths_, [](const FlowPath& path) { return path.flow.destination_qpn == Qpn{30}; });
  EXPECT_THAT(HurtBy(slow), IsEmpty()) << "it can still send";
  EXPECT_THAT(ExposedTo(slow), ElementsAre(0));
}

TEST_F(VictimsTest, OfANicThatDiscardsPacketsAreThoseWhoSendToIt) {
  Finding slow = At(Nic("host4"));
  slow.kind = FaultKind::kSlowReceiver;
  for (size_t w = 0; w < kWindows; ++w) Grows(OfNic(NicOf("host4")), Metric::kRxDiscards, w, 0);
  Grows(OfNic(NicOf("host4")), Metric::kRxDiscards, 3, 100);
  EXPECT_THAT(HurtBy(slow), IsEmpty()) << "before the fault";
  Grows(OfNic(NicOf("host4")), Metric::kRxDiscards, 10, 100);
  EXPECT_THAT(HurtBy(slow), ElementsAre(0));
}

TEST_F(VictimsTest, OfDelaysAreThoseWhoseIterationsBecomeLonger) {
  Iterates(0, kWindow);
  Iterates(1, kWindow / 2);
  Finding slow = At(Switch("leaf0"));
  slow.kind = FaultKind::kDegradedRate;
  EXPECT_THAT(HurtBy(slow), ElementsAre(0));
  EXPECT_THAT(ExposedTo(slow), ElementsAre(1));
  slow.place = Switch("spine1");
  EXPECT_THAT(HurtBy(slow), IsEmpty()) << "another fault slows it down";
}

TEST_F(VictimsTest, OfASlowGpuAreThoseWithARankOnIt) {
  const std::string pci = fabric_.gpu(GpuOf("host4")).pci;
  attribution_.jobs[1].job.ranks.push_back({.host = "host4", .gpu_bus_id = pci});
  Finding slow = At(Gpu("host4"));
  slow.kind = FaultKind::kStraggler;
  EXPECT_THAT(HurtBy(slow), ElementsAre(1));
  EXPECT_THAT(ExposedTo(slow), ElementsAre(0));
}

TEST_F(VictimsTest, AreThoseWhoseNicIsCutOff) {
  Finding crash = At(Switch("leaf1"));
  crash.kind = FaultKind::kSwitchCrash;
  EXPECT_THAT(HurtBy(crash), ElementsAre(0, 1));
  crash.place = Switch("spine0");
  EXPECT_THAT(HurtBy(crash), IsEmpty()) << "they can use the other spine";
  Finding down = At(Link("leaf1", "host5"));
  down.kind = FaultKind::kLinkDown;
  EXPECT_THAT(HurtBy(down), ElementsAre(1));
  down.place = Link("leaf0", "spine0");
  EXPECT_THAT(HurtBy(down), IsEmpty());
}

// The port of leaf1 to host4 is congested, and leaf1 pauses spine1, which job 1 uses.
TEST_F(VictimsTest, AreThoseThatArePausedBecauseOfACongestedNic) {
  Finding incast = At(Nic("host4"));
  incast.kind = FaultKind::kIncast;
  EXPECT_THAT(HurtBy(incast), ElementsAre(0));
  const auto pause = [&](std::string_view from, std::string_view to, size_t first, size_t last) {
    for (size_t w = first; w <= last; ++w) {
      Grows(Port(from, to), Metric::kPfcRxTime, w, kWindow.count() / 10, kRoce);
    }
  };
  pause("leaf0", "spine1", 8, 12);
  EXPECT_THAT(HurtBy(incast), ElementsAre(0)) << "spine1 itself is not paused";
  pause("spine1", "leaf1", 8, 12);
  EXPECT_THAT(HurtBy(incast), ElementsAre(0, 1));
  pause("spine1", "leaf1", 0, 7);
  pause("leaf0", "spine1", 0, 7);
  EXPECT_THAT(HurtBy(incast), ElementsAre(0)) << "they were paused before, too";
}

// host1 sends half of the line rate to host4, so that job 1 has less of its NIC.
TEST_F(VictimsTest, AreThoseThatShareTheNicOfACulprit) {
  Finding noisy = At(Nic("host4"));
  noisy.kind = FaultKind::kNoisyNeighbour;
  noisy.culprits = {Flow("host1", "host4", 99)};
  FlowCounts& total = Sends("host1", "host4", 99).total;
  total.last_seen = End(12);
  total.bytes = 1000;
  EXPECT_THAT(HurtBy(noisy), ElementsAre(0));
  total.bytes = 5 * kLine / 2;
  EXPECT_THAT(HurtBy(noisy), ElementsAre(0, 1));
}

}  // namespace
}  // namespace rocescope
