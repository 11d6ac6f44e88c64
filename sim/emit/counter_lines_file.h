// SPDX-License-Identifier: BSD-3-Clause
// Writes counters.jsonl; dataplane/run defines the format.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/run/counter_columns.h"
#include "dataplane/run/counter_line.h"
#include "sim/emit/output_file.h"

namespace rocescope::sim {

class CounterLinesFile final : public CounterSink {
 public:
  // Creates or truncates the file. The error names the path.
  static Result<std::unique_ptr<CounterLinesFile>> Open(const std::string& path) {
    auto file = TextFile::Open(path);
    if (!file) return tl::unexpected(file.error());
    return std::unique_ptr<CounterLinesFile>(new CounterLinesFile(*std::move(file)));
  }

  uint32_t Announce(const CounterEntity& entity, std::span<const Metric> metrics) override {
    CounterLine line{.entity = entity};
    for (const Metric metric : metrics) line.metrics.emplace_back(metric, 0);
    lines_.push_back(std::move(line));
    return static_cast<uint32_t>(lines_.size() - 1);
  }
  // The format has no arrival times.
  void Append(uint32_t number, Timestamp time, Timestamp /*arrival*/,
              std::span<const uint64_t> values) override {
    CounterLine& line = lines_[number];
    line.time = time;
    for (size_t i = 0; i < values.size(); ++i) line.metrics[i].second = values[i];
    AppendCounterLine(line, file_.text());
    file_.Relieve();
  }
  // Returns the first write error.
  Status Close() { return file_.Close(); }

 private:
  explicit CounterLinesFile(TextFile file) : file_(std::move(file)) {}

  TextFile file_;
  std::vector<CounterLine> lines_;  // the last line of each entity
};

}  // namespace rocescope::sim
