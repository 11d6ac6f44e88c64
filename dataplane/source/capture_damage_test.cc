// SPDX-License-Identifier: BSD-3-Clause
// Damaged and invalid inputs: the frames before the damage are delivered, followed by a note or an
// error with the position.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
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

// Two frames of 100 bytes: records at byte 24 and 140, end of file at 256.
Bytes TwoFrames(const CaptureFormat& format = {}) {
  const std::vector<CapturedFrame> frames(2, {.time_ns = 1, .bytes = Bytes(100, 7)});
  return MakePcap(format, frames);
}

Bytes Text(std::string_view text) { return {text.begin(), text.end()}; }

std::string OpenError(const std::string& path) {
  auto source = OpenCapture(path);
  return source ? "" : source.error().message;
}

TEST(CaptureDamageTest, TruncatedRecordIsANote) {
  Bytes file = TwoFrames();
  file.resize(200);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_EQ(reading.statistics.damaged_tails, 1u);
  EXPECT_THAT(reading.statistics.notes,
              ElementsAre("test.pcap: truncated at byte 140: record 2 ends after 60 bytes of "
                          "116"));
}

// Ends like a file whose reading a signal interrupts.
class InterruptedStream final : public ByteStream {
 public:
  explicit InterruptedStream(Bytes bytes) : bytes_(std::move(bytes)) {}
  Result<size_t> Read(std::span<uint8_t> out) override {
    const size_t count = std::min(out.size(), bytes_.size() - at_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), count, out.begin());
    at_ += count;
    return count;
  }
  bool IsInterrupted() const override { return true; }

 private:
  Bytes bytes_;
  size_t at_ = 0;
};

TEST(CaptureDamageTest, AnInterruptedReadingIsNoDamageOfTheFile) {
  const std::vector<CapturedFrame> frames(2, {.time_ns = 1, .bytes = Bytes(100, 7)});
  const Bytes plain = TwoFrames();
  for (const Bytes& file :
       {plain, MakePcapng({}, frames), GzipParts(std::span(&plain, 1), 0).file}) {
    Bytes part = file;
    part.resize(file.size() - 8 - 56);
    auto source = OpenCapture(std::make_unique<InterruptedStream>(part), "test.pcap");
    ASSERT_TRUE(source) << source.error().message;
    std::array<RawFrame, 8> batch;
    size_t count = 0;
    while (const size_t more = (*source)->ReadBatch(batch).value()) count += more;
    EXPECT_EQ(count, 1u);
    EXPECT_EQ((*source)->Statistics().damaged_tails, 1u);
    EXPECT_THAT(
        (*source)->Statistics().notes,
        ElementsAre(
            "test.pcap: reading was interrupted by a signal; the frames before it were read"));
  }
}

TEST(CaptureDamageTest, TruncatedRecordHeaderIsANote) {
  Bytes file = TwoFrames();
  file.resize(150);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(reading.statistics.notes,
              ElementsAre("test.pcap: truncated at byte 140: record 2 ends after 10 bytes"));
}

// The records' microseconds or nanoseconds begin at bytes 28 and 144.
TEST(CaptureDamageTest, ImpossibleFractionOfASecondIsCorrectedAndNoted) {
  for (const bool nanoseconds : {false, true}) {
    Bytes file = TwoFrames({.nanoseconds = nanoseconds});
    const uint32_t fraction = nanoseconds ? 1'000'000'000 : 1'000'000;
    std::memcpy(file.data() + 144, &fraction, sizeof fraction);

    const Reading reading = ReadFile(file);

    ASSERT_EQ(reading.frames.size(), 2u);
    EXPECT_EQ(reading.frames[1].time_ns, nanoseconds ? 999'999'999 : 999'999'000);
    EXPECT_EQ(reading.statistics.bad_times, 1u);
    EXPECT_TRUE(reading.statistics.HasDamage());
    EXPECT_THAT(reading.statistics.notes,
                ElementsAre(HasSubstr("test.pcap: 1 frames have an impossible capture time, the "
                                      "first one is frame 2")));
  }
}

TEST(CaptureDamageTest, PcapngTimesOutsideOf1970To2116AreCorrectedAndNoted) {
  constexpr int64_t kIn2200 = 7'258'118'400'000'000'000;
  constexpr int64_t kIn2024 = 1'714'564'800'000'000'000;
  std::vector<CapturedFrame> frames;
  for (const int64_t time : {kIn2200, kIn2024, kIn2200, int64_t{-1}, kIn2024 + 5}) {
    frames.push_back({.time_ns = time, .bytes = Bytes(100, 7)});
  }

  const Reading reading = ReadFile(MakePcapng({}, frames));

  std::vector<int64_t> times;
  for (const SeenFrame& frame : reading.frames) times.push_back(frame.time_ns);
  EXPECT_THAT(times, ElementsAre(kIn2024, kIn2024, kIn2024, kIn2024 + 5))
      << "the first frame has no valid time before it";
  EXPECT_EQ(reading.statistics.bad_times, 3u);
  EXPECT_THAT(reading.statistics.notes,
              ElementsAre(AllOf(HasSubstr("3 frames have an impossible capture time"),
                                HasSubstr("valid times are from 1970 to 2116"))));
}

TEST(CaptureDamageTest, TruncatedPcapngBlockIsANote) {
  const std::vector<CapturedFrame> frames(2, {.time_ns = 1, .bytes = Bytes(100, 7)});
  Bytes file = MakePcapng({}, frames);  // 28 + 32 + 2 * 132 bytes
  file.resize(60 + 132 + 50);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_EQ(reading.statistics.damaged_tails, 1u);
  EXPECT_THAT(reading.statistics.notes, ElementsAre(HasSubstr("truncated at byte 242")));
}

TEST(CaptureDamageTest, AbsurdLengthIsAnErrorAfterTheFramesBefore) {
  Bytes file = TwoFrames();
  file[140 + 10] = 0x04;  // captured length 0x00040064, 100 bytes more than the maximum

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(reading.error,
              AllOf(HasSubstr("test.pcap: damaged at byte 140"),
                    HasSubstr("record 2 has a captured length of 262244"), HasSubstr("262144")));
}

TEST(CaptureDamageTest, ErrorIsReturnedByEveryCall) {
  Bytes file = TwoFrames();
  file[24 + 11] = 0xff;
  auto source = OpenCapture(std::make_unique<MemoryStream>(file), "test.pcap");
  std::vector<RawFrame> batch(4);

  EXPECT_FALSE((*source)->ReadBatch(batch));
  EXPECT_FALSE((*source)->ReadBatch(batch));
}

TEST(CaptureDamageTest, EmptyFileIsReported) {
  EXPECT_THAT(ReadFile({}).error, HasSubstr("test.pcap: is empty: expected a pcap"));
}

TEST(CaptureDamageTest, TruncatedFileHeaderIsReported) {
  Bytes file = TwoFrames();
  file.resize(20);

  EXPECT_THAT(ReadFile(file).error, HasSubstr("ends after 20 of the 24 bytes"));
}

TEST(CaptureDamageTest, FileHeaderOnlyIsACaptureWithoutFrames) {
  Bytes file = TwoFrames();
  file.resize(24);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames.size(), 0u);
  EXPECT_EQ(reading.statistics.damaged_tails, 0u);
}

TEST(CaptureDamageTest, UnsupportedLinkTypeIsReported) {
  EXPECT_THAT(
      ReadFile(TwoFrames({.link_type = 105})).error,
      AllOf(HasSubstr("link type 105 (802.11)"), HasSubstr("expected Ethernet (1), raw IP (101")));
  EXPECT_THAT(ReadFile(MakePcapng({.link_type = 105}, SomeFrames(1))).error,
              HasSubstr("link type 105 (802.11)"));
}

TEST(CaptureDamageTest, TwoLinkTypesInAPcapngAreReportedWithAdvice) {
  const CapturedFrame frame{.bytes = Bytes(60, 1)};
  Bytes file;
  AppendPcapngHeader(file, {});
  AppendPcapngInterface(file, {});
  AppendPcapngPacket(file, {}, 0, frame);
  AppendPcapngInterface(file, {.link_type = 113});
  AppendPcapngPacket(file, {}, 1, frame);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(reading.error, AllOf(HasSubstr("test.pcap"), HasSubstr("same link type"),
                                   HasSubstr("editcap -F nsecpcap -T ether")));
}

TEST(CaptureDamageTest, OtherFileFormatsAreRejected) {
  EXPECT_THAT(
      ReadFile(Text("GET / HTTP/1.1\r\n")).error,
      HasSubstr(
          "is not a capture: expected pcap or pcapng, uncompressed or compressed with gzip or "
          "zstd, found leading bytes 47 45 54 20"));
  EXPECT_THAT(ReadFile(Text("BZh91AY")).error, HasSubstr("bzip2 -dc"));
  EXPECT_THAT(ReadFile({0xfd, '7', 'z', 'X', 'Z', 0}).error, HasSubstr("xz -dc"));
  EXPECT_THAT(ReadFile({0xa1}).error, HasSubstr("is not a capture"));
}

TEST(CaptureDamageTest, TruncatedGzipFileKeepsItsFrames) {
  const Bytes plain = TwoFrames();
  // Level 0, so that the truncated bytes are known.
  Bytes file = GzipParts(std::span(&plain, 1), 0).file;
  file.resize(file.size() - 8 - 56);  // removes the trailer and half of the second frame

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(reading.statistics.notes,
              ElementsAre(AllOf(HasSubstr("truncated at byte 140"),
                                HasSubstr("the compressed data is truncated at byte"))));
}

TEST(CaptureDamageTest, TruncatedZstdFileIsANote) {
  Bytes file = Compress(Packing::kZstd, MakePcap({}, SomeFrames(2000)));
  file.resize(file.size() - 1);

  const Reading reading = ReadFile(file);

  EXPECT_EQ(reading.error, "");
  EXPECT_EQ(reading.statistics.damaged_tails, 1u);
  EXPECT_THAT(reading.statistics.notes, ElementsAre(HasSubstr("compressed data is truncated")));
}

// The last bytes are gzip's CRC and length, and zstd's checksum. All content precedes them.
TEST(CaptureDamageTest, WrongChecksumIsAnErrorAfterAllFrames) {
  for (const Packing packing : {Packing::kGzip, Packing::kZstd}) {
    Bytes file = Compress(packing, MakePcap({}, SomeFrames(400)));
    file[file.size() - (packing == Packing::kGzip ? 8 : 1)] ^= 1;

    const Reading reading = ReadFile(file);

    EXPECT_EQ(reading.frames, AsSeen(SomeFrames(400)));
    EXPECT_THAT(reading.error, HasSubstr("data is damaged near byte"));
  }
}

// Sets the reserved block type: 3 in bits 1 and 2 of the block's first byte, both in deflate (RFC
// 1951, 3.2.3) and in zstd (RFC 8878, 3.1.1.2).
TEST(CaptureDamageTest, DamagedBlockIsAnErrorAfterTheFramesBeforeIt) {
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
        EXPECT_THAT(reading.error, HasSubstr("data is damaged near byte")) << chunk;
      }
    }
  }
}

TEST(CaptureDamageTest, CorruptCompressedDataIsAnError) {
  Bytes file = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff};

  EXPECT_THAT(ReadFile(file).error, HasSubstr("test.pcap: the gzip data is damaged near byte"));
}

// Requests a window of 2^31 bytes: RFC 8878, 3.1.1.1.2, exponent 21, mantissa 0.
TEST(CaptureDamageTest, HugeZstdWindowIsRejected) {
  Bytes file = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 21 << 3, 0x01, 0x00, 0x00};

  EXPECT_THAT(ReadFile(file).error, HasSubstr("zstd -d --long=31"));
}

TEST(CaptureDamageTest, MissingFilesAndFoldersAreReported) {
  EXPECT_THAT(OpenError("/nonexistent/x.pcap"),
              HasSubstr("/nonexistent/x.pcap: cannot open: No such file"));
  EXPECT_THAT(OpenError(::testing::TempDir()), HasSubstr("is a directory"));
}

TEST(CaptureDamageTest, MissingPermissionIsReported) {
  const std::string path = ::testing::TempDir() + "forbidden.pcap";
  std::ofstream(path) << "x";
  chmod(path.c_str(), 0);
  const uid_t user = geteuid();
  if (user == 0) {
    ASSERT_EQ(seteuid(65534), 0);  // root may read everything; user nobody may not
  }

  const std::string error = OpenError(path);

  if (user == 0) {
    ASSERT_EQ(seteuid(user), 0);
  }
  EXPECT_THAT(error, HasSubstr("forbidden.pcap: cannot open: Permission denied"));
}

// Changes a few random places of `file` and returns the first position.
size_t Damage(Bytes& file, std::mt19937& random) {
  size_t first = file.size();
  for (int i = random() % 4; i >= 0 && !file.empty(); --i) {
    const size_t at = random() % file.size();
    first = std::min(first, at);
    const auto place = file.begin() + static_cast<ptrdiff_t>(at);
    switch (random() % 3) {
      case 0:  // flips bits
        *place ^= static_cast<uint8_t>(1 << random() % 8);
        break;
      case 1: {  // removes a part
        const size_t end = std::min(file.size(), at + random() % 200);
        file.erase(place, file.begin() + static_cast<ptrdiff_t>(end));
        break;
      }
      default: {  // inserts a part elsewhere
        const auto from = file.begin() + static_cast<ptrdiff_t>(random() % file.size());
        const Bytes part(from, from + std::min<ptrdiff_t>(100, file.end() - from));
        file.insert(place, part.begin(), part.end());
      }
    }
  }
  return first;
}

// A file divided into pieces, each with the frames that end in it: pcap records, pcapng blocks, or
// members of a compressed file with ten records each. The header has no frames.
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

// Whatever happens to a file, reading terminates, delivers the frames before the damage, and
// delivers no more bytes than the file has.
TEST(CaptureDamageTest, RandomDamageKeepsPrecedingFramesAndStaysBounded) {
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
