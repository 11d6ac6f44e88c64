// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/link_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

namespace rocescope {
namespace {

constexpr uint8_t kVersion = 1;
constexpr size_t kLinks = kLinksPerBlock;
constexpr size_t kMinutes = kMinutesPerBlock;
constexpr size_t kMaskBytes = kLinks / 8;
constexpr size_t kWordBytes = sizeof(uint64_t);

// How the cells of a column are stored.
enum class Coding : uint8_t {
  kEqual = 0,        // all cells have one value
  kPlain = 1,        // values
  kOverTime = 2,     // differences from the previous minute of the link
  kAcrossLinks = 3,  // differences from the previous link in the same minute
};

// Cells of all rows, row by row. Absent cells are 0.
using Cells = std::vector<uint64_t>;
using Columns = std::array<Cells, static_cast<size_t>(LinkColumn::kCount)>;

uint64_t& At(Columns& columns, LinkColumn column, size_t at) {
  return columns[static_cast<size_t>(column)][at];
}
uint64_t At(const Columns& columns, LinkColumn column, size_t at) {
  return columns[static_cast<size_t>(column)][at];
}

uint64_t ZigZag(uint64_t difference) { return difference << 1 ^ (0 - (difference >> 63)); }
uint64_t FromZigZag(uint64_t coded) { return coded >> 1 ^ (0 - (coded & 1)); }

// The utilisation is proportional to the bytes, so it is predicted from them and from the scale of
// the link: utilisation per byte in one window. A product of two doubles is the same on every
// machine (IEEE 754).
double UseOf(double scale, uint64_t bytes) { return scale * static_cast<double>(bytes); }

uint64_t MeanBytes(uint64_t bytes, uint64_t windows) { return windows == 0 ? 0 : bytes / windows; }

// Returns the bytes that explain the utilisation; 0 if there are none.
uint64_t BytesFor(double scale, double use) {
  constexpr double kMost = 1e15;  // so that the product of the bytes is exact enough
  const double bytes = use / scale;
  return bytes >= 0 && bytes <= kMost ? static_cast<uint64_t>(std::llround(bytes)) : 0;
}

uint64_t Difference(double value, double prediction) {
  return ZigZag(std::bit_cast<uint64_t>(value) - std::bit_cast<uint64_t>(prediction));
}
double Restored(uint64_t difference, double prediction) {
  return std::bit_cast<double>(std::bit_cast<uint64_t>(prediction) + FromZigZag(difference));
}

// Returns the scale of a link. Uses the one of another link if it fits, because few distinct values
// take little space.
double ScaleOf(std::span<const LinkMinute> cells, double other) {
  const auto largest = std::ranges::max_element(cells, {}, &LinkMinute::bytes);
  if (largest == cells.end() || largest->bytes == 0) return other;
  constexpr uint64_t kClose = 32;
  if (Difference(largest->use_sum, UseOf(other, largest->bytes)) <= kClose) return other;
  const double scale = largest->use_sum / static_cast<double>(largest->bytes);
  return std::isfinite(scale) ? scale : other;
}

void SetCell(Columns& columns, size_t at, double scale, const LinkMinute& values) {
  const uint64_t most = BytesFor(scale, values.use_most);
  At(columns, LinkColumn::kWindows, at) = values.windows;
  At(columns, LinkColumn::kUseWindows, at) = values.use_windows;
  At(columns, LinkColumn::kUseSum, at) = Difference(values.use_sum, UseOf(scale, values.bytes));
  At(columns, LinkColumn::kMostBytes, at) =
      ZigZag(most - MeanBytes(values.bytes, values.use_windows));
  At(columns, LinkColumn::kUseMost, at) = Difference(values.use_most, UseOf(scale, most));
  At(columns, LinkColumn::kBytes, at) = values.bytes;
  At(columns, LinkColumn::kMarked, at) = values.marked;
  At(columns, LinkColumn::kDropped, at) = values.dropped;
  At(columns, LinkColumn::kPausedNs, at) = values.paused_ns;
  At(columns, LinkColumn::kPeakBytes, at) = values.peak_bytes;
  At(columns, LinkColumn::kErrors, at) = values.errors;
}

LinkMinute CellOf(const Columns& columns, size_t at, double scale) {
  LinkMinute values = {
      .windows = static_cast<uint32_t>(At(columns, LinkColumn::kWindows, at)),
      .use_windows = static_cast<uint32_t>(At(columns, LinkColumn::kUseWindows, at)),
      .bytes = At(columns, LinkColumn::kBytes, at),
      .marked = At(columns, LinkColumn::kMarked, at),
      .dropped = At(columns, LinkColumn::kDropped, at),
      .paused_ns = At(columns, LinkColumn::kPausedNs, at),
      .peak_bytes = At(columns, LinkColumn::kPeakBytes, at),
      .errors = At(columns, LinkColumn::kErrors, at)};
  const uint64_t most = MeanBytes(values.bytes, values.use_windows) +
                        FromZigZag(At(columns, LinkColumn::kMostBytes, at));
  values.use_sum = Restored(At(columns, LinkColumn::kUseSum, at), UseOf(scale, values.bytes));
  values.use_most = Restored(At(columns, LinkColumn::kUseMost, at), UseOf(scale, most));
  return values;
}

// Distance of the cell to which the differences of a coding refer; 0: none.
size_t StepOf(Coding coding) {
  return coding == Coding::kOverTime ? 1 : coding == Coding::kAcrossLinks ? kMinutes : 0;
}
// Returns whether the cell is stored as it is: the first minute of a link, or the first link.
bool IsFirst(Coding coding, size_t at) {
  return coding == Coding::kOverTime ? at % kMinutes == 0 : at < kMinutes;
}

Cells Coded(const Cells& cells, Coding coding) {
  const size_t step = StepOf(coding);
  if (step == 0) return cells;
  Cells coded(cells.size());
  for (size_t at = 0; at < cells.size(); ++at) {
    coded[at] = IsFirst(coding, at) ? cells[at] : ZigZag(cells[at] - cells[at - step]);
  }
  return coded;
}

void Decode(Cells& cells, Coding coding) {
  const size_t step = StepOf(coding);
  if (step == 0) return;
  for (size_t at = 0; at < cells.size(); ++at) {
    if (!IsFirst(coding, at)) cells[at] = FromZigZag(cells[at]) + cells[at - step];
  }
}

size_t PlanesOf(const Cells& cells) {
  uint64_t all = 0;
  for (const uint64_t cell : cells) all |= cell;
  return (static_cast<size_t>(std::bit_width(all)) + 7) / 8;
}

// Returns the lowest byte of each cell, then the next byte of each cell, and so on.
std::string ToPlanes(const Cells& cells, size_t planes) {
  std::string bytes(cells.size() * planes, '\0');
  for (size_t plane = 0; plane < planes; ++plane) {
    char* const to = bytes.data() + plane * cells.size();
    for (size_t i = 0; i < cells.size(); ++i) to[i] = static_cast<char>(cells[i] >> 8 * plane);
  }
  return bytes;
}

// A part of the cells of a column: `count` cells, each `step` after the one before.
struct Part {
  size_t first = 0;
  size_t count = 0;
  size_t step = 1;
};

Cells FromPlanes(std::string_view bytes, size_t planes, Part part) {
  const size_t all = planes == 0 ? 0 : bytes.size() / planes;
  Cells cells(part.count, 0);
  for (size_t plane = 0; plane < planes; ++plane) {
    const char* const from = bytes.data() + plane * all + part.first;
    for (size_t i = 0; i < part.count; ++i) {
      cells[i] |= uint64_t{static_cast<uint8_t>(from[i * part.step])} << 8 * plane;
    }
  }
  return cells;
}

// Decodes whole rows (step 1), or one minute of all rows.
Cells Decoded(std::string_view bytes, size_t planes, Coding coding, Part part) {
  if (coding == Coding::kPlain) return FromPlanes(bytes, planes, part);
  if (part.step == 1) {
    // Differences across links depend on all rows before.
    const size_t before = coding == Coding::kAcrossLinks ? part.first : 0;
    Cells cells =
        FromPlanes(bytes, planes, {.first = part.first - before, .count = part.count + before});
    Decode(cells, coding);
    cells.erase(cells.begin(), cells.begin() + static_cast<std::ptrdiff_t>(before));
    return cells;
  }
  if (coding == Coding::kAcrossLinks) {
    Cells cells = FromPlanes(bytes, planes, part);
    for (size_t i = 1; i < cells.size(); ++i) cells[i] = FromZigZag(cells[i]) + cells[i - 1];
    return cells;
  }
  Cells all = FromPlanes(bytes, planes, {.count = bytes.size() / planes});
  Decode(all, coding);
  Cells cells;
  for (size_t i = 0; i < part.count; ++i) cells.push_back(all[part.first + i * part.step]);
  return cells;
}

class BlockWriter {
 public:
  explicit BlockWriter(Compressor& compressor) : compressor_(compressor) {}

  void Byte(uint8_t value) { bytes_.push_back(static_cast<char>(value)); }
  void Word(uint64_t value) { Number(value, kWordBytes); }
  void Text(std::string_view text) { bytes_ += text; }
  void Frame(std::string_view content) { Compressed(compressor_.Compress(content)); }
  void Column(const Cells& cells) {
    if (std::ranges::adjacent_find(cells, std::not_equal_to<>()) == cells.end()) {
      Byte(static_cast<uint8_t>(Coding::kEqual));
      Word(cells.empty() ? 0 : cells.front());
      return;
    }
    Coding best = Coding::kEqual;
    size_t best_planes = 0;
    std::string best_frame;
    for (const Coding coding : {Coding::kPlain, Coding::kOverTime, Coding::kAcrossLinks}) {
      const Cells coded = Coded(cells, coding);
      const size_t planes = PlanesOf(coded);
      std::string frame = compressor_.Compress(ToPlanes(coded, planes));
      if (best != Coding::kEqual && frame.size() >= best_frame.size()) continue;
      best = coding;
      best_planes = planes;
      best_frame = std::move(frame);
    }
    Byte(static_cast<uint8_t>(best));
    Byte(static_cast<uint8_t>(best_planes));
    Compressed(best_frame);
  }
  std::string Take() { return std::move(bytes_); }

 private:
  void Number(uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) Byte(static_cast<uint8_t>(value >> 8 * i));
  }
  void Compressed(std::string_view frame) {
    Number(frame.size(), sizeof(uint32_t));
    bytes_ += frame;
  }

  Compressor& compressor_;
  std::string bytes_;
};

// Reads with bounds checks. After an error, everything that it returns is empty or 0.
class BlockReader {
 public:
  BlockReader(std::string_view bytes, Decompressor& decompressor)
      : bytes_(bytes), decompressor_(decompressor) {}

  uint8_t Byte() { return static_cast<uint8_t>(Number(1)); }
  uint64_t Word() { return Number(kWordBytes); }
  std::string_view Text(size_t length) {
    if (length > bytes_.size()) Fail("truncated");
    if (!problem_.empty()) return {};
    const std::string_view text = bytes_.substr(0, length);
    bytes_.remove_prefix(length);
    return text;
  }
  // Returns the content of a frame, which has exactly this length.
  std::string Frame(size_t length) {
    const std::string_view frame = Text(Number(sizeof(uint32_t)));
    if (!problem_.empty()) return {};
    auto content = decompressor_.Decompress(frame, length);
    if (!content) {
      Fail(content.error().message);
    } else if (content->size() != length) {
      Fail("a column of the wrong length");
    }
    return problem_.empty() ? *std::move(content) : std::string();
  }
  // Returns a part of a column of `count` cells.
  Cells Column(size_t count, Part part) {
    const uint8_t coding = Byte();
    if (coding == static_cast<uint8_t>(Coding::kEqual)) return Cells(part.count, Word());
    const size_t planes = Byte();
    if (coding > static_cast<uint8_t>(Coding::kAcrossLinks)) Fail("an unknown coding");
    if (planes == 0 || planes > kWordBytes) Fail("an invalid number of planes");
    const std::string content = Frame(planes * count);
    if (!problem_.empty()) return Cells(part.count, 0);
    return Decoded(content, planes, static_cast<Coding>(coding), part);
  }
  void Fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  const std::string& problem() const { return problem_; }
  bool is_at_end() const { return bytes_.empty(); }

 private:
  uint64_t Number(size_t length) {
    const std::string_view text = Text(length);
    uint64_t value = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      value |= uint64_t{static_cast<uint8_t>(text[i])} << 8 * i;
    }
    return value;
  }

  std::string_view bytes_;
  Decompressor& decompressor_;
  std::string problem_;
};

bool HasBit(std::string_view bits, size_t i) {
  return i / 8 < bits.size() && (static_cast<uint8_t>(bits[i / 8]) >> i % 8 & 1) != 0;
}
void SetBit(std::string& bits, size_t i) {
  bits[i / 8] = static_cast<char>(static_cast<uint8_t>(bits[i / 8]) | 1u << i % 8);
}

}  // namespace

void AddTo(LinkMinute& sum, const LinkMinute& values) {
  sum.windows += values.windows;
  sum.use_windows += values.use_windows;
  sum.use_sum += values.use_sum;
  sum.use_most = std::max(sum.use_most, values.use_most);
  sum.bytes += values.bytes;
  sum.marked += values.marked;
  sum.dropped += values.dropped;
  sum.paused_ns += values.paused_ns;
  sum.peak_bytes = std::max(sum.peak_bytes, values.peak_bytes);
  sum.errors += values.errors;
}

void LinkBlockBuilder::Add(size_t link, size_t minute, const LinkMinute& values) {
  Row& row = rows_.at(link);
  if (row.cells.empty()) row.cells.resize(kMinutes);
  LinkMinute& cell = row.cells.at(minute);
  if (row.has[minute]) {
    AddTo(cell, values);
  } else {
    row.has.set(minute);
    cell = values;
  }
}

std::string LinkBlockBuilder::Write(Compressor& compressor) const {
  std::string links(kMaskBytes, '\0');
  std::vector<const Row*> rows;
  for (size_t link = 0; link < rows_.size(); ++link) {
    if (rows_[link].cells.empty()) continue;
    SetBit(links, link);
    rows.push_back(&rows_[link]);
  }
  const size_t count = rows.size() * kMinutes;
  std::string presence((count + 7) / 8, '\0');
  Cells scales;
  Columns columns;
  columns.fill(Cells(count, 0));
  double scale = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    scale = ScaleOf(rows[row]->cells, scale);
    scales.push_back(std::bit_cast<uint64_t>(scale));
    for (size_t minute = 0; minute < kMinutes; ++minute) {
      if (!rows[row]->has[minute]) continue;
      const size_t at = row * kMinutes + minute;
      SetBit(presence, at);
      SetCell(columns, at, scale, rows[row]->cells[minute]);
    }
  }
  BlockWriter out(compressor);
  out.Byte(kVersion);
  out.Text(links);
  out.Frame(presence);
  out.Frame(ToPlanes(scales, kWordBytes));
  for (const Cells& column : columns) out.Column(column);
  return out.Take();
}

Result<LinkBlock> LinkBlock::Parse(std::string_view bytes, Decompressor& decompressor,
                                   BlockPart part) {
  BlockReader in(bytes, decompressor);
  if (in.Byte() != kVersion) in.Fail("an unknown version");
  const std::string_view links = in.Text(kMaskBytes);
  LinkBlock block;
  size_t rows = 0;
  std::optional<size_t> only;  // row of the requested link
  for (size_t link = 0; link < kLinks; ++link) {
    block.rows_[link] = -1;
    if (!HasBit(links, link)) continue;
    if (link == part.link) only = rows;
    if (!part.link) block.rows_[link] = static_cast<int>(rows);
    ++rows;
  }
  const bool is_minute = !part.link && part.minute && *part.minute < kMinutes;
  block.first_minute_ = is_minute ? *part.minute : 0;
  block.row_length_ = is_minute ? 1 : kMinutes;
  Part cells = {.count = rows * kMinutes};
  if (part.link) {
    cells = only ? Part{.first = *only * kMinutes, .count = kMinutes} : Part{};
    if (only) block.rows_[*part.link] = 0;
  } else if (is_minute) {
    cells = {.first = *part.minute, .count = rows, .step = kMinutes};
  }
  const size_t count = rows * kMinutes;
  const std::string presence = in.Frame((count + 7) / 8);
  const std::string scales = in.Frame(rows * kWordBytes);
  for (Cells& column : block.columns_) column = in.Column(count, cells);
  if (in.problem().empty() && !in.is_at_end()) in.Fail("bytes after the last column");
  if (!in.problem().empty()) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("damaged block of link minutes: {}", in.problem()));
  }
  block.presence_.assign((cells.count + 7) / 8, '\0');
  for (size_t i = 0; i < cells.count; ++i) {
    if (HasBit(presence, cells.first + i * cells.step)) SetBit(block.presence_, i);
  }
  const Part scale_part = {.first = only.value_or(0),
                           .count = part.link ? cells.count / kMinutes : rows};
  for (const uint64_t bits : FromPlanes(scales, kWordBytes, scale_part)) {
    block.scales_.push_back(std::bit_cast<double>(bits));
  }
  return block;
}

std::optional<LinkMinute> LinkBlock::Find(size_t link, size_t minute) const {
  const int row = rows_.at(link);
  if (row < 0 || minute < first_minute_ || minute >= first_minute_ + row_length_) {
    return std::nullopt;
  }
  const size_t at = static_cast<size_t>(row) * row_length_ + minute - first_minute_;
  if (!HasBit(presence_, at)) return std::nullopt;
  return CellOf(columns_, at, scales_[static_cast<size_t>(row)]);
}

}  // namespace rocescope
