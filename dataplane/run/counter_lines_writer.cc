// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/counter_lines_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "dataplane/run/counter_line.h"
#include "dataplane/run/entity_check.h"

namespace rocescope {

Result<std::unique_ptr<CounterLinesWriter>> CounterLinesWriter::Open(const std::string& path) {
  Result<CheckedFile> file = CheckedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  return std::unique_ptr<CounterLinesWriter>(new CounterLinesWriter(*std::move(file)));
}

CounterLinesWriter::CounterLinesWriter(CheckedFile file) : file_(std::move(file)) {}
CounterLinesWriter::~CounterLinesWriter() = default;

uint32_t CounterLinesWriter::Announce(const CounterEntity& entity,
                                      std::span<const Metric> metrics) {
  const auto number = static_cast<uint32_t>(entities_.size());
  Status checked = CheckCounterEntity(entity);
  if (checked) checked = CheckMetricsOfReading(metrics);
  if (!checked) {
    Fail(fmt::format("entity {}: {}", number, checked.error().message));
    return number;
  }
  Entity added{.front = EntityPartOfLine(entity)};
  std::vector<size_t> order(metrics.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [metrics](size_t a, size_t b) { return metrics[a] < metrics[b]; });
  for (const size_t position : order) {
    added.metrics.emplace_back(
        fmt::format("{}\"{}\":", added.metrics.empty() ? "" : ",", InfoOf(metrics[position]).name),
        position);
  }
  entities_.push_back(std::move(added));
  return number;
}

void CounterLinesWriter::Append(uint32_t number, Timestamp time, Timestamp arrival,
                                std::span<const uint64_t> values) {
  if (!status_) return;
  if (number >= entities_.size() || values.size() != entities_[number].metrics.size()) {
    return Fail(fmt::format("reading of entity {} with {} values: it was not announced like that",
                            number, values.size()));
  }
  if (WithinBounds(time) != time || WithinBounds(arrival) != arrival) {
    return Fail(fmt::format("reading of entity {}: time {} or arrival {} is out of range", number,
                            ToNanoseconds(time), ToNanoseconds(arrival)));
  }
  const auto add = [this](int64_t ns) { text_ += fmt::format_int(ns).c_str(); };
  text_ += R"({"time_ns":)";
  add(ToNanoseconds(time));
  if (arrival != time) {
    text_ += R"(,"arrival_ns":)";
    add(ToNanoseconds(arrival));
  }
  const Entity& entity = entities_[number];
  text_ += entity.front;
  for (const auto& [name, position] : entity.metrics) {
    text_ += name;
    const fmt::format_int value(values[position]);
    text_.append(value.data(), value.size());
  }
  text_ += "}}\n";
  constexpr size_t kMuch = size_t{256} << 10;
  if (text_.size() >= kMuch) Flush();
}

Status CounterLinesWriter::Close() {
  if (status_) Flush();
  const Status closed = file_.Close();
  if (status_ && !closed) status_ = closed;
  return status_;
}

void CounterLinesWriter::Fail(const std::string& message) {
  if (status_) {
    status_ = MakeError(ErrorCode::kInvalidArgument, fmt::format("{}: {}", file_.path(), message));
  }
}

void CounterLinesWriter::Flush() {
  file_.Write(text_);
  text_.clear();
  if (file_.failed()) status_ = file_.Close();
}

}  // namespace rocescope
