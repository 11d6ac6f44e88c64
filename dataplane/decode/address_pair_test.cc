// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/decode/address_pair.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "dataplane/decode/decode.h"
#include "tests/support/decode_difference.h"
#include "tests/support/fixtures.h"
#include "tests/support/frame_builder.h"
#include "tests/support/frame_mix.h"

namespace rocescope::test {
namespace {

RawFrame Raw(std::span<const uint8_t> bytes, LinkType link_type = LinkType::kEthernet) {
  return {.bytes = bytes,
          .original_length = static_cast<uint32_t>(bytes.size()),
          .link_type = link_type};
}

uint64_t HashOf(const Bytes& bytes, LinkType link_type = LinkType::kEthernet) {
  return AddressPairHash(Raw(bytes, link_type));
}

uint64_t PairOf(std::string_view a, std::string_view b) {
  return AddressPairHash(*ParseIpAddress(a), *ParseIpAddress(b));
}

Frame Sent(Frame frame) { return frame.Bth({.opcode = 0x04}).Payload(64); }

Bytes Write(std::string_view source = "10.0.0.1", std::string_view destination = "10.0.0.2",
            const Ip& ip = {}) {
  return Sent(RoceFrame(source, destination, ip)).Build();
}

TEST(AddressPair, IsEqualForBothDirections) {
  EXPECT_EQ(HashOf(Write("10.0.0.1", "10.0.0.2")), HashOf(Write("10.0.0.2", "10.0.0.1")));
}

TEST(AddressPair, DiffersForOtherHosts) {
  EXPECT_NE(HashOf(Write("10.0.0.1", "10.0.0.2")), HashOf(Write("10.0.0.1", "10.0.0.3")));
}

// All copies of a host pair's packets have the same hash, whatever their encapsulation.
TEST(AddressPair, UsesTheInnermostPacket) {
  const Bytes write = Write();
  const Bytes option(12, 0);
  const std::map<std::string, Bytes> copies = {
      {"plain", write},
      {"options", Write("10.0.0.1", "10.0.0.2", {.options = Bytes(8, 1)})},
      {"tag", Sent(Frame().Eth().Vlan(5).Ipv4("10.0.0.1", "10.0.0.2").Udp()).Build()},
      {"two tags", Sent(Frame()
                            .Eth()
                            .Vlan(9, 0, wire::kEtherTypeServiceVlan)
                            .Vlan(5)
                            .Ipv4("10.0.0.1", "10.0.0.2")
                            .Udp())
                       .Build()},
      {"ERSPAN I", InErspan1(write)},
      {"ERSPAN II", InErspan2(write, {.session = 3, .index = 4})},
      {"ERSPAN III", InErspan3(write, {.session = 3})},
      {"ERSPAN III, platform", InErspan3(write, {.session = 3}, 7, {.platform_id = 5})},
      {"GRE", InGre(write)},
      {"VXLAN", InVxlan(write, 5000)},
      {"Geneve", InGeneve(write, 5000, option)},
      {"VXLAN in ERSPAN III", InErspan3(InVxlan(write, 5000), {.session = 3})},
      {"three tunnels", InErspan2(InGre(InVxlan(write, 5000)), {.session = 3})},
  };
  for (const auto& [name, copy] : copies) {
    EXPECT_EQ(HashOf(copy), PairOf("10.0.0.1", "10.0.0.2")) << name;
  }
}

TEST(AddressPair, SupportsIpv6) {
  const uint64_t pair = PairOf("2001:db8::1", "2001:db8::2");
  const Bytes plain = Sent(Frame().Eth().Ipv6("2001:db8::1", "2001:db8::2").Udp()).Build();
  const Bytes extended = Sent(Frame()
                                  .Eth()
                                  .Ipv6("2001:db8::1", "2001:db8::2")
                                  .Ipv6Extension(wire::kIpProtocolHopByHop, 16)
                                  .Ipv6Extension(wire::kIpProtocolDestinationOptions)
                                  .Udp())
                             .Build();
  const Bytes roce_v1 =
      Frame().Eth().Grh("2001:db8::1", "2001:db8::2").Bth({.opcode = 0x04}).Payload(8).Build();
  EXPECT_EQ(HashOf(plain), pair);
  EXPECT_EQ(HashOf(extended), pair);
  EXPECT_EQ(HashOf(roce_v1), pair);
  EXPECT_EQ(HashOf(InErspan3(plain, {.session = 1})), pair);
  EXPECT_EQ(HashOf(InVxlan(extended, 7)), pair);
}

TEST(AddressPair, SupportsAllLinkLayers) {
  const uint64_t pair = PairOf("10.0.0.1", "10.0.0.2");
  const auto with = [](Frame link) {
    return Sent(link.Ipv4("10.0.0.1", "10.0.0.2").Udp()).Build();
  };
  EXPECT_EQ(HashOf(with(Frame().LinuxCooked()), LinkType::kLinuxCooked), pair);
  EXPECT_EQ(HashOf(with(Frame().LinuxCooked2()), LinkType::kLinuxCooked2), pair);
  for (const LinkType link : {LinkType::kRawIp, LinkType::kIpv4}) {
    EXPECT_EQ(HashOf(with(Frame()), link), pair);
  }
  EXPECT_EQ(HashOf(Sent(Frame().Ipv6("fd00::1", "fd00::2").Udp()).Build(), LinkType::kIpv6),
            PairOf("fd00::1", "fd00::2"));
}

TEST(AddressPair, IsEqualForAllFragments) {
  const uint64_t pair = PairOf("10.0.0.1", "10.0.0.2");
  constexpr uint16_t kMoreFragments = 0x2000;
  for (const uint16_t fragment : {kMoreFragments, uint16_t{kMoreFragments | 100}, uint16_t{200}}) {
    const Bytes part = Write("10.0.0.1", "10.0.0.2", {.fragment = fragment});
    EXPECT_EQ(HashOf(part), pair);
    EXPECT_EQ(HashOf(InErspan3(part, {.session = 3})), pair);
  }
  for (const uint16_t offset : {0, 100}) {
    const Bytes part =
        Sent(Frame().Eth().Ipv6("fd00::1", "fd00::2").Ipv6Fragment(offset, offset == 0).Udp())
            .Build();
    EXPECT_EQ(HashOf(part), PairOf("fd00::1", "fd00::2"));
  }
}

// The bytes of a later fragment are payload, even if they look like a header.
TEST(AddressPair, DoesNotParsePayloadOfLaterFragments) {
  const Bytes tunnel = InVxlan(Write(), 5, {.ip = {.fragment = 100}});
  EXPECT_EQ(HashOf(tunnel), PairOf("192.0.2.1", "192.0.2.100"));
}

TEST(AddressPair, UsesOuterAddressesIfInnerHeaderIsTruncated) {
  Bytes copy = InErspan3(Write(), {.session = 3});
  copy.resize(14 + 20 + 8 + 12 + 14 + 19);  // one byte less than the inner IPv4 header
  EXPECT_EQ(HashOf(copy), PairOf("192.0.2.1", "192.0.2.100"));
}

TEST(AddressPair, IsEqualForAllFramesWithoutAddresses) {
  const uint64_t none = HashOf({});
  EXPECT_EQ(HashOf(Frame().Eth().Pause({.opcode = 0x0101}).Build()), none);
  EXPECT_EQ(HashOf(Bytes(60, 0)), none);
  EXPECT_EQ(HashOf(Write(), static_cast<LinkType>(9999)), none);
}

TEST(AddressPair, LimitsTunnelNesting) {
  Bytes nested = Write();
  for (int i = 0; i < 20; ++i) nested = InVxlan(nested, 5);
  EXPECT_EQ(HashOf(nested), PairOf("192.0.2.1", "192.0.2.100"));
}

struct Compared {
  int roce = 0;
  int without = 0;  // number of copies whose outer addresses have another hash
};

bool IsErspan(MirrorKind kind) {
  return kind == MirrorKind::kErspan1 || kind == MirrorKind::kErspan2 ||
         kind == MirrorKind::kErspan3;
}

// Compares the parsed mirror header with the decoder's, also if the inner frame is dropped.
void CompareMirror(const RawFrame& raw, const DecodedFrame& frame, DropReason reason) {
  const bool bad = reason == DropReason::kTruncatedMirror || reason == DropReason::kBadMirror;
  const bool erspan = IsErspan(frame.mirror.kind);
  if (bad || (!erspan && reason != DropReason::kNone)) return;
  ErspanMark mark;
  MirrorInfo mirror;
  AddressPairHash(raw, mark, mirror);
  const MirrorInfo found = FindMirror(raw);
  if (!erspan) {
    EXPECT_EQ(found.kind, MirrorKind::kNone);
    EXPECT_EQ(mirror.kind, MirrorKind::kNone);
    EXPECT_EQ(mark.who, 0u);
    return;
  }
  EXPECT_TRUE(SameMirror(frame.mirror, found));
  EXPECT_TRUE(mark.who != 0 ? SameMirror(frame.mirror, mark) : SameMirror(frame.mirror, mirror));
}

// Compares the hash with the decoder's addresses, and the fast path with the general path.
Compared Compare(std::span<const RawFrame> frames) {
  Compared compared;
  DecodedFrame frame{};
  for (const RawFrame& raw : frames) {
    const uint64_t hash = AddressPairHash(raw);
    EXPECT_EQ(hash, AddressPairHashGenerally(raw));
    ErspanMark mark;
    MirrorInfo mirror;
    EXPECT_EQ(hash, AddressPairHash(raw, mark, mirror));
    const DropReason reason = DecodeFrame(raw, frame);
    CompareMirror(raw, frame, reason);
    if (reason != DropReason::kNone || frame.kind != FrameKind::kRoce) continue;
    EXPECT_EQ(hash, AddressPairHash(frame.source, frame.destination));
    ++compared.roce;
    compared.without += frame.mirror.kind != MirrorKind::kNone;
  }
  return compared;
}

TEST(AddressPair, AgreesWithTheDecoder) {
  const Compared compared = Compare(FrameMix(10'000).frames());
  EXPECT_GT(compared.roce, 8'000);
  EXPECT_GT(compared.without, 1'000);
}

TEST(AddressPair, AgreesWithTheDecoderOnRandomBytes) {
  const Compared compared = Compare(FrameMix(50'000, true).frames());
  EXPECT_GT(compared.roce, 20'000);
  EXPECT_GT(compared.without, 2'000);
}

TEST(AddressPair, AgreesWithTheDecoderOnTruncatedFrames) {
  const Bytes frame = InErspan3(InVxlan(Write(), 5), {.session = 3}, 7, {.platform_id = 5});
  int roce = 0;
  for (size_t size = 0; size <= frame.size(); ++size) {
    const Bytes cut(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(size));
    const RawFrame raw = Raw(cut);
    roce += Compare({&raw, 1}).roce;
  }
  EXPECT_GT(roce, 64);
}

TEST(AddressPair, AgreesWithTheDecoderOnRealCaptures) {
  const auto folder = Fixture("mirror");
  if (!folder) GTEST_SKIP() << "no fixtures at " << FixtureFolder();
  size_t frames = 0;
  for (const auto& file : std::filesystem::directory_iterator(*folder)) {
    if (file.path().extension() != ".pcap") continue;
    for (const CapturedFrame& captured : ReadPcap(file.path())) {
      const RawFrame raw = Raw(captured.bytes);
      Compare({&raw, 1});
      ++frames;
    }
  }
  EXPECT_GT(frames, 10u);
}

TEST(AddressPair, ReturnsMirrorHeaderForAnyContent) {
  const Bytes copy = InErspan3(Bytes(46, 0), {.session = 3, .timestamp = 17, .egress = true}, 9);
  ErspanMark mark;
  MirrorInfo mirror;
  AddressPairHash(Raw(copy), mark, mirror);
  EXPECT_TRUE(SameMirror(FindMirror(Raw(copy)), mark));
  EXPECT_EQ(mark.sequence, 9u);
  EXPECT_EQ(mark.timestamp, 17u);
}

TEST(MirrorHeader, IsFoundForAnyContent) {
  const Bytes copy = InErspan3(Bytes(46, 0), {.session = 3, .timestamp = 17, .egress = true}, 9);
  const MirrorInfo mirror = FindMirror(Raw(copy));
  EXPECT_EQ(mirror.kind, MirrorKind::kErspan3);
  EXPECT_EQ(mirror.session, 3);
  EXPECT_EQ(mirror.sequence, 9u);
  EXPECT_EQ(mirror.timestamp, 17u);
  EXPECT_EQ(mirror.direction, MirrorDirection::kEgress);
  EXPECT_EQ(mirror.source, *ParseIpAddress("192.0.2.1"));
}

TEST(MirrorHeader, IsTheOutermostOfTwo) {
  const MirrorInfo mirror =
      FindMirror(Raw(InErspan2(InErspan3(Write(), {.session = 3}), {.session = 8})));
  EXPECT_EQ(mirror.kind, MirrorKind::kErspan2);
  EXPECT_EQ(mirror.session, 8);
}

TEST(MirrorHeader, IsNotTakenFromAnOverlay) {
  EXPECT_EQ(FindMirror(Raw(InVxlan(Write(), 5))).kind, MirrorKind::kNone);
}

// 10,000 pairs over three shares: 3333 each, standard deviation 47; tolerance of five standard
// deviations.
TEST(AddressPair, FillsSharesUniformly) {
  std::vector<int> counts(3);
  for (uint32_t i = 0; i < 10'000; ++i) {
    const uint32_t share = ShareOf(
        AddressPairHash(IpAddress::FromV4(0x0a000000 + i / 100), IpAddress::FromV4(i % 100)), 3);
    ASSERT_LT(share, 3u);
    ++counts[share];
  }
  for (const int count : counts) EXPECT_NEAR(count, 3333, 235);
}

TEST(AddressPair, MapsEverythingToASingleShare) { EXPECT_EQ(ShareOf(UINT64_MAX, 1), 0u); }

}  // namespace
}  // namespace rocescope::test
