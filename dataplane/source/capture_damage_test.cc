// SPDX-License-Identifier: BSD-3-Clause
// Damaged and wrong inputs: the frames before the damage, then a note or an error that says where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <random>

#include "dataplane/source/test_capture.h"

namespace rocescope::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Bytes = std::vector<uint8_t>;

// Two frames of 100 octets: records at byte 24 and 140, the end at 256.
Bytes TwoFrames(const CaptureFormat& format = {}) {
  const std::vector<CapturedFrame> frames(2, {.time_ns = 1, .bytes = Bytes(100, 7)});
  return MakePcap(format, frames);
}

Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

std::string OpenError(const std::string& path) {
  auto source = OpenCapture(path);
  return source ? "" : source.error().message;
}

TEST(CaptureDamageTest, ACutRecordIsANote) {
  Bytes file = TwoFrames();
  file.resize(200);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_EQ(reading.statistics.damaged_tails, 1u);
  EXPECT_THAT(reading.statistics.notes,
              ElementsAre("test.pcap: damaged tail at byte 140: record 2 ends after 60 octets of "
                          "116"));
}

TEST(CaptureDamageTest, ACutRecordHeaderIsANote) {
  Bytes file = TwoFrames();
  file.resize(150);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(reading.statistics.notes,
              ElementsAre("test.pcap: damaged tail at byte 140: record 2 ends after 10 octets"));
}

TEST(CaptureDamageTest, ACutPcapngBlockIsANote) {
  const std::vector<CapturedFrame> frames(2, {.time_ns = 1, .bytes = Bytes(100, 7)});
  Bytes file = MakePcapng({}, frames);  // 28 + 32 + 2 * 132 octets
  file.resize(60 + 132 + 50);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_EQ(reading.statistics.damaged_tails, 1u);
  EXPECT_THAT(reading.statistics.notes, ElementsAre(HasSubstr("damaged tail at byte 242")));
}

TEST(CaptureDamageTest, AnAbsurdLengthIsAnErrorAfterTheFramesBefore) {
  Bytes file = TwoFrames();
  file[140 + 10] = 0x04;  // 0x00040064 captured octets, 100 more than possible

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(reading.error, AllOf(HasSubstr("test.pcap: damaged at byte 140"),
                                   HasSubstr("record 2 claims 262244"), HasSubstr("262144")));
}

TEST(CaptureDamageTest, AnErrorComesAgainAtEveryCall) {
  Bytes file = TwoFrames();
  file[24 + 11] = 0xff;
  auto source = OpenCapture(std::make_unique<MemoryStream>(file), "test.pcap");
  std::vector<RawFrame> batch(4);

  EXPECT_FALSE((*source)->ReadBatch(batch));
  EXPECT_FALSE((*source)->ReadBatch(batch));
}

TEST(CaptureDamageTest, AnEmptyFileSaysSo) {
  EXPECT_THAT(ReadFile({}).error, HasSubstr("test.pcap: is empty: expected a pcap"));
}

TEST(CaptureDamageTest, ACutFileHeaderSaysSo) {
  Bytes file = TwoFrames();
  file.resize(20);

  EXPECT_THAT(ReadFile(file).error, HasSubstr("ends after 20 of the 24 octets"));
}

TEST(CaptureDamageTest, AFileHeaderAloneIsACaptureWithoutFrames) {
  Bytes file = TwoFrames();
  file.resize(24);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames.size(), 0u);
  EXPECT_EQ(reading.statistics.damaged_tails, 0u);
}

TEST(CaptureDamageTest, AWrongLinkTypeIsNamed) {
  EXPECT_THAT(
      ReadFile(TwoFrames({.link_type = 105})).error,
      AllOf(HasSubstr("link type 105 (802.11)"), HasSubstr("expected Ethernet (1), raw IP (101")));
  EXPECT_THAT(ReadFile(MakePcapng({.link_type = 105}, SomeFrames(1))).error,
              HasSubstr("link type 105 (802.11)"));
}

TEST(CaptureDamageTest, TwoLinkTypesInAPcapngSayWhatToDo) {
  const CapturedFrame frame{.bytes = Bytes(60, 1)};
  Bytes file;
  AppendPcapngHeader(file, {});
  AppendPcapngInterface(file, {});
  AppendPcapngPacket(file, {}, 0, frame);
  AppendPcapngInterface(file, {.link_type = 113});
  AppendPcapngPacket(file, {}, 1, frame);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(reading.error, AllOf(HasSubstr("test.pcap"), HasSubstr("one link type"),
                                   HasSubstr("editcap -F nsecpcap -T ether")));
}

TEST(CaptureDamageTest, OtherFilesAreRefusedByWhatTheyAre) {
  EXPECT_THAT(ReadFile(Text("GET / HTTP/1.1\r\n")).error,
              HasSubstr("is not a capture: expected pcap or pcapng, plain or compressed by gzip or "
                        "zstd, but it begins with 47 45 54 20"));
  EXPECT_THAT(ReadFile(Text("BZh91AY")).error, HasSubstr("bzip2 -dc"));
  EXPECT_THAT(ReadFile({0xfd, '7', 'z', 'X', 'Z', 0}).error, HasSubstr("xz -dc"));
  EXPECT_THAT(ReadFile({0xa1}).error, HasSubstr("is not a capture"));
}

TEST(CaptureDamageTest, ACutGzipFileKeepsItsFrames) {
  Bytes plain = TwoFrames();
  Bytes file(1000);
  uLongf size = file.size();
  {
    z_stream deflater{};  // level 0: what is cut off is known
    deflateInit2(&deflater, 0, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    deflater.next_in = plain.data();
    deflater.avail_in = static_cast<unsigned>(plain.size());
    deflater.next_out = file.data();
    deflater.avail_out = static_cast<unsigned>(file.size());
    deflate(&deflater, Z_FINISH);
    size = deflater.total_out;
    deflateEnd(&deflater);
  }
  file.resize(size - 8 - 56);  // the trailer, and half of the second frame

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(reading.statistics.notes,
              ElementsAre(AllOf(HasSubstr("damaged tail at byte 140"),
                                HasSubstr("the compressed data is cut at its byte"))));
}

TEST(CaptureDamageTest, ACutZstdFileIsANote) {
  const Bytes plain = MakePcap({}, SomeFrames(2000));
  Bytes file(ZSTD_compressBound(plain.size()));
  file.resize(ZSTD_compress(file.data(), file.size(), plain.data(), plain.size(), 1));
  file.resize(file.size() - 1);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.statistics.damaged_tails, 1u);
  EXPECT_THAT(reading.statistics.notes, ElementsAre(HasSubstr("compressed data is cut")));
}

TEST(CaptureDamageTest, CorruptCompressedDataIsAnError) {
  Bytes file = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff};

  EXPECT_THAT(ReadFile(file).error, HasSubstr("test.pcap: the gzip data is damaged near its byte"));
}

// A window of 2^31 octets would be the price: RFC 8878, 3.1.1.1.2, exponent 21, mantissa 0.
TEST(CaptureDamageTest, AHugeZstdWindowIsRefused) {
  Bytes file = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00};

  EXPECT_THAT(ReadFile(file).error, HasSubstr("zstd -d --long=31"));
}

TEST(CaptureDamageTest, MissingFilesAndFoldersSaySo) {
  EXPECT_THAT(OpenError("/nonexistent/x.pcap"),
              HasSubstr("/nonexistent/x.pcap: cannot be opened: No such file"));
  EXPECT_THAT(OpenError(::testing::TempDir()), HasSubstr("is a directory"));
}

TEST(CaptureDamageTest, AFileWithoutPermissionSaysSo) {
  const std::string path = ::testing::TempDir() + "forbidden.pcap";
  std::ofstream(path) << "x";
  chmod(path.c_str(), 0);
  const uid_t user = geteuid();
  if (user == 0) {
    ASSERT_EQ(seteuid(65534), 0);  // root may read everything; nobody may not
  }

  const std::string error = OpenError(path);

  if (user == 0) {
    ASSERT_EQ(seteuid(user), 0);
  }
  EXPECT_THAT(error, HasSubstr("forbidden.pcap: cannot be opened: Permission denied"));
}

// Whatever happens to a file: it ends, and delivers no more octets than it has.
TEST(CaptureDamageTest, RandomDamageEndsAndStaysBounded) {
  std::mt19937 random(4791);
  const auto frames = SomeFrames(50);
  for (int round = 0; round < 2000; ++round) {
    const CaptureFormat format{.big_endian = round % 2 == 0};
    Bytes file = round % 4 < 2 ? MakePcap(format, frames) : MakePcapng(format, frames);
    for (int i = random() % 4; i >= 0; --i) {
      const size_t at = random() % file.size();
      switch (random() % 3) {
        case 0:  // flip
          file[at] ^= static_cast<uint8_t>(1 << random() % 8);
          break;
        case 1:  // cut out
          file.erase(
              file.begin() + static_cast<ptrdiff_t>(at),
              file.begin() + static_cast<ptrdiff_t>(std::min(file.size(), at + random() % 200)));
          break;
        default: {  // splice a part in elsewhere
          const size_t from = random() % file.size();
          const Bytes part(
              file.begin() + static_cast<ptrdiff_t>(from),
              file.begin() + static_cast<ptrdiff_t>(std::min(file.size(), from + 100)));
          file.insert(file.begin() + static_cast<ptrdiff_t>(at), part.begin(), part.end());
        }
      }
      if (file.empty()) break;
    }
    const size_t size = file.size();

    const Reading reading = ReadFile(std::move(file), {.block_size = 4096});

    size_t delivered = 0;
    for (const SeenFrame& frame : reading.frames) delivered += frame.bytes.size();
    ASSERT_LE(delivered, size) << "round " << round;
    ASSERT_EQ(delivered, reading.statistics.captured_bytes) << "round " << round;
    ASSERT_EQ(reading.frames.size(), reading.statistics.frames) << "round " << round;
  }
}

}  // namespace
}  // namespace rocescope::test
