// SPDX-License-Identifier: BSD-3-Clause
// Writes counters.jsonl; dataplane/run defines the format. Unlike CounterLinesWriter, it keeps the
// order of the metrics, so that a scenario gives the same bytes as in earlier versions.
#pragma once

#include <fmt/format.h>

#include <iterator>
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
    Entity& added = entities_.emplace_back();
    added.front = EntityPartOfLine(entity);
    for (const Metric metric : metrics) {
      added.names.push_back(
          fmt::format(R"({}"{}":)", added.names.empty() ? "" : ",", InfoOf(metric).name));
    }
    return static_cast<uint32_t>(entities_.size() - 1);
  }
  // The readings of the simulator arrive when they are made.
  void Append(uint32_t number, Timestamp time, Timestamp /*arrival*/,
              std::span<const uint64_t> values) override {
    const Entity& entity = entities_[number];
    std::string& text = file_.text();
    const auto end = std::back_inserter(text);
    fmt::format_to(end, R"({{"time_ns":{}{})", ToNanoseconds(time), entity.front);
    for (size_t i = 0; i < values.size(); ++i) {
      text += entity.names[i];
      fmt::format_to(end, "{}", values[i]);
    }
    text += "}}\n";
    file_.Relieve();
  }
  // Returns the first write error.
  Status Close() { return file_.Close(); }

 private:
  struct Entity {
    std::string front;               // part of its lines after the time
    std::vector<std::string> names;  // names of the metrics with punctuation
  };

  explicit CounterLinesFile(TextFile file) : file_(std::move(file)) {}

  TextFile file_;
  std::vector<Entity> entities_;
};

}  // namespace rocescope::sim
