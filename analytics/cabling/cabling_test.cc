// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/cabling/cabling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analytics/cabling/cabling_fixture.h"
#include "analytics/cabling/link_claims.h"
#include "analytics/flow/with_own_flows.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using topology::PortIndex;

constexpr Timestamp At(int64_t ms) { return CablingWorld::At(ms); }

class CablingTest : public testing::Test {
 protected:
  CablingTest() { world_.LearnTaps(cabling_); }

  PortIndex Port(std::string_view from, std::string_view to) const {
    return world_.PortTo(from, to);
  }
  // Swaps leaf0's cable to spine0 with leaf1's cable to spine1.
  void SwapTwo() { world_.Swap(Port("leaf0", "spine0"), Port("leaf1", "spine1")); }

  // Flows from hosts at leaf0 and leaf1 to hosts at leaf2 and leaf3, over every uplink.
  template <typename Tell>
  void ForFlows(Tell tell) const {
    uint32_t qpn = 0;
    for (const auto& [host, leaf] : {std::pair("host0", "leaf0"), std::pair("host1", "leaf0"),
                                     std::pair("host2", "leaf1"), std::pair("host3", "leaf1")}) {
      for (const char* spine : {"spine0", "spine1", "spine2", "spine3"}) {
        for (const char* to : {"host4", "host6"}) {
          tell(world_.Flow(host, to, ++qpn), world_.PathBy(host, Port(leaf, spine), to));
        }
      }
    }
  }
  void SendPostcards(int64_t first = 0) {
    ForFlows([&](const FlowKey& flow, const auto& path) {
      for (int64_t ms = 0; ms < 4; ++ms) cabling_.Add(world_.Postcards(flow, path, At(first + ms)));
    });
  }
  // A different number of bytes over each uplink, in each of ten milliseconds.
  void Count(int64_t readings = 10, uint64_t unit = 1'000'000, int64_t first = 0) {
    for (int64_t ms = first; ms < first + readings; ++ms) {
      cabling_.Add(world_.Counters(At(ms)));
      uint64_t bytes = unit;
      ForFlows([&](const FlowKey&, const auto& path) { world_.Carry(path, bytes += unit / 10); });
    }
    cabling_.Add(world_.Counters(At(first + readings)));
  }
  void ReportDown(int64_t ms, const std::vector<PortIndex>& ports) {
    RecordBatch batch = world_.Counters(At(ms));
    for (const PortIndex port : ports) {
      const topology::Port& down = world_.declared().port(port);
      for (CounterRecord& record : batch.counters) {
        if (record.metric == Metric::kLinkUp && record.entity.port == down.name &&
            record.entity.node == world_.declared().node(down.node).name) {
          record.value = 0;
        }
      }
    }
    cabling_.Add(batch);
  }
  // The links of both cables are down while they exchange their ends.
  void SwapAt(int64_t ms) {
    ReportDown(ms, {Port("leaf0", "spine0"), Port("spine0", "leaf0"), Port("leaf1", "spine1"),
                    Port("spine1", "leaf1")});
    SwapTwo();
  }
  CableFinding Only() const {
    const CablingAnswer answer = cabling_.Answer();
    EXPECT_THAT(answer.findings, SizeIs(1));
    return answer.findings.empty() ? CableFinding() : answer.findings.front();
  }
  void ExpectTheSwap(const CableFinding& finding) const {
    EXPECT_EQ(finding.kind, CableFindingKind::kSwapped);
    EXPECT_THAT(finding.declared, UnorderedElementsAre(world_.LinkOf("leaf0", "spine0"),
                                                       world_.LinkOf("leaf1", "spine1")));
    const auto cable = [](PortIndex a, PortIndex b) {
      return Cable{std::min(a, b), std::max(a, b)};
    };
    EXPECT_THAT(finding.real,
                UnorderedElementsAre(cable(Port("leaf0", "spine0"), Port("spine1", "leaf1")),
                                     cable(Port("leaf1", "spine1"), Port("spine0", "leaf0"))));
  }

  CablingWorld world_;
  WithOwnFlows<Cabling> cabling_{world_.declared()};
};

TEST_F(CablingTest, ReportsAndConfirmsNothingWithoutRecords) {
  const CablingAnswer answer = cabling_.Answer();
  EXPECT_THAT(answer.findings, IsEmpty());
  EXPECT_EQ(answer.links, 24u);  // 8 hosts, 4 leaves with 4 spines
  EXPECT_EQ(answer.confirmed, 0u);
}

TEST_F(CablingTest, PostcardsConfirmCorrectCabling) {
  SendPostcards();
  const CablingAnswer answer = cabling_.Answer();
  EXPECT_THAT(answer.findings, IsEmpty());
  EXPECT_EQ(answer.confirmed, 4u + 2u + 8u + 8u);  // senders, receivers, uplinks, downlinks
}

TEST_F(CablingTest, PostcardsIdentifySwappedCables) {
  SwapTwo();
  SendPostcards();
  const CableFinding finding = Only();
  ExpectTheSwap(finding);
  EXPECT_EQ(finding.flows, 8u);  // four over each of the two uplinks
  EXPECT_EQ(finding.flows_against, 0u);
  EXPECT_GE(finding.confidence, 0.9);
  EXPECT_EQ(finding.since, At(0) + Duration(2));
}

// One packet of each of three flows is observed at leaf0 and another at spine1, because each packet
// takes another uplink. If other flows show that switches spray, this is no swapped cable.
TEST_F(CablingTest, PacketsThatAreSprayedShowNoSwappedCable) {
  const auto report_only = [&](const FlowKey& flow, const char* spine, size_t hop, int64_t ms) {
    RecordBatch batch =
        world_.Postcards(flow, world_.PathBy("host0", Port("leaf0", spine), "host4"), At(ms));
    batch.hops = {batch.hops[hop]};
    cabling_.Add(batch);
  };
  for (uint32_t qpn = 1; qpn <= 3; ++qpn) {
    const FlowKey flow = world_.Flow("host0", "host4", qpn);
    for (const int64_t ms : {0, 4}) {
      report_only(flow, "spine0", 0, ms);
      report_only(flow, "spine1", 1, ms + 1);
    }
  }
  EXPECT_THAT(cabling_.Answer().findings, testing::Not(IsEmpty())) << "with a single path";
  for (uint32_t qpn = 4; qpn <= 16; ++qpn) {
    const FlowKey flow = world_.Flow("host0", "host4", qpn);
    for (int64_t ms = 0; ms < 3; ++ms) {
      report_only(flow, ms % 2 == 0 ? "spine0" : "spine1", 0, ms);
    }
  }
  EXPECT_THAT(cabling_.Answer().findings, testing::Not(IsEmpty())) << "flows moved and returned";
  for (uint32_t qpn = 4; qpn <= 16; ++qpn) {
    const FlowKey flow = world_.Flow("host0", "host4", qpn);
    for (int64_t ms = 3; ms < 7; ++ms) {
      report_only(flow, ms % 2 == 0 ? "spine0" : "spine1", 0, ms);
    }
  }
  const CablingAnswer answer = cabling_.Answer();
  EXPECT_THAT(answer.findings, IsEmpty());
  EXPECT_GT(answer.confirmed, 0u) << "links of hosts";
}

TEST_F(CablingTest, EvictsIdleFlowsForNewOnes) {
  const auto path = world_.PathBy("host0", Port("leaf0", "spine0"), "host4");
  cabling_.SetTime(At(0));
  for (uint32_t i = 0; i < Adjacency::kMaxFlows; ++i) {
    cabling_.Add(world_.Postcards(world_.Flow("host0", "host4", 1000 + i), path, At(-20'000)));
  }
  SwapTwo();
  cabling_.SetTime(At(20'000));
  SendPostcards();
  EXPECT_EQ(cabling_.Answer().flows_refused, 0u);
  EXPECT_THAT(cabling_.Answer().findings, SizeIs(testing::Ge(1u)));
}

// Mirrors show which switch a packet passed, but not its egress port.
TEST_F(CablingTest, MirrorsOfAllSwitchesIdentifySwappedCables) {
  SwapTwo();
  ForFlows([&](const FlowKey& flow, const auto& path) {
    cabling_.Add(world_.Copies(flow, path, At(0), At(3)));
  });
  ExpectTheSwap(Only());
}

TEST_F(CablingTest, CountersAloneIdentifySwappedCables) {
  SwapTwo();
  Count();
  const CableFinding finding = Only();
  ExpectTheSwap(finding);
  EXPECT_EQ(finding.flows, 0u);
  EXPECT_GT(finding.bytes, 0u);
  EXPECT_DOUBLE_EQ(finding.confidence, 0.9);
}

TEST_F(CablingTest, CountersConfirmCorrectCabling) {
  Count();
  const CablingAnswer answer = cabling_.Answer();
  EXPECT_THAT(answer.findings, IsEmpty());
  EXPECT_EQ(answer.confirmed, 4u + 2u + 8u + 8u);
}

TEST_F(CablingTest, FlowsAndCountersTogetherIncreaseConfidence) {
  SwapTwo();
  Count();
  SendPostcards();
  const CableFinding finding = Only();
  ExpectTheSwap(finding);
  EXPECT_GE(finding.confidence, 0.98);
}

TEST_F(CablingTest, CountersIdentifyCablesThatAreSwappedLater) {
  Count(100);
  EXPECT_THAT(cabling_.Answer().findings, IsEmpty());
  SwapAt(101);
  Count(10, 1'000'000, 102);
  const CableFinding finding = Only();
  ExpectTheSwap(finding);
  EXPECT_GE(finding.since, At(102));
  EXPECT_THAT(cabling_.Answer().ended, IsEmpty());
}

TEST_F(CablingTest, FlowsIdentifyCablesThatAreSwappedLater) {
  cabling_.Add(world_.Counters(At(0)));
  SendPostcards();
  SwapAt(10);
  cabling_.Add(world_.Counters(At(11)));
  SendPostcards(12);
  const CableFinding finding = Only();
  ExpectTheSwap(finding);
  EXPECT_EQ(finding.flows, 8u);
  EXPECT_EQ(finding.flows_against, 0u);
  EXPECT_GE(finding.since, At(12));
}

// A flap counter shows that the links were down between two readings.
TEST_F(CablingTest, CablesThatAreSwappedBetweenTwoReadingsAreIdentified) {
  const auto add = [&](int64_t ms, uint64_t flaps) {
    RecordBatch batch = world_.Counters(At(ms));
    for (CounterRecord& record : batch.counters) {
      if (record.metric != Metric::kLinkUp) continue;
      record.metric = Metric::kLinkFlaps;
      record.value = flaps;
    }
    cabling_.Add(batch);
  };
  add(0, 3);
  SendPostcards();
  SwapTwo();
  add(10, 4);
  SendPostcards(12);
  ExpectTheSwap(Only());
}

TEST_F(CablingTest, CablesThatWereSwappedForAWhileAreKept) {
  Count(100);
  SwapAt(101);
  Count(10, 1'000'000, 102);
  SendPostcards(102);
  constexpr int64_t kBack = 2000;
  SwapAt(kBack);  // back
  Count(10, 1'000'000, kBack + 1);
  SendPostcards(kBack + 1);
  const CablingAnswer answer = cabling_.Answer();
  EXPECT_THAT(answer.findings, IsEmpty());
  ASSERT_THAT(answer.ended, SizeIs(1));
  ExpectTheSwap(answer.ended[0]);
  EXPECT_GE(answer.ended[0].since, At(102));
  EXPECT_EQ(answer.ended[0].until, At(kBack));
}

// Nothing shows that the cables were corrected.
TEST_F(CablingTest, ASwapRemainsIfOneOfItsLinksFlaps) {
  SwapTwo();
  Count();
  SendPostcards();
  ReportDown(2000, {Port("leaf0", "spine0")});
  cabling_.Add(world_.Counters(At(2001)));
  const CableFinding finding = Only();
  ExpectTheSwap(finding);
  EXPECT_LT(finding.since, At(10));
  EXPECT_THAT(cabling_.Answer().ended, IsEmpty());
  Count(10, 1'000'000, 2002);
  ExpectTheSwap(Only());
}

// Another link flaps just before the cables are swapped.
TEST_F(CablingTest, ASwapIsFoundAfterAnotherLinkWasDown) {
  Count(100);
  ReportDown(2000, {Port("leaf3", "spine3")});
  SwapAt(2001);
  Count(10, 1'000'000, 2002);
  Count(10, 1'000'000, 4000);
  ExpectTheSwap(Only());
}

// Only the leaves report the state of links.
TEST_F(CablingTest, FlowsIdentifyASwapIfOnlyOneEndReportsItsState) {
  const auto without_spines = [&](RecordBatch batch) {
    std::erase_if(batch.counters, [](const CounterRecord& record) {
      return record.entity.node.starts_with("spine");
    });
    cabling_.Add(batch);
  };
  without_spines(world_.Counters(At(0)));
  SendPostcards();
  RecordBatch down = world_.Counters(At(10));
  for (CounterRecord& record : down.counters) {
    if (record.metric == Metric::kLinkUp && record.entity.node.starts_with("leaf"))
      record.value = 0;
  }
  without_spines(down);
  SwapTwo();
  without_spines(world_.Counters(At(11)));
  SendPostcards(12);
  ExpectTheSwap(Only());
}

TEST_F(CablingTest, ALaterSwapOfTheSameCablesIsAnotherFinding) {
  SwapTwo();
  Count();
  SwapAt(2000);  // corrected
  Count(10, 1'000'000, 2001);
  SendPostcards(2001);
  SwapAt(9000);
  Count(10, 1'000'000, 9001);
  const CablingAnswer answer = cabling_.Answer();
  ASSERT_THAT(answer.findings, SizeIs(1));
  ExpectTheSwap(answer.findings[0]);
  EXPECT_GE(answer.findings[0].since, At(9000));
  ASSERT_THAT(answer.ended, SizeIs(1));
  EXPECT_EQ(answer.ended[0].until, At(2000));
}

TEST_F(CablingTest, SwappedCablesWhoseLinksFlapAreOneFinding) {
  SwapTwo();
  Count();
  for (const int64_t down : {2000, 4000}) {
    SwapAt(down);
    SwapTwo();  // the same cables again
    Count(10, 1'000'000, down + 1);
  }
  ExpectTheSwap(Only());
  EXPECT_LT(Only().since, At(10));
  EXPECT_THAT(cabling_.Answer().ended, IsEmpty());
}

// 1 - 2^-4 from four flows, 0.9 from counters: the confidence of the finding is that of its less
// certain cable.
TEST_F(CablingTest, CombinesFlowAndCounterEvidenceToASwap) {
  LinkClaims claims(world_.declared());
  const PortIndex sender = Port("spine1", "leaf1");
  claims.Contradict(
      Port("leaf0", "spine0"),
      {.sender = {.node = world_.declared().port(sender).node, .port = sender}, .flows = 4});
  claims.Contradict(Port("spine0", "leaf0"), {.bytes = 1 << 20, .by_counters = true});
  claims.Connect(Port("leaf1", "spine1"), Port("spine0", "leaf0"));
  const std::vector<CableFinding> findings = claims.Findings();
  ASSERT_THAT(findings, SizeIs(1));
  ExpectTheSwap(findings[0]);
  EXPECT_DOUBLE_EQ(findings[0].confidence, 0.9);
}

TEST_F(CablingTest, IdentifiesSwappedHostsByTheirAddresses) {
  world_.Swap(Port("leaf0", "host0"), Port("leaf1", "host2"));
  for (uint32_t qpn = 1; qpn <= 4; ++qpn) {
    for (const auto& [host, leaf] : {std::pair("host0", "leaf1"), std::pair("host2", "leaf0")}) {
      const auto path = world_.PathBy(host, Port(leaf, "spine0"), "host4");
      cabling_.Add(world_.Postcards(world_.Flow(host, "host4", qpn), path, At(qpn)));
    }
  }
  const CableFinding finding = Only();
  EXPECT_EQ(finding.kind, CableFindingKind::kSwapped);
  EXPECT_THAT(finding.declared, UnorderedElementsAre(world_.LinkOf("leaf0", "host0"),
                                                     world_.LinkOf("leaf1", "host2")));
}

// host1 is declared without a cable and is connected where host0 should be.
TEST_F(CablingTest, IdentifiesAnUndeclaredHostAtAnotherPort) {
  const topology::Fabric& declared = world_.declared();
  topology::Fabric::Parts parts = declared.parts();
  const topology::LinkIndex gone = world_.LinkOf("host1", "leaf0");
  for (const PortIndex end : parts.links[gone].ends) parts.ports[end].link = topology::kNone;
  parts.links[gone] = parts.links.back();
  for (const PortIndex end : parts.links[gone].ends) {
    if (parts.ports[end].link != topology::kNone) parts.ports[end].link = gone;
  }
  parts.links.pop_back();
  const topology::Fabric fabric = topology::Fabric::Make(std::move(parts)).value();
  WithOwnFlows<Cabling> cabling(fabric);
  const PortIndex out = Port("leaf0", "spine0");
  for (uint32_t qpn = 1; qpn <= 4; ++qpn) {
    for (const auto& [from, to] : {std::pair("host1", "host4"), std::pair("host4", "host1")}) {
      HopRecord hop;
      hop.packet = {.known = true, .flow = world_.Flow(from, to, qpn), .ttl = 63};
      hop.node_id = declared.node(declared.FindNode("leaf0")).int_switch_id;
      hop.metadata.present = wire::kIntPorts;
      const bool sends = std::string_view(from) == "host1";
      const auto host = static_cast<uint16_t>(declared.port(Port("leaf0", "host0")).number);
      const auto spine = static_cast<uint16_t>(declared.port(out).number);
      hop.metadata.ingress_port = sends ? host : spine;
      hop.metadata.egress_port = sends ? spine : host;
      hop.event_time = At(qpn);
      RecordBatch batch;
      batch.hops.push_back(hop);
      cabling.Add(batch);
    }
  }
  const CablingAnswer answer = cabling.Answer();
  ASSERT_THAT(answer.findings, SizeIs(1));
  EXPECT_EQ(answer.findings[0].kind, CableFindingKind::kDisagrees);
  EXPECT_EQ(answer.findings[0].receiver, Port("leaf0", "host0"));
  EXPECT_EQ(answer.findings[0].sender, declared.FindNode("host1"));
}

TEST_F(CablingTest, ReportsThreeCablesInARingAsOneFinding) {
  world_.Swap(Port("leaf0", "spine0"), Port("leaf1", "spine1"));
  world_.Swap(Port("leaf1", "spine1"), Port("leaf2", "spine2"));
  uint32_t qpn = 0;
  for (const auto& [host, leaf] :
       {std::pair("host0", "leaf0"), std::pair("host2", "leaf1"), std::pair("host4", "leaf2")}) {
    for (const char* spine : {"spine0", "spine1", "spine2", "spine3"}) {
      for (int stripe = 0; stripe < 2; ++stripe) {
        const FlowKey flow = world_.Flow(host, "host6", ++qpn);
        const auto path = world_.PathBy(host, Port(leaf, spine), "host6");
        for (int64_t ms = 0; ms < 4; ++ms) cabling_.Add(world_.Postcards(flow, path, At(ms)));
      }
    }
  }
  const CableFinding finding = Only();
  EXPECT_EQ(finding.declared.size(), 3u);
}

// A flow that two places show one after the other was rerouted.
TEST_F(CablingTest, IgnoresReroutedFlows) {
  for (const char* to : {"host4", "host5", "host6"}) {
    const FlowKey flow = world_.Flow("host0", to, 5);
    const auto before = world_.PathBy("host0", Port("leaf0", "spine0"), to);
    const auto after = world_.PathBy("host0", Port("leaf0", "spine1"), to);
    RecordBatch early = world_.Postcards(flow, before, At(0));
    early.hops.resize(1);  // only the leaf's hop
    RecordBatch late = world_.Postcards(flow, after, At(2));
    late.hops.erase(late.hops.begin());
    cabling_.Add(early);
    cabling_.Add(late);
  }
  EXPECT_THAT(cabling_.Answer().findings, IsEmpty());
}

TEST_F(CablingTest, IgnoresASingleFlow) {
  SwapTwo();
  const auto path = world_.PathBy("host0", Port("leaf0", "spine0"), "host4");
  for (int64_t ms = 0; ms < 4; ++ms) {
    cabling_.Add(world_.Postcards(world_.Flow("host0", "host4", 7), path, At(ms)));
  }
  EXPECT_THAT(cabling_.Answer().findings, IsEmpty());
}

TEST_F(CablingTest, DoesNotReportLossAsMiscabling) {
  for (int64_t ms = 0; ms < 10; ++ms) {
    cabling_.Add(world_.Counters(At(ms)));
    ForFlows([&](const FlowKey&, const auto& path) {
      world_.Carry(path, 1'000'000, ms > 3 ? 300'000 : 0);
    });
  }
  EXPECT_THAT(cabling_.Answer().findings, IsEmpty());
}

TEST_F(CablingTest, DrawsNoConclusionFromTwoReadings) {
  SwapTwo();
  Count(1);
  EXPECT_THAT(cabling_.Answer().findings, IsEmpty());
}

// Counters of a fabric with one declared link that does not exist.
class CablingOfALinkThatIsNotThere : public CablingTest {
 protected:
  // The ends of leaf0's link to spine3 are either not reported, or reported as down.
  void Tell(bool of_the_ends, bool carried_before) {
    const std::array<PortIndex, 2> ends = {Port("leaf0", "spine3"), Port("spine3", "leaf0")};
    for (int64_t ms = 0; ms < 5; ++ms) {
      RecordBatch batch = world_.Counters(At(ms));
      std::erase_if(batch.counters, [&](CounterRecord& record) {
        for (const PortIndex end : ends) {
          const topology::Port& port = world_.declared().port(end);
          if (record.entity.node != world_.declared().node(port.node).name ||
              record.entity.port != port.name) {
            continue;
          }
          record.value = record.metric == Metric::kLinkUp || !carried_before ? 0 : 12'345;
          return !of_the_ends;
        }
        return false;
      });
      cabling_.Add(batch);
    }
  }
};

TEST_F(CablingOfALinkThatIsNotThere, IsReportedIfDownAndIdleAtBothEnds) {
  Tell(true, false);
  const CableFinding finding = Only();
  EXPECT_EQ(finding.kind, CableFindingKind::kMissing);
  EXPECT_THAT(finding.declared, ElementsAre(world_.LinkOf("leaf0", "spine3")));
  EXPECT_DOUBLE_EQ(finding.confidence, 0.9);
  EXPECT_EQ(finding.readings, 5u);
}

TEST_F(CablingOfALinkThatIsNotThere, IsReportedWithLowerConfidenceIfNeitherEndIsReported) {
  Tell(false, false);
  const CableFinding finding = Only();
  EXPECT_EQ(finding.kind, CableFindingKind::kMissing);
  EXPECT_DOUBLE_EQ(finding.confidence, 0.7);
}

// The link went down before the observation: a fault, not a missing cable.
TEST_F(CablingOfALinkThatIsNotThere, IsNotReportedIfItEverCarriedTraffic) {
  Tell(true, true);
  EXPECT_THAT(cabling_.Answer().findings, IsEmpty());
}

TEST_F(CablingTest, ReportsDifferentLinkStatesAsDisagreement) {
  for (int64_t ms = 0; ms < 5; ++ms) {
    RecordBatch batch = world_.Counters(At(ms));
    for (CounterRecord& record : batch.counters) {
      const bool down = record.entity.node == "leaf0" && record.metric == Metric::kLinkUp &&
                        record.entity.port == world_.declared().port(Port("leaf0", "spine3")).name;
      if (down) record.value = 0;
    }
    cabling_.Add(batch);
  }
  const CableFinding finding = Only();
  EXPECT_EQ(finding.kind, CableFindingKind::kDisagrees);
  EXPECT_TRUE(finding.state_differs);
}

TEST_F(CablingTest, ReportsTrafficAtAnUndeclaredPort) {
  const FlowKey flow = world_.Flow("host0", "host4", 7);
  const auto path = world_.PathBy("host0", Port("leaf0", "spine0"), "host4");
  for (int64_t i = 0; i < 20; ++i) {
    RecordBatch batch = world_.Postcards(flow, path, At(i));
    batch.hops[1].metadata.egress_port = 77;
    cabling_.Add(batch);
  }
  const CableFinding finding = Only();
  EXPECT_EQ(finding.kind, CableFindingKind::kUnexpected);
  EXPECT_EQ(finding.place, "spine0:77");
  EXPECT_EQ(finding.packets, 20u);
}

TEST_F(CablingTest, CountsUnknownNodesWithExamples) {
  RecordBatch batch = world_.Counters(At(0));
  for (CounterRecord& record : batch.counters) {
    if (record.entity.node.starts_with("spine")) record.entity.node += "-old";
  }
  cabling_.Add(batch);
  const UnknownNodes strangers = cabling_.Answer().counters;
  EXPECT_EQ(strangers.records, 4u * 4u * 3u);  // spines, ports, metrics
  EXPECT_THAT(strangers.examples,
              ElementsAre("spine0-old", "spine1-old", "spine2-old", "spine3-old"));
  EXPECT_FALSE(strangers.more);
}

TEST_F(CablingTest, AcceptsNodeNamesWithDomain) {
  RecordBatch batch = world_.Counters(At(0));
  for (CounterRecord& record : batch.counters) record.entity.node += ".lab.example.net";
  cabling_.Add(batch);
  EXPECT_EQ(cabling_.Answer().counters.records, 0u);
}

TEST_F(CablingTest, CountsUnknownSwitches) {
  HopRecord hop;
  hop.node_id = 4711;
  RecordBatch batch;
  batch.hops = {hop, hop};
  cabling_.Add(batch);
  EXPECT_EQ(cabling_.Answer().switches.records, 2u);
  EXPECT_THAT(cabling_.Answer().switches.examples, ElementsAre("INT node 4711"));
}

}  // namespace
}  // namespace rocescope
