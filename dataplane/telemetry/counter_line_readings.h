// SPDX-License-Identifier: BSD-3-Clause
// The readings in counters.jsonl, line by line.
#pragma once

#include <string_view>

#include "dataplane/run/counter_line.h"
#include "dataplane/telemetry/counter_readings.h"

namespace rocescope {

class CounterLineReadings final : public CounterReadings {
 public:
  CounterLineReadings(std::unique_ptr<ByteStream> stream, std::string name);

  Result<const CounterReading*> Next() override;
  uint64_t refused() const override { return refused_; }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  bool NextLine(std::string_view& line);
  Status Fill();
  void Refuse(std::string_view why);

  std::unique_ptr<ByteStream> stream_;
  const std::string name_;
  std::string buffer_;  // bytes that were read and not yet processed, from `begin_` on
  size_t begin_ = 0;
  bool ended_ = false;
  bool skipping_ = false;  // skipping the rest of a line that is too long
  uint64_t line_number_ = 0;
  CounterLine line_;
  std::vector<Metric> metrics_;
  std::vector<uint64_t> values_;
  CounterReading reading_;
  uint64_t refused_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace rocescope
