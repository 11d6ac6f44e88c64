// SPDX-License-Identifier: BSD-3-Clause
#include "sim/emit/mirror.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sim/emit/star_network.h"
#include "tests/support/decode_frame.h"

namespace rocescope::sim {
namespace {

using topology::Tap;
using topology::TapDirection;

class MirrorTest : public ::testing::Test {
 protected:
  struct Copy {
    DecodedFrame frame;
    Timestamp arrival;
  };

  void Start(std::vector<Tap> taps, const NetworkOptions& options = {},
             const MirrorOptions& mirror = {}, const CollectorPortOptions& port = {}) {
    star_ = std::make_unique<StarNetwork>(std::move(taps), options, port);
    mirror_ = Mirror::Make(star_->network(), star_->packets(), star_->port(), mirror).value();
    star_->switch_at().SetObserver(mirror_.get());
  }

  std::vector<Copy> Run() {
    std::vector<Copy> copies;
    for (const MemorySink::Kept& kept : star_->Run()) {
      copies.push_back({.frame = test::Decode(kept.bytes), .arrival = kept.arrival});
    }
    return copies;
  }

  std::unique_ptr<StarNetwork> star_;
  std::unique_ptr<Mirror> mirror_;
};

TEST_F(MirrorTest, NamesSwitchSessionPortAndDirection) {
  Start({{.session = 7, .direction = TapDirection::kBoth, .ports = {0}}});
  star_->Write(0, 1);
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  const MirrorInfo& data = copies[0].frame.mirror;
  EXPECT_EQ(data.kind, MirrorKind::kErspan3);
  EXPECT_EQ(data.session, 7);
  EXPECT_EQ(data.port_index, 1u);
  EXPECT_EQ(data.direction, MirrorDirection::kIngress);
  EXPECT_EQ(data.source, star_->fabric().node(star_->switch_node()).erspan_source);
  EXPECT_EQ(data.destination, star_->port().options().address);
  EXPECT_EQ(copies[0].frame.opcode, wire::kOpcodeWriteOnly);
  const MirrorInfo& acknowledgement = copies[1].frame.mirror;
  EXPECT_EQ(acknowledgement.direction, MirrorDirection::kEgress);
  EXPECT_EQ(copies[1].frame.opcode, wire::kOpcodeAcknowledge);
}

TEST_F(MirrorTest, AnIngressCopyHasTheTtlBeforeTheHopAndAnEgressCopyThatBehindIt) {
  Start({{.session = 1, .ports = {0}},
         {.session = 2, .direction = TapDirection::kEgress, .ports = {1}}});
  star_->Write(0, 1);
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].frame.ttl, 64);
  EXPECT_EQ(copies[1].frame.ttl, 63);
}

// 1066 octets and 24 more at 100 Gb/s, and 1 us of cable, to the switch: 1087.2 ns.
TEST_F(MirrorTest, TellsWhenTheCopyWasTakenInIeee1588AndItsSeconds) {
  Start({{.session = 1, .ports = {0}}});
  star_->Write(0, 1);
  star_->WriteAt(20 * kMicrosecond, 0, 1);
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const MirrorInfo& mirror = copies[i].frame.mirror;
    EXPECT_EQ(mirror.granularity, wire::ErspanGranularity::kIeee1588);
    const auto time = TimeOf(mirror);
    ASSERT_TRUE(time);
    EXPECT_EQ(time->wrap, 0);
    EXPECT_EQ(time->nanoseconds, kTestEpochNs + static_cast<int64_t>(i) * 20'000 + 1'087);
    EXPECT_GT(copies[i].arrival, FromNanoseconds(time->nanoseconds));
  }
  EXPECT_EQ(copies[0].frame.mirror.timestamp_upper, 1'700'000'000u);
  EXPECT_EQ(copies[1].frame.mirror.timestamp_upper, 1'700'000'001u);
}

TEST_F(MirrorTest, WithoutAPortIndexTimeIsInUnitsOf100Nanoseconds) {
  Start({{.session = 1, .names_port = false, .ports = {0, 1}}});
  star_->Write(0, 1);
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  const MirrorInfo& mirror = copies[0].frame.mirror;
  EXPECT_FALSE(mirror.has_port_index);
  const auto time = TimeOf(mirror);
  ASSERT_TRUE(time);
  EXPECT_EQ(Unwrap(*time, copies[0].arrival), FromNanoseconds((kTestEpochNs + 1'087) / 100 * 100));
}

TEST_F(MirrorTest, NumbersTheCopiesOfASessionWhateverTheirDirection) {
  Start({{.session = 1, .direction = TapDirection::kBoth, .ports = {0, 1}},
         {.session = 2, .ports = {2}}});
  star_->Write(0, 1);
  star_->Write(2, 0);
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
  star_->Write(0, 1, 1000);
  const auto copies = Run();
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_TRUE(copies[0].frame.mirror.truncated);
  EXPECT_EQ(copies[0].frame.wire_length, 14u + 20 + 8 + 12 + 16 + 1000 + 4);
  // Ethernet 14, IPv4 20, GRE 8, ERSPAN 12, sub-header 8.
  EXPECT_EQ(star_->sink().frames()[0].bytes.size(), 62u + 192);
  EXPECT_FALSE(copies[1].frame.mirror.truncated);
}

TEST_F(MirrorTest, WholeFramesHaveAValidIcrc) {
  Start({{.session = 1, .direction = TapDirection::kBoth, .ports = {0}}}, {}, {.snap_length = 0});
  star_->Write(0, 1, 20'001);
  Run();
  EXPECT_EQ(star_->sink().frames().size(), 6u);  // five packets, one ACK
  for (const auto& kept : star_->sink().frames()) {
    EXPECT_EQ(CheckIcrc(test::Decode(kept.bytes)), IcrcResult::kValid);
  }
}

// Two hosts send to one through a buffer of a few frames, and PFC is off.
TEST_F(MirrorTest, ACopyBeforeTheQueueShowsFramesThatWereDropped) {
  NetworkOptions options;
  options.switches.buffer = {.bytes = 200'000, .egress_alpha = 0.25, .lossless = 0};
  Start({{.session = 1, .direction = TapDirection::kEgress, .before_queue = true, .ports = {2}},
         {.session = 2, .direction = TapDirection::kEgress, .ports = {2}}},
        options);
  star_->Write(0, 2, 400'000);
  star_->Write(1, 2, 400'000);
  uint64_t copies[3] = {};
  for (const Copy& copy : Run()) ++copies[copy.frame.mirror.session];
  const uint64_t dropped =
      star_->network().shared().lost[static_cast<size_t>(LossCause::kBufferFull)];
  EXPECT_GT(dropped, 0u);
  EXPECT_EQ(copies[1], copies[2] + dropped);
}

TEST_F(MirrorTest, ASlowPortLosesCopiesAndTheSequenceShowsIt) {
  Start({{.session = 1, .ports = {0}}}, {}, {.snap_length = 0},
        {.bits_per_second = 10'000'000'000, .queue_bytes = 20'000});
  star_->Write(0, 1, 4096 * 50);
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

TEST(Mirror, OfASwitchWithoutAnErspanSourceIsRefused) {
  topology::Fabric::Parts parts =
      topology::GenerateParts({.shape = topology::Shape::kStar, .hosts = 2}).value();
  for (topology::NodeIndex i = 0; i < parts.nodes.size(); ++i) {
    if (!parts.nodes[i].IsSwitch()) continue;
    parts.nodes[i].erspan_source = {};
    parts.taps.push_back({.node = i, .session = 1, .ports = {parts.nodes[i].first_port}});
  }
  const topology::Fabric fabric = topology::Fabric::Make(std::move(parts)).value();
  Network network(fabric, {});
  PacketWriter packets(network);
  MemorySink sink;
  CollectorPort port({}, sink);
  const auto mirror = Mirror::Make(network, packets, port, {});
  ASSERT_FALSE(mirror);
  EXPECT_THAT(mirror.error().message, ::testing::HasSubstr("leaf0 has mirror session 1"));
}

}  // namespace
}  // namespace rocescope::sim
