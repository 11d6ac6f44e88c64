// SPDX-License-Identifier: BSD-3-Clause
// One hour of up to 128 links as compressed columns. Pure.
//
// A block has a row for each of its links with data, and 60 cells per row. Its bytes,
// little-endian:
//   version        1 byte
//   links          16 bytes: a bit for each link that has a row
//   presence       frame: a bit for each cell of each row
//   scales         frame: a double for each row; see link_block.cc
//   columns        eleven, each with a coding (1 byte) and either one value of 8 bytes (all cells
//   are
//                  equal) or the number of byte planes (1 byte) and a frame
// A frame is its length (4 bytes) and a zstd frame. Values are integers; doubles are stored as the
// difference of their bits from a prediction, so that they are restored exactly.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/daemon/history/compression.h"
#include "appliance/daemon/history/rows.h"
#include "base/result.h"

namespace rocescope {

inline constexpr int64_t kLinksPerBlock = 128;
inline constexpr int64_t kMinutesPerBlock = 60;

// What a column contains. The order is part of the format.
enum class LinkColumn : uint8_t {
  kWindows,
  kUseWindows,
  kUseSum,     // difference from a prediction
  kMostBytes,  // bytes that explain use_most
  kUseMost,    // difference from a prediction
  kBytes,
  kMarked,
  kDropped,
  kPausedNs,
  kPeakBytes,
  kErrors,
  kCount,
};

class LinkBlockBuilder {
 public:
  // `link` and `minute` are indexes in the block; the port of `values` is ignored. Values of the
  // same cell are added, as LinkMinute describes.
  void Add(size_t link, size_t minute, const LinkMinute& values);
  std::string Write(Compressor& compressor) const;

 private:
  struct Row {
    std::bitset<kMinutesPerBlock> has;
    std::vector<LinkMinute> cells;  // empty: the link has no data
  };
  std::array<Row, kLinksPerBlock> rows_;
};

// What is read of a block: all of it, one link or one minute. A part is read much faster.
struct BlockPart {
  std::optional<size_t> link;
  std::optional<size_t> minute;  // ignored if `link` is set
};

class LinkBlock {
 public:
  // Fails for damaged bytes. Allocates at most a few megabytes, whatever they are.
  static Result<LinkBlock> Parse(std::string_view bytes, Decompressor& decompressor,
                                 BlockPart part = {});

  // Returns the values without the fields `minute` and `port`; nullopt: there are none in the part
  // that was read.
  std::optional<LinkMinute> Find(size_t link, size_t minute) const;

 private:
  // Cells of all rows, row by row. Absent cells are 0.
  using Columns = std::array<std::vector<uint64_t>, static_cast<size_t>(LinkColumn::kCount)>;

  std::array<int, kLinksPerBlock> rows_{};  // row of each link; -1: none
  size_t first_minute_ = 0;
  size_t row_length_ = 0;       // minutes per row
  std::string presence_;        // a bit for each cell in the order of the columns
  std::vector<double> scales_;  // of each row
  Columns columns_;
};

// Adds the values of the same link and minute: sums and maxima.
void AddTo(LinkMinute& sum, const LinkMinute& values);

}  // namespace rocescope
