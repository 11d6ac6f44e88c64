// SPDX-License-Identifier: BSD-3-Clause
#include "analytics/engine/engine.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "topology/generate.h"

namespace rocescope {
namespace {

constexpr Duration kInterval = std::chrono::milliseconds(100);

FlowKey FlowTo(uint32_t qpn) {
  return {.source = IpAddress::FromV4(1),
          .destination = IpAddress::FromV4(2),
          .destination_qpn = {qpn}};
}

// WRITEs with PSNs from `first` to `last` in one interval.
FlowRecord Writes(int64_t interval, uint32_t first, uint32_t last, uint32_t restarts = 0) {
  FlowRecord record{.flow = FlowTo(17), .packets = last - first + 1};
  record.interval_width = kInterval;
  record.interval_start = Timestamp(interval * kInterval);
  record.first_seen = record.interval_start;
  record.last_seen = record.interval_start + Duration(1);
  record.class_packets[static_cast<size_t>(OperationClass::kWrite)] = last - first + 1;
  record.requests = {.restarts = restarts, .valid = true, .last_psn = last};
  record.first_request_psn = first;
  return record;
}

HostFacts FactsOf(std::string job) {
  HostFacts facts;
  facts.jobs.emplace_back().id = std::move(job);
  return facts;
}

TEST(Engine, HasAnAnswerBeforeAnyRecord) {
  const auto snapshot = Engine().Publish();
  EXPECT_TRUE(snapshot->flows->empty());
  EXPECT_TRUE(snapshot->connections->empty());
  EXPECT_TRUE(snapshot->attribution->jobs.empty());
}

TEST(Engine, ReportsRefusedCounters) {
  Engine engine({}, std::make_shared<const topology::Fabric>(
                        topology::Generate({.hosts = 2, .leaves = 1, .spines = 1}).value()));
  EXPECT_EQ(engine.Publish()->refused.metrics.unknown_entities, 0u);
  engine.Ingest({.counters = {{.entity = {.kind = EntityKind::kPort, .node = "leaf9", .port = "1"},
                               .metric = Metric::kRxBytes,
                               .event_time = Timestamp(kInterval)}}});
  EXPECT_EQ(engine.Publish()->refused.metrics.unknown_entities, 1u);
}

TEST(Engine, ReportsLinksThatAreDownSinceTheStart) {
  Engine engine({}, std::make_shared<const topology::Fabric>(
                        topology::Generate({.hosts = 2, .leaves = 1, .spines = 1}).value()));
  engine.Ingest(
      {.counters = {{.entity = {.kind = EntityKind::kNic, .node = "host0", .port = "mlx5_0"},
                     .metric = Metric::kLinkUp,
                     .event_time = Timestamp(kInterval)}}});
  EXPECT_EQ(engine.Publish()->links_never_up.size(), 1u);
}

// Far more windows than are stored, and a single snapshot at the end.
TEST(Engine, FindsFaultsThatEndedLongBeforeTheSnapshot) {
  const auto fabric = std::make_shared<const topology::Fabric>(
      topology::Generate({.hosts = 2, .leaves = 1, .spines = 1}).value());
  const topology::Link& link = fabric->link(0);
  Engine engine({.window = kInterval}, fabric);
  for (int64_t window = 0; window < 1000; ++window) {
    RecordBatch batch;
    for (const topology::PortIndex end : link.ends) {
      const topology::Port& port = fabric->port(end);
      const topology::NicIndex nic = fabric->NicOf(end);
      CounterRecord& record = batch.counters.emplace_back();
      record.entity.kind = nic == topology::kNone ? EntityKind::kPort : EntityKind::kNic;
      record.entity.node = fabric->node(port.node).name;
      record.entity.port = nic == topology::kNone ? port.name : fabric->nic(nic).device;
      record.metric = Metric::kLinkUp;
      record.value = window < 300 || window >= 320 ? 1 : 0;
      record.event_time = record.arrival_time = Timestamp((window + 1) * kInterval);
    }
    engine.Ingest(batch);
  }
  const auto snapshot = engine.Publish();
  ASSERT_EQ(snapshot->findings->size(), 1u);
  const Finding& found = snapshot->findings->front();
  EXPECT_EQ(found.kind, FaultKind::kLinkDown);
  EXPECT_EQ(found.from, Timestamp(300 * kInterval));
  EXPECT_EQ(found.until, Timestamp(320 * kInterval));
}

TEST(Engine, PublishesTheSameSnapshotWithoutChanges) {
  Engine engine;
  engine.Ingest({.flows = {Writes(1, 0, 9)}});
  const auto first = engine.Publish();
  engine.Ingest({});
  engine.Advance(Timestamp(kInterval * 2));
  EXPECT_EQ(engine.Publish(), first);
  engine.Ingest({.flows = {Writes(2, 10, 19)}});
  EXPECT_NE(engine.Publish(), first);
}

TEST(Engine, DoesNotChangePublishedSnapshots) {
  Engine engine;
  engine.Ingest({.flows = {Writes(1, 0, 9)}});
  const auto first = engine.Publish();
  engine.Ingest({.flows = {Writes(2, 10, 19)}});
  EXPECT_EQ(engine.Publish()->flows->at(0).total.packets, 20u);
  EXPECT_EQ(first->flows->at(0).total.packets, 10u);
}

TEST(Engine, ForgetsInTheNextSnapshotWhatAdvanceExpired) {
  Engine engine;
  engine.Ingest({.flows = {Writes(1, 0, 9)}});
  EXPECT_EQ(engine.Publish()->connections->size(), 1u);
  engine.Advance(Timestamp(std::chrono::hours(3)));
  EXPECT_TRUE(engine.Publish()->connections->empty());
}

TEST(Engine, CountsEachOwnerOfANumberSeparately) {  // although all records are in one batch
  Engine engine;
  engine.Ingest({.flows = {Writes(1, 0, 99), Writes(100, 0, 9, 1)}});
  const auto snapshot = engine.Publish();
  ASSERT_EQ(snapshot->connections->size(), 2u);
  const FlowSummary& flow = snapshot->flows->at(0);
  for (const Connection& connection : *snapshot->connections) {
    ASSERT_NE(flow.Of(connection.valid_until), nullptr);
    EXPECT_EQ(flow.Of(connection.valid_until)->packets, connection.valid_until ? 100u : 10u);
  }
}

TEST(Engine, SharesHostFactsWithItsSnapshots) {
  Engine engine;
  engine.SetHostFacts(FactsOf("a"));
  const auto first = engine.Publish();
  engine.Ingest({.flows = {Writes(1, 0, 9)}});
  EXPECT_EQ(engine.Publish()->host_facts, first->host_facts);
}

TEST(Engine, ReplacesHostFacts) {
  Engine engine;
  engine.SetHostFacts(FactsOf("a"));
  engine.SetHostFacts(FactsOf("b"));
  const auto snapshot = engine.Publish();
  ASSERT_EQ(snapshot->host_facts->jobs.size(), 1u);
  EXPECT_EQ(snapshot->host_facts->jobs[0].id, "b");
  EXPECT_EQ(snapshot->attribution->jobs.size(), 1u);
}

// Two hosts whose kernels report each other's queue pair.
HostFacts KernelsThatPair(uint32_t at_low, uint32_t at_high) {
  HostFacts facts;
  facts.rdma = {{.host = "0.0.0.1",
                 .queue_pairs = {{.local = Qpn{at_low}, .remote = Qpn{at_high}, .type = "RC"}}},
                {.host = "0.0.0.2",
                 .queue_pairs = {{.local = Qpn{at_high}, .remote = Qpn{at_low}, .type = "RC"}}}};
  return facts;
}

size_t Paired(const Snapshot& snapshot) {
  size_t paired = 0;
  for (const Connection& c : *snapshot.connections) paired += c.state == ConnectionState::kPaired;
  return paired;
}

TEST(Engine, ForgetsThePairsOfHostFactsThatWereReplaced) {
  Engine engine;
  FlowRecord back = Writes(1, 0, 9);
  back.flow = {
      .source = IpAddress::FromV4(2), .destination = IpAddress::FromV4(1), .destination_qpn = {16}};
  engine.SetHostFacts(KernelsThatPair(16, 17));
  engine.Ingest({.flows = {Writes(1, 0, 9), back}});
  EXPECT_EQ(Paired(*engine.Publish()), 1u);
  engine.SetHostFacts({});
  EXPECT_EQ(Paired(*engine.Publish()), 0u);
}

}  // namespace
}  // namespace rocescope
