// SPDX-License-Identifier: BSD-3-Clause
// A block of counters.columns while it is written: its columns, its encoding, its compression.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dataplane/run/counter_columns_format.h"

struct ZSTD_CCtx_s;  // of zstd.h

namespace rocescope::columns {

// The differences of one column in the current block.
struct Column {
  std::unique_ptr<uint64_t[]> coded;
  size_t count = 0;
  uint64_t any = 0;  // bits that are set in any difference

  void Reserve() {
    if (coded == nullptr) coded = std::make_unique<uint64_t[]>(kReadingsPerBlock);
  }
  void Add(uint64_t difference) {
    const uint64_t zigzag = ToZigzag(difference);
    coded[count++] = zigzag;
    any |= zigzag;
  }
  void Clear() {
    count = 0;
    any = 0;
  }
  size_t Planes() const { return (static_cast<size_t>(std::bit_width(any)) + 7) / 8; }
};

// A CounterBlock in protobuf's encoding. It is written field by field, because the compressor needs
// the bounds of the planes.
class BlockText {
 public:
  void Clear();
  void AddNumber(int field, uint64_t value);
  void AddBytes(int field, std::string_view bytes);
  // Adds nothing if all differences are 0.
  void AddColumn(BlockField field, const Column& column, uint64_t metric = 0);
  // Appends the fields of a text without columns.
  void AddAll(const BlockText& other) { text_ += other.text_; }

  std::string_view text() const { return text_; }
  // Ends of the planes.
  std::span<const size_t> bounds() const { return bounds_; }

 private:
  void AddVarint(uint64_t value);
  void AddLength(int field, size_t length);

  std::string text_;
  std::vector<size_t> bounds_;
};

class Compressor {
 public:
  Compressor();
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  // Returns one frame, which is valid until the next call, or an error. A zstd block ends at each
  // bound, so that each plane has its own entropy code: the low bytes are random, the high bytes
  // are not.
  Result<std::span<const uint8_t>> Compress(std::string_view text, std::span<const size_t> bounds);

 private:
  ZSTD_CCtx_s* context_;
  std::vector<uint8_t> out_;
};

}  // namespace rocescope::columns
