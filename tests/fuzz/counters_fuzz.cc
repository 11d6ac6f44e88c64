// SPDX-License-Identifier: BSD-3-Clause
// counters.jsonl: the same records however its octets come, and lines that are written as they are
// read. Byte 0: how many times 16 octets come at a time.
#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "dataplane/telemetry/counter_file.h"
#include "tests/fuzz/require.h"

namespace rocescope {
namespace {

class SpanStream final : public ByteStream {
 public:
  SpanStream(std::span<const uint8_t> bytes, size_t at_a_time)
      : bytes_(bytes), at_a_time_(at_a_time) {}
  Result<size_t> Read(std::span<uint8_t> out) override {
    const size_t count = std::min({out.size(), at_a_time_, bytes_.size()});
    std::copy_n(bytes_.begin(), count, out.begin());
    bytes_ = bytes_.subspan(count);
    return count;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_a_time_;
};

struct Read {
  Ledger ledger;
  RecordBatch records;
};

Read ReadAll(std::span<const uint8_t> bytes, size_t at_a_time) {
  CounterFile file(std::make_unique<SpanStream>(bytes, at_a_time), "counters.jsonl");
  Read read;
  Require(file.TakeUntil(FromNanoseconds(1000), read.records).has_value(), "no error of reading");
  Require(file.TakeUntil(Timestamp::max(), read.records).has_value(), "no error of reading");
  read.ledger = file.ledger();
  Require(read.ledger.Balances(), "every line has one fate");
  Require(file.records() == read.records.counters.size(), "every record is counted");
  Require(file.notes().size() ==
              std::min<uint64_t>(read.ledger.DroppedTotal(), CounterFile::kMaxNotes),
          "notes are bounded and tell of each line");
  return read;
}

void RequireTheSameAgain(std::string_view text) {
  const auto line = ParseCounterLine(text);
  if (!line) return;
  std::string written;
  AppendCounterLine(*line, written);
  Require(written.ends_with('\n'), "a line ends");
  const auto again = ParseCounterLine(std::string_view(written).substr(0, written.size() - 1));
  Require(again.has_value(), "what was written is read");
  Require(
      again->time == line->time && again->entity == line->entity && again->metrics == line->metrics,
      "and is the same");
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  const Read whole = ReadAll(bytes, SIZE_MAX);
  const Read parts = ReadAll(bytes, (size_t{data[0]} + 1) * 16);
  Require(whole.ledger == parts.ledger, "how octets come does not matter");
  Require(whole.records.counters.size() == parts.records.counters.size(), "nor to records");
  RequireTheSameAgain({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return 0;
}
