// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/flow_sflow.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/roce.h"
#include "dataplane/wire/sflow.h"
#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"
#include "sim/emit/packet.h"
#include "sim/flow/flow_counters.h"

namespace rocescope::sim {
namespace {

constexpr const char* kScenario = R"(
name: test
model: flow
duration: 10min
time_scale: 1
record_interval: 1s
analysis_window: 10s
fabric:
  generate: {shape: leaf-spine, hosts: 8, nics: 2, gpus: 2, leaves: 4, spines: 2,
             host_speed: 100G, fabric_speed: 100G, host_delay: 500ns, fabric_delay: 500ns}
jobs:
  - name: train
    hosts: host[0-5]
    phases: [{name: dp, collective: ring, size: 4G, compute: 1s, groups: rails}]
)";

struct PacketSample {
  Timestamp arrival;
  IpAddress agent;
  wire::SflowFlowSample sample;
  wire::Bth bth;
  wire::Ipv4Header ip;
};
struct CounterSample {
  Timestamp arrival;
  IpAddress agent;
  uint32_t uptime_ms;
  wire::SflowCounterSample sample;
  wire::SflowInterfaceRecord interface;
};

// The contents of a capture.
struct Capture {
  std::vector<PacketSample> packets;
  std::vector<CounterSample> counters;
  uint32_t tcp_segments = 0;
};

class FlowSflowTest : public testing::Test {
 protected:
  FlowSflowTest()
      : path_(fmt::format("{}/rocescope-sflow-{}.pcap", testing::TempDir(), getpid())) {}
  ~FlowSflowTest() override { std::filesystem::remove(path_); }

  void Run(const std::string& more) {
    auto loaded = LoadScenario(kScenario + more, "test.yaml");
    ASSERT_TRUE(loaded) << loaded.error().message;
    scenario_ = *std::move(loaded);
    auto model = FlowModel::Make(scenario_);
    ASSERT_TRUE(model) << model.error().message;
    model_ = *std::move(model);
    model_->Run({});
    history_ = model_->TakeHistory();
    const auto report = WriteFlowSflow(*model_, history_, path_);
    ASSERT_TRUE(report) << report.error().message;
    report_ = *report;
    capture_ = {};
    ReadCapture();
  }

  void ReadCapture();
  void ReadDatagram(std::span<const uint8_t> bytes, Timestamp arrival);
  void ReadPacketSample(wire::ByteReader& body, Timestamp arrival, IpAddress agent);

  const topology::Fabric& fabric() { return model_->simulation().real_fabric(); }
  topology::PortIndex PortOf(IpAddress agent, uint32_t number) {
    for (const topology::Node& node : fabric().nodes()) {
      if (node.sflow_agent != agent) continue;
      for (uint32_t i = 0; i < node.port_count; ++i) {
        if (fabric().port(node.first_port + i).number == number) return node.first_port + i;
      }
    }
    ADD_FAILURE() << "no port " << number;
    return 0;
  }
  topology::PortIndex PortOfNic(uint32_t address) {
    for (topology::NicIndex nic = 0; nic < fabric().nics().size(); ++nic) {
      if (AddressOf(fabric(), nic) == IpAddress::FromV4(address)) return fabric().nic(nic).port;
    }
    ADD_FAILURE() << "no such address";
    return 0;
  }
  // A counter of a port at a time, read from the exact history.
  uint64_t Exact(topology::PortIndex port, Metric metric, Timestamp time) {
    FlowCounters counters(history_, scenario_.epoch);
    std::vector<uint64_t> values;
    for (uint32_t i = 0; i < history_.entities.size(); ++i) {
      const FlowHistory::Entity& entity = history_.entities[i];
      const auto at = std::ranges::find(entity.metrics, metric);
      if (entity.port != port || at == entity.metrics.end()) continue;
      values.resize(entity.metrics.size());
      EXPECT_TRUE(counters.Read(i, scenario_.epoch, time, values));
      return values[static_cast<size_t>(at - entity.metrics.begin())];
    }
    ADD_FAILURE() << "no such counter";
    return 0;
  }

  const std::string path_;
  Scenario scenario_;
  std::unique_ptr<FlowModel> model_;
  FlowHistory history_;
  FlowSflowReport report_;
  Capture capture_;
};

void FlowSflowTest::ReadCapture() {
  std::ifstream file(path_, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto word = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return value;
  };
  ASSERT_GE(bytes.size(), 24u);
  Timestamp last{};
  for (size_t at = 24; at < bytes.size();) {
    const uint32_t length = word(at + 8);
    const Timestamp arrival =
        FromNanoseconds(int64_t{word(at)} * 1'000'000'000 + int64_t{word(at + 4)});
    EXPECT_GE(arrival, last);
    last = arrival;
    at += 16;
    ReadDatagram({reinterpret_cast<const uint8_t*>(bytes.data()) + at, length}, arrival);
    at += length;
  }
}

void FlowSflowTest::ReadDatagram(std::span<const uint8_t> bytes, Timestamp arrival) {
  wire::ByteReader in(bytes);
  in.Skip(wire::EthernetHeader::kSize + wire::Ipv4Header::kSize + wire::UdpHeader::kSize);
  wire::SflowDatagramHeader header;
  Read(in, header);
  for (uint32_t i = 0; i < header.samples; ++i) {
    wire::SflowBlock block;
    Read(in, block);
    wire::ByteReader body(in.Bytes(block.length));
    if (block.tag == wire::kSflowFlowSample) {
      ReadPacketSample(body, arrival, header.agent);
      continue;
    }
    ASSERT_EQ(block.tag, wire::kSflowCounterSample);
    CounterSample& counter = capture_.counters.emplace_back();
    counter.arrival = arrival;
    counter.agent = header.agent;
    counter.uptime_ms = header.uptime_ms;
    Read(body, counter.sample);
    wire::SflowBlock record;
    Read(body, record);
    Read(body, counter.interface);
  }
  ASSERT_TRUE(in.ok());
}

void FlowSflowTest::ReadPacketSample(wire::ByteReader& body, Timestamp arrival, IpAddress agent) {
  PacketSample packet{.arrival = arrival, .agent = agent};
  Read(body, packet.sample);
  wire::SflowBlock record;
  Read(body, record);
  wire::SflowSampledHeader header;
  Read(body, header);
  wire::ByteReader in(header.bytes);
  in.Skip(wire::EthernetHeader::kSize);
  Read(in, packet.ip);
  EXPECT_EQ(header.frame_length,
            std::max<size_t>(64, wire::EthernetHeader::kSize + packet.ip.total_length + 4));
  if (packet.ip.protocol == wire::kIpProtocolTcp) {
    ++capture_.tcp_segments;
    return;
  }
  wire::UdpHeader udp;
  Read(in, udp);
  EXPECT_EQ(udp.destination_port, wire::kUdpPortRoce);
  Read(in, packet.bth);
  EXPECT_TRUE(in.ok());
  capture_.packets.push_back(packet);
}

TEST_F(FlowSflowTest, CounterSamplesShowTheExactCounters) {
  // Without packet samples, whose datagrams may contain counters that are read a little later.
  Run(R"(
telemetry: {mirror: none, sflow_rate: 1000, sflow_counters: 30s, sflow_spans: {length: 1s, random: 0}}
)");
  EXPECT_EQ(capture_.packets.size(), 0u);
  EXPECT_EQ(capture_.counters.size(), report_.counter_samples);
  // Six switches and 32 connected ports of switches: eight hosts with two NICs, four leaves with
  // two uplinks.
  EXPECT_EQ(report_.counter_samples, (16u + 2 * 4 * 2) * 20);
  size_t checked = 0;
  for (const CounterSample& counter : capture_.counters) {
    if (++checked % 50 != 0) continue;
    const topology::PortIndex port = PortOf(counter.agent, counter.sample.source.index);
    // The agent's uptime says when the datagram was started, which is when the counters were read.
    const Timestamp read =
        scenario_.epoch + std::chrono::milliseconds(counter.uptime_ms) - std::chrono::hours(24);
    const uint64_t frames = Exact(port, Metric::kTxPackets, read);
    EXPECT_EQ(counter.interface.out_octets, Exact(port, Metric::kTxBytes, read) + 4 * frames);
    EXPECT_EQ(counter.interface.out_unicast, static_cast<uint32_t>(frames));
    EXPECT_EQ(counter.interface.speed, 100'000'000'000u);
  }
}

// Samples times the rate estimate the packets of each port within the error of a Poisson variable.
TEST_F(FlowSflowTest, PacketSamplesEstimateThePacketsOfEachPort) {
  constexpr uint32_t kRate = 200'000;
  Run(fmt::format("telemetry: {{mirror: none, sflow_rate: {}, sflow_counters: 0}}\n", kRate));
  ASSERT_GT(report_.packet_samples, 10'000u);
  EXPECT_EQ(capture_.packets.size(), report_.packet_samples);
  std::map<topology::PortIndex, uint32_t> samples;
  std::map<topology::PortIndex, uint32_t> pool;
  for (const PacketSample& packet : capture_.packets) {
    const topology::PortIndex input = PortOf(packet.agent, packet.sample.input.value);
    EXPECT_EQ(packet.sample.sequence, ++samples[input]);
    EXPECT_GE(packet.sample.sample_pool, pool[input]);
    pool[input] = packet.sample.sample_pool;
  }
  for (const auto& [port, count] : samples) {
    const auto expected = static_cast<double>(Exact(port, Metric::kRxPackets,
                                                    scenario_.epoch + std::chrono::minutes(10))) /
                          kRate;
    EXPECT_NEAR(count, expected, 5 * std::sqrt(expected)) << fabric().NameOf(port);
  }
}

// A sampled packet arrives at the port to which its sender's path leads, with a TTL that shows its
// hop, and leaves towards its receiver.
TEST_F(FlowSflowTest, PacketSamplesFollowThePaths) {
  Run("telemetry: {mirror: none, sflow_rate: 200000, sflow_counters: 0}\n");
  size_t at_spines = 0;
  for (const PacketSample& packet : capture_.packets) {
    const topology::PortIndex input = PortOf(packet.agent, packet.sample.input.value);
    const topology::PortIndex output = PortOf(packet.agent, packet.sample.output.value);
    const bool is_first = fabric().Peer(input) == PortOfNic(packet.ip.source);
    EXPECT_EQ(is_first, packet.ip.ttl == 64);
    if (fabric().node(fabric().port(input).node).tier != topology::Tier::kLeaf) {
      EXPECT_EQ(packet.ip.ttl, 63);
      ++at_spines;
    } else if (!is_first) {
      EXPECT_EQ(fabric().Peer(output), PortOfNic(packet.ip.destination));
    }
  }
  EXPECT_GT(at_spines, 100u);
}

TEST_F(FlowSflowTest, PacketsAreSampledInTheStatedSpans) {
  Run(R"(
faults: [{kind: gray_loss, sender: "host1:mlx5_0", probability: 1e-4, onset: 5min}]
telemetry: {mirror: none, sflow_rate: 200000, sflow_counters: 0, sflow_spans: {length: 30s, random: 2}}
)");
  const std::vector<SampledSpan> spans = SampledSpans(scenario_);
  ASSERT_LE(spans.size(), 3u);
  EXPECT_TRUE(std::ranges::any_of(spans, [](const SampledSpan& span) {
    return span.begin <= 285 * kSecond && span.end >= 315 * kSecond;
  }));
  std::vector<size_t> samples(spans.size());
  for (const PacketSample& packet : capture_.packets) {
    const SimTime time = (packet.arrival - scenario_.epoch).count() * kNanosecond;
    bool is_inside = false;
    for (size_t i = 0; i < spans.size(); ++i) {
      // A datagram leaves at most a second after its first sample.
      if (time < spans[i].begin || time > spans[i].end + kSecond + kMillisecond) continue;
      ++samples[i];
      is_inside = true;
    }
    EXPECT_TRUE(is_inside) << time;
  }
  for (const size_t count : samples) EXPECT_GT(count, 100u);
}

// sFlow version 5: the pool counts the packets that could have been sampled, so that the rate of
// the samples is that of the pool's growth.
TEST_F(FlowSflowTest, PoolsGrowOnlyInTheStatedSpans) {
  constexpr uint32_t kRate = 200'000;
  Run(
      fmt::format("telemetry: {{mirror: none, sflow_rate: {}, sflow_counters: 0, sflow_spans: "
                  "{{length: 30s, random: 3}}}}\n",
                  kRate));
  const std::vector<SampledSpan> spans = SampledSpans(scenario_);
  ASSERT_GT(spans.size(), 1u);
  SimTime sampled = 0;
  for (const SampledSpan& span : spans) sampled += span.end - span.begin;
  std::map<topology::PortIndex, const PacketSample*> last;
  for (const PacketSample& packet : capture_.packets) {
    last[PortOf(packet.agent, packet.sample.input.value)] = &packet;
  }
  ASSERT_FALSE(last.empty());
  for (const auto& [port, packet] : last) {
    const double received = static_cast<double>(
        Exact(port, Metric::kRxPackets, scenario_.epoch + std::chrono::minutes(10)));
    const double share = static_cast<double>(sampled) / static_cast<double>(scenario_.duration);
    EXPECT_LT(packet->sample.sample_pool, received * share * 1.2) << fabric().NameOf(port);
    const double expected = static_cast<double>(packet->sample.sample_pool) / kRate;
    EXPECT_NEAR(packet->sample.sequence, expected, 5 * std::sqrt(expected) + 1)
        << fabric().NameOf(port);
  }
}

// The sender of a full link marks frames, which the next switch receives marked.
TEST_F(FlowSflowTest, SamplesBehindAFullLinkAreMarkedAsOftenAsItsFrames) {
  Run(R"(
faults: [{kind: degraded_rate, sender: "leaf0:Ethernet5", factor: 0.1}]
telemetry: {mirror: none, sflow_rate: 20000, sflow_counters: 0}
)");
  const topology::PortIndex full = PortOf(fabric().node(fabric().FindNode("leaf0")).sflow_agent, 5);
  const Timestamp end = scenario_.epoch + std::chrono::minutes(10);
  const auto marks = static_cast<double>(Exact(full, Metric::kEcnMarked, end));
  ASSERT_GT(marks, 0);
  double marked = 0;
  for (const PacketSample& packet : capture_.packets) {
    const bool is_marked = (packet.ip.traffic_class & 3) == wire::kEcnCe;
    if (PortOf(packet.agent, packet.sample.input.value) == fabric().Peer(full)) {
      marked += is_marked;
    } else if (packet.ip.ttl == 64) {
      EXPECT_FALSE(is_marked);
    }
  }
  const double expected = marks / 20'000;
  ASSERT_GT(expected, 20);
  EXPECT_NEAR(marked, expected, 5 * std::sqrt(expected));
}

TEST_F(FlowSflowTest, ASwitchThatWasDownCountsFromZero) {
  Run(R"(
maintenance: [{switch: spine1, start: 3min, drain: 30s, duration: 2min}]
telemetry: {mirror: none, sflow_rate: 16777216, sflow_counters: 10s}
)");
  const IpAddress spine = fabric().node(fabric().FindNode("spine1")).sflow_agent;
  uint64_t before = 0;
  uint64_t after = 0;
  uint32_t least_uptime = UINT32_MAX;
  for (const CounterSample& counter : capture_.counters) {
    if (counter.agent != spine) continue;
    const auto minutes =
        std::chrono::duration_cast<std::chrono::seconds>(counter.arrival - scenario_.epoch)
            .count() /
        60.0;
    EXPECT_FALSE(minutes > 3.6 && minutes < 5.5) << minutes;
    (minutes < 4 ? before : after) =
        std::max(minutes < 4 ? before : after, counter.interface.out_octets);
    least_uptime = std::min(least_uptime, counter.uptime_ms);
  }
  EXPECT_LT(least_uptime, 11'000u);
  EXPECT_GT(before, 0u);
  EXPECT_GT(after, 0u);
}

TEST_F(FlowSflowTest, TooManySamplesAreAnError) {
  auto loaded = LoadScenario(std::string(kScenario) + "telemetry: {mirror: none, sflow_rate: 1}\n",
                             "test.yaml");
  ASSERT_TRUE(loaded) << loaded.error().message;
  auto model = FlowModel::Make(*loaded);
  ASSERT_TRUE(model) << model.error().message;
  (*model)->Run({});
  const FlowHistory history = (*model)->TakeHistory();
  const auto report = WriteFlowSflow(**model, history, path_);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(report.error().message.find("raise sflow_rate"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(FlowSflowTest, TcpSegmentsAreSampled) {
  Run(R"(
foreign: [{from: "host6:mlx5_0", to: "host7:mlx5_1", load: 0.1}]
telemetry: {mirror: none, sflow_rate: 20000, sflow_counters: 0}
)");
  EXPECT_GT(capture_.tcp_segments, 1000u);
}

}  // namespace
}  // namespace rocescope::sim
