// SPDX-License-Identifier: BSD-3-Clause
// Reads counters.columns block by block. README.md describes the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "dataplane/record/counter_group.h"
#include "dataplane/record/metric.h"

namespace rocescope {

class CounterColumnsReader {
 public:
  // Reads up to `out.size()` bytes, at least 1. Returns 0 at the end.
  using ReadBytes = std::function<Result<size_t>(std::span<uint8_t> out)>;

  using Entity = CounterGroup;
  struct Reading {
    uint32_t number = 0;  // number of the entity
    Timestamp time;
    Timestamp arrival;
    std::span<const uint64_t> values;  // one for each metric of the entity; valid until Next
  };

  // The error names the path.
  static Result<std::unique_ptr<CounterColumnsReader>> Open(const std::string& path);
  // `name` is used in errors.
  CounterColumnsReader(ReadBytes read, std::string name);
  ~CounterColumnsReader();

  // The first bytes of a file are enough to recognise it.
  static constexpr size_t kHeadBytes = 8;
  static bool Recognises(std::span<const uint8_t> head);

  // Reads the next reading. Returns false at the end. Returns an error once if the file is
  // truncated or damaged; it names the block and its offset in the file, and all readings of
  // earlier blocks were returned. The reader is then at its end.
  Result<bool> Next(Reading& reading);

  // Entities are numbered from 0 in the order in which they occur in the file. References stay
  // valid.
  const Entity& entity(uint32_t number) const { return *entities_[number]; }
  const CounterGroupPointer& group(uint32_t number) const { return entities_[number]; }
  size_t entities() const { return entities_.size(); }
  uint64_t readings() const { return readings_; }  // returned so far

 private:
  // The differences of a metric in the current block.
  struct Column {
    std::vector<uint64_t> coded;
    size_t expected = 0;  // number of differences
    size_t next = 0;
    bool present = false;  // false: all are 0
  };

  Result<bool> ReadBlock();
  Result<size_t> ReadFully(std::span<uint8_t> out);
  Status ReadMagic();
  Result<bool> ReadEndMark();
  Result<size_t> ReadFrame(size_t length);
  Status Decompress();
  Status Decode();
  Status AddMetrics(std::span<const std::string_view> names);
  Status AddEntities(std::span<const std::string_view> messages);
  Status CheckReadings();
  tl::unexpected<Error> Damaged(const std::string& why) const;

  ReadBytes read_;
  const std::string name_;
  bool started_ = false;
  bool ended_ = false;
  uint64_t offset_ = 0;  // bytes read
  uint64_t block_ = 0;   // number of the current block, from 1
  uint64_t block_offset_ = 0;
  uint64_t readings_ = 0;

  std::vector<Metric> metrics_;  // by number
  std::vector<CounterGroupPointer> entities_;
  // Position of each entity's values in last_, and the end of the last one.
  std::vector<uint32_t> first_ = {0};
  std::vector<uint64_t> last_;      // last value of each metric of each entity
  std::vector<uint8_t> column_of_;  // number of the metric of each of them
  size_t name_bytes_ = 0;
  uint64_t previous_number_ = UINT64_MAX;
  uint64_t previous_arrival_ = 0;
  uint64_t previous_delay_ = 0;

  // The current block. Its times are checked and no longer differences.
  std::vector<uint8_t> frame_;
  std::string text_;
  std::vector<uint64_t> numbers_;
  std::vector<uint64_t> arrivals_;
  std::vector<uint64_t> delays_;
  std::vector<Column> columns_;
  size_t next_ = 0;
};

}  // namespace rocescope
