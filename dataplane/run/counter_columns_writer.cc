// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <array>
#include <utility>

#include "dataplane/run/checked_file.h"
#include "dataplane/run/counter_block_text.h"
#include "dataplane/run/counter_columns.h"
#include "dataplane/run/counter_columns_format.h"
#include "dataplane/run/entity_check.h"
#include "rocescope/v1/counter_columns.pb.h"

namespace rocescope {

class CounterColumnsWriter::Blocks {
 public:
  explicit Blocks(CheckedFile file) : file_(std::move(file)) {
    for (columns::Column* column : {&numbers_, &arrivals_, &delays_}) column->Reserve();
    number_of_metric_.fill(kUnnumbered);
    file_.Write(columns::kMagic);
  }

  uint32_t Announce(const CounterEntity& entity, std::span<const Metric> metrics) {
    const auto number = static_cast<uint32_t>(entities_.size());
    if (!status_ || closed_) return number;
    Status checked = CheckCounterEntity(entity);
    if (checked) checked = CheckMetricsOfReading(metrics);
    if (!checked) {
      Fail(checked.error().code, fmt::format("entity {}: {}", number, checked.error().message));
      return number;
    }
    name_bytes_ += entity.node.size() + entity.port.size();
    if (entities_.size() == columns::kEntities ||
        last_.size() + metrics.size() > columns::kValuesOfEntities ||
        name_bytes_ > columns::kNameBytes) {
      Fail(ErrorCode::kResourceExhausted,
           fmt::format("more than {} entities, {} values of entities or {} bytes of names in one "
                       "file: write several files",
                       columns::kEntities, columns::kValuesOfEntities, columns::kNameBytes));
      return number;
    }
    if (new_entities_ == columns::kEntitiesPerBlock) Flush();
    ++new_entities_;
    AddEntity(entity, metrics);
    return number;
  }

  void Append(uint32_t number, Timestamp time, Timestamp arrival,
              std::span<const uint64_t> values) {
    if (!status_ || closed_) return;
    if (number >= entities_.size() || values.size() != entities_[number].count) {
      Fail(ErrorCode::kInternal,
           fmt::format("reading of entity {} with {} values: it was not announced like that",
                       number, values.size()));
      return;
    }
    if (WithinBounds(time) != time || WithinBounds(arrival) != arrival) {
      Fail(ErrorCode::kInvalidArgument,
           fmt::format("reading of entity {}: time {} or arrival {} is out of range", number,
                       ToNanoseconds(time), ToNanoseconds(arrival)));
      return;
    }
    numbers_.Add(number - previous_number_ - 1);
    previous_number_ = number;
    const auto arrived = static_cast<uint64_t>(ToNanoseconds(arrival));
    arrivals_.Add(arrived - previous_arrival_);
    previous_arrival_ = arrived;
    const uint64_t delay = arrived - static_cast<uint64_t>(ToNanoseconds(time));
    delays_.Add(delay - previous_delay_);
    previous_delay_ = delay;
    const Entity entity = entities_[number];
    uint64_t* const last = last_.data() + entity.first;
    const uint8_t* const column_of = column_of_.data() + entity.first;
    for (size_t i = 0; i < entity.count; ++i) {
      values_[column_of[i]].Add(values[i] - last[i]);
      last[i] = values[i];
    }
    ++readings_;
    if (numbers_.count == columns::kReadingsPerBlock) Flush();
  }

  Status Close() {
    if (!closed_ && status_) {
      Flush();
      file_.Write(columns::LittleEndian<columns::kLengthBytes>(0));
      file_.Write(columns::LittleEndian<columns::kTotalBytes>(readings_));
    }
    closed_ = true;
    const Status closed = file_.Close();
    if (status_ && !closed) status_ = closed;
    return status_;
  }

  uint64_t readings() const { return readings_; }
  uint64_t bytes() const { return file_.written(); }

 private:
  static constexpr uint8_t kUnnumbered = UINT8_MAX;
  static_assert(kMetricCount < kUnnumbered && kMetricCount <= columns::kMetrics);

  struct Entity {
    uint32_t first = 0;  // position of its values in last_
    uint32_t count = 0;
  };

  void Fail(ErrorCode code, const std::string& message) {
    if (status_) status_ = MakeError(code, fmt::format("{}: {}", file_.path(), message));
  }

  uint8_t NumberOf(Metric metric) {
    uint8_t& number = number_of_metric_[static_cast<size_t>(metric)];
    if (number == kUnnumbered) {
      number = metrics_++;
      text_of_metrics_.AddBytes(columns::kFieldMetrics, InfoOf(metric).name);
      values_[number].Reserve();
    }
    return number;
  }

  void AddEntity(const CounterEntity& entity, std::span<const Metric> metrics) {
    v1::CounterColumnEntity message;
    message.set_kind(std::string(InfoOf(entity.kind).name));
    message.set_node(entity.node);
    message.set_port(entity.port);
    if (entity.priority != CounterEntity::kAllPriorities) message.set_priority(entity.priority);
    if (entity.index != CounterEntity::kNoIndex) message.set_index(entity.index);
    entities_.push_back({.first = static_cast<uint32_t>(last_.size()),
                         .count = static_cast<uint32_t>(metrics.size())});
    for (const Metric metric : metrics) {
      const uint8_t number = NumberOf(metric);
      message.add_metrics(number);
      column_of_.push_back(number);
      last_.push_back(0);
    }
    text_of_entities_.AddBytes(columns::kFieldEntities, message.SerializeAsString());
  }

  // Writes the block, unless it is empty.
  void Flush() {
    if (!status_ || (numbers_.count == 0 && new_entities_ == 0)) return;
    block_.Clear();
    block_.AddAll(text_of_metrics_);
    block_.AddAll(text_of_entities_);
    block_.AddNumber(columns::kFieldReadings, numbers_.count);
    block_.AddColumn(columns::kFieldNumbers, numbers_);
    block_.AddColumn(columns::kFieldArrivals, arrivals_);
    block_.AddColumn(columns::kFieldDelays, delays_);
    for (uint8_t metric = 0; metric < metrics_; ++metric) {
      block_.AddColumn(columns::kFieldValues, values_[metric], metric);
      values_[metric].Clear();
    }
    for (columns::Column* column : {&numbers_, &arrivals_, &delays_}) column->Clear();
    text_of_metrics_.Clear();
    text_of_entities_.Clear();
    new_entities_ = 0;
    const auto frame = compressor_.Compress(block_.text(), block_.bounds());
    if (!frame) return Fail(frame.error().code, frame.error().message);
    file_.Write(columns::LittleEndian<columns::kLengthBytes>(frame->size()));
    file_.Write(*frame);
    if (file_.failed()) status_ = file_.Close();
  }

  CheckedFile file_;
  Status status_;
  bool closed_ = false;
  uint64_t readings_ = 0;

  std::vector<Entity> entities_;
  std::vector<uint64_t> last_;      // last value of each metric of each entity
  std::vector<uint8_t> column_of_;  // number of the metric of each of them
  std::array<uint8_t, kMetricCount> number_of_metric_;
  uint8_t metrics_ = 0;
  size_t name_bytes_ = 0;
  uint64_t previous_number_ = UINT64_MAX;
  uint64_t previous_arrival_ = 0;
  uint64_t previous_delay_ = 0;

  // The current block.
  columns::BlockText text_of_metrics_;
  columns::BlockText text_of_entities_;
  size_t new_entities_ = 0;
  columns::Column numbers_;
  columns::Column arrivals_;
  columns::Column delays_;
  std::array<columns::Column, kMetricCount> values_;
  columns::BlockText block_;
  columns::Compressor compressor_;
};

Result<std::unique_ptr<CounterColumnsWriter>> CounterColumnsWriter::Open(const std::string& path) {
  Result<CheckedFile> file = CheckedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  return std::unique_ptr<CounterColumnsWriter>(
      new CounterColumnsWriter(std::make_unique<Blocks>(*std::move(file))));
}

CounterColumnsWriter::CounterColumnsWriter(std::unique_ptr<Blocks> blocks)
    : blocks_(std::move(blocks)) {}
CounterColumnsWriter::~CounterColumnsWriter() = default;

uint32_t CounterColumnsWriter::Announce(const CounterEntity& entity,
                                        std::span<const Metric> metrics) {
  return blocks_->Announce(entity, metrics);
}
void CounterColumnsWriter::Append(uint32_t number, Timestamp time, Timestamp arrival,
                                  std::span<const uint64_t> values) {
  blocks_->Append(number, time, arrival, values);
}
Status CounterColumnsWriter::Close() { return blocks_->Close(); }
uint64_t CounterColumnsWriter::readings() const { return blocks_->readings(); }
uint64_t CounterColumnsWriter::bytes() const { return blocks_->bytes(); }

}  // namespace rocescope
