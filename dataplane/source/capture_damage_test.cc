// SPDX-License-Identifier: BSD-3-Clause
// Damaged and wrong inputs: the frames before the damage, then a note or an error that says where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <random>

#include "dataplane/source/test_capture.h"
#include "dataplane/source/test_compress.h"

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
  const Bytes plain = TwoFrames();
  Bytes file = GzipParts(std::span(&plain, 1), 0).file;  // level 0: what is cut off is known
  file.resize(file.size() - 8 - 56);  // the trailer, and half of the second frame

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(reading.statistics.notes,
              ElementsAre(AllOf(HasSubstr("damaged tail at byte 140"),
                                HasSubstr("the compressed data is cut at its byte"))));
}

TEST(CaptureDamageTest, ACutZstdFileIsANote) {
  Bytes file = Compress(Packing::kZstd, MakePcap({}, SomeFrames(2000)));
  file.resize(file.size() - 1);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.statistics.damaged_tails, 1u);
  EXPECT_THAT(reading.statistics.notes, ElementsAre(HasSubstr("compressed data is cut")));
}

// The last octets are gzip's CRC and length, and zstd's checksum: all content is before them.
TEST(CaptureDamageTest, AWrongChecksumIsAnErrorAfterAllFrames) {
  for (const Packing packing : {Packing::kGzip, Packing::kZstd}) {
    Bytes file = Compress(packing, MakePcap({}, SomeFrames(400)));
    file[file.size() - (packing == Packing::kGzip ? 8 : 1)] ^= 1;

    const Reading reading = ReadFile(file);

    EXPECT_EQ(reading.frames, AsSeen(SomeFrames(400)));
    EXPECT_THAT(reading.error, HasSubstr("data is damaged near its byte"));
  }
}

// A block of the reserved type: of deflate 3 in bits 1 and 2 of its first octet (RFC 1951, 3.2.3),
// of zstd likewise (RFC 8878, 3.1.1.2).
TEST(CaptureDamageTest, ADamagedBlockIsAnErrorAfterTheFramesBeforeIt) {
  const auto frames = SomeFrames(3000);
  const Bytes plain = MakePcap({}, frames);
  size_t half = 24;
  for (const CapturedFrame& frame : std::span(frames).first(2000)) half += 16 + frame.bytes.size();
  const auto middle = plain.begin() + static_cast<ptrdiff_t>(half);
  const std::vector<Bytes> parts = {{plain.begin(), middle}, {middle, plain.end()}};
  for (CompressedParts packed : {GzipParts(parts), ZstdParts(parts)}) {
    packed.file[packed.begins[1]] |= 0x06;
    for (const size_t chunk : {size_t{1}, size_t{1000}, SIZE_MAX}) {
      for (const size_t block_size : {size_t{4096}, size_t{1} << 20}) {
        const Reading reading = ReadFile(packed.file, {.block_size = block_size}, chunk);

        EXPECT_EQ(reading.frames, AsSeen(std::span(frames).first(2000))) << chunk;
        EXPECT_THAT(reading.error, HasSubstr("data is damaged near its byte")) << chunk;
      }
    }
  }
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

// Changes a few places of `file` at random; returns where the first of them begins.
size_t Damage(Bytes& file, std::mt19937& random) {
  size_t first = file.size();
  for (int i = random() % 4; i >= 0 && !file.empty(); --i) {
    const size_t at = random() % file.size();
    first = std::min(first, at);
    const auto place = file.begin() + static_cast<ptrdiff_t>(at);
    switch (random() % 3) {
      case 0:  // flip
        *place ^= static_cast<uint8_t>(1 << random() % 8);
        break;
      case 1: {  // cut out
        const size_t end = std::min(file.size(), at + random() % 200);
        file.erase(place, file.begin() + static_cast<ptrdiff_t>(end));
        break;
      }
      default: {  // splice a part in elsewhere
        const auto from = file.begin() + static_cast<ptrdiff_t>(random() % file.size());
        const Bytes part(from, from + std::min<ptrdiff_t>(100, file.end() - from));
        file.insert(place, part.begin(), part.end());
      }
    }
  }
  return first;
}

// A file in pieces, each with some frames at its end: pcap records or pcapng blocks, or members of
// a compressed file with ten records each. The header has none.
struct Pieces {
  std::vector<Bytes> bytes;
  size_t frames_each = 1;
};

Pieces PiecesOf(bool pcapng, Packing packing, const CaptureFormat& format,
                std::span<const CapturedFrame> frames) {
  Pieces pieces{.bytes = {{}}, .frames_each = packing == Packing::kPlain ? 1u : 10u};
  Bytes& header = pieces.bytes[0];
  if (pcapng) {
    AppendPcapngHeader(header, format);
    AppendPcapngInterface(header, format);
  } else {
    AppendPcapHeader(header, format);
  }
  header = Compress(packing, header);
  for (size_t i = 0; i < frames.size(); i += pieces.frames_each) {
    Bytes piece;
    for (const CapturedFrame& frame : frames.subspan(i, pieces.frames_each)) {
      if (pcapng) {
        AppendPcapngPacket(piece, format, 0, frame);
      } else {
        AppendPcapRecord(piece, format, frame.time_ns, frame.bytes, frame.original_length);
      }
    }
    pieces.bytes.push_back(Compress(packing, piece));
  }
  return pieces;
}

// Whatever happens to a file: it ends, delivers what lies before the damage, and no more octets
// than it has.
TEST(CaptureDamageTest, RandomDamageKeepsWhatIsBeforeItAndStaysBounded) {
  std::mt19937 random(4791);
  const auto frames = SomeFrames(50);
  const auto whole = AsSeen(frames);
  for (int round = 0; round < 3000; ++round) {
    const auto packing = static_cast<Packing>(round / 4 % 3);
    const Pieces pieces = PiecesOf(round % 4 < 2, packing, {.big_endian = round % 2 == 0}, frames);
    Bytes file;
    for (const Bytes& piece : pieces.bytes) file.insert(file.end(), piece.begin(), piece.end());
    const size_t first_damage = Damage(file, random);
    size_t good = 0;
    for (size_t i = 0, end = 0; i < pieces.bytes.size(); ++i) {
      end += pieces.bytes[i].size();
      if (end <= first_damage) good = i * pieces.frames_each;
    }
    const size_t size = file.size();

    const Reading reading = ReadFile(std::move(file), {.block_size = 4096});

    ASSERT_GE(reading.frames.size(), good) << "round " << round << ": " << reading.error;
    for (size_t i = 0; i < good; ++i) ASSERT_EQ(reading.frames[i], whole[i]) << "round " << round;
    size_t delivered = 0;
    for (const SeenFrame& frame : reading.frames) delivered += frame.bytes.size();
    ASSERT_EQ(delivered, reading.statistics.captured_bytes) << "round " << round;
    ASSERT_EQ(reading.frames.size(), reading.statistics.frames) << "round " << round;
    if (packing == Packing::kPlain) {
      ASSERT_LE(delivered, size) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace rocescope::test
