// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/compression.h"

#include <fmt/format.h>

#include <cstdint>
#include <new>

namespace rocescope {
namespace {

constexpr int kLevel = 3;  // higher levels save a few per cent and take several times as long
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";
constexpr uint8_t kChecksumFlag = 1u << 2;  // in the byte after the magic (RFC 8878, 3.1.1.1.1)

tl::unexpected<Error> Damaged(std::string_view why) {
  return MakeError(ErrorCode::kInvalidArgument, fmt::format("damaged zstd frame: {}", why));
}

}  // namespace

Compressor::Compressor() : context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
  if (!context_) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

std::string Compressor::Compress(std::string_view bytes) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  // Cannot fail: the buffer is large enough.
  const size_t length =
      ZSTD_compress2(context_.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
  frame.resize(ZSTD_isError(length) != 0 ? 0 : length);
  return frame;
}

Decompressor::Decompressor() : context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
  if (!context_) throw std::bad_alloc();
}

Result<std::string> Decompressor::Decompress(std::string_view frame, size_t most) {
  if (!frame.starts_with(kZstdMagic) || frame.size() == kZstdMagic.size() ||
      (static_cast<uint8_t>(frame[kZstdMagic.size()]) & kChecksumFlag) == 0) {
    return Damaged("no frame with a checksum");
  }
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR || size > most) {
    return Damaged(fmt::format("content of unknown length, or of more than {} bytes", most));
  }
  const size_t length = ZSTD_findFrameCompressedSize(frame.data(), frame.size());
  if (ZSTD_isError(length) != 0 || length != frame.size()) return Damaged("wrong length");
  std::string content(static_cast<size_t>(size), '\0');
  const size_t got = ZSTD_decompressDCtx(context_.get(), content.data(), content.size(),
                                         frame.data(), frame.size());
  if (ZSTD_isError(got) != 0) return Damaged(ZSTD_getErrorName(got));
  if (got != content.size()) return Damaged("wrong length of the content");
  return content;
}

}  // namespace rocescope
