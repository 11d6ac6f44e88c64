// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/telemetry/counter_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rocescope {
namespace {

constexpr size_t kBlock = size_t{64} << 10;

}  // namespace

Result<std::unique_ptr<CounterFile>> CounterFile::Open(const std::string& path) {
  Result<std::unique_ptr<ByteStream>> stream = OpenFileStream(path);
  if (!stream) return tl::unexpected(stream.error());
  return std::make_unique<CounterFile>(std::move(*stream), path);
}

CounterFile::CounterFile(std::unique_ptr<ByteStream> stream, std::string name)
    : stream_(std::move(stream)), name_(std::move(name)) {}

Result<bool> CounterFile::TakeUntil(Timestamp until, RecordBatch& out, size_t most) {
  for (size_t taken = 0; taken < most; ++taken) {
    if (!next_) {
      if (const Status read = ReadNext(); !read) return tl::unexpected(read.error());
      if (!next_) return false;
    }
    if (next_->time > until) return false;
    if (window_.Keeps(next_->time)) {
      ++ledger_.decoded;
      Emit(*next_, out);
    } else {
      ++ledger_.filtered;
    }
    ++ledger_.received;
    next_.reset();
  }
  return true;
}

// Reads the next valid line, or none at the end.
Status CounterFile::ReadNext() {
  while (!next_) {
    std::string_view text;
    if (!NextLine(text)) {
      if (ended_) return {};
      if (const Status filled = Fill(); !filled) return filled;
      continue;
    }
    ++line_number_;
    if (std::exchange(skipping_, false)) continue;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) continue;
    Result<CounterLine> line = ParseCounterLine(text);
    if (!line) {
      Refuse(line.error().message);
    } else if (only_ && line->entity.kind != *only_) {
      ++left_out_;
    } else {
      next_ = *std::move(line);
    }
  }
  return {};
}

// Returns false if the buffer holds no complete line. At the end of the file, the rest is a line.
bool CounterFile::NextLine(std::string_view& line) {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos && (!ended_ || rest.empty())) return false;
  line = rest.substr(0, end);
  begin_ += line.size() + (end == std::string_view::npos ? 0 : 1);
  return true;
}

Status CounterFile::Fill() {
  buffer_.erase(0, std::exchange(begin_, 0));
  if (buffer_.size() > kLongestCounterLine) {
    if (!std::exchange(skipping_, true)) {
      ++line_number_;  // the number of the line that is being skipped
      Refuse(fmt::format("line exceeds the maximum length of {} bytes", kLongestCounterLine));
      --line_number_;
    }
    buffer_.clear();
  }
  const size_t had = buffer_.size();
  buffer_.resize(had + kBlock);
  Result<size_t> read = stream_->Read({reinterpret_cast<uint8_t*>(buffer_.data()) + had, kBlock});
  buffer_.resize(had + read.value_or(0));
  ended_ = !read || *read == 0;
  if (!read) {
    buffer_.clear();
    return tl::unexpected(read.error());
  }
  return {};
}

void CounterFile::Refuse(std::string_view why) {
  ++ledger_.received;
  ++ledger_.dropped[static_cast<size_t>(DropReason::kBadCounters)];
  if (notes_.size() < kMaxNotes) {
    notes_.push_back(fmt::format("{}:{}: {}", name_, line_number_, why));
  }
}

void CounterFile::Emit(const CounterLine& line, RecordBatch& out) {
  for (const auto& [metric, value] : line.metrics) {
    out.counters.push_back({.entity = line.entity,
                            .metric = metric,
                            .value = value,
                            .event_time = line.time,
                            .arrival_time = line.time});
  }
  records_ += line.metrics.size();
}

}  // namespace rocescope
