// SPDX-License-Identifier: BSD-3-Clause
// The content of a capture is delivered in every format and from every kind of stream.
#include "dataplane/source/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pcap/pcap.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <tuple>

#include "dataplane/source/test_capture.h"
#include "dataplane/source/test_compress.h"
#include "tests/support/fixtures.h"

namespace rocescope::test {
namespace {

using ::testing::Combine;
using ::testing::Values;
using Bytes = std::vector<uint8_t>;

Bytes Join(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class FormatTest : public ::testing::TestWithParam<std::tuple<bool, bool, bool, Packing, size_t>> {
};

TEST_P(FormatTest, DeliversEveryFrameAsWritten) {
  const auto [pcapng, big_endian, nanoseconds, packing, chunk] = GetParam();
  const CaptureFormat format{.big_endian = big_endian, .nanoseconds = nanoseconds};
  const auto frames = SomeFrames(700);
  const Bytes file = pcapng ? MakePcapng(format, frames) : MakePcap(format, frames);

  const Reading reading = ReadFile(Compress(packing, file), {}, chunk);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames, AsSeen(frames));
  EXPECT_EQ(reading.statistics.frames, 700u);
  EXPECT_EQ(reading.statistics.damaged_tails, 0u);
}

INSTANTIATE_TEST_SUITE_P(All, FormatTest,
                         Combine(Values(false, true), Values(false, true), Values(false, true),
                                 Values(Packing::kPlain, Packing::kGzip, Packing::kZstd),
                                 Values(1, 1000, SIZE_MAX)));

TEST(CaptureTest, KeepsNanoseconds) {
  const std::vector<CapturedFrame> frames = {{.time_ns = 1'700'000'000'123'456'789, .bytes = {1}}};

  const Reading pcap = ReadFile(MakePcap({.nanoseconds = true}, frames));
  const Reading pcapng = ReadFile(MakePcapng({.nanoseconds = true}, frames));
  const Reading micro = ReadFile(MakePcap({.nanoseconds = false}, frames));

  EXPECT_EQ(pcap.frames.at(0).time_ns, 1'700'000'000'123'456'789);
  EXPECT_EQ(pcapng.frames.at(0).time_ns, 1'700'000'000'123'456'789);
  EXPECT_EQ(micro.frames.at(0).time_ns, 1'700'000'000'123'456'000);
}

TEST(CaptureTest, ReadsTimesAfter2038) {
  const int64_t year_2100 = 4'102'444'800'000'000'000;

  const Reading reading =
      ReadFile(MakePcap({}, std::vector<CapturedFrame>{{.time_ns = year_2100, .bytes = {1}}}));

  EXPECT_EQ(reading.frames.at(0).time_ns, year_2100);
}

// 64 bits of nanoseconds extend to the year 2554, but valid times end at 2^62 ns, for later
// arithmetic. capture_damage_test.cc covers other times.
TEST(CaptureTest, ReadsTimesUpToTheLatest) {
  const int64_t latest = (int64_t{1} << 62) - 1;
  for (const auto& [time, is_valid] : {std::pair(latest, true), std::pair(latest + 1, false)}) {
    const std::vector<CapturedFrame> frames = {{.time_ns = time, .bytes = {1}}};
    const Reading reading = ReadFile(MakePcapng({}, frames));
    EXPECT_EQ(reading.frames.size(), is_valid ? 1u : 0u);
    EXPECT_EQ(reading.statistics.bad_times, is_valid ? 0u : 1u);
  }
}

TEST(CaptureTest, SetsTapAndLinkTypeOfEveryFrame) {
  const Reading reading = ReadFile(MakePcap({.link_type = 276}, SomeFrames(2)), {.tap = 7});

  EXPECT_EQ(reading.frames.at(1).tap, 7);
  EXPECT_EQ(reading.frames.at(1).link_type, LinkType::kLinuxCooked2);
}

// 0x24000000: the F bit, and an FCS of two 16-bit units.
TEST(CaptureTest, RemovesFcs) {
  const std::vector<CapturedFrame> frames = {
      // Complete: the last four bytes are the FCS.
      {.bytes = Bytes(64, 1), .original_length = 64},
      {.bytes = Bytes(64, 2), .original_length = 1000}};  // snapped: the FCS was not captured

  const Reading reading = ReadFile(MakePcap({.link_type = 0x24000001}, frames));

  EXPECT_EQ(reading.frames.at(0).bytes.size(), 60u);
  EXPECT_EQ(reading.frames.at(0).original_length, 60u);
  EXPECT_EQ(reading.frames.at(1).bytes.size(), 64u);
  EXPECT_EQ(reading.frames.at(1).original_length, 996u);
}

TEST(CaptureTest, FramesLargerThanABlockAreComplete) {
  std::vector<CapturedFrame> frames;
  for (size_t length : {100u, 262144u, 5u, 70000u, 0u, 200000u}) {
    frames.push_back({.bytes = Bytes(length, static_cast<uint8_t>(length / 3)),
                      .original_length = static_cast<uint32_t>(length)});
  }

  for (const size_t chunk : {size_t{3000}, size_t{65536}, SIZE_MAX}) {
    const Reading reading = ReadFile(MakePcap({}, frames), {.block_size = 4096}, chunk);
    EXPECT_EQ(reading.frames, AsSeen(frames)) << chunk;
  }
}

TEST(CaptureTest, SpansAreValidUntilTheNextCall) {
  const auto frames = SomeFrames(300);
  auto source = OpenCapture(std::make_unique<MemoryStream>(MakePcapng({}, frames)), "test.pcapng");
  std::vector<RawFrame> batch(300);

  const size_t count = *(*source)->ReadBatch(batch);

  ASSERT_EQ(count, 300u);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_TRUE(std::ranges::equal(batch[i].bytes, frames[i].bytes)) << i;
  }
}

// libpcap reads the old version 2.3 and Kuznetzov's variant.
TEST(CaptureTest, ReadsOldVersions) {
  const auto frames = SomeFrames(3);
  Bytes file;
  AppendPcapHeader(file, {}, 3);
  for (const auto& frame : frames) {
    AppendPcapRecord(file, {}, frame.time_ns, frame.bytes, frame.original_length);
  }

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames, AsSeen(frames));
}

// Kuznetzov's records have eight additional bytes: interface, protocol, packet type and padding.
TEST(CaptureTest, ReadsKuznetzovsVariant) {
  const Bytes payload(60, 9);
  Bytes file;
  AppendPcapHeader(file, {.nanoseconds = false});
  file[0] = 0x34;
  file[1] = 0xcd;
  AppendPcapRecord(file, {.nanoseconds = false}, 5'000'000'000, payload);
  file.insert(file.begin() + 24 + 16, 8, uint8_t{0});

  const Reading reading = ReadFile(file);

  ASSERT_EQ(reading.error, "");
  ASSERT_EQ(reading.frames.size(), 1u);
  EXPECT_EQ(reading.frames[0].bytes, payload);
  EXPECT_EQ(reading.frames[0].time_ns, 5'000'000'000);
}

TEST(CaptureTest, ReadsAllMembersOfACompressedFile) {
  const auto frames = SomeFrames(10);
  const Bytes file = MakePcap({}, frames);
  const Bytes first(file.begin(), file.begin() + 333);
  const Bytes second(file.begin() + 333, file.end());

  for (const Packing packing : {Packing::kGzip, Packing::kZstd}) {
    const Bytes joined = Join(Compress(packing, first), Compress(packing, second));
    EXPECT_EQ(ReadFile(joined).frames, AsSeen(frames));
  }
}

TEST(CaptureTest, DetectsFormatByContent) {
  const std::string path = ::testing::TempDir() + "capture.txt";
  const Bytes file = Compress(Packing::kZstd, MakePcap({}, SomeFrames(5)));
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(file.data()), static_cast<std::streamsize>(file.size()));

  auto source = OpenCapture(path);

  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->name(), path);
  EXPECT_EQ(ReadAll(**source).frames, AsSeen(SomeFrames(5)));
}

TEST(CaptureTest, ReadsStandardInputFromAPipe) {
  const Bytes file = MakePcap({}, SomeFrames(5));
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], file.data(), file.size()), static_cast<ssize_t>(file.size()));
  close(ends[1]);
  const int kept = dup(STDIN_FILENO);
  dup2(ends[0], STDIN_FILENO);

  auto source = OpenCapture("-");

  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->name(), "standard input");
  EXPECT_EQ(ReadAll(**source).frames, AsSeen(SomeFrames(5)));
  dup2(kept, STDIN_FILENO);
  close(kept);
  close(ends[0]);
}

std::vector<std::string> FixtureCaptures() {
  std::vector<std::string> paths;
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(FixtureFolder(), ignored)) {
    if (entry.path().extension() == ".pcap") paths.push_back(entry.path());
  }
  return paths;
}

TEST(CaptureTest, AgreesWithLibpcapOnRealCaptures) {
  const auto paths = FixtureCaptures();
  if (paths.empty()) GTEST_SKIP() << "no fixtures at " << FixtureFolder();
  for (const std::string& path : paths) {
    auto source = OpenCapture(path);
    ASSERT_TRUE(source) << source.error().message;
    const Reading own = ReadAll(**source);

    std::vector<SeenFrame> expected;
    char error[PCAP_ERRBUF_SIZE] = "";
    pcap_t* handle =
        pcap_open_offline_with_tstamp_precision(path.c_str(), PCAP_TSTAMP_PRECISION_NANO, error);
    ASSERT_NE(handle, nullptr) << error;
    // libpcap uses its own numbers for some link types; of the ones here, only for raw IP.
    const int number = pcap_datalink(handle);
    const LinkType link_type = number == DLT_RAW ? LinkType::kRawIp : LinkType(number);
    pcap_pkthdr* header = nullptr;
    const u_char* bytes = nullptr;
    while (pcap_next_ex(handle, &header, &bytes) == 1) {
      expected.push_back({.time_ns = header->ts.tv_sec * 1'000'000'000 + header->ts.tv_usec,
                          .original_length = header->len,
                          .link_type = link_type,
                          .bytes = {bytes, bytes + header->caplen}});
    }
    pcap_close(handle);
    EXPECT_FALSE(expected.empty()) << path;
    EXPECT_EQ(own.frames, expected) << path;
  }
}

}  // namespace
}  // namespace rocescope::test
