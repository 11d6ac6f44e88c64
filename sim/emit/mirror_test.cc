// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/emit/memory_sink.h"
#include "tests/support/decode_frame.h"
#include "topology/generate.h"

namespace rocescope::sim {
namespace {

using topology::Tap;
using topology::TapDirection;

constexpr int64_t kEpochNs = 1'700'000'000'999'990'000;  // 10 us before a second is full

// Three hosts on a switch. Host n is at the switch's port n, Ethernet n+1.
class MirrorTest : public ::testing::Test {
 protected:
  struct Copy {
    DecodedFrame frame;
    Timestamp arrival;
  };

  void Start(std::vector<Tap> taps, NetworkOptions options = {}, MirrorOptions mirror = {},
             CollectorPortOptions port = {.epoch = FromNanoseconds(kEpochNs)}) {
    topology::Fabric::Parts parts =
        topology::GenerateParts({.shape = topology::Shape::kStar, .hosts = 3}).value();
    switch_ = static_cast<topology::NodeIndex>(
        std::find_if(parts.nodes.begin(), parts.nodes.end(),
                     [](const topology::Node& node) { return node.IsSwitch(); }) -
        parts.nodes.begin());
    for (Tap& tap : taps) {
      tap.node = switch_;
      for (topology::PortIndex& each : tap.ports) each += parts.nodes[switch_].first_port;
    }
    parts.taps = std::move(taps);
    fabric_.emplace(topology::Fabric::Make(std::move(parts)).value());
    network_ = std::make_unique<Network>(*fabric_, options);
    packets_ = std::make_unique<PacketWriter>(*network_);
    port_ = std::make_unique<CollectorPort>(port, sink_);
    mirror_ = Mirror::Make(*network_, *packets_, *port_, mirror).value();
    network_->switch_at(switch_).SetObserver(mirror_.get());
  }

  // One WRITE of one packet, from host to host, and its ACK.
  void Write(topology::NicIndex from, topology::NicIndex to, uint64_t octets = 1000) {
    network_->Connect(from, to, nullptr).first->Post({.length = octets});
  }

  std::vector<Copy> Run() {
    network_->engine().Run(kSecond);
    std::vector<Copy> copies;
    for (const auto& kept : sink_.frames()) {
      copies.push_back({.frame = test::Decode(kept.bytes), .arrival = kept.arrival});
    }
    return copies;
  }

  MemorySink sink_;
  topology::NodeIndex switch_ = 0;
  std::optional<topology::Fabric> fabric_;
  std::unique_ptr<Network> network_;
  std::unique_ptr<PacketWriter> packets_;
  std::unique_ptr<CollectorPort> port_;
  std::unique_ptr<Mirror> mirror_;
};

TEST_F(MirrorTest, NamesSwitchSessionPortAndDirection) {
  Start({{.session = 7, .direction = TapDirection::kBoth, .ports = {0}}});
  Write(0, 1);
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  const MirrorInfo& data = copies[0].frame.mirror;
  EXPECT_EQ(data.kind, MirrorKind::kErspan3);
  EXPECT_EQ(data.session, 7);
  EXPECT_EQ(data.port_index, 1u);
  EXPECT_EQ(data.direction, MirrorDirection::kIngress);
  EXPECT_EQ(data.source, fabric_->node(switch_).erspan_source);
  EXPECT_EQ(data.destination, port_->options().address);
  EXPECT_EQ(copies[0].frame.opcode, wire::kOpcodeWriteOnly);
  const MirrorInfo& acknowledgement = copies[1].frame.mirror;
  EXPECT_EQ(acknowledgement.direction, MirrorDirection::kEgress);
  EXPECT_EQ(copies[1].frame.opcode, wire::kOpcodeAcknowledge);
}

TEST_F(MirrorTest, AnIngressCopyHasTheTtlBeforeTheHopAndAnEgressCopyThatBehindIt) {
  Start({{.session = 1, .ports = {0}},
         {.session = 2, .direction = TapDirection::kEgress, .ports = {1}}});
  Write(0, 1);
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].frame.ttl, 64);
  EXPECT_EQ(copies[1].frame.ttl, 63);
}

// 1066 octets and 24 more at 100 Gb/s, and 1 us of cable, to the switch: 1087.2 ns.
TEST_F(MirrorTest, TellsWhenTheCopyWasTakenInIeee1588AndItsSeconds) {
  Start({{.session = 1, .ports = {0}}});
  Write(0, 1);
  network_->engine().At(20 * kMicrosecond, [this] { Write(0, 1); });
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const MirrorInfo& mirror = copies[i].frame.mirror;
    EXPECT_EQ(mirror.granularity, wire::ErspanGranularity::kIeee1588);
    const auto time = TimeOf(mirror);
    ASSERT_TRUE(time);
    EXPECT_EQ(time->wrap, 0);
    EXPECT_EQ(time->nanoseconds, kEpochNs + static_cast<int64_t>(i) * 20'000 + 1'087);
    EXPECT_GT(copies[i].arrival, FromNanoseconds(time->nanoseconds));
  }
  EXPECT_EQ(copies[0].frame.mirror.timestamp_upper, 1'700'000'000u);
  EXPECT_EQ(copies[1].frame.mirror.timestamp_upper, 1'700'000'001u);
}

TEST_F(MirrorTest, WithoutAPortIndexTimeIsInUnitsOf100Nanoseconds) {
  Start({{.session = 1, .names_port = false, .ports = {0, 1}}});
  Write(0, 1);
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  const MirrorInfo& mirror = copies[0].frame.mirror;
  EXPECT_FALSE(mirror.has_port_index);
  const auto time = TimeOf(mirror);
  ASSERT_TRUE(time);
  EXPECT_EQ(Unwrap(*time, copies[0].arrival), FromNanoseconds((kEpochNs + 1'087) / 100 * 100));
}

TEST_F(MirrorTest, NumbersTheCopiesOfASessionWhateverTheirDirection) {
  Start({{.session = 1, .direction = TapDirection::kBoth, .ports = {0, 1}},
         {.session = 2, .ports = {2}}});
  Write(0, 1);
  Write(2, 0);
  std::vector<uint32_t> sequences[3];
  for (const Copy& copy : Run()) {
    sequences[copy.frame.mirror.session].push_back(copy.frame.mirror.sequence);
  }
  // Data and ACK at two ports each; of host 2's, data leaves and the ACK comes by port 0.
  EXPECT_THAT(sequences[1], ::testing::ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(sequences[2], ::testing::ElementsAre(0));
}

TEST_F(MirrorTest, CutsFramesAndSaysSo) {
  Start({{.session = 1, .direction = TapDirection::kBoth, .ports = {0}}}, {}, {.snap_length = 192});
  Write(0, 1, 1000);
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_TRUE(copies[0].frame.mirror.truncated);
  EXPECT_EQ(copies[0].frame.wire_length, 14u + 20 + 8 + 12 + 16 + 1000 + 4);
  // Ethernet 14, IPv4 20, GRE 8, ERSPAN 12, sub-header 8.
  EXPECT_EQ(sink_.frames()[0].bytes.size(), 62u + 192);
  EXPECT_FALSE(copies[1].frame.mirror.truncated);
}

TEST_F(MirrorTest, WholeFramesHaveAValidIcrc) {
  Start({{.session = 1, .direction = TapDirection::kBoth, .ports = {0}}}, {}, {.snap_length = 0});
  Write(0, 1, 20'001);
  Run();
  EXPECT_EQ(sink_.frames().size(), 6u);  // five packets, one ACK
  for (const auto& kept : sink_.frames()) {
    EXPECT_EQ(CheckIcrc(test::Decode(kept.bytes)), IcrcVerdict::kValid);
  }
}

// Two hosts send to one through a buffer of a few frames, and PFC is off.
TEST_F(MirrorTest, ACopyBeforeTheQueueShowsFramesThatWereDropped) {
  NetworkOptions options;
  options.switches.buffer = {.octets = 200'000, .egress_alpha = 0.25, .lossless = 0};
  Start({{.session = 1, .direction = TapDirection::kEgress, .before_queue = true, .ports = {2}},
         {.session = 2, .direction = TapDirection::kEgress, .ports = {2}}},
        options);
  Write(0, 2, 400'000);
  Write(1, 2, 400'000);
  uint64_t copies[3] = {};
  for (const Copy& copy : Run()) ++copies[copy.frame.mirror.session];
  const uint64_t dropped = network_->shared().lost[static_cast<size_t>(LossCause::kBufferFull)];
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(copies[1], copies[2] + dropped);
}

TEST_F(MirrorTest, ASlowPortLosesCopiesAndTheSequenceShowsIt) {
  Start({{.session = 1, .ports = {0}}}, {}, {.snap_length = 0},
        {.bits_per_second = 10'000'000'000, .queue_octets = 20'000});
  Write(0, 1, 4096 * 50);
  const auto copies = Run();
  const Mirror::Count& count = mirror_->CountOf(0);
  EXPECT_EQ(count.copied, 50u);
  EXPECT_GT(count.lost, 0u);
  EXPECT_EQ(copies.size() + count.lost, count.copied);
  uint64_t missing = 0;
  for (size_t i = 1; i < copies.size(); ++i) {
    missing += copies[i].frame.mirror.sequence - copies[i - 1].frame.mirror.sequence - 1;
    EXPECT_GT(copies[i].arrival, copies[i - 1].arrival);
  }
  EXPECT_EQ(missing + 49 - copies.back().frame.mirror.sequence, count.lost);
}

TEST_F(MirrorTest, ASwitchWithoutAnErspanSourceIsRefused) {
  Start({{.session = 1, .ports = {0}}});
  topology::Fabric::Parts parts = fabric_->parts();
  parts.nodes[switch_].erspan_source = {};
  const topology::Fabric fabric = topology::Fabric::Make(std::move(parts)).value();
  network_.reset();  // there is one engine at a time
  Network network(fabric, {});
  const auto mirror = Mirror::Make(network, *packets_, *port_, {});
  ASSERT_FALSE(mirror);
  EXPECT_THAT(mirror.error().message, ::testing::HasSubstr("leaf0 has mirror session 1"));
}

}  // namespace
}  // namespace rocescope::sim
