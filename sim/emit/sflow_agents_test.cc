// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/sflow_agents.h"

#include <gtest/gtest.h>

#include "dataplane/wire/ethernet.h"
#include "dataplane/wire/ip.h"
#include "dataplane/wire/sflow_counter_record.h"
#include "dataplane/wire/sflow_flow_record.h"
#include "sim/emit/star_network.h"
#include "tests/support/decode_frame.h"

namespace rocescope::sim {
namespace {

struct FlowSample {
  wire::SflowFlowSample sample;
  wire::SflowSampledHeader header;
};
struct CounterSample {
  wire::SflowCounterSample sample;
  wire::SflowInterfaceRecord interface;
  wire::SflowEthernetRecord ethernet;
};
struct Datagrams {
  std::vector<wire::SflowDatagramHeader> headers;
  std::vector<Timestamp> arrivals;
  std::vector<FlowSample> flows;
  std::vector<CounterSample> counters;
  std::vector<std::pair<wire::SflowDiscardedPacket, wire::SflowSampledHeader>> discards;
};

void ReadDatagram(std::span<const uint8_t> bytes, Datagrams& all) {
  wire::ByteReader in(bytes);
  in.Skip(wire::EthernetHeader::kSize + wire::Ipv4Header::kSize);
  wire::UdpHeader udp;
  Read(in, udp);
  EXPECT_EQ(udp.destination_port, 6343);
  EXPECT_LE(udp.length, 1408);
  EXPECT_EQ(udp.length, 8 + in.remaining());
  wire::SflowDatagramHeader header;
  Read(in, header);
  for (uint32_t i = 0; i < header.samples; ++i) {
    wire::SflowBlock block;
    Read(in, block);
    wire::ByteReader body(in.Bytes(block.length));
    wire::SflowBlock record;
    if (block.tag == wire::kSflowFlowSample) {
      FlowSample& flow = all.flows.emplace_back();
      Read(body, flow.sample);
      EXPECT_EQ(flow.sample.records, 1u);
      Read(body, record);
      EXPECT_EQ(record.tag, wire::kSflowSampledHeader);
      Read(body, flow.header);
    } else if (block.tag == wire::kSflowDiscardedPacket) {
      auto& [sample, header_record] = all.discards.emplace_back();
      Read(body, sample);
      EXPECT_EQ(sample.records, 1u);
      Read(body, record);
      Read(body, header_record);
    } else {
      EXPECT_EQ(block.tag, wire::kSflowCounterSample);
      CounterSample& counter = all.counters.emplace_back();
      Read(body, counter.sample);
      EXPECT_EQ(counter.sample.records, 2u);
      Read(body, record);
      Read(body, counter.interface);
      Read(body, record);
      Read(body, counter.ethernet);
    }
    EXPECT_TRUE(body.ok());
    EXPECT_LT(body.remaining(), 4u);  // padding
  }
  EXPECT_TRUE(in.ok());
  EXPECT_EQ(in.remaining(), 0u);
  all.headers.push_back(header);
}

class SflowAgentsTest : public ::testing::Test {
 protected:
  SflowAgents& Start(const SflowOptions& options) {
    agents_ =
        std::make_unique<SflowAgents>(star_.network(), star_.packets(), star_.port(), options);
    star_.switch_at().SetObserver(agents_.get());
    agents_->Start();
    return *agents_;
  }
  Datagrams Run(SimTime end = kSecond) {
    star_.Run(end);
    agents_->Finish();
    Datagrams all;
    for (const MemorySink::Kept& kept : star_.sink().frames()) {
      all.arrivals.push_back(kept.arrival);
      ReadDatagram(kept.bytes, all);
    }
    return all;
  }

  StarNetwork star_;
  std::unique_ptr<SflowAgents> agents_;
};

TEST_F(SflowAgentsTest, ASampleTellsPortsPoolAndThePacketAsItCame) {
  Start({.rate = 1, .counter_period = 0});
  star_.Write(0, 2);
  const Datagrams all = Run();
  ASSERT_EQ(all.headers.size(), 1u);
  EXPECT_EQ(all.headers[0].agent, star_.fabric().node(star_.switch_node()).sflow_agent);
  ASSERT_EQ(all.flows.size(), 2u);
  const FlowSample& data = all.flows[0];
  EXPECT_EQ(data.sample.source.index, 1u);
  EXPECT_EQ(data.sample.input.value, 1u);
  EXPECT_EQ(data.sample.output.value, 3u);
  EXPECT_EQ(data.sample.sampling_rate, 1u);
  EXPECT_EQ(data.sample.sample_pool, 1u);
  EXPECT_EQ(data.header.frame_length, 14u + 20 + 8 + 12 + 16 + 1000 + 4 + 4);  // iCRC and FCS
  EXPECT_EQ(data.header.stripped, 4u);
  ASSERT_EQ(data.header.bytes.size(), 128u);
  const DecodedFrame packet = test::Decode(data.header.bytes);
  EXPECT_EQ(packet.opcode, wire::kOpcodeWriteOnly);
  EXPECT_EQ(packet.ttl, 64);
  EXPECT_EQ(all.flows[1].sample.input.value, 3u);
  EXPECT_EQ(all.flows[1].sample.output.value, 1u);
}

// Binomial: 4000 packets, one in 64: 62.5 +- 8. Skips are even from 1 to 127, which is narrower.
TEST_F(SflowAgentsTest, TakesOneInNOnAverage) {
  const SflowAgents& agents = Start({.rate = 64, .counter_period = 0});
  star_.Write(0, 2, 4096 * 4000);
  const Datagrams all = Run();
  uint32_t sequence = 0;
  for (const FlowSample& flow : all.flows) {
    if (flow.sample.source.index != 1) continue;
    EXPECT_EQ(flow.sample.sequence, ++sequence);
    EXPECT_EQ(flow.sample.sampling_rate, 64u);
  }
  EXPECT_NEAR(sequence, 62.5, 24);
  EXPECT_EQ(agents.samples(), all.flows.size());
  EXPECT_GT(all.headers.size(), 5u);  // seven samples fit into one
  for (uint32_t i = 0; i < all.headers.size(); ++i) EXPECT_EQ(all.headers[i].sequence, i + 1);
}

TEST_F(SflowAgentsTest, ASampleWaitsNoLongerThanItShould) {
  Start({.rate = 1, .counter_period = 0, .longest_wait = kMillisecond});
  star_.Write(0, 2);
  star_.WriteAt(500 * kMicrosecond, 1, 2);
  star_.WriteAt(10 * kMillisecond, 0, 1);
  const Datagrams all = Run();
  ASSERT_EQ(all.arrivals.size(), 2u);
  const auto after_ms = [&](size_t i) {
    return (ToNanoseconds(all.arrivals[i]) - kTestEpochNs) / 1'000'000;
  };
  EXPECT_EQ(all.headers[0].samples, 4u);
  EXPECT_EQ(after_ms(0), 1);
  EXPECT_EQ(after_ms(1), 11);
}

TEST_F(SflowAgentsTest, ReadsEachPortsCountersOnceAPeriod) {
  Start({.rate = 1'000'000, .counter_period = 10 * kMillisecond, .longest_wait = kMillisecond});
  star_.Write(0, 2);
  star_.network().engine().At(5 * kMillisecond, [this] { star_.switch_at().port(1).SetUp(false); });
  const Datagrams all = Run(35 * kMillisecond);
  ASSERT_EQ(all.counters.size(), 9u);  // at 10, 20, 30 ms
  const CounterSample& in = all.counters[0];
  EXPECT_EQ(in.sample.source.index, 1u);
  EXPECT_EQ(in.interface.index, 1u);
  EXPECT_EQ(in.interface.speed, 100'000'000'000u);
  EXPECT_EQ(in.interface.in_unicast, 1u);
  EXPECT_EQ(in.interface.in_octets, 1074u + 4);  // with FCS
  EXPECT_EQ(in.interface.out_octets, 62u + 4);   // the ACK
  EXPECT_EQ(in.interface.status, 3u);
  EXPECT_EQ(all.counters[1].interface.status, 1u);
  EXPECT_EQ(all.counters[2].interface.out_unicast, 1u);
  EXPECT_EQ(all.counters[6].sample.sequence, 3u);
}

TEST_F(SflowAgentsTest, TellsWhichPacketsTheSwitchDroppedAndWhy) {
  Start({.rate = 1'000'000, .counter_period = 0, .longest_wait = kMillisecond, .most_discards = 3});
  star_.switch_at().options().mtu = 1500;
  star_.Write(0, 2, 4 * 4096 + 1000);
  star_.Write(1, 2, 4096);
  const Datagrams all = Run(2 * kMillisecond);
  ASSERT_EQ(all.discards.size(), 3u);
  EXPECT_EQ(agents_->discards(), 3u);
  for (const auto& [sample, header] : all.discards) {
    EXPECT_EQ(sample.reason, wire::kSflowDropPacketTooBig);
    EXPECT_EQ(sample.input, sample.source.index);
    EXPECT_EQ(sample.output, 3u);
    EXPECT_EQ(sample.drops, 0u);
    EXPECT_EQ(test::Decode(header.bytes).ttl, 64);
  }
  EXPECT_EQ(all.discards[0].second.frame_length, 14u + 20 + 8 + 12 + 16 + 4096 + 4 + 4);
}

}  // namespace
}  // namespace rocescope::sim
