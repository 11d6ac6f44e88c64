// SPDX-License-Identifier: BSD-3-Clause
// Compares the decoder with a second one that was written from the specifications
// (tests/support/simple_decoder.h). tests/fuzz/simple_decode_fuzz.cc does the same with more
// inputs.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "dataplane/decode/decode.h"
#include "tests/support/fixtures.h"
#include "tests/support/frame_builder.h"
#include "tests/support/frame_mix.h"
#include "tests/support/simple_difference.h"

namespace rocescope {
namespace {

using test::Bytes;
using test::Frame;
using test::RoceFrame;

// Returns true if the frame was decoded.
bool ExpectAgreement(const RawFrame& raw) {
  DecodedFrame frame{};
  const DropReason reason = DecodeFrame(raw, frame);
  EXPECT_EQ(test::SimpleDifference(raw, frame, reason), "");
  return reason == DropReason::kNone;
}

int CountDecoded(std::span<const RawFrame> frames) {
  int decoded = 0;
  for (const RawFrame& raw : frames) decoded += ExpectAgreement(raw);
  return decoded;
}

// Compares the frame and each of its prefixes.
void ExpectAgreementAtEveryLength(const Bytes& whole, LinkType link_type = LinkType::kEthernet) {
  for (size_t size = 0; size <= whole.size(); ++size) {
    SCOPED_TRACE(size);
    const Bytes bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    ExpectAgreement({.bytes = bytes,
                     .original_length = static_cast<uint32_t>(whole.size()),
                     .link_type = link_type});
  }
}

TEST(SimpleDecode, AgreesOnAMixOfFrames) {
  EXPECT_GT(CountDecoded(test::FrameMix(5'000).frames()), 4'000);
}

TEST(SimpleDecode, AgreesOnRandomBytes) {
  EXPECT_GT(CountDecoded(test::FrameMix(20'000, true).frames()), 5'000);
}

TEST(SimpleDecode, AgreesOnEveryOpcode) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    SCOPED_TRACE(opcode);
    ExpectAgreementAtEveryLength(RoceFrame()
                                     .Bth({.opcode = static_cast<uint8_t>(opcode),
                                           .solicited_event = true,
                                           .partition_key = 0xffff,
                                           .destination_qpn = {0x123456},
                                           .psn = 0x789abc})
                                     .Payload(64)
                                     .Build());
  }
}

TEST(SimpleDecode, AgreesOnEveryConnectionManagementMessage) {
  for (uint16_t attribute = 0x0f; attribute <= 0x1b; ++attribute) {
    SCOPED_TRACE(attribute);
    // Random values in all fields, including those that WriteCmMessage leaves zero.
    Bytes mad(256);
    for (size_t i = 0; i < mad.size(); ++i) mad[i] = static_cast<uint8_t>(i * 37 + attribute);
    mad[0] = 1;
    mad[1] = wire::kMadClassCommunicationManagement;
    mad[16] = 0;
    mad[17] = static_cast<uint8_t>(attribute);
    const Bytes bytes = RoceFrame()
                            .Bth({.opcode = wire::kOpcodeUdSendOnly, .destination_qpn = {1}})
                            .Deth({.queue_key = 0x80010000, .source_qpn = {1}})
                            .Payload(mad)
                            .Build();
    EXPECT_TRUE(ExpectAgreement({.bytes = bytes}));
  }
}

TEST(SimpleDecode, AgreesOnNestedTunnels) {
  const Bytes write = Frame()
                          .Eth()
                          .Vlan(7)
                          .Ipv6("fd00::1", "fd00::2", {.dscp = 46})
                          .Udp()
                          .Bth({.opcode = wire::kOpcodeWriteOnly, .psn = 77})
                          .Reth({.rkey = 5, .dma_length = 21})
                          .Payload(21)
                          .Build();
  const auto enclose = [](int kind, const Bytes& frame) {
    switch (kind) {
      case 0:
        return test::InErspan1(frame);
      case 1:
        return test::InErspan2(frame, {.truncated = true, .session = 9, .index = 5}, 6);
      case 2:
        return test::InErspan3(frame, {.session = 8, .timestamp = 5, .egress = true}, 7,
                               {.platform_id = 7, .info = 0xabcde, .word = 3});
      case 3:
        return test::InGre(frame);
      case 4:
        return test::InVxlan(frame, 500);
      default:
        return test::InGeneve(frame, 600, Bytes(8, 1));
    }
  };
  for (int outer = 0; outer < 6; ++outer) {
    for (int inner = 0; inner < 6; ++inner) {
      SCOPED_TRACE(outer * 10 + inner);
      const Bytes two = enclose(outer, enclose(inner, write));
      ExpectAgreementAtEveryLength(two);
      const Bytes four = enclose(inner, enclose(outer, two));
      ExpectAgreement({.bytes = four});
    }
  }
}

TEST(SimpleDecode, AgreesOnTheCorpusOfTheFuzzers) {
  constexpr LinkType kLinkTypes[] = {
      LinkType::kEthernet, LinkType::kRawIp,        LinkType::kLinuxCooked, LinkType::kIpv4,
      LinkType::kIpv6,     LinkType::kLinuxCooked2, LinkType::kEthernet,    LinkType::kEthernet};
  int decoded = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(test::SourceFile("tests/fuzz/corpus/decode"))) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input(std::istreambuf_iterator<char>(file), {});
    ASSERT_FALSE(input.empty());
    const Bytes bytes(input.begin() + 1, input.end());
    const LinkType link_type = kLinkTypes[input[0] & 7];
    decoded += ExpectAgreement({.bytes = bytes, .link_type = link_type});
    ExpectAgreementAtEveryLength(bytes, link_type);
  }
  EXPECT_GE(decoded, 30);
}

}  // namespace
}  // namespace rocescope
