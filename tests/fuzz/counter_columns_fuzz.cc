// SPDX-License-Identifier: BSD-3-Clause
// counters.columns: the readings do not depend on how the bytes are split, and written readings are
// read back. Byte 0: 0 to 127, the rest is a file; otherwise the content of a block, or of two if
// bit 0 is set, which this program compresses. Byte 1: the number of 16-byte units per read, and of
// the first of two blocks.
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/run/counter_columns.h"
#include "dataplane/run/counter_columns_format.h"
#include "dataplane/run/counter_columns_reader.h"
#include "tests/fuzz/require.h"

namespace rocescope {
namespace {

// A block may have 65,536 readings, in very few bytes.
constexpr size_t kMostReadings = 3000;

void AppendFrame(std::span<const uint8_t> content, std::string& file) {
  std::string frame(ZSTD_compressBound(content.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), 1));
  for (const uint8_t byte : columns::LittleEndian<columns::kLengthBytes>(frame.size())) {
    file += static_cast<char>(byte);
  }
  file += frame;
}

std::string FileOf(uint8_t kind, uint8_t units, std::span<const uint8_t> rest) {
  if (kind < 128) return {rest.begin(), rest.end()};
  std::string file(columns::kMagic);
  const size_t first = (kind & 1) == 0 ? rest.size() : std::min(rest.size(), size_t{units} * 16);
  AppendFrame(rest.first(first), file);
  if (first < rest.size()) AppendFrame(rest.subspan(first), file);
  return file;
}

struct Reading {
  CounterEntity entity;
  std::vector<Metric> metrics;
  Timestamp time;
  Timestamp arrival;
  std::vector<uint64_t> values;

  friend bool operator==(const Reading&, const Reading&) = default;
};

struct Read {
  std::vector<Reading> readings;
  bool ended_well = false;
  std::string error;
};

Read ReadAll(CounterColumnsReader& reader) {
  Read read;
  CounterColumnsReader::Reading next;
  while (read.readings.size() < kMostReadings) {
    const Result<bool> more = reader.Next(next);
    if (!more) {
      read.error = more.error().message;
      Require(!read.error.empty() && read.error.size() < 1000, "an error has a bounded message");
      Require(!reader.Next(next).value_or(true), "the reader is at its end after an error");
      return read;
    }
    read.ended_well = !*more;
    if (!*more) return read;
    Require(next.number < reader.entities(), "the entity is known");
    const CounterColumnsReader::Entity& of = reader.entity(next.number);
    Require(next.values.size() == of.metrics.size() && !of.metrics.empty(),
            "there is a value for each metric");
    Require(WithinBounds(next.time) == next.time && WithinBounds(next.arrival) == next.arrival,
            "times are within bounds");
    read.readings.push_back({.entity = of.entity,
                             .metrics = of.metrics,
                             .time = next.time,
                             .arrival = next.arrival,
                             .values = {next.values.begin(), next.values.end()}});
  }
  return read;
}

Read ReadAll(const std::string& file, size_t at_a_time) {
  size_t at = 0;
  CounterColumnsReader reader(
      [&](std::span<uint8_t> out) -> Result<size_t> {
        const size_t count = std::min({out.size(), at_a_time, file.size() - at});
        std::memcpy(out.data(), file.data() + at, count);
        at += count;
        return count;
      },
      "counters.columns");
  return ReadAll(reader);
}

void RequireTheSameAgain(const std::vector<Reading>& readings) {
  static const std::string path = "/proc/self/fd/" + std::to_string(memfd_create("columns", 0));
  const auto writer = CounterColumnsWriter::Open(path).value();
  for (const Reading& reading : readings) {
    writer->Append(writer->Announce(reading.entity, reading.metrics), reading.time, reading.arrival,
                   reading.values);
  }
  Require(writer->Close().has_value(), "what was read can be written");
  const auto reader = CounterColumnsReader::Open(path).value();
  const Read again = ReadAll(*reader);
  Require(again.readings == readings && again.error.empty(), "what was written is read back");
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  if (size < 2) return 0;
  const std::string file = FileOf(data[0], data[1], {data + 2, size - 2});
  const Read whole = ReadAll(file, SIZE_MAX);
  const Read parts = ReadAll(file, (size_t{data[1]} + 1) * 16);
  Require(whole.readings == parts.readings && whole.error == parts.error &&
              whole.ended_well == parts.ended_well,
          "the readings do not depend on the split");
  RequireTheSameAgain(whole.readings);
  return 0;
}
