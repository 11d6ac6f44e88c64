// SPDX-License-Identifier: BSD-3-Clause
// For tests: compressed files with known positions of their blocks.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rocescope::test {

enum class Packing { kPlain, kGzip, kZstd };

// One gzip member or one zstd frame.
struct CompressedParts {
  std::vector<uint8_t> file;
  std::vector<size_t> begins;  // position of each part's first block; 0 for the first part
};

inline CompressedParts GzipParts(std::span<const std::vector<uint8_t>> parts, int level = 6) {
  z_stream deflater{};
  deflateInit2(&deflater, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  CompressedParts result;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t begin = deflater.total_out;
    result.begins.push_back(begin);
    result.file.resize(begin + deflateBound(&deflater, parts[i].size()) + 64);
    deflater.next_in = const_cast<uint8_t*>(parts[i].data());
    deflater.avail_in = static_cast<unsigned>(parts[i].size());
    deflater.next_out = result.file.data() + begin;
    deflater.avail_out = static_cast<unsigned>(result.file.size() - begin);
    deflate(&deflater, i + 1 == parts.size() ? Z_FINISH : Z_FULL_FLUSH);
  }
  result.file.resize(deflater.total_out);
  deflateEnd(&deflater);
  return result;
}

// With a checksum of the content at the end.
inline CompressedParts ZstdParts(std::span<const std::vector<uint8_t>> parts, int level = 3) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  CompressedParts result;
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t begin = result.file.size();
    result.begins.push_back(begin);
    result.file.resize(begin + ZSTD_compressBound(parts[i].size()) + 64);
    ZSTD_inBuffer in{.src = parts[i].data(), .size = parts[i].size(), .pos = 0};
    ZSTD_outBuffer out{
        .dst = result.file.data() + begin, .size = result.file.size() - begin, .pos = 0};
    ZSTD_compressStream2(context, &out, &in, i + 1 == parts.size() ? ZSTD_e_end : ZSTD_e_flush);
    result.file.resize(begin + out.pos);
  }
  ZSTD_freeCCtx(context);
  return result;
}

inline std::vector<uint8_t> Compress(Packing packing, const std::vector<uint8_t>& plain) {
  if (packing == Packing::kGzip) return GzipParts(std::span(&plain, 1)).file;
  return packing == Packing::kZstd ? ZstdParts(std::span(&plain, 1)).file : plain;
}

}  // namespace rocescope::test
