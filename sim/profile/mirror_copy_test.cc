// SPDX-License-Identifier: BSD-3-Clause
#include "sim/profile/mirror_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "dataplane/wire/ip.h"
#include "dataplane/wire/mirror.h"
#include "sim/emit/mirror.h"
#include "sim/emit/pcap_file.h"
#include "sim/emit/star_network.h"

namespace rocescope::sim {
namespace {

using ::testing::HasSubstr;

constexpr size_t kSequenceAt = 14 + 20 + 4;  // Ethernet, IPv4, GRE flags and protocol

struct Frame {
  int64_t time_ns = 0;
  std::vector<uint8_t> bytes;

  uint32_t sequence() const {
    return uint32_t{bytes[kSequenceAt]} << 24 | uint32_t{bytes[kSequenceAt + 1]} << 16 |
           uint32_t{bytes[kSequenceAt + 2]} << 8 | bytes[kSequenceAt + 3];
  }
};

class MirrorCopyTest : public ::testing::Test {
 protected:
  MirrorCopyTest()
      : directory_(::testing::TempDir() + "mirror_copy_test_" + std::to_string(::getpid())),
        star_({{.session = 1, .direction = topology::TapDirection::kBoth, .ports = {0, 1, 2}}}) {
    std::filesystem::create_directories(directory_);
  }
  ~MirrorCopyTest() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ + "/" + name; }
  // Writes the mirrored frames of a busy switch. Frames for which `lose` is true are left out.
  std::vector<Frame> Record(const std::function<bool(size_t)>& lose) {
    const auto mirror = Mirror::Make(star_.network(), star_.packets(), star_.port(), {}).value();
    star_.switch_at().SetObserver(mirror.get());
    for (int i = 0; i < 20; ++i) star_.Write(i % 2, 2, 1'000'000);
    const auto& frames = star_.Run();
    const auto file = PcapFile::Open(Path("in.pcap")).value();
    std::vector<Frame> kept;
    for (size_t i = 0; i < frames.size(); ++i) {
      if (lose(i)) continue;
      const std::span<uint8_t> room = file->Room();
      std::copy(frames[i].bytes.begin(), frames[i].bytes.end(), room.begin());
      file->Add(frames[i].arrival, frames[i].bytes.size(),
                static_cast<uint32_t>(frames[i].bytes.size()));
      kept.push_back({ToNanoseconds(frames[i].arrival), frames[i].bytes});
    }
    EXPECT_TRUE(file->Close().has_value());
    star_.switch_at().SetObserver(nullptr);
    return kept;
  }
  std::vector<Frame> ReadBack(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    std::vector<Frame> frames;
    for (size_t at = 24; at < text.size();) {
      uint32_t header[4];
      std::memcpy(header, text.data() + at, sizeof header);
      Frame frame{.time_ns = int64_t{header[0]} * 1'000'000'000 + header[1], .bytes = {}};
      frame.bytes.assign(text.begin() + static_cast<ptrdiff_t>(at + 16),
                         text.begin() + static_cast<ptrdiff_t>(at + 16 + header[2]));
      frames.push_back(std::move(frame));
      at += 16 + header[2];
    }
    return frames;
  }

  const std::string directory_;
  StarNetwork star_;
};

TEST_F(MirrorCopyTest, SamplesWithContiguousSequenceNumbersAndUnchangedTimes) {
  const std::vector<Frame> all = Record([](size_t) { return false; });
  ASSERT_GT(all.size(), 5'000u);
  const auto copied =
      CopyMirror(Path("in.pcap"), Path("out.pcap"), star_.fabric(), {.sampling = 10, .seed = 5});
  ASSERT_TRUE(copied.has_value()) << copied.error().message;
  const std::vector<Frame> frames = ReadBack("out.pcap");
  EXPECT_EQ(frames.size(), *copied);
  const double expected = static_cast<double>(all.size()) / 10;
  EXPECT_NEAR(static_cast<double>(frames.size()), expected, 4 * std::sqrt(expected));
  size_t from = 0;
  for (uint32_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(frames[i].sequence(), i);
    // Everything but the identification, the checksum and the sequence number is that of a recorded
    // frame with the same time.
    while (all[from].time_ns != frames[i].time_ns) ++from;
    std::vector<uint8_t> original = all[from].bytes;
    ASSERT_EQ(original.size(), frames[i].bytes.size());
    for (const size_t changed : {18u, 19u, 24u, 25u}) original[changed] = frames[i].bytes[changed];
    for (size_t k = 0; k < 4; ++k) original[kSequenceAt + k] = frames[i].bytes[kSequenceAt + k];
    ASSERT_EQ(original, frames[i].bytes);
    wire::ByteReader in(std::span(frames[i].bytes).subspan(14, 20));
    wire::Ipv4Header ip;
    Read(in, ip);
    EXPECT_EQ(ip.identification, static_cast<uint16_t>(i));
    EXPECT_EQ(ip.checksum, wire::Ipv4Checksum(ip));
  }
}

// Copies lost on the way leave gaps also in a sampled session: as many as were chosen.
TEST_F(MirrorCopyTest, LostCopiesStillLeaveGaps) {
  Record([](size_t i) { return i % 4 == 1; });
  ASSERT_TRUE(
      CopyMirror(Path("in.pcap"), Path("out.pcap"), star_.fabric(), {.sampling = 10}).has_value());
  const std::vector<Frame> frames = ReadBack("out.pcap");
  const double chosen = frames.back().sequence() + 1;
  EXPECT_NEAR(static_cast<double>(frames.size()) / chosen, 0.75, 0.06);
}

TEST_F(MirrorCopyTest, WithoutSamplingAllFramesStayTheSame) {
  const std::vector<Frame> all = Record([](size_t i) { return i % 100 == 7; });
  ASSERT_TRUE(CopyMirror(Path("in.pcap"), Path("out.pcap"), star_.fabric(), {.leaf_only = true})
                  .has_value());
  const std::vector<Frame> frames = ReadBack("out.pcap");
  ASSERT_EQ(frames.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(frames[i].bytes, all[i].bytes);
}

TEST_F(MirrorCopyTest, DamagedFilesAreErrors) {
  const auto error = [&](const std::string& bytes) {
    std::ofstream(Path("in.pcap"), std::ios::binary) << bytes;
    const auto copied = CopyMirror(Path("in.pcap"), Path("out.pcap"), star_.fabric(), {});
    return copied ? std::string() : copied.error().message;
  };
  EXPECT_THAT(
      CopyMirror("/nonexistent/in.pcap", Path("out.pcap"), star_.fabric(), {}).error().message,
      HasSubstr("/nonexistent/in.pcap: cannot be opened"));
  EXPECT_THAT(error("short"), HasSubstr("in.pcap: not a capture of rocescope-sim"));
  Record([](size_t i) { return i > 2; });
  std::ifstream file(Path("in.pcap"), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(error(whole.substr(0, whole.size() - 1)),
              HasSubstr("frame 3: the file is truncated"));
  EXPECT_THAT(error(whole.substr(0, 30)), HasSubstr("frame 1: invalid header"));
  std::string other = whole;
  other[24 + 16 + 12] = 1;  // EtherType
  EXPECT_THAT(error(other), HasSubstr("frame 1: expected an ERSPAN type III packet"));
  std::string stranger = whole;
  stranger[24 + 16 + 14 + 12] ^= 0x55;  // source address
  EXPECT_THAT(error(stranger), HasSubstr("frame 1: its sender is not in topology.yaml"));
}

}  // namespace
}  // namespace rocescope::sim
