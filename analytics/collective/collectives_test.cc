// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/collective/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>

#include "analytics/flow/with_own_flows.h"

namespace rocescope {
namespace {

constexpr Timestamp kStart = FromNanoseconds(1'700'000'000'000'000'000);

IpAddress HostAddress(uint32_t host) { return IpAddress::FromV4(0x0a000000u + host); }

// Traffic as posted by its sender, added directly to the tracker: rings of hosts, and other
// traffic.
class World {
 public:
  // A queue pair on which `from` sends to `to`; grants return on it.
  size_t Connect(uint32_t from, uint32_t to, bool granted = true, Segment segment = 0) {
    const uint32_t qpn = 100 + 2 * static_cast<uint32_t>(connections_.size());
    Connection connection;
    connection.endpoints[0] = {.segment = segment, .address = HostAddress(from), .qpn = Qpn{qpn}};
    connection.endpoints[1] = {.segment = segment, .address = HostAddress(to), .qpn = Qpn{qpn + 1}};
    connection.state = ConnectionState::kPaired;
    connection.confidence = 0.99;
    connections_.push_back(connection);
    granted_.push_back(granted);
    return connections_.size() - 1;
  }

  // `bytes` of data from `begin` to `end`, in microseconds.
  void Send(size_t connection, double begin, double end, uint32_t bytes) {
    const FlowKey data = FlowTo(connection, 1);
    if (granted_[connection]) {
      ObservationRecord grant{.flow = FlowTo(connection, 0), .ttl = 64, .payload_length = 64};
      grant.has_reth = grant.has_clear_to_send = true;
      Sight(grant, begin - 1);
      FlowRecord control = Count(grant.flow, 64, begin - 1, begin - 1);
      control.control_messages = 1;
      control.control_bytes = 64;
      traffic_.Add(control);
    }
    traffic_.Add(Count(data, bytes, begin, end));
    for (double at = begin; at < end; at += 2) {
      ObservationRecord packet{.flow = data, .ttl = 64, .payload_length = 4096};
      packet.has_reth = at == begin;
      packet.reth_length = bytes;
      Sight(packet, at);
    }
  }

  Attribution Find(Attribution attribution = {}) {
    attribution.endpoints.resize(connections_.size());
    iteration_patterns_ =
        FindCollectives(facts_, connections_, *traffic_.Summaries(), activity_, attribution);
    return attribution;
  }
  Attribution FindBy(CollectiveFinder& finder,
                     std::shared_ptr<const std::vector<JobIterationPattern>>& iteration_patterns) {
    Attribution attribution;
    attribution.endpoints.resize(connections_.size());
    iteration_patterns =
        finder.Find(facts_, connections_, *traffic_.Summaries(), activity_, attribution);
    return attribution;
  }
  const std::vector<JobIterationPattern>& iteration_patterns() const { return iteration_patterns_; }
  HostFacts& facts() { return facts_; }

 private:
  FlowKey FlowTo(size_t connection, size_t end) const {
    const auto& ends = connections_[connection].endpoints;
    return {.source = ends[1 - end].address,
            .destination = ends[end].address,
            .destination_qpn = *ends[end].qpn,
            .segment = ends[end].segment};
  }
  static Timestamp At(double microseconds) {
    return kStart + std::chrono::nanoseconds(static_cast<int64_t>(microseconds * 1e3));
  }
  void Sight(ObservationRecord& record, double microseconds) {
    record.kind = ObservationKind::kRequest;
    record.event_time = At(microseconds);
    activity_.Add(record);
  }
  static FlowRecord Count(const FlowKey& flow, uint64_t bytes, double begin, double end) {
    FlowRecord record{.flow = flow, .ttl = 64, .packets = 1, .payload_bytes = bytes};
    record.messages = 1;
    record.interval_start = record.first_seen = At(begin);
    record.last_seen = At(end);
    record.class_packets[static_cast<size_t>(OperationClass::kAcknowledge)] = 1;
    return record;
  }

  std::vector<Connection> connections_;
  std::vector<bool> granted_;
  WithOwnFlows<ActivityTracker> activity_;
  WithOwnFlows<TrafficTotals> traffic_;
  HostFacts facts_;
  std::vector<JobIterationPattern> iteration_patterns_;
};

// Iterations of a ring over the hosts: they compute, then all send at the same time for `busy`.
void RunRing(World& world, const std::vector<uint32_t>& hosts, double period, double busy,
             double until, uint32_t seed, Segment segment = 0, uint32_t message = 1u << 20) {
  std::mt19937 random(seed);
  std::normal_distribution<double> jitter(0, 0.005 * period);
  std::vector<size_t> connections;
  for (size_t i = 0; i < hosts.size(); ++i) {
    connections.push_back(world.Connect(hosts[i], hosts[(i + 1) % hosts.size()], true, segment));
  }
  for (double begin = 300; begin + busy < until; begin += period + jitter(random)) {
    for (const size_t connection : connections) {
      world.Send(connection, begin, begin + busy, message);
    }
  }
}

// Hosts (last bytes of the addresses) by job.
std::set<std::set<uint32_t>> HostsByJob(const Attribution& attribution) {
  std::set<std::set<uint32_t>> all;
  for (const AttributedJob& job : attribution.jobs) {
    std::set<uint32_t> hosts;
    for (const JobRank& rank : job.job.ranks) hosts.insert(rank.addresses.at(0).V4() & 0xff);
    all.insert(hosts);
  }
  return all;
}

// The worst case: all flows share one host, and each consists of a few bursts at random times with
// a period by chance.
TEST(FindCollectives, FindsTheLargestJobsAndAddsANoteIfThereAreTooManyPeriods) {
  constexpr double kUntil = 30'000;
  constexpr uint32_t kHub = 200;
  World world;
  RunRing(world, {1, 2, 3, 4}, 1000, 200, kUntil, 1);
  std::mt19937 random(2);
  std::uniform_real_distribution<double> any(0, kUntil);
  for (uint32_t i = 0; i < 1500; ++i) {
    const size_t connection = world.Connect(0x10000 + i, kHub, false);
    for (int burst = 0; burst < 6; ++burst) {
      const double begin = any(random);
      world.Send(connection, begin, begin + 100, 1000);
    }
  }
  CollectiveFinder finder(std::chrono::milliseconds(100));
  std::shared_ptr<const std::vector<JobIterationPattern>> iteration_patterns;
  const Attribution looked = world.FindBy(finder, iteration_patterns);
  EXPECT_TRUE(HostsByJob(looked).contains({1, 2, 3, 4}));
  EXPECT_THAT(looked.notes, testing::ElementsAre(testing::HasSubstr("too many flows")));
  EXPECT_EQ(world.FindBy(finder, iteration_patterns).notes, looked.notes)
      << "result repeated without a search";
}

TEST(CollectiveFinder, RepeatsItsResultUntilTheNextSearch) {
  World world;
  RunRing(world, {1, 3, 5, 7}, 1000, 150, 30000, 1);
  CollectiveFinder finder(std::chrono::milliseconds(100));
  std::shared_ptr<const std::vector<JobIterationPattern>> iteration_patterns;
  const Attribution looked = world.FindBy(finder, iteration_patterns);
  ASSERT_EQ(iteration_patterns->size(), 1u);
  const Duration period = iteration_patterns->at(0).period;
  RunRing(world, {2, 4, 6, 8}, 1130, 150, 30000, 2);  // not searched yet
  const Attribution repeated = world.FindBy(finder, iteration_patterns);
  EXPECT_EQ(HostsByJob(repeated), HostsByJob(looked));
  ASSERT_EQ(iteration_patterns->size(), 1u);
  EXPECT_EQ(iteration_patterns->at(0).period, period);
  EXPECT_EQ(repeated.endpoints[0][0]->member, looked.endpoints[0][0]->member);
  EXPECT_EQ(repeated.jobs[0].edges.size(), looked.jobs[0].edges.size());
  EXPECT_FALSE(repeated.endpoints[4][0]);
}

TEST(FindCollectives, FindsNothingWithoutTraffic) {
  World world;
  EXPECT_TRUE(world.Find().jobs.empty());
  EXPECT_TRUE(world.iteration_patterns().empty());
}

// This happens if captures of another day are added.
TEST(FindCollectives, FindsNoPeriodInTwoBurstsAfterALongSilence) {
  World world;
  world.Send(world.Connect(11, 12), 300, 450, 1u << 20);
  std::vector<size_t> tree;
  for (const auto& [from, to] : {std::pair(1u, 2u), {2u, 1u}, {2u, 3u}, {3u, 2u}}) {
    tree.push_back(world.Connect(from, to));
  }
  for (const double begin : {20e6, 20.1e6}) {
    for (const size_t connection : tree) world.Send(connection, begin, begin + 150, 1u << 14);
  }
  world.Find();
  EXPECT_EQ(world.iteration_patterns().size(), 0u);
}

TEST(FindCollectives, SeparatesTwoJobsOnInterleavedHosts) {
  World world;
  RunRing(world, {1, 3, 5, 7}, 1000, 150, 30000, 1);
  RunRing(world, {2, 4, 6, 8}, 1130, 150, 30000, 2);
  const Attribution attribution = world.Find();
  EXPECT_EQ(HostsByJob(attribution), (std::set<std::set<uint32_t>>{{1, 3, 5, 7}, {2, 4, 6, 8}}));
  ASSERT_EQ(world.iteration_patterns().size(), 2u);
  for (const JobIterationPattern& iteration_pattern : world.iteration_patterns()) {
    const double expected =
        iteration_pattern.members[0].address == HostAddress(1) ? 1000e3 : 1130e3;
    EXPECT_NEAR(static_cast<double>(iteration_pattern.period.count()), expected, 0.003 * expected);
    ASSERT_EQ(iteration_pattern.collectives.size(), 1u);
    EXPECT_EQ(iteration_pattern.collectives[0].kind, CollectiveKind::kRing);
    EXPECT_EQ(iteration_pattern.collectives[0].groups.size(), 1u);
  }
}

// A ring that sends for 150 of each 1000 us; slots of the time line are 16 us long here.
TEST(FindCollectives, ReportsStartAndSendingTimeOfEachIteration) {
  World world;
  RunRing(world, {1, 3, 5, 7}, 1000, 150, 30000, 1);
  world.Find();
  ASSERT_EQ(world.iteration_patterns().size(), 1u);
  const JobIterationPattern& iteration_pattern = world.iteration_patterns()[0];
  ASSERT_EQ(iteration_pattern.spans.size(), iteration_pattern.iterations);
  EXPECT_EQ(iteration_pattern.spans.front().begin, iteration_pattern.first);
  EXPECT_EQ(iteration_pattern.spans.back().end, iteration_pattern.last);
  for (size_t k = 0; k < iteration_pattern.spans.size(); ++k) {
    const IterationSpan& span = iteration_pattern.spans[k];
    if (k > 0) {
      EXPECT_EQ(span.begin, iteration_pattern.spans[k - 1].end);
    }
    EXPECT_NEAR(static_cast<double>((span.end - span.begin).count()), 1000e3, 50e3);
    EXPECT_NEAR(static_cast<double>(span.sending.count()), 150e3, 33e3);
  }
}

// Synchronised by chance, and with the same addresses.
// The second iteration starts with an evaluation, which sends nothing: its data is late, so that
// the period is measured from the third.
TEST(FindCollectives, MeasuresThePeriodFromAnIterationThatIsNotDelayed) {
  World world;
  std::vector<size_t> ring;
  for (uint32_t host = 1; host <= 4; ++host) ring.push_back(world.Connect(host, host % 4 + 1));
  double begin = 300;
  for (int k = 0; k < 20; ++k) {
    for (const size_t connection : ring) world.Send(connection, begin, begin + 20, 1u << 20);
    begin += k == 0 ? 180 : 100;
  }
  world.Find();
  ASSERT_EQ(world.iteration_patterns().size(), 1u);
  const JobIterationPattern& found = world.iteration_patterns()[0];
  EXPECT_EQ(found.iterations, 17u);
  EXPECT_NEAR(static_cast<double>((found.first - kStart).count()), 580e3, 5e3);
}

TEST(FindCollectives, SeparatesTenantsWithTheSameAddresses) {
  World world;
  RunRing(world, {1, 2, 3, 4}, 1000, 150, 30000, 1, 7);
  RunRing(world, {1, 2, 3, 4}, 1000, 150, 30000, 1, 8);
  const Attribution attribution = world.Find();
  ASSERT_EQ(attribution.jobs.size(), 2u);
  EXPECT_NE(attribution.jobs[0].job.id, attribution.jobs[1].job.id);
  for (const AttributedJob& job : attribution.jobs) EXPECT_EQ(job.job.ranks.size(), 4u);
  EXPECT_EQ(attribution.endpoints[0][0]->job, attribution.endpoints[3][1]->job);
  EXPECT_NE(attribution.endpoints[0][0]->job, attribution.endpoints[4][0]->job);
}

// The jobs use other queue pairs of the same NICs, so the NIC alone must not determine a job's ID.
TEST(FindCollectives, GivesJobsOnTheSameNicsDifferentIds) {
  World world;
  RunRing(world, {1, 2, 3, 4}, 1000, 150, 30000, 1);
  RunRing(world, {1, 5, 6, 7}, 1310, 150, 30000, 2);
  const Attribution attribution = world.Find();
  ASSERT_EQ(attribution.jobs.size(), 2u);
  EXPECT_NE(attribution.jobs[0].job.id, attribution.jobs[1].job.id);
}

TEST(FindCollectives, IgnoresBackgroundTraffic) {
  World world;
  RunRing(world, {1, 3, 5, 7}, 1000, 150, 30000, 1);
  RunRing(world, {2, 4, 6, 8}, 1130, 150, 30000, 2);
  const size_t stream = world.Connect(3, 4, false);  // between the two jobs
  std::mt19937 random(5);
  std::exponential_distribution<double> gap(1.0 / 200);
  for (double at = 10; at < 30000; at += 40 + gap(random)) world.Send(stream, at, at + 40, 65536);
  const Attribution attribution = world.Find();
  EXPECT_EQ(attribution.jobs.size(), 2u);
  EXPECT_FALSE(attribution.endpoints[stream][0]);
  EXPECT_FALSE(attribution.endpoints[stream][1]);
}

TEST(FindCollectives, JoinsRailsOfTheSameHosts) {
  World world;
  for (uint32_t rail = 0; rail < 4; ++rail) {
    std::vector<uint32_t> nics;
    for (uint32_t host = 0; host < 4; ++host) {
      const uint32_t nic = 1 + 4 * host + rail;
      nics.push_back(nic);
      world.facts().nics.push_back({.host = "host" + std::to_string(host),
                                    .device = "mlx5_" + std::to_string(rail),
                                    .addresses = {HostAddress(nic)}});
    }
    RunRing(world, nics, 1000 + rail, 150, 30000, rail);  // the rails do not wait for each other
  }
  const Attribution attribution = world.Find();
  ASSERT_EQ(attribution.jobs.size(), 1u);
  EXPECT_EQ(attribution.jobs[0].job.ranks.size(), 16u);
  EXPECT_EQ(attribution.jobs[0].job.ranks[0].host, "host0");
  ASSERT_EQ(world.iteration_patterns().size(), 1u);
  ASSERT_EQ(world.iteration_patterns()[0].collectives.size(), 1u);
  EXPECT_EQ(world.iteration_patterns()[0].collectives[0].groups.size(), 4u);
}

// A rail slowed down by a fault uses the same hosts and messages of the same size.
TEST(FindCollectives, JoinsAMuchSlowerRail) {
  for (const bool same_messages : {true, false}) {
    SCOPED_TRACE(same_messages);
    World world;
    for (uint32_t rail = 0; rail < 4; ++rail) {
      std::vector<uint32_t> nics;
      for (uint32_t host = 0; host < 4; ++host) {
        nics.push_back(1 + 4 * host + rail);
        world.facts().nics.push_back({.host = "host" + std::to_string(host),
                                      .device = "mlx5_" + std::to_string(rail),
                                      .addresses = {HostAddress(nics.back())}});
      }
      const bool slow = rail == 2;
      RunRing(world, nics, slow ? 1730 : 1000, 150, 30000, rail, 0,
              slow && !same_messages ? 3u << 18 : 1u << 20);
    }
    EXPECT_EQ(world.Find().jobs.size(), same_messages ? 1u : 2u);
  }
}

// Two jobs share a host; a channel without a period belongs to the job that both its hosts have.
TEST(FindCollectives, AssignsAChannelWithoutPeriodToTheJobOfBothHosts) {
  World world;
  const auto place = [&](uint32_t nic, const std::string& host) {
    world.facts().nics.push_back(
        {.host = host, .device = "mlx5_" + std::to_string(nic), .addresses = {HostAddress(nic)}});
  };
  for (const uint32_t nic : {1u, 2u, 3u, 4u}) place(nic, "a" + std::to_string(nic));
  for (const uint32_t nic : {11u, 12u, 13u}) place(nic, "b" + std::to_string(nic));
  place(14, "a4");  // the second job's, on a host of the first
  RunRing(world, {1, 2, 3, 4}, 1000, 150, 30000, 1);
  RunRing(world, {11, 12, 13, 14}, 1370, 150, 30000, 2);
  const size_t rare = world.Connect(4, 1);
  world.Send(rare, 7123, 7150, 4096);
  const Attribution attribution = world.Find();
  ASSERT_EQ(attribution.jobs.size(), 2u);
  ASSERT_TRUE(attribution.endpoints[rare][0]);
  EXPECT_EQ(attribution.endpoints[rare][0]->job, attribution.endpoints[0][0]->job);
}

// Two hosts that exchange twice per iteration reduce and gather; if the data is sent in pieces, it
// looks like a tree.
TEST(FindCollectives, AssumesOneDifferentRailDoesWhatTheOthersDo) {
  for (const uint32_t in_pieces : {0u, 1u, 4u}) {
    SCOPED_TRACE(in_pieces);
    World world;
    constexpr uint32_t kRails = 8;
    std::vector<std::array<size_t, 2>> rails;
    for (uint32_t rail = 0; rail < kRails; ++rail) {
      for (uint32_t host = 0; host < 2; ++host) {
        world.facts().nics.push_back({.host = "host" + std::to_string(host),
                                      .device = "mlx5_" + std::to_string(rail),
                                      .addresses = {HostAddress(1 + kRails * host + rail)}});
      }
      rails.push_back(
          {world.Connect(1 + rail, 1 + kRails + rail), world.Connect(1 + kRails + rail, 1 + rail)});
    }
    for (double begin = 300; begin < 29000; begin += 1000) {
      for (uint32_t rail = 0; rail < kRails; ++rail) {
        const uint32_t pieces = rail < in_pieces ? 8 : 2;
        for (uint32_t piece = 0; piece < pieces; ++piece) {
          const double at = begin + 160.0 * piece / pieces;
          for (const size_t connection : rails[rail]) {
            world.Send(connection, at, at + 160.0 / pieces - 4, (1u << 20) / pieces);
          }
        }
      }
    }
    world.Find();
    ASSERT_EQ(world.iteration_patterns().size(), 1u);
    const std::vector<Collective>& collectives = world.iteration_patterns()[0].collectives;
    // If half of the rails are different, they are no exception.
    ASSERT_EQ(collectives.size(), in_pieces == 4 ? 2u : 1u);
    EXPECT_TRUE(std::ranges::any_of(collectives, [](const Collective& collective) {
      return collective.kind == CollectiveKind::kRing;
    }));
    if (in_pieces < 4) {
      EXPECT_EQ(collectives[0].groups.size(), kRails);
    }
  }
}

TEST(FindCollectives, SeparatesThePhasesOfAnIteration) {
  World world;
  std::map<std::pair<uint32_t, uint32_t>, size_t> exchange;
  for (uint32_t from = 1; from <= 4; ++from) {
    for (uint32_t to = 1; to <= 4; ++to) {
      if (from != to) exchange[{from, to}] = world.Connect(from, to);
    }
  }
  std::vector<size_t> ring;
  for (uint32_t host = 1; host <= 4; ++host) ring.push_back(world.Connect(host, host % 4 + 1));
  for (double begin = 300; begin < 29000; begin += 1000) {
    for (const auto& [pair, connection] : exchange) {
      world.Send(connection, begin, begin + 100, 100000);
    }
    for (const size_t connection : ring) world.Send(connection, begin + 500, begin + 650, 1u << 20);
  }
  world.Find();
  ASSERT_EQ(world.iteration_patterns().size(), 1u);
  std::set<CollectiveKind> kinds;
  for (const Collective& collective : world.iteration_patterns()[0].collectives) {
    kinds.insert(collective.kind);
  }
  EXPECT_EQ(kinds, (std::set<CollectiveKind>{CollectiveKind::kAllToAll, CollectiveKind::kRing}));
}

TEST(FindCollectives, IdentifiesTheStraggler) {
  World world;
  std::map<std::pair<uint32_t, uint32_t>, size_t> exchange;
  for (uint32_t from = 1; from <= 4; ++from) {
    for (uint32_t to = 1; to <= 4; ++to) {
      if (from != to) exchange[{from, to}] = world.Connect(from, to);
    }
  }
  double begin = 300;
  for (int iteration = 0; iteration < 25; ++iteration) {
    const double late = iteration >= 8 && iteration < 16 ? 400 : 0;
    for (const auto& [pair, connection] : exchange) {
      const bool waits = pair.first == 3 || pair.second == 3;
      const double at = begin + (waits ? late : 0);
      world.Send(connection, at, at + 100, 100000);
    }
    begin += 1000 + late;
  }
  world.Find();
  ASSERT_EQ(world.iteration_patterns().size(), 1u);
  const auto& waited = world.iteration_patterns()[0].straggler;
  ASSERT_TRUE(waited);
  EXPECT_EQ(world.iteration_patterns()[0].members[waited->member].address, HostAddress(3));
  EXPECT_GE(waited->iterations, 6u);
  EXPECT_NEAR(static_cast<double>(waited->lateness.count()), 400e3, 40e3);
}

TEST(FindCollectives, KeepsJobsReportedByHosts) {
  World world;
  RunRing(world, {1, 2, 3}, 1000, 150, 30000, 1);
  Attribution known;
  known.jobs.push_back({.job = {.id = "known"}, .edges = {}});
  known.endpoints.resize(3);
  for (EndClaims& ends : known.endpoints) {
    ends[0] = ends[1] = RankClaim{.job = 0, .rank = 0, .confidence = 0.99};
  }
  const Attribution found = world.Find(known);
  ASSERT_EQ(found.jobs.size(), 1u);
  EXPECT_EQ(found.jobs[0].job.id, "known");
  ASSERT_EQ(world.iteration_patterns().size(), 1u);
  EXPECT_EQ(world.iteration_patterns()[0].job, 0u);
  EXPECT_EQ(world.iteration_patterns()[0].collectives.at(0).kind, CollectiveKind::kRing);
}

}  // namespace
}  // namespace rocescope
