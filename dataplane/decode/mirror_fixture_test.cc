// SPDX-License-Identifier: BSD-3-Clause
// Mirror headers of real switches, against what tcpdump prints for the same captures.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "dataplane/decode/decode.h"
#include "tests/support/fixtures.h"

namespace rocescope {
namespace {

using Lines = std::vector<std::string>;

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What `pattern` captures in tcpdump's text, its groups joined by blanks.
Lines Printed(const std::string& name, const std::string& pattern) {
  const std::string text = TextOf(*test::Fixture("mirror/" + name + ".out"));
  const std::regex regex(pattern);
  Lines lines;
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    std::string line;
    for (size_t group = 1; group < match->size(); ++group) line += match->str(group) + ' ';
    lines.push_back(line);
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

TEST_F(MirrorFixture, Erspan1IsWhatTcpdumpCallsSo) {
  for (const std::string name : {"erspan-type-i-1", "erspan-type-i-4"}) {
    EXPECT_EQ(Read(name, MirrorKind::kErspan1, [](const DecodedFrame&) { return ""; }).size(),
              Printed(name, "\\n\\terspan type1").size());
  }
}

TEST_F(MirrorFixture, Erspan2AgreesWithTcpdump) {
  for (const std::string name : {"erspan-type-ii-1", "erspan-type-ii-2", "erspan-type-ii-3"}) {
    const Lines printed = Printed(
        name, "seq (\\d+), length \\d+\\n\\terspan type2 session (\\d+) [^\\n]*index (\\d+)");
    ASSERT_FALSE(printed.empty()) << name;
    EXPECT_EQ(Read(name, MirrorKind::kErspan2,
                   [](const DecodedFrame& frame) {
                     const MirrorInfo& mirror = frame.mirror;
                     return std::to_string(mirror.sequence) + ' ' + std::to_string(mirror.session) +
                            ' ' + std::to_string(mirror.port_index) + ' ';
                   }),
              printed)
        << name;
  }
}

TEST_F(MirrorFixture, Erspan3AgreesWithTcpdump) {
  const Lines printed =
      Printed("erspan-type-iii-ft-7", "seq (\\d+), length \\d+\\n\\terspan type3 session (\\d+) ");
  ASSERT_FALSE(printed.empty());
  EXPECT_EQ(Read("erspan-type-iii-ft-7", MirrorKind::kErspan3,
                 [](const DecodedFrame& frame) {
                   return std::to_string(frame.mirror.sequence) + ' ' +
                          std::to_string(frame.mirror.session) + ' ';
                 }),
            printed);
}

TEST_F(MirrorFixture, VxlanAgreesWithTcpdump) {
  const Lines printed = Printed("vxlan", "VXLAN, flags \\[I\\] \\(0x08\\), vni (\\d+)");
  ASSERT_FALSE(printed.empty());
  EXPECT_EQ(Read("vxlan", MirrorKind::kVxlan,
                 [](const DecodedFrame& frame) { return std::to_string(frame.segment - 1) + ' '; }),
            printed);
}

}  // namespace
}  // namespace rocescope
