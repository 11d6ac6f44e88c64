// SPDX-License-Identifier: BSD-3-Clause
#include "sim/flow/history_file.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/run/checked_file.h"
#include "dataplane/run/entity_check.h"
#include "rocescope/v1/flow_history.pb.h"

namespace rocescope::sim {
namespace {

// The first byte is not ASCII, so that no text file begins with it. The last byte is the version.
// Blocks follow, each with the length of its zstd frame (4 bytes, little-endian). Each frame has a
// checksum; those of version 1 had none.
constexpr std::string_view kMagic = "\x89ROCHIS\x02";
constexpr std::string_view kFrameMagic = "\x28\xb5\x2f\xfd";
constexpr uint8_t kHasChecksum = 1u << 2;  // in the byte after the magic (RFC 8878)
constexpr size_t kLengthBytes = 4;
constexpr size_t kPointsPerBlock = size_t{1} << 20;
constexpr size_t kItemsPerBlock = size_t{1} << 16;   // counts, entities or outages
constexpr size_t kLargestBlock = size_t{256} << 20;  // decompressed
constexpr size_t kMostPoints = size_t{1} << 28;
constexpr size_t kMostItems = size_t{1} << 26;
constexpr size_t kBytes = sizeof(uint64_t);

std::string Planes(const std::vector<uint64_t>& numbers) {
  std::string planes(numbers.size() * kBytes, '\0');
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (size_t byte = 0; byte < kBytes; ++byte) {
      planes[byte * numbers.size() + i] = static_cast<char>(numbers[i] >> 8 * byte);
    }
  }
  return planes;
}

uint64_t FromPlanes(std::string_view planes, size_t count, size_t i) {
  uint64_t number = 0;
  for (size_t byte = 0; byte < kBytes; ++byte) {
    number |= uint64_t{static_cast<uint8_t>(planes[byte * count + i])} << 8 * byte;
  }
  return number;
}

class Writer {
 public:
  explicit Writer(CheckedFile& file) : file_(file), context_(ZSTD_createCCtx(), &ZSTD_freeCCtx) {
    constexpr int kLevel = 3;
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }

  void Write(const FlowHistory& history, Timestamp epoch) {
    file_.Write(kMagic);
    block_.mutable_start()->set_epoch_ns(static_cast<uint64_t>(ToNanoseconds(epoch)));
    block_.mutable_start()->set_duration_ps(static_cast<uint64_t>(history.duration));
    for (const Series& series : history.series) Add(series);
    FlushSeries();
    for (const FlowHistory::Count& count : history.counts) {
      block_.mutable_counts()->add_series(count.series);
      block_.mutable_counts()->add_scales(count.scale);
      Count(1);
    }
    Flush();
    for (const FlowHistory::Entity& entity : history.entities) Add(history, entity);
    for (const FlowHistory::Outage& outage : history.outages) {
      v1::FlowOutage& out = *block_.add_outages();
      out.set_node(outage.node);
      if (outage.port != topology::kNone) out.set_port(outage.port);
      out.set_begin_ps(static_cast<uint64_t>(outage.begin));
      if (outage.end != kNever) out.set_end_ps(static_cast<uint64_t>(outage.end));
      Count(1);
    }
    block_.set_last(true);
    Flush();
  }

 private:
  void Add(const Series& series) {
    if (!times_.empty() && times_.size() + series.points().size() > kPointsPerBlock) FlushSeries();
    block_.mutable_series()->add_points(static_cast<uint32_t>(series.points().size()));
    SimTime time = 0;
    uint64_t bits = 0;
    for (const Series::Point& point : series.points()) {
      times_.push_back(static_cast<uint64_t>(point.time - std::exchange(time, point.time)));
      const auto own = std::bit_cast<uint64_t>(point.value);
      values_.push_back(own ^ std::exchange(bits, own));
    }
  }
  void FlushSeries() {
    block_.mutable_series()->set_times(Planes(times_));
    block_.mutable_series()->set_values(Planes(values_));
    times_.clear();
    values_.clear();
    Flush();
  }
  void Add(const FlowHistory& history, const FlowHistory::Entity& entity) {
    size_t items = 0;
    v1::FlowEntity& out = *block_.add_entities();
    out.set_kind(std::string(InfoOf(entity.id.kind).name));
    out.set_node(entity.node);
    if (entity.port != topology::kNone) out.set_port(entity.port);
    out.set_name(entity.id.port);
    if (entity.id.priority != CounterEntity::kAllPriorities) {
      out.set_priority(entity.id.priority);
    }
    if (entity.id.kind == EntityKind::kGpu) out.set_index(entity.id.index);
    for (size_t i = 0; i < entity.metrics.size(); ++i) {
      const FlowHistory::Value& value = history.values[entity.first_value + i];
      v1::FlowValue& one = *out.add_values();
      one.set_metric(std::string(InfoOf(entity.metrics[i]).name));
      for (const FlowHistory::Term& term : value.terms) {
        one.add_counts(term.count);
        one.add_weights(term.weight);
      }
      for (const FlowHistory::Step& step : value.steps) {
        one.add_step_times(static_cast<uint64_t>(step.time));
        one.add_step_values(step.value);
      }
      for (const FlowHistory::Count& busy : value.busy) {
        one.add_busy_series(busy.series);
        one.add_busy_scales(busy.scale);
      }
      items += 1 + value.terms.size() + value.steps.size();
    }
    Count(items);
  }
  void Count(size_t more) {
    if ((items_ += more) >= kItemsPerBlock) Flush();
  }
  void Flush() {
    items_ = 0;
    const std::string bytes = block_.SerializeAsString();
    block_.Clear();
    std::string frame(ZSTD_compressBound(bytes.size()), '\0');
    const size_t length =
        ZSTD_compress2(context_.get(), frame.data(), frame.size(), bytes.data(), bytes.size());
    frame.resize(length);
    std::string prefix(kLengthBytes, '\0');
    for (size_t i = 0; i < kLengthBytes; ++i) prefix[i] = static_cast<char>(length >> 8 * i);
    file_.Write(prefix);
    file_.Write(frame);
  }

  CheckedFile& file_;
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context_;
  v1::FlowHistoryBlock block_;
  std::vector<uint64_t> times_;
  std::vector<uint64_t> values_;
  size_t items_ = 0;
};

class Reader {
 public:
  Reader(std::string_view bytes, const std::string& name, const topology::Fabric& fabric)
      : bytes_(bytes), name_(name), fabric_(fabric) {}

  Result<std::shared_ptr<const StoredHistory>> Read() {
    if (!bytes_.starts_with(kMagic)) {
      const bool is_old = bytes_.starts_with("\x89ROCHIS\x01");
      return MakeError(ErrorCode::kInvalidArgument,
                       fmt::format("{}: {}; simulate the scenario again with `rocescope-sim run "
                                   "--record`",
                                   name_,
                                   is_old ? "a history of version 1, which has no checksums"
                                          : "not a history of the flow model (version 2)"));
    }
    const size_t size = bytes_.size();
    bytes_.remove_prefix(kMagic.size());
    while (!is_complete_) {
      ++block_;
      offset_ = size - bytes_.size();
      std::string content;
      if (Status read = NextBlock(content); !read) return tl::unexpected(read.error());
      v1::FlowHistoryBlock block;
      if (!block.ParseFromString(content)) return Invalid("is not a FlowHistoryBlock");
      if (Status added = Add(block); !added) return tl::unexpected(added.error());
    }
    if (!bytes_.empty()) return Invalid("is the last one, but bytes follow");
    for (const FlowHistory::Count& count : history().counts) {
      if (!IsInRange(count))
        return Invalid("lacks the series of a count, or the count is too large");
    }
    for (const FlowHistory::Value& value : history().values) {
      if (!std::ranges::all_of(value.busy, [this](const auto& busy) { return IsInRange(busy); })) {
        return Invalid("lacks the series of a value, or the value is too large");
      }
    }
    return std::move(stored_);
  }

 private:
  FlowHistory& history() { return stored_->history; }

  bool IsInRange(const FlowHistory::Count& count) {
    if (count.series >= history().series.size()) return false;
    const Series& series = history().series[count.series];
    constexpr double kMost = 1e18;  // fits into a counter
    return count.scale >= 0 && count.scale <= kMost &&
           (series.empty() || series.points().back().value * count.scale <= kMost);
  }

  tl::unexpected<Error> Invalid(std::string_view what) const {
    return MakeError(ErrorCode::kInvalidArgument,
                     fmt::format("{}: block {} at byte {} {}", name_, block_, offset_, what));
  }

  Status NextBlock(std::string& content) {
    if (bytes_.size() < kLengthBytes) return Invalid("is missing: the file is truncated");
    size_t length = 0;
    for (size_t i = 0; i < kLengthBytes; ++i) {
      length |= size_t{static_cast<uint8_t>(bytes_[i])} << 8 * i;
    }
    bytes_.remove_prefix(kLengthBytes);
    if (length > bytes_.size()) return Invalid("is truncated");
    const std::string_view frame = bytes_.substr(0, length);
    if (!frame.starts_with(kFrameMagic) || frame.size() == kFrameMagic.size() ||
        (static_cast<uint8_t>(frame[kFrameMagic.size()]) & kHasChecksum) == 0) {
      return Invalid("is not a zstd frame with a checksum");
    }
    const unsigned long long size = ZSTD_getFrameContentSize(bytes_.data(), length);
    if (size > kLargestBlock) return Invalid("is not a zstd frame of at most 256 MiB");
    content.resize(static_cast<size_t>(size));
    const size_t got = ZSTD_decompress(content.data(), content.size(), bytes_.data(), length);
    if (ZSTD_isError(got) != 0 || got != size) {
      return Invalid(fmt::format("is damaged: {}",
                                 ZSTD_isError(got) != 0 ? ZSTD_getErrorName(got) : "wrong size"));
    }
    bytes_.remove_prefix(length);
    return {};
  }

  Status Add(const v1::FlowHistoryBlock& block) {
    if (block.has_start() != (block_ == 1)) return Invalid("is out of order");
    if (block.has_start()) {
      const uint64_t epoch = block.start().epoch_ns();
      const uint64_t duration = block.start().duration_ps();
      constexpr uint64_t kMost = std::numeric_limits<int64_t>::max() / 2;
      if (epoch > kMost || duration == 0 || duration > kMost) {
        return Invalid("has an invalid start or duration");
      }
      stored_->epoch = FromNanoseconds(static_cast<int64_t>(epoch));
      history().duration = static_cast<SimTime>(duration);
    }
    if (block.has_series()) {
      if (Status added = AddSeries(block.series()); !added) return added;
    }
    const v1::FlowCounts& counts = block.counts();
    if (counts.series_size() != counts.scales_size()) return Invalid("has counts without a scale");
    for (int i = 0; i < counts.series_size(); ++i) {
      if (!std::isfinite(counts.scales(i))) return Invalid("has a scale that is not a number");
      history().counts.push_back({counts.series(i), counts.scales(i)});
    }
    for (const v1::FlowEntity& entity : block.entities()) {
      if (Status added = AddEntity(entity); !added) return added;
    }
    for (const v1::FlowOutage& outage : block.outages()) {
      if (outage.node() >= fabric_.nodes().size() ||
          (outage.has_port() && outage.port() >= fabric_.ports().size()) ||
          outage.begin_ps() > uint64_t{1} << 62 || outage.end_ps() > uint64_t{1} << 62) {
        return Invalid("has an outage outside the fabric or the run");
      }
      history().outages.push_back(
          {.node = outage.node(),
           .port = outage.has_port() ? outage.port() : topology::kNone,
           .begin = static_cast<SimTime>(outage.begin_ps()),
           .end = outage.has_end_ps() ? static_cast<SimTime>(outage.end_ps()) : kNever});
    }
    is_complete_ = block.last();
    if (history().counts.size() > kMostItems || history().values.size() > kMostItems) {
      return Invalid("exceeds the largest history");
    }
    return {};
  }

  Status AddSeries(const v1::FlowSeriesBlock& block) {
    size_t points = 0;
    for (const uint32_t count : block.points()) points += count;
    if (points > kLargestBlock || (points_ += points) > kMostPoints ||
        block.times().size() != points * kBytes || block.values().size() != points * kBytes) {
      return Invalid("has a wrong number of points");
    }
    size_t at = 0;
    for (const uint32_t count : block.points()) {
      Series series;
      SimTime time = 0;
      uint64_t bits = 0;
      double before = 0;
      series.Reserve(count);
      for (uint32_t i = 0; i < count; ++i, ++at) {
        const uint64_t step = FromPlanes(block.times(), points, at);
        bits ^= FromPlanes(block.values(), points, at);
        const auto value = std::bit_cast<double>(bits);
        if (step > static_cast<uint64_t>(kNever / 4) || time > kNever / 4 || (i > 0 && step == 0) ||
            !std::isfinite(value) || value < before) {
          return Invalid("has a series that decreases");
        }
        time += static_cast<SimTime>(step);
        before = value;
        series.Append({time, value});
      }
      history().series.push_back(std::move(series));
    }
    return {};
  }

  Status AddEntity(const v1::FlowEntity& in) {
    const auto kind = EntityKindNamed(in.kind());
    if (!kind || in.node() >= fabric_.nodes().size() ||
        (in.has_port() && in.port() >= fabric_.ports().size())) {
      return Invalid("has an entity that the fabric does not have");
    }
    FlowHistory::Entity entity = {.id = {.kind = *kind, .node = fabric_.node(in.node()).name},
                                  .node = in.node(),
                                  .port = in.has_port() ? in.port() : topology::kNone,
                                  .first_value = static_cast<uint32_t>(history().values.size()),
                                  .metrics = {}};
    entity.id.port = in.name();
    if (in.has_priority()) {
      if (in.priority() > 7) return Invalid("has an entity with a priority above 7");
      entity.id.priority = static_cast<uint8_t>(in.priority());
    }
    if (in.has_index()) entity.id.index = in.index();
    if (Status checked = CheckCounterEntity(entity.id); !checked) {
      return Invalid(fmt::format("has an invalid entity: {}", checked.error().message));
    }
    for (const v1::FlowValue& one : in.values()) {
      const auto metric = MetricNamed(one.metric());
      if (!metric) return Invalid(fmt::format("has an unknown metric \"{:.40}\"", one.metric()));
      entity.metrics.push_back(*metric);
      FlowHistory::Value& value = history().values.emplace_back();
      if (one.counts_size() != one.weights_size() ||
          one.step_times_size() != one.step_values_size() ||
          one.busy_series_size() != one.busy_scales_size()) {
        return Invalid("has a value with lists of different lengths");
      }
      for (int i = 0; i < one.counts_size(); ++i) {
        if (one.counts(i) >= history().counts.size()) return Invalid("has an unknown count");
        value.terms.push_back({one.counts(i), one.weights(i)});
      }
      for (int i = 0; i < one.step_times_size(); ++i) {
        if (one.step_times(i) > uint64_t{1} << 62 ||
            (i > 0 && one.step_times(i) < one.step_times(i - 1))) {
          return Invalid("has steps that are not in order");
        }
        value.steps.push_back({static_cast<SimTime>(one.step_times(i)), one.step_values(i)});
      }
      for (int i = 0; i < one.busy_series_size(); ++i) {
        value.busy.push_back({one.busy_series(i), one.busy_scales(i)});
      }
    }
    if (entity.metrics.empty()) return Invalid("has an entity without metrics");
    history().entities.push_back(std::move(entity));
    return {};
  }

  std::string_view bytes_;
  const std::string& name_;
  const topology::Fabric& fabric_;
  std::shared_ptr<StoredHistory> stored_ = std::make_shared<StoredHistory>();
  size_t block_ = 0;
  size_t offset_ = 0;  // start of the block in the file
  size_t points_ = 0;
  bool is_complete_ = false;
};

}  // namespace

Status WriteHistory(const FlowHistory& history, Timestamp epoch, const std::string& path) {
  Result<CheckedFile> file = CheckedFile::Open(path);
  if (!file) return tl::unexpected(file.error());
  Writer(*file).Write(history, epoch);
  return file->Close();
}

Result<std::shared_ptr<const StoredHistory>> ParseHistory(std::string_view bytes,
                                                          const std::string& name,
                                                          const topology::Fabric& fabric) {
  return Reader(bytes, name, fabric).Read();
}

Result<std::shared_ptr<const StoredHistory>> ReadHistory(const std::string& path,
                                                         const topology::Fabric& fabric) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0) {
    return MakeError(ErrorCode::kNotFound, fmt::format("{}: cannot be opened", path));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  file.seekg(0);
  file.read(bytes.data(), size);
  if (!file) return MakeError(ErrorCode::kUnavailable, fmt::format("{}: cannot be read", path));
  return ParseHistory(bytes, path, fabric);
}

}  // namespace rocescope::sim
