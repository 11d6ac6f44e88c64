// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/telemetry/counter_line_readings.h"

#include <fmt/format.h>

#include <utility>

namespace rocescope {
namespace {

constexpr size_t kBlock = size_t{64} << 10;

}  // namespace

CounterLineReadings::CounterLineReadings(std::unique_ptr<ByteStream> stream, std::string name)
    : stream_(std::move(stream)), name_(std::move(name)) {}

Result<const CounterReading*> CounterLineReadings::Next() {
  while (true) {
    std::string_view text;
    if (!NextLine(text)) {
      if (ended_) return nullptr;
      if (const Status filled = Fill(); !filled) return tl::unexpected(filled.error());
      continue;
    }
    ++line_number_;
    if (std::exchange(skipping_, false)) continue;
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (text.empty()) continue;
    Result<CounterLine> line = ParseCounterLine(text);
    if (!line) {
      Refuse(line.error().message);
      continue;
    }
    line_ = *std::move(line);
    metrics_.clear();
    values_.clear();
    for (const auto& [metric, value] : line_.metrics) {
      metrics_.push_back(metric);
      values_.push_back(value);
    }
    reading_ = {.entity = &line_.entity,
                .time = line_.time,
                .arrival = line_.Arrival(),
                .metrics = metrics_,
                .values = values_};
    return &reading_;
  }
}

// Returns false if the buffer holds no complete line. At the end of the file, the rest is a line.
bool CounterLineReadings::NextLine(std::string_view& line) {
  const std::string_view rest = std::string_view(buffer_).substr(begin_);
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos && (!ended_ || rest.empty())) return false;
  line = rest.substr(0, end);
  begin_ += line.size() + (end == std::string_view::npos ? 0 : 1);
  return true;
}

Status CounterLineReadings::Fill() {
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
  if (!ended_) return {};
  const Status end = read ? CheckEnd(*stream_, name_) : tl::unexpected(read.error());
  if (!end) buffer_.clear();  // the last line is not complete
  return end;
}

void CounterLineReadings::Refuse(std::string_view why) {
  ++refused_;
  if (notes_.size() < kMaxNotes) {
    notes_.push_back(fmt::format("{}:{}: {}", name_, line_number_, why));
  }
}

}  // namespace rocescope
