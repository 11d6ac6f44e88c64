// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/counter_columns_reader.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "dataplane/run/counter_block_view.h"
#include "dataplane/run/counter_columns_format.h"
#include "dataplane/run/entity_check.h"

namespace rocescope {
namespace {

using columns::FromZigzag;

bool IsTime(uint64_t ns) { return ns <= static_cast<uint64_t>(ToNanoseconds(kLatestTime)); }

}  // namespace

Result<std::unique_ptr<CounterColumnsReader>> CounterColumnsReader::Open(const std::string& path) {
  std::shared_ptr<std::FILE> file(std::fopen(path.c_str(), "rbe"), [](std::FILE* open) {
    if (open != nullptr) std::fclose(open);
  });
  if (file == nullptr) {
    return MakeError(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kPermissionDenied,
                     fmt::format("{}: cannot open: {}", path, std::strerror(errno)));
  }
  const auto read = [file, path](std::span<uint8_t> out) -> Result<size_t> {
    const size_t count = std::fread(out.data(), 1, out.size(), file.get());
    if (count > 0 || std::ferror(file.get()) == 0) return count;
    return MakeError(ErrorCode::kUnavailable,
                     fmt::format("{}: read error: {}", path, std::strerror(errno)));
  };
  return std::make_unique<CounterColumnsReader>(read, path);
}

CounterColumnsReader::CounterColumnsReader(ReadBytes read, std::string name)
    : read_(std::move(read)), name_(std::move(name)) {}
CounterColumnsReader::~CounterColumnsReader() = default;

bool CounterColumnsReader::Recognises(std::span<const uint8_t> head) {
  // Without the version, so that a file of a later version is recognised and refused.
  constexpr std::string_view kFamily = columns::kMagic.substr(0, columns::kMagic.size() - 1);
  static_assert(columns::kMagic.size() == kHeadBytes);
  return head.size() >= kFamily.size() &&
         std::memcmp(head.data(), kFamily.data(), kFamily.size()) == 0;
}

Result<bool> CounterColumnsReader::Next(Reading& reading) {
  while (next_ == numbers_.size()) {
    if (ended_) return false;
    const Result<bool> more = ReadBlock();
    if (!more || !*more) {
      ended_ = true;
      numbers_.clear();
      next_ = 0;
      return more;
    }
  }
  const auto number = static_cast<uint32_t>(numbers_[next_]);
  const size_t first = first_[number];
  const size_t count = first_[size_t{number} + 1] - first;
  uint64_t* const last = last_.data() + first;
  const uint8_t* const column_of = column_of_.data() + first;
  for (size_t i = 0; i < count; ++i) {
    Column& column = columns_[column_of[i]];
    if (column.present) last[i] += FromZigzag(column.coded[column.next++]);
  }
  const uint64_t arrival = arrivals_[next_];
  reading = {.number = number,
             .time = FromNanoseconds(static_cast<int64_t>(arrival - delays_[next_])),
             .arrival = FromNanoseconds(static_cast<int64_t>(arrival)),
             .values = {last, count}};
  ++next_;
  ++readings_;
  return true;
}

tl::unexpected<Error> CounterColumnsReader::Damaged(const std::string& why) const {
  return MakeError(ErrorCode::kInvalidArgument,
                   fmt::format("{}: block {} at byte {}: {}; the {} readings before it were read",
                               name_, block_, block_offset_, why, readings_));
}

// Returns fewer bytes than asked for at the end of the file.
Result<size_t> CounterColumnsReader::ReadFully(std::span<uint8_t> out) {
  size_t filled = 0;
  while (filled < out.size()) {
    const Result<size_t> read = read_(out.subspan(filled));
    if (!read) return read;
    if (*read == 0) break;
    filled += *read;
  }
  offset_ += filled;
  return filled;
}

Status CounterColumnsReader::ReadMagic() {
  std::array<uint8_t, kHeadBytes> head{};
  const Result<size_t> read = ReadFully(head);
  if (!read) return tl::unexpected(read.error());
  if (*read < head.size() || !Recognises(head)) {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: not a file of counters in columns", name_));
  }
  if (head.back() == static_cast<uint8_t>(columns::kMagic.back())) return {};
  return MakeError(ErrorCode::kUnimplemented,
                   fmt::format("{}: version {} of the format; this rocescope reads version {}",
                               name_, head.back(), uint32_t{columns::kMagic.back()}));
}

// Returns false at the end mark.
Result<bool> CounterColumnsReader::ReadBlock() {
  if (!std::exchange(started_, true)) {
    if (const Status read = ReadMagic(); !read) return tl::unexpected(read.error());
  }
  ++block_;
  block_offset_ = offset_;
  std::array<uint8_t, columns::kLengthBytes> head{};
  const Result<size_t> read = ReadFully(head);
  if (!read) return tl::unexpected(read.error());
  if (*read == 0)
    return Damaged("missing: the file has no end mark, so its writer was interrupted");
  if (*read < head.size()) return Damaged("the file is truncated");
  const auto length = static_cast<size_t>(columns::FromLittleEndian(head));
  if (length == 0) return ReadEndMark();
  if (length > columns::kLargestFrame) {
    return Damaged(
        fmt::format("its length of {} bytes exceeds {}", length, columns::kLargestFrame));
  }
  const Result<size_t> frame = ReadFrame(length);
  if (!frame) return tl::unexpected(frame.error());
  if (*frame < length) return Damaged("the file is truncated");
  if (const Status done = Decompress(); !done) return Damaged(done.error().message);
  if (const Status done = Decode(); !done) return Damaged(done.error().message);
  return true;
}

Result<bool> CounterColumnsReader::ReadEndMark() {
  std::array<uint8_t, columns::kTotalBytes> total{};
  Result<size_t> read = ReadFully(total);
  if (!read) return tl::unexpected(read.error());
  if (*read < total.size()) return Damaged("the end mark is truncated");
  const uint64_t expected = columns::FromLittleEndian(total);
  if (expected != readings_) {
    return Damaged(fmt::format("the end mark counts {} readings", expected));
  }
  read = ReadFully(std::span(total).first(1));
  if (!read) return tl::unexpected(read.error());
  if (*read != 0) return Damaged("data after the end mark");
  return false;
}

// Reads in parts, so that a wrong length needs no more memory than the file is long.
Result<size_t> CounterColumnsReader::ReadFrame(size_t length) {
  constexpr size_t kPart = size_t{1} << 20;
  frame_.clear();
  while (frame_.size() < length) {
    const size_t had = frame_.size();
    frame_.resize(had + std::min(kPart, length - had));
    Result<size_t> read = ReadFully(std::span(frame_).subspan(had));
    if (!read) return read;
    if (had + *read < frame_.size()) return had + *read;
  }
  return length;
}

Status CounterColumnsReader::Decompress() {
  const auto invalid = [](std::string why) {
    return MakeError(ErrorCode::kInvalidArgument, std::move(why));
  };
  const unsigned long long size = ZSTD_getFrameContentSize(frame_.data(), frame_.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN ||
      ZSTD_findFrameCompressedSize(frame_.data(), frame_.size()) != frame_.size()) {
    return invalid("not a zstd frame with its size");
  }
  if (size > columns::kLargestBlock) {
    return invalid(
        fmt::format("its decompressed size of {} bytes exceeds {}", size, columns::kLargestBlock));
  }
  text_.resize(size);
  const size_t got = ZSTD_decompress(text_.data(), text_.size(), frame_.data(), frame_.size());
  if (ZSTD_isError(got) != 0) return invalid(fmt::format("zstd: {}", ZSTD_getErrorName(got)));
  if (got != size) return invalid("wrong decompressed size");
  return {};
}

Status CounterColumnsReader::Decode() {
  const Result<columns::BlockView> view = columns::ViewBlock(text_);
  if (!view) return tl::unexpected(view.error());
  if (Status added = AddMetrics(view->metrics); !added) return added;
  if (Status added = AddEntities(view->entities); !added) return added;
  next_ = 0;
  for (const auto& [column, out] :
       {std::pair(&view->numbers, &numbers_), std::pair(&view->arrivals, &arrivals_),
        std::pair(&view->delays, &delays_)}) {
    if (Status expanded = Expand(*column, view->readings, *out); !expanded) return expanded;
  }
  for (Column& column : columns_) column = {.coded = std::move(column.coded)};
  if (Status checked = CheckReadings(); !checked) return checked;
  for (const columns::ColumnView& of : view->values) {
    if (of.metric >= columns_.size()) {
      return MakeError(ErrorCode::kInvalidArgument, "a column of an unknown metric");
    }
    Column& column = columns_[of.metric];
    if (std::exchange(column.present, true)) {
      return MakeError(ErrorCode::kInvalidArgument, "two columns of a metric");
    }
    if (Status expanded = Expand(of, column.expected, column.coded); !expanded) return expanded;
  }
  return {};
}

Status CounterColumnsReader::AddMetrics(std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const auto metric = MetricNamed(name);
    if (!metric) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("unknown metric \"{:.40}\" (known metrics: "
                                   "dataplane/record/metric.h)",
                                   name));
    }
    if (std::find(metrics_.begin(), metrics_.end(), *metric) != metrics_.end()) {
      return MakeError(ErrorCode::kInvalidArgument, fmt::format("duplicate metric \"{}\"", name));
    }
    metrics_.push_back(*metric);
  }
  columns_.resize(metrics_.size());
  return {};
}

Status CounterColumnsReader::AddEntities(std::span<const std::string_view> messages) {
  for (const std::string_view message : messages) {
    Result<columns::EntityView> read = columns::ReadEntityOfBlock(message);
    if (!read) return tl::unexpected(read.error());
    Entity entity{.entity = std::move(read->entity),
                  .number = static_cast<uint32_t>(entities_.size())};
    for (const uint32_t number : read->metrics) {
      if (number >= metrics_.size()) {
        return MakeError(ErrorCode::kInvalidArgument, "an entity with an unknown metric");
      }
      entity.metrics.push_back(metrics_[number]);
    }
    if (Status checked = CheckMetricsOfReading(entity.metrics); !checked) return checked;
    name_bytes_ += entity.entity.node.size() + entity.entity.port.size();
    if (entities_.size() == columns::kEntities || name_bytes_ > columns::kNameBytes ||
        last_.size() + entity.metrics.size() > columns::kValuesOfEntities) {
      return MakeError(
          ErrorCode::kResourceExhausted,
          fmt::format("more than {} entities, {} values of entities or {} bytes of "
                      "names",
                      columns::kEntities, columns::kValuesOfEntities, columns::kNameBytes));
    }
    for (const uint32_t number : read->metrics) {
      column_of_.push_back(static_cast<uint8_t>(number));
      last_.push_back(0);
    }
    first_.push_back(static_cast<uint32_t>(last_.size()));
    entities_.push_back(std::make_shared<const Entity>(std::move(entity)));
  }
  return {};
}

// Adds up the differences of entities and times, and counts the values of each column.
Status CounterColumnsReader::CheckReadings() {
  for (size_t i = 0; i < numbers_.size(); ++i) {
    previous_number_ += FromZigzag(numbers_[i]) + 1;
    previous_arrival_ += FromZigzag(arrivals_[i]);
    previous_delay_ += FromZigzag(delays_[i]);
    numbers_[i] = previous_number_;
    arrivals_[i] = previous_arrival_;
    delays_[i] = previous_delay_;
    if (previous_number_ >= entities_.size()) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("reading {} is of an unknown entity", i));
    }
    if (!IsTime(previous_arrival_) || !IsTime(previous_arrival_ - previous_delay_)) {
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("reading {} has a time out of range", i));
    }
    const size_t first = first_[previous_number_];
    const size_t end = first_[previous_number_ + 1];
    for (size_t at = first; at < end; ++at) ++columns_[column_of_[at]].expected;
  }
  return {};
}

}  // namespace rocescope
