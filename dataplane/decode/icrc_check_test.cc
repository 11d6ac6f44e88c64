// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/decode_frame.h"
#include "tests/support/fixtures.h"
#include "tests/support/frame_builder.h"

namespace rocescope {
namespace {

using test::Bytes;
using test::Decode;
using test::Frame;
using test::InErspan2;
using test::RoceFrame;

TEST(CheckIcrc, AcceptsWhatASwitchMayChangeAndNothingElse) {
  const Bytes sent =
      RoceFrame().Bth({.opcode = wire::kOpcodeSendOnly, .psn = 7}).Payload(64).Build();
  EXPECT_EQ(CheckIcrc(Decode(sent)), IcrcResult::kValid);
  // Ethernet takes 14 octets, so IP begins at 14, UDP at 34, BTH at 42.
  for (size_t variable : {0, 6, 15, 22, 24, 25, 40, 41, 46}) {
    Bytes bytes = sent;
    bytes[variable] ^= 0xa5;
    EXPECT_EQ(CheckIcrc(Decode(bytes)), IcrcResult::kValid) << variable;
  }
  for (size_t invariant : {18, 26, 33, 34, 47, 53, 54, 117, 118, 121}) {
    Bytes bytes = sent;
    bytes[invariant] ^= 0x01;
    EXPECT_EQ(CheckIcrc(Decode(bytes)), IcrcResult::kInvalid) << invariant;
  }
}

// Ethernet, IPv6 and the fragment header take 14 + 40 + 8 octets, ports and length of UDP 6.
TEST(CheckIcrc, LeavesTheUdpChecksumOutBehindAFragmentHeader) {
  Bytes bytes = Frame()
                    .Eth()
                    .Ipv6("fd00::1", "fd00::2")
                    .Ipv6Fragment(0, false)
                    .Udp()
                    .Bth({.opcode = wire::kOpcodeSendOnly})
                    .Payload(4)
                    .Build();
  bytes[14 + 40 + 8 + 6] ^= 0x55;
  EXPECT_EQ(CheckIcrc(Decode(bytes)), IcrcResult::kValid);
}

TEST(CheckIcrc, KnowsNothingOfACutFrame) {
  Bytes bytes = RoceFrame().Bth({.opcode = wire::kOpcodeSendOnly}).Payload(64).Build();
  bytes.pop_back();
  EXPECT_EQ(CheckIcrc(Decode(bytes)), IcrcResult::kUnknown);
}

TEST(CheckIcrc, KnowsNothingOfAPauseFrame) {
  const Bytes bytes = Frame().Eth().Pause({}).Build();
  EXPECT_EQ(CheckIcrc(Decode(bytes)), IcrcResult::kUnknown);
}

TEST(CheckIcrc, ChecksTheFrameInsideAMirror) {
  const Bytes bytes = InErspan2(
      Frame().Eth().Ipv6("fd00::1", "fd00::2").Udp().Bth({.opcode = wire::kOpcodeSendOnly}).Build(),
      {});
  EXPECT_EQ(CheckIcrc(Decode(bytes)), IcrcResult::kValid);
}

struct Counts {
  int valid = 0;
  int invalid = 0;
  int unknown = 0;
  int roce_v1 = 0;
};

Counts CountVerdicts(const std::filesystem::path& path) {
  Counts counts;
  for (const test::CapturedFrame& captured : test::ReadPcap(path)) {
    DecodedFrame frame;
    if (DecodeFrame({.bytes = captured.bytes, .original_length = captured.original_length},
                    frame) != DropReason::kNone) {
      continue;
    }
    const IcrcResult verdict = CheckIcrc(frame);
    if (frame.roce_v1) {
      EXPECT_EQ(verdict, IcrcResult::kValid) << path;
      ++counts.roce_v1;
      continue;
    }
    counts.valid += verdict == IcrcResult::kValid;
    counts.invalid += verdict == IcrcResult::kInvalid;
    counts.unknown += verdict == IcrcResult::kUnknown;
  }
  return counts;
}

// The index of the fixtures says of each capture how many of its RoCEv2 frames have a valid, a
// wrong and a cut iCRC, as another program counted them. Frames of RoCEv1 it did not check; those
// were captured from adapters and must be right.
TEST(CheckIcrc, AgreesWithTheCaptures) {
  const auto index_path = test::Fixture("INDEX.tsv");
  if (!index_path) GTEST_SKIP() << "no fixtures at " << test::FixtureFolder();
  std::ifstream index(*index_path);
  int captures = 0;
  for (std::string line; std::getline(index, line);) {
    constexpr std::string_view kLabel = "iCRC valid/invalid/truncated ";
    const size_t label = line.find(kLabel);
    const std::string name = line.substr(0, line.find('\t'));
    if (label == line.npos || !name.ends_with(".pcap")) continue;
    int valid = 0;
    int invalid = 0;
    int cut = 0;
    ASSERT_EQ(std::sscanf(line.c_str() + label + kLabel.size(), "%d/%d/%d", &valid, &invalid, &cut),
              3);
    const auto path = test::Fixture(name);
    ASSERT_TRUE(path.has_value()) << name;
    const Counts counts = CountVerdicts(*path);
    EXPECT_EQ(counts.valid, valid) << name;
    EXPECT_EQ(counts.invalid, invalid) << name;
    EXPECT_EQ(counts.unknown, cut) << name;
    ++captures;
  }
  EXPECT_GE(captures, 9);
}

// Soft-RoCE computes the iCRC of whatever it sends.
TEST(CheckIcrc, AcceptsEveryFrameOfSoftRoce) {
  const auto folder = test::Fixture("roce/linlinw5-cc-by-sa-4.0");
  if (!folder) GTEST_SKIP() << "no fixtures at " << test::FixtureFolder();
  int valid = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder)) {
    if (entry.path().extension() != ".pcap") continue;
    const Counts counts = CountVerdicts(entry.path());
    EXPECT_GT(counts.valid, 0) << entry.path();
    EXPECT_EQ(counts.invalid, 0) << entry.path();
    EXPECT_EQ(counts.unknown, 0) << entry.path();
    valid += counts.valid;
  }
  EXPECT_EQ(valid, 453);  // frames of protocol infiniband in the index
}

}  // namespace
}  // namespace rocescope
