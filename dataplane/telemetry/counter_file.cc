// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/telemetry/counter_file.h"

#include <utility>

namespace rocescope {

Result<std::unique_ptr<CounterFile>> CounterFile::Open(const std::string& path) {
  Result<std::unique_ptr<ByteStream>> stream = OpenFileStream(path);
  if (!stream) return tl::unexpected(stream.error());
  return std::make_unique<CounterFile>(std::move(*stream), path);
}

CounterFile::CounterFile(std::unique_ptr<ByteStream> stream, std::string name)
    : stream_(std::move(stream)), name_(std::move(name)) {}

Result<std::optional<Timestamp>> CounterFile::NextTime() {
  if (next_ == nullptr) {
    if (const Status read = ReadNext(); !read) return tl::unexpected(read.error());
  }
  return next_ == nullptr ? std::nullopt : std::optional(next_->time);
}

Result<bool> CounterFile::TakeUntil(Timestamp until, RecordBatch& out, size_t most) {
  for (size_t taken = 0; taken < most; ++taken) {
    if (next_ == nullptr) {
      if (const Status read = ReadNext(); !read) return tl::unexpected(read.error());
      if (next_ == nullptr) return false;
    }
    if (next_->arrival > until) return false;
    if (window_.Keeps(next_->arrival)) {
      ++ledger_.decoded;
      Emit(*next_, out);
    } else {
      ++ledger_.filtered;
    }
    ++ledger_.received;
    next_ = nullptr;
  }
  return true;
}

// Reads the next valid reading, or none at the end.
Status CounterFile::ReadNext() {
  if (stream_ != nullptr) {
    auto made = MakeCounterReadings(std::move(stream_), name_);
    if (!made) return tl::unexpected(made.error());
    readings_ = *std::move(made);
  }
  if (readings_ == nullptr) return {};  // after an error
  while (next_ == nullptr) {
    const Result<const CounterReading*> next = readings_->Next();
    uint64_t& dropped = ledger_.dropped[static_cast<size_t>(DropReason::kBadCounters)];
    if (dropped != readings_->refused()) {
      ledger_.received += readings_->refused() - std::exchange(dropped, readings_->refused());
      notes_ = readings_->notes();
    }
    if (!next) return tl::unexpected(next.error());
    if (*next == nullptr) return {};
    if (only_ && (*next)->entity->kind != *only_) {
      ++left_out_;
    } else {
      next_ = *next;
    }
  }
  return {};
}

void CounterFile::Emit(const CounterReading& reading, RecordBatch& out) {
  records_ += reading.metrics.size();
  if (emits_groups_ && reading.group != nullptr) {
    out.readings.push_back({.group = *reading.group,
                            .event_time = reading.time,
                            .arrival_time = reading.arrival,
                            .first = out.reading_values.size()});
    out.reading_values.insert(out.reading_values.end(), reading.values.begin(),
                              reading.values.end());
    return;
  }
  for (size_t i = 0; i < reading.metrics.size(); ++i) {
    CounterRecord& record = out.counters.emplace_back();
    record.entity = *reading.entity;
    record.metric = reading.metrics[i];
    record.value = reading.values[i];
    record.event_time = reading.time;
    record.arrival_time = reading.arrival;
  }
}

}  // namespace rocescope
