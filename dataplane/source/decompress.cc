// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/source/decompress.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <climits>
#include <optional>
#include <utility>

namespace rocescope {
namespace {

// Compressed input of a decompressor.
class Input {
 public:
  explicit Input(std::unique_ptr<ByteStream> stream) : stream_(std::move(stream)) {}

  // Reads more if everything is consumed.
  Status Fill() {
    if (begin_ < end_ || ended_) return {};
    auto count = stream_->Read(buffer_);
    if (!count) return tl::unexpected(count.error());
    ended_ = *count == 0;
    begin_ = 0;
    end_ = *count;
    return {};
  }
  std::span<const uint8_t> Rest() const {
    return std::span(buffer_).subspan(begin_, end_ - begin_);
  }
  void Consume(size_t count) {
    begin_ += count;
    offset_ += count;
  }
  bool AtEnd() const { return ended_ && begin_ == end_; }
  uint64_t Offset() const { return offset_; }
  bool IsInterrupted() const { return stream_->IsInterrupted(); }

 private:
  std::unique_ptr<ByteStream> stream_;
  std::array<uint8_t, size_t{64} << 10> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  bool ended_ = false;
};

std::string CutNote(uint64_t offset) {
  return fmt::format("the compressed data is truncated at byte {}", offset);
}

std::string GarbageNote(uint64_t offset) {
  return fmt::format("data after the end of the compressed data (from byte {}) is ignored", offset);
}

Error CorruptError(const std::string& name, std::string_view format, uint64_t offset,
                   std::string_view reason) {
  return {.code = ErrorCode::kInvalidArgument,
          .message = fmt::format("{}: the {} data is damaged near byte {} ({}); copy or "
                                 "capture the file again",
                                 name, format, offset, reason)};
}

class GzipStream final : public ByteStream {
 public:
  GzipStream(std::unique_ptr<ByteStream> compressed, std::string name)
      : input_(std::move(compressed)), name_(std::move(name)) {}
  ~GzipStream() override { inflateEnd(&inflater_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // 16 selects gzip instead of zlib.
  bool Start() { return inflateInit2(&inflater_, 16 + MAX_WBITS) == Z_OK; }

  Result<size_t> Read(std::span<uint8_t> out) override {
    if (error_) return tl::unexpected(*error_);
    const auto wanted = static_cast<unsigned>(std::min<size_t>(out.size(), UINT_MAX));
    while (true) {
      if (auto filled = input_.Fill(); !filled) return tl::unexpected(filled.error());
      const std::span<const uint8_t> rest = input_.Rest();
      if (rest.empty()) {
        if (in_member_) note_ = CutNote(input_.Offset());
        return size_t{0};
      }
      if (!in_member_) {
        if (rest[0] != 0x1f) {
          note_ = GarbageNote(input_.Offset());
          return size_t{0};
        }
        inflateReset(&inflater_);
        in_member_ = true;
      }
      inflater_.next_in = const_cast<uint8_t*>(rest.data());  // zlib does not write there
      inflater_.avail_in = static_cast<unsigned>(rest.size());
      inflater_.next_out = out.data();
      inflater_.avail_out = wanted;
      const int verdict = inflate(&inflater_, Z_NO_FLUSH);
      input_.Consume(rest.size() - inflater_.avail_in);
      if (verdict == Z_STREAM_END) {
        in_member_ = false;
      } else if (verdict != Z_OK) {
        error_ = CorruptError(name_, "gzip", input_.Offset(),
                              inflater_.msg ? inflater_.msg : "invalid deflate stream");
      }
      // The output of the same call before the damage is valid.
      if (inflater_.avail_out < wanted) return size_t{wanted - inflater_.avail_out};
      if (error_) return tl::unexpected(*error_);
    }
  }
  std::string EndNote() const override { return note_; }
  bool IsInterrupted() const override { return input_.IsInterrupted(); }

 private:
  Input input_;
  std::string name_;
  std::string note_;
  z_stream inflater_{};
  bool in_member_ = true;
  std::optional<Error> error_;  // for the next call
};

// If a call fails, the library does not report how much it had written. Each call therefore gets at
// most one block or one header, so that damage costs only its own block.
class ZstdStream final : public ByteStream {
 public:
  ZstdStream(std::unique_ptr<ByteStream> compressed, std::string name)
      : input_(std::move(compressed)), name_(std::move(name)), decoder_(ZSTD_createDStream()) {}
  ~ZstdStream() override { ZSTD_freeDStream(decoder_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  bool Start() { return decoder_ != nullptr; }

  Result<size_t> Read(std::span<uint8_t> out) override {
    while (true) {
      if (auto filled = input_.Fill(); !filled) return tl::unexpected(filled.error());
      if (input_.AtEnd() && !in_frame_) return size_t{0};
      const std::span<const uint8_t> rest = input_.Rest();
      if (!in_frame_) frame_begin_ = input_.Offset();
      // Output that did not fit into the last call is fetched without new input.
      const size_t portion = output_was_full_ ? 0 : Portion();
      ZSTD_inBuffer in{.src = rest.data(), .size = std::min(rest.size(), portion), .pos = 0};
      ZSTD_outBuffer to{.dst = out.data(), .size = out.size(), .pos = 0};
      const size_t verdict = ZSTD_decompressStream(decoder_, &to, &in);
      if (ZSTD_isError(verdict)) return OnError(verdict);
      input_.Consume(in.pos);
      in_frame_ = verdict != 0;
      expected_ = verdict;
      output_was_full_ = in_frame_ && to.pos == out.size();
      if (!in_frame_) ++frames_;
      if (to.pos > 0) return to.pos;
      if (input_.AtEnd() && in_frame_) {
        note_ = CutNote(input_.Offset());
        return size_t{0};
      }
    }
  }
  std::string EndNote() const override { return note_; }
  bool IsInterrupted() const override { return input_.IsInterrupted(); }

 private:
  // The decoder asks for a block and the next block's header (RFC 8878, 3.1.1.2: three bytes), or
  // for a header only. It also accepts smaller pieces.
  size_t Portion() const {
    constexpr size_t kMagicAndDescriptor = 5;
    constexpr size_t kBlockHeader = 3;
    if (!in_frame_) return kMagicAndDescriptor;
    return expected_ > kBlockHeader ? expected_ - kBlockHeader : expected_;
  }

  Result<size_t> OnError(size_t verdict) {
    const ZSTD_ErrorCode code = ZSTD_getErrorCode(verdict);
    if (code == ZSTD_error_prefix_unknown && frames_ > 0) {
      note_ = GarbageNote(frame_begin_);
      return size_t{0};
    }
    if (code == ZSTD_error_frameParameter_windowTooLarge) {
      return MakeError(ErrorCode::kResourceExhausted,
                       fmt::format("{}: the zstd window exceeds 128 MiB: decompress the file with "
                                   "`zstd -d --long=31` first",
                                   name_));
    }
    return tl::unexpected(CorruptError(name_, "zstd", input_.Offset(), ZSTD_getErrorName(verdict)));
  }

  Input input_;
  std::string name_;
  std::string note_;
  ZSTD_DStream* decoder_;
  uint64_t frames_ = 0;
  uint64_t frame_begin_ = 0;
  size_t expected_ = 0;  // bytes that the decoder asks for within a frame
  bool in_frame_ = false;
  bool output_was_full_ = false;
};

template <typename Stream>
Result<std::unique_ptr<ByteStream>> Make(std::unique_ptr<ByteStream> compressed,
                                         const std::string& name) {
  auto stream = std::make_unique<Stream>(std::move(compressed), name);
  if (!stream->Start()) {
    return MakeError(ErrorCode::kResourceExhausted, name + ": out of memory while decompressing");
  }
  return stream;
}

bool BeginsWith(std::span<const uint8_t> head, std::initializer_list<uint8_t> magic) {
  return head.size() >= magic.size() && std::equal(magic.begin(), magic.end(), head.begin());
}

}  // namespace

bool LooksLikeGzip(std::span<const uint8_t> head) { return BeginsWith(head, {0x1f, 0x8b}); }

bool LooksLikeZstd(std::span<const uint8_t> head) {
  if (BeginsWith(head, {0x28, 0xb5, 0x2f, 0xfd})) return true;
  // A skippable frame may come first: 0x184d2a50 to 0x184d2a5f.
  return head.size() >= 4 && (head[0] & 0xf0) == 0x50 &&
         BeginsWith(head.subspan(1), {0x2a, 0x4d, 0x18});
}

Result<std::unique_ptr<ByteStream>> MakeGzipStream(std::unique_ptr<ByteStream> compressed,
                                                   const std::string& name) {
  return Make<GzipStream>(std::move(compressed), name);
}

Result<std::unique_ptr<ByteStream>> MakeZstdStream(std::unique_ptr<ByteStream> compressed,
                                                   const std::string& name) {
  return Make<ZstdStream>(std::move(compressed), name);
}

}  // namespace rocescope
