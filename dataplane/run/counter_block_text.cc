// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/counter_block_text.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>

#include "rocescope/v1/counter_columns.pb.h"

namespace rocescope::columns {
namespace {

// Higher levels take several times as long and save little: the low bytes of traffic counters are
// random, and constant columns vanish at any level.
constexpr int kCompressionLevel = 1;

size_t LengthOfVarint(uint64_t value) {
  return (std::max<size_t>(static_cast<size_t>(std::bit_width(value)), 1) + 6) / 7;
}

tl::unexpected<Error> Failed(const char* why) {
  return MakeError(ErrorCode::kInternal, fmt::format("zstd: {}", why));
}

}  // namespace

void BlockText::Clear() {
  text_.clear();
  bounds_.clear();
}

void BlockText::AddVarint(uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
  text_ += static_cast<char>(value);
}

void BlockText::AddLength(int field, size_t length) {
  constexpr uint64_t kLengthDelimited = 2;
  AddVarint(static_cast<uint64_t>(field) << 3 | kLengthDelimited);
  AddVarint(length);
}

void BlockText::AddNumber(int field, uint64_t value) {
  AddVarint(static_cast<uint64_t>(field) << 3);
  AddVarint(value);
}

void BlockText::AddBytes(int field, std::string_view bytes) {
  AddLength(field, bytes.size());
  text_ += bytes;
}

void BlockText::AddColumn(BlockField field, const Column& column, uint64_t metric) {
  const size_t planes = column.Planes();
  if (planes == 0) return;
  constexpr size_t kTag = 1;  // bytes of the tags of both fields of a column
  size_t length = planes * (kTag + LengthOfVarint(column.count) + column.count);
  if (metric != 0) length += kTag + LengthOfVarint(metric);
  AddLength(field, length);
  if (metric != 0) AddNumber(v1::CounterColumn::kMetricFieldNumber, metric);
  for (size_t plane = 0; plane < planes; ++plane) {
    AddLength(v1::CounterColumn::kPlanesFieldNumber, column.count);
    const size_t begin = text_.size();
    text_.resize(begin + column.count);
    auto* const out = reinterpret_cast<uint8_t*>(text_.data() + begin);
    const uint64_t* const coded = column.coded.get();
    const size_t shift = 8 * plane;
    for (size_t i = 0; i < column.count; ++i) out[i] = static_cast<uint8_t>(coded[i] >> shift);
    bounds_.push_back(text_.size());
  }
}

Compressor::Compressor() : context_(ZSTD_createCCtx()) {
  if (context_ == nullptr) return;
  ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, kCompressionLevel);
  ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
}

Compressor::~Compressor() { ZSTD_freeCCtx(context_); }

Result<std::span<const uint8_t>> Compressor::Compress(std::string_view text,
                                                      std::span<const size_t> bounds) {
  if (context_ == nullptr) return Failed("out of memory");
  constexpr size_t kMorePerBound = 64;
  out_.resize(ZSTD_compressBound(text.size()) + bounds.size() * kMorePerBound);
  ZSTD_outBuffer out{.dst = out_.data(), .size = out_.size(), .pos = 0};
  size_t left = ZSTD_CCtx_reset(context_, ZSTD_reset_session_only);
  if (ZSTD_isError(left) == 0) left = ZSTD_CCtx_setPledgedSrcSize(context_, text.size());
  size_t begin = 0;
  for (size_t i = 0; i <= bounds.size() && ZSTD_isError(left) == 0; ++i) {
    const bool last = i == bounds.size();
    const size_t end = last ? text.size() : bounds[i];
    ZSTD_inBuffer in{.src = text.data() + begin, .size = end - begin, .pos = 0};
    left = ZSTD_compressStream2(context_, &out, &in, last ? ZSTD_e_end : ZSTD_e_flush);
    if (ZSTD_isError(left) == 0 && left != 0) return Failed("the output exceeds its bound");
    begin = end;
  }
  if (ZSTD_isError(left) != 0) return Failed(ZSTD_getErrorName(left));
  return std::span<const uint8_t>(out_.data(), out.pos);
}

}  // namespace rocescope::columns
