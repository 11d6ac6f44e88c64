// SPDX-License-Identifier: BSD-3-Clause
// A snapshot does not depend on which snapshots were published before, and shares unchanged parts
// with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "analytics/connection/observation_builder.h"
#include "analytics/engine/engine.h"
#include "analytics/path/path_fixture.h"

namespace rocescope {
namespace {

constexpr uint32_t kHosts = 16;

class Traffic {
 public:
  Traffic(const topology::Fabric& fabric, uint64_t seed) : fabric_(fabric), random_(seed) {}

  // Ingress ports of leaves and spines; some copies come from other switches than routing would
  // use.
  std::vector<TapLocation> Taps() const {
    std::vector<TapLocation> taps;
    for (const topology::Port& port : fabric_.ports()) {
      const topology::Node& node = fabric_.node(port.node);
      if (!node.IsSwitch() || node.tier == topology::Tier::kCore) continue;
      taps.push_back({.tap = static_cast<TapId>(taps.size()),
                      .switch_address = node.erspan_source,
                      .session = 1,
                      .side = TapSide::kIngress,
                      .has_port = true,
                      .port = port.number});
    }
    return taps;
  }

  RecordBatch Batch(int64_t interval, size_t taps) {
    RecordBatch batch;
    for (int i = 0; i < 12; ++i) {
      const FlowKey flow = Flow();
      FlowRecord record = {.flow = flow, .tap = static_cast<TapId>(Below(taps)), .ttl = 62};
      record.interval_width = std::chrono::milliseconds(100);
      record.interval_start = Timestamp((interval - Below(2)) * record.interval_width);
      record.first_seen = record.interval_start + Duration(Below(1000));
      record.last_seen = record.first_seen + std::chrono::microseconds(Below(90'000));
      record.packets = 1 + Below(9);
      record.bytes = record.packets * 1000;
      if (Below(3) > 0) {
        record.class_packets[static_cast<size_t>(OperationClass::kWrite)] =
            static_cast<uint32_t>(record.packets);
        record.requests = {.restarts = Below(20) == 0, .valid = true, .last_psn = Below(1 << 24)};
        record.first_request_psn = record.requests.last_psn - static_cast<uint32_t>(record.packets);
      } else {
        record.class_packets[static_cast<size_t>(OperationClass::kAcknowledge)] =
            static_cast<uint32_t>(record.packets);
      }
      record.udp_source_port = static_cast<uint16_t>(50'000 + Below(2));
      batch.flows.push_back(record);
    }
    for (int i = 0; i < 8; ++i) {
      const uint32_t psn = Below(4);
      const auto tap = static_cast<TapId>(Below(taps));
      const int64_t time = interval * 100'000 + i * 100;
      const FlowKey flow = Flow();
      batch.sightings.push_back(Observation(flow, time).AtTap(tap).Request(kWriteOnly, psn));
      batch.sightings.push_back(Observation(Back(flow), time + 10).AtTap(tap).Ack(psn));
    }
    const topology::Node& node = fabric_.node(fabric_.FindNode("spine1"));
    batch.samples.push_back({.agent = node.sflow_agent,
                             .input_port = fabric_.port(node.first_port).number,
                             .output_port = fabric_.port(node.first_port + 1 + Below(3)).number,
                             .sampling_rate = 100,
                             .packet = {.known = true, .flow = Flow(), .opcode = kWriteOnly},
                             .event_time = At(interval * 100'000)});
    return batch;
  }

 private:
  uint32_t Below(size_t bound) { return static_cast<uint32_t>(random_() % bound); }

  FlowKey Flow() {
    const uint32_t from = Below(kHosts);
    const uint32_t to = (from + 1 + Below(3)) % kHosts;
    return {
        .source = AddressOf(from), .destination = AddressOf(to), .destination_qpn = {2 + Below(3)}};
  }
  FlowKey Back(FlowKey flow) {
    std::swap(flow.source, flow.destination);
    return flow;
  }
  IpAddress AddressOf(uint32_t host) const {
    return fabric_.nic(host % static_cast<uint32_t>(fabric_.nics().size()))
        .addresses.front()
        .address;
  }

  const topology::Fabric& fabric_;
  std::mt19937_64 random_;
};

template <typename T>
void ExpectSame(const Chunks<T>& a, const Chunks<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_TRUE(std::ranges::equal(a, b));
}

class EnginePublish : public testing::TestWithParam<uint64_t> {
 protected:
  // Sixty intervals of traffic, published after every `each` intervals.
  ConnectionStatistics ExpectTheSame(const EngineOptions& options, int each);
};

ConnectionStatistics EnginePublish::ExpectTheSame(const EngineOptions& options, int each) {
  const auto fabric = std::make_shared<const topology::Fabric>(SmallFatTree());
  Traffic traffic(*fabric, GetParam());
  const std::vector<TapLocation> taps = traffic.Taps();
  Engine often(options, fabric);
  Engine once(options, fabric);
  size_t learnt = 0;
  for (int count = 1; count <= 60; ++count) {
    const int interval = count * each;
    for (; learnt < taps.size() && learnt < static_cast<size_t>(count); ++learnt) {
      often.LearnTap(taps[learnt]);
      once.LearnTap(taps[learnt]);
    }
    const RecordBatch batch = traffic.Batch(interval, learnt);
    const Timestamp now = At(interval * 100'000);
    for (Engine* engine : {&often, &once}) {
      engine->Ingest(batch);
      engine->Advance(now);
    }
    often.Publish();
  }
  const auto a = often.Publish();
  const auto b = once.Publish();
  EXPECT_GT(a->flows->size(), 30u);
  ExpectSame(*a->flows, *b->flows);
  ExpectSame(*a->connections, *b->connections);
  ExpectSame(*a->paths, *b->paths);
  return a->connection_statistics;
}

// Closed connections are dropped early, and idle ones forgotten early.
TEST_P(EnginePublish, DoesNotDependOnEarlierSnapshots) {
  EngineOptions options;
  options.connections.closed_connections = 20;
  options.connections.forget_after = std::chrono::seconds(2);
  EXPECT_GT(ExpectTheSame(options, 1).flows_expired, 0u);
}

TEST_P(EnginePublish, DoesNotDependOnEarlierSnapshotsWithFullTables) {
  EngineOptions options;
  options.flows = 60;
  EXPECT_GT(ExpectTheSame(options, 30).flows_evicted, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, EnginePublish, testing::Range(uint64_t{0}, uint64_t{20}));

template <typename T>
size_t SharedBy(const Chunks<T>& a, const Chunks<T>& b) {
  const std::set<std::shared_ptr<const std::vector<T>>> of_a(a.chunks().begin(), a.chunks().end());
  size_t shared = 0;
  for (const auto& chunk : b.chunks()) shared += of_a.contains(chunk);
  return shared;
}

TEST(EngineSnapshot, SharesUnchangedChunks) {
  const auto fabric = std::make_shared<const topology::Fabric>(SmallFatTree());
  Engine engine({}, fabric);
  engine.LearnTap({.tap = 0,
                   .switch_address = fabric->node(fabric->FindNode("leaf0")).erspan_source,
                   .session = 1,
                   .side = TapSide::kIngress,
                   .has_port = true,
                   .port = fabric->port(PortBetween(*fabric, "leaf0", "host0")).number});
  RecordBatch batch;
  for (uint32_t i = 0; i < 1000; ++i) {
    batch.flows.push_back(
        {.flow = {.source = Host(i), .destination = Host(i + 1), .destination_qpn = {9}},
         .first_seen = At(0),
         .last_seen = At(10),
         .packets = 1});
  }
  engine.Ingest(batch);
  const auto before = engine.Publish();
  engine.Ingest({.flows = {batch.flows[500]}});
  const auto after = engine.Publish();
  EXPECT_EQ(SharedBy(*before->flows, *after->flows), after->flows->chunks().size() - 1);
  EXPECT_EQ(SharedBy(*before->paths, *after->paths), after->paths->chunks().size() - 1);
  EXPECT_EQ(SharedBy(*before->connections, *after->connections),
            after->connections->chunks().size() - 1);
}

}  // namespace
}  // namespace rocescope
