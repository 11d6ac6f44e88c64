// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/counter_block_view.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <climits>
#include <optional>
#include <string>
#include <utility>

#include "dataplane/run/counter_columns_format.h"
#include "dataplane/run/entity_check.h"
#include "rocescope/v1/counter_columns.pb.h"

namespace rocescope::columns {
namespace {

tl::unexpected<Error> Invalid(const std::string& message) {
  return MakeError(ErrorCode::kInvalidArgument, message);
}

// The fields of a message, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view text)
      : text_(text),
        in_(reinterpret_cast<const uint8_t*>(text.data()), static_cast<int>(text.size())) {}

  // Returns the number of the next field, or 0 at the end or at a malformed tag.
  int Next() {
    tag_ = in_.ReadTag();
    return static_cast<int>(tag_ >> 3);
  }
  std::optional<uint64_t> Number() {
    uint64_t value = 0;
    if ((tag_ & 7) != 0 || !in_.ReadVarint64(&value)) return std::nullopt;
    return value;
  }
  std::optional<std::string_view> Bytes() {
    uint32_t length = 0;
    if ((tag_ & 7) != 2 || !in_.ReadVarint32(&length)) return std::nullopt;
    const auto begin = static_cast<size_t>(in_.CurrentPosition());
    if (length > text_.size() - begin || !in_.Skip(static_cast<int>(length))) return std::nullopt;
    return text_.substr(begin, length);
  }
  bool AtEnd() const { return static_cast<size_t>(in_.CurrentPosition()) == text_.size(); }

 private:
  std::string_view text_;
  google::protobuf::io::CodedInputStream in_;
  uint32_t tag_ = 0;
};

Result<ColumnView> ViewColumn(std::string_view message) {
  using v1::CounterColumn;
  ColumnView column;
  Fields fields(message);
  while (const int field = fields.Next()) {
    if (field == CounterColumn::kMetricFieldNumber) {
      const auto number = fields.Number();
      if (!number || *number >= kMetrics) return Invalid("invalid number of a metric");
      column.metric = static_cast<uint32_t>(*number);
    } else if (field == CounterColumn::kPlanesFieldNumber) {
      const auto plane = fields.Bytes();
      if (!plane || column.plane_count == column.planes.size()) {
        return Invalid("invalid planes of a column");
      }
      column.planes[column.plane_count++] = *plane;
    } else {
      return Invalid(fmt::format("unknown field {} of a column", field));
    }
  }
  if (!fields.AtEnd()) return Invalid("malformed column");
  return column;
}

// Reads one field of the block. Returns false if its type is wrong, or a limit is exceeded.
Result<bool> ReadField(int field, Fields& fields, BlockView& block, uint32_t& seen) {
  if (field == kFieldReadings) {
    const auto number = fields.Number();
    if (!number || *number > kReadingsPerBlock) return false;
    block.readings = *number;
    return true;
  }
  const auto bytes = fields.Bytes();
  if (!bytes) return false;
  if (field == kFieldMetrics) {
    block.metrics.push_back(*bytes);
    return block.metrics.size() <= kMetrics;
  }
  if (field == kFieldEntities) {
    block.entities.push_back(*bytes);
    return block.entities.size() <= kEntitiesPerBlock && bytes->size() <= kLargestEntity;
  }
  Result<ColumnView> column = ViewColumn(*bytes);
  if (!column) return tl::unexpected(column.error());
  if (field == kFieldValues) {
    block.values.push_back(*column);
    return block.values.size() <= kMetrics;
  }
  ColumnView& target = field == kFieldNumbers    ? block.numbers
                       : field == kFieldArrivals ? block.arrivals
                                                 : block.delays;
  target = *column;
  const uint32_t bit = uint32_t{1} << field;
  return (std::exchange(seen, seen | bit) & bit) == 0;
}

}  // namespace

Result<BlockView> ViewBlock(std::string_view block) {
  BlockView view;
  Fields fields(block);
  uint32_t seen = 0;
  while (const int field = fields.Next()) {
    if (field > kFieldValues) {
      return Invalid(fmt::format("unknown field {}: a later version of rocescope wrote it", field));
    }
    const Result<bool> read = ReadField(field, fields, view, seen);
    if (!read) return tl::unexpected(read.error());
    if (!*read) return Invalid(fmt::format("field {} is malformed or exceeds its limit", field));
  }
  if (!fields.AtEnd()) return Invalid("malformed message");
  return view;
}

Result<EntityView> ReadEntityOfBlock(std::string_view message) {
  v1::CounterColumnEntity read;
  if (!read.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return Invalid("malformed entity");
  }
  const auto kind = EntityKindNamed(read.kind());
  if (!kind) return Invalid(fmt::format("unknown kind of entity \"{:.40}\"", read.kind()));
  EntityView view{.entity = {.kind = *kind, .node = read.node(), .port = read.port()}};
  if (read.has_priority()) {
    if (read.priority() >= kEntityPriorities) return Invalid("invalid priority of an entity");
    view.entity.priority = static_cast<uint8_t>(read.priority());
  }
  if (read.has_index()) {
    if (read.index() > kLargestGpuIndex) return Invalid("invalid index of an entity");
    view.entity.index = read.index();
  }
  if (const Status checked = CheckCounterEntity(view.entity); !checked) {
    return tl::unexpected(checked.error());
  }
  view.metrics.assign(read.metrics().begin(), read.metrics().end());
  return view;
}

Status Expand(const ColumnView& column, size_t count, std::vector<uint64_t>& out) {
  out.assign(count, 0);
  for (size_t plane = 0; plane < column.plane_count; ++plane) {
    const std::string_view bytes = column.planes[plane];
    if (bytes.size() != count) {
      return Invalid(fmt::format("a plane has {} bytes, expected {}", bytes.size(), count));
    }
    const auto* const from = reinterpret_cast<const uint8_t*>(bytes.data());
    uint64_t* const to = out.data();
    const size_t shift = 8 * plane;
    for (size_t i = 0; i < count; ++i) to[i] |= uint64_t{from[i]} << shift;
  }
  return {};
}

}  // namespace rocescope::columns
