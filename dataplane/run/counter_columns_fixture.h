// SPDX-License-Identifier: BSD-3-Clause
// Files of counters in columns for tests: built block by block, independently of the writer.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dataplane/run/counter_columns_reader.h"
#include "rocescope/v1/counter_columns.pb.h"

namespace rocescope {

// A path that is removed at the end of the test.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& name)
      : path_(testing::TempDir() + std::to_string(getpid()) + "_" + name) {}
  ~TemporaryPath() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;

  const std::string& path() const { return path_; }
  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

inline std::string Number(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text += static_cast<char>(i < sizeof value ? value >> 8 * i : 0);
  }
  return text;
}

// README.md, "counters.columns": the length and a zstd frame with a checksum.
inline std::string FrameOf(const std::string& content) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  const size_t size =
      ZSTD_compress2(context, frame.data(), frame.size(), content.data(), content.size());
  EXPECT_EQ(ZSTD_isError(size), 0u);
  ZSTD_freeCCtx(context);
  frame.resize(size);
  return Number(size, 4) + frame;
}

inline std::string MagicOfColumns() { return "\x89ROCCOL\x01"; }

// A complete file of these blocks.
inline std::string ColumnsOf(const std::vector<v1::CounterBlock>& blocks) {
  std::string text = MagicOfColumns();
  uint64_t readings = 0;
  for (const v1::CounterBlock& block : blocks) {
    text += FrameOf(block.SerializeAsString());
    readings += block.readings();
  }
  return text + Number(0, 4) + Number(readings, 8);
}

// The content of each frame of a file.
inline std::vector<v1::CounterBlock> BlocksOf(const std::string& file) {
  std::vector<v1::CounterBlock> blocks;
  const auto length_at = [&file](size_t at) {
    uint32_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);  // the tests run on little-endian hosts
    return size_t{length};
  };
  size_t at = 8;
  while (const size_t length = length_at(at)) {
    at += 4;
    std::string text(ZSTD_getFrameContentSize(file.data() + at, length), '\0');
    EXPECT_EQ(ZSTD_decompress(text.data(), text.size(), file.data() + at, length), text.size());
    EXPECT_TRUE(blocks.emplace_back().ParseFromString(text));
    at += length;
  }
  return blocks;
}

struct ReadColumns {
  struct Reading {
    CounterEntity entity;
    std::vector<Metric> metrics;
    int64_t time_ns = 0;
    int64_t arrival_ns = 0;
    std::vector<uint64_t> values;

    friend bool operator==(const Reading&, const Reading&) = default;
  };
  std::vector<Reading> readings;
  std::optional<std::string> error;
};

inline std::unique_ptr<CounterColumnsReader> ReaderOver(std::string text,
                                                        size_t at_a_time = SIZE_MAX) {
  const auto rest = std::make_shared<std::pair<std::string, size_t>>(std::move(text), 0);
  return std::make_unique<CounterColumnsReader>(
      [rest, at_a_time](std::span<uint8_t> out) -> Result<size_t> {
        const size_t count = std::min({out.size(), at_a_time, rest->first.size() - rest->second});
        std::memcpy(out.data(), rest->first.data() + rest->second, count);
        rest->second += count;
        return count;
      },
      "counters.columns");
}

inline ReadColumns ReadAllColumns(std::string text, size_t at_a_time = SIZE_MAX) {
  const auto reader = ReaderOver(std::move(text), at_a_time);
  ReadColumns read;
  CounterColumnsReader::Reading next;
  while (true) {
    const Result<bool> more = reader->Next(next);
    if (!more) {
      read.error = more.error().message;
      EXPECT_EQ(reader->Next(next).value_or(true), false) << "at the end after an error";
    }
    if (!more || !*more) return read;
    const CounterColumnsReader::Entity& of = reader->entity(next.number);
    read.readings.push_back({.entity = of.entity,
                             .metrics = of.metrics,
                             .time_ns = ToNanoseconds(next.time),
                             .arrival_ns = ToNanoseconds(next.arrival),
                             .values = {next.values.begin(), next.values.end()}});
  }
}

}  // namespace rocescope
