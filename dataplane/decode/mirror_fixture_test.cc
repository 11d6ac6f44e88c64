// SPDX-License-Identifier: BSD-3-Clause
// Mirror headers of real switches, compared with tcpdump's output for the same captures.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "dataplane/decode/decode.h"
#include "tests/support/fixtures.h"

namespace rocescope {
namespace {

using Lines = std::vector<std::string>;

// The number after `label` in `line`; empty if the label is missing.
std::string NumberAfter(const std::string& line, const std::string& label) {
  const size_t at = line.find(label);
  if (at == line.npos) return "";
  const size_t begin = at + label.size();
  return line.substr(begin, line.find_first_not_of("0123456789", begin) - begin);
}

// For each mirrored frame in tcpdump's output: the sequence number in its GRE line, then the
// numbers after `labels` in the line that begins with `kind`.
Lines Printed(const std::string& name, const std::string& kind, const Lines& labels) {
  std::ifstream file(*test::Fixture("mirror/" + name + ".out"));
  Lines lines;
  std::string sequence;
  for (std::string line; std::getline(file, line);) {
    if (line.find("GREv0") != line.npos) sequence = NumberAfter(line, ", seq ");
    if (line.find(kind) == line.npos) continue;
    std::string numbers = sequence;
    for (const std::string& label : labels) numbers += ' ' + NumberAfter(line, label);
    lines.push_back(numbers);
  }
  return lines;
}

template <typename Describe>
Lines Read(const std::string& name, MirrorKind kind, const Describe& describe) {
  Lines lines;
  for (const auto& captured : test::ReadPcap(*test::Fixture("mirror/" + name + ".pcap"))) {
    DecodedFrame frame;
    DecodeFrame({.bytes = captured.bytes, .original_length = captured.original_length}, frame);
    if (frame.mirror.kind == kind) lines.push_back(describe(frame));
  }
  return lines;
}

class MirrorFixture : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::Fixture("mirror")) GTEST_SKIP() << "no fixtures at " << test::FixtureFolder();
  }
};

TEST_F(MirrorFixture, Erspan1AgreesWithTcpdump) {
  for (const std::string name : {"erspan-type-i-1", "erspan-type-i-4"}) {
    const Lines printed = Printed(name, "\terspan type1", {});
    ASSERT_FALSE(printed.empty()) << name;
    EXPECT_EQ(Read(name, MirrorKind::kErspan1, [](const DecodedFrame&) { return ""; }), printed);
  }
}

TEST_F(MirrorFixture, Erspan2AgreesWithTcpdump) {
  for (const std::string name : {"erspan-type-ii-1", "erspan-type-ii-2", "erspan-type-ii-3"}) {
    const Lines printed = Printed(name, "\terspan type2", {"session ", "index "});
    ASSERT_FALSE(printed.empty()) << name;
    EXPECT_EQ(Read(name, MirrorKind::kErspan2,
                   [](const DecodedFrame& frame) {
                     const MirrorInfo& mirror = frame.mirror;
                     return std::to_string(mirror.sequence) + ' ' + std::to_string(mirror.session) +
                            ' ' + std::to_string(mirror.port_index);
                   }),
              printed)
        << name;
  }
}

TEST_F(MirrorFixture, Erspan3AgreesWithTcpdump) {
  const Lines printed = Printed("erspan-type-iii-ft-7", "\terspan type3", {"session "});
  ASSERT_FALSE(printed.empty());
  EXPECT_EQ(Read("erspan-type-iii-ft-7", MirrorKind::kErspan3,
                 [](const DecodedFrame& frame) {
                   return std::to_string(frame.mirror.sequence) + ' ' +
                          std::to_string(frame.mirror.session);
                 }),
            printed);
}

TEST_F(MirrorFixture, VxlanAgreesWithTcpdump) {
  const Lines printed = Printed("vxlan", "VXLAN, flags [I] (0x08)", {"vni "});
  ASSERT_FALSE(printed.empty());
  EXPECT_EQ(Read("vxlan", MirrorKind::kVxlan,
                 [](const DecodedFrame& frame) { return ' ' + std::to_string(frame.segment - 1); }),
            printed);
}

}  // namespace
}  // namespace rocescope
