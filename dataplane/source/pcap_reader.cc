// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/pcap_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "dataplane/source/link_type.h"

namespace rocescope {
namespace {

constexpr size_t kFileHeaderSize = 24;
constexpr size_t kRecordHeaderSize = 16;
constexpr size_t kMaxRecordSize = kRecordHeaderSize + kMaxCapturedLength;
constexpr size_t kMinBlockSize = size_t{4} << 10;

// Blocks are read to the beginning of a page. The kernel's copy (rep movs) is three times slower if
// the destination's offset within its page is a few bytes larger than the source's. That was the
// case 32 bytes after the beginning of a page for a file whose records begin at byte 24.
struct alignas(4096) Page {
  uint8_t bytes[4096];
};
constexpr size_t kSlack = (kMaxRecordSize + sizeof(Page) - 1) / sizeof(Page) * sizeof(Page);

constexpr uint32_t kMagicMicroseconds = 0xa1b2c3d4;
constexpr uint32_t kMagicNanoseconds = 0xa1b23c4d;

uint32_t U32(const uint8_t* at, bool swapped) {
  uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return swapped ? __builtin_bswap32(value) : value;
}

uint16_t U16(const uint8_t* at, bool swapped) {
  uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return swapped ? __builtin_bswap16(value) : value;
}

bool IsMagic(uint32_t value) { return value == kMagicMicroseconds || value == kMagicNanoseconds; }

struct FileHeader {
  bool swapped = false;  // opposite to this machine's byte order
  bool nanoseconds = false;
  LinkType link_type = LinkType::kEthernet;
  uint32_t fcs_length = 0;  // bytes at the end of every frame
};

// The file is read in blocks into a buffer and is not mapped. Truncating a mapped file would kill
// the process with SIGBUS, and pipes and decompressors need the buffer in any case. Mapping is not
// faster either, because its page faults cost as much as the copy (capture_bench.cc: 72 million
// frames per CPU second mapped, 83 read, 20 by libpcap).
//
// A record that crosses two blocks is moved into the slack before the block, and the rest of the
// record is read after it.
class PcapReader final : public CaptureSource {
 public:
  PcapReader(std::unique_ptr<ByteStream> stream, std::string name, const FileHeader& header,
             const CaptureOptions& options)
      : stream_(std::move(stream)),
        name_(std::move(name)),
        header_(header),
        tap_(options.tap),
        block_size_(std::max(options.block_size, kMinBlockSize)),
        // Uninitialised, so that pages are allocated on first use.
        pages_(new Page[(kSlack + block_size_ + sizeof(Page) - 1) / sizeof(Page)]),
        buffer_(pages_[0].bytes),
        begin_(kSlack),
        end_(kSlack) {}

  Result<size_t> ReadBatch(std::span<RawFrame> out) override {
    if (error_) return tl::unexpected(*error_);
    while (true) {
      const size_t count = header_.swapped ? Parse<true>(out) : Parse<false>(out);
      if (count > 0) {
        statistics_.frames += count;
        return count;
      }
      if (Absurd()) return Fail(AbsurdError());
      if (ended_) return size_t{0};
      if (auto read = Fill(); !read) return Fail(read.error());
      if (ended_) NoteEnd();
    }
  }

  const std::string& name() const override { return name_; }
  CaptureStatistics Statistics() const override {
    CaptureStatistics statistics = statistics_;
    bad_times_.AddTo(statistics, name_, "the last time within the same second is used");
    return statistics;
  }

 private:
  // Parses the frames that are completely in the buffer. Stops at an incomplete record and at one
  // with an absurd length.
  template <bool kSwapped>
  size_t Parse(std::span<RawFrame> out) {
    const uint8_t* at = buffer_ + begin_;
    size_t left = end_ - begin_;
    const int64_t fraction_unit = header_.nanoseconds ? 1 : 1000;
    const uint32_t most_fraction = header_.nanoseconds ? 999'999'999 : 999'999;
    const uint32_t fcs_length = header_.fcs_length;
    const LinkType link_type = header_.link_type;
    const uint16_t tap = tap_;
    uint64_t bytes = 0;
    size_t count = 0;
    while (count < out.size() && left >= kRecordHeaderSize) {
      const uint32_t captured = U32(at + 8, kSwapped);
      if (captured > left - kRecordHeaderSize || captured > kMaxCapturedLength) break;
      // A frame is at least as long as its captured part, even if the writer recorded a smaller
      // length.
      uint32_t original = std::max(U32(at + 12, kSwapped), captured);
      original -= std::min(original, fcs_length);
      const uint32_t length = std::min(captured, original);
      RawFrame& frame = out[count];
      frame.bytes = {at + kRecordHeaderSize, length};
      frame.original_length = original;
      frame.link_type = link_type;
      uint32_t fraction = U32(at + 4, kSwapped);
      if (fraction > most_fraction) [[unlikely]] {
        fraction = most_fraction;
        bad_times_.Count(statistics_.frames + count + 1);
      }
      // At most 2^32 s: never after kLatestTime.
      frame.timestamp = FromNanoseconds(int64_t{U32(at, kSwapped)} * 1'000'000'000 +
                                        int64_t{fraction} * fraction_unit);
      frame.tap = tap;
      bytes += length;
      ++count;
      at += kRecordHeaderSize + captured;
      left -= kRecordHeaderSize + captured;
    }
    begin_ = end_ - left;
    statistics_.captured_bytes += bytes;
    return count;
  }

  // Reads more data after the remaining data. No spans of earlier batches are in use any more.
  Status Fill() {
    const size_t capacity = kSlack + block_size_;
    const size_t rest = end_ - begin_;
    if (rest == 0 || capacity - end_ < kMinBlockSize) {
      const size_t moved = kSlack - rest;  // an incomplete record is shorter than the slack
      std::memmove(buffer_ + moved, buffer_ + begin_, rest);
      begin_ = moved;
      end_ = kSlack;
    }
    auto count = stream_->Read({buffer_ + end_, capacity - end_});
    if (!count) return tl::unexpected(count.error());
    end_ += *count;
    offset_ += *count;
    ended_ = *count == 0;
    return {};
  }

  uint64_t RecordOffset() const { return offset_ - (end_ - begin_); }

  bool Absurd() const {
    return end_ - begin_ >= kRecordHeaderSize &&
           U32(buffer_ + begin_ + 8, header_.swapped) > kMaxCapturedLength;
  }

  Error AbsurdError() const {
    return {
        .code = ErrorCode::kInvalidArgument,
        .message = fmt::format(
            "{}: damaged at byte {}: record {} has a captured length of {} bytes, more than the "
            "maximum of {}; the {} frames before it were read",
            name_, RecordOffset(), statistics_.frames + 1,
            U32(buffer_ + begin_ + 8, header_.swapped), kMaxCapturedLength, statistics_.frames)};
  }

  void NoteEnd() {
    if (stream_->IsInterrupted()) {
      NoteInterruption(name_, statistics_);
      return;
    }
    const size_t rest = end_ - begin_;
    const std::string stream_note = stream_->EndNote();
    if (rest == 0 && stream_note.empty()) return;
    ++statistics_.damaged_tails;
    std::string note = fmt::format("{}: truncated at byte {}", name_, RecordOffset());
    if (rest > 0) {
      note += fmt::format(": record {} ends after {} bytes", statistics_.frames + 1, rest);
      if (rest >= kRecordHeaderSize) {
        note +=
            fmt::format(" of {}", kRecordHeaderSize + U32(buffer_ + begin_ + 8, header_.swapped));
      }
    }
    if (!stream_note.empty()) note += ": " + stream_note;
    statistics_.notes.push_back(std::move(note));
  }

  tl::unexpected<Error> Fail(Error error) {
    error_ = std::move(error);
    return tl::unexpected(*error_);
  }

  std::unique_ptr<ByteStream> stream_;
  std::string name_;
  FileHeader header_;
  uint16_t tap_;
  size_t block_size_;
  std::unique_ptr<Page[]> pages_;
  uint8_t* buffer_;                    // in pages_: slack for one record, then a block
  size_t begin_;                       // start of the data that is not parsed yet
  size_t end_;                         // end of the data that was read
  uint64_t offset_ = kFileHeaderSize;  // position of end_ in the stream
  bool ended_ = false;
  std::optional<Error> error_;
  CaptureStatistics statistics_;
  BadTimes bad_times_;
};

Result<FileHeader> ReadFileHeader(ByteStream& stream, const std::string& name) {
  std::array<uint8_t, kFileHeaderSize> bytes;
  size_t have = 0;
  while (have < bytes.size()) {
    auto count = stream.Read(std::span(bytes).subspan(have));
    if (!count) return tl::unexpected(count.error());
    if (*count == 0) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: ends after {} of the {} bytes of the pcap file header: "
                                   "capture or copy the file again",
                                   name, have, kFileHeaderSize));
    }
    have += *count;
  }
  FileHeader header;
  header.swapped = !IsMagic(U32(bytes.data(), false));
  header.nanoseconds = U32(bytes.data(), header.swapped) == kMagicNanoseconds;
  // Bytes 20 to 23, beginning with the most significant bit: FCS length in units of 16 bits (4
  // bits, valid if the F bit after them is set), reserved, link type (16 bits).
  const uint32_t link = U32(bytes.data() + 20, header.swapped);
  if ((link & 0x04000000) != 0) header.fcs_length = (link >> 28) * 2;
  auto link_type = LinkTypeFromNumber(static_cast<int>(link & 0xffff), name);
  if (!link_type) return tl::unexpected(link_type.error());
  header.link_type = *link_type;
  return header;
}

}  // namespace

bool LooksLikePcap(std::span<const uint8_t> head) {
  if (head.size() < 8) return false;
  for (const bool swapped : {false, true}) {
    if (!IsMagic(U32(head.data(), swapped))) continue;
    return U16(head.data() + 4, swapped) == 2 && U16(head.data() + 6, swapped) == 4;
  }
  return false;
}

Result<std::unique_ptr<CaptureSource>> OpenPcap(std::unique_ptr<ByteStream> stream,
                                                std::string name, const CaptureOptions& options) {
  auto header = ReadFileHeader(*stream, name);
  if (!header) return tl::unexpected(header.error());
  return std::make_unique<PcapReader>(std::move(stream), std::move(name), *header, options);
}

}  // namespace rocescope
