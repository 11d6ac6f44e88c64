// SPDX-License-Identifier: BSD-3-Clause
// counters.jsonl: the records do not depend on how the bytes are split, and written lines parse to
// the same records. Byte 0: the number of 16-byte units per read.
#include <algorithm>
#include <memory>
#include <span>
#include <string>

#include "dataplane/run/counter_columns_reader.h"
#include "dataplane/run/counter_line.h"
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
  Require(file.TakeUntil(FromNanoseconds(1000), read.records).has_value(), "no read error");
  Require(file.TakeUntil(Timestamp::max(), read.records).has_value(), "no read error");
  read.ledger = file.ledger();
  Require(read.ledger.Balances(), "the ledger balances");
  Require(file.records() == read.records.counters.size(), "every record is counted");
  Require(
      file.notes().size() == std::min<uint64_t>(read.ledger.DroppedTotal(), CounterFile::kMaxNotes),
      "the notes are bounded and count each line");
  return read;
}

void RequireTheSameAgain(std::string_view text) {
  const auto line = ParseCounterLine(text);
  if (!line) return;
  std::string written;
  AppendCounterLine(*line, written);
  Require(written.ends_with('\n'), "a line ends with a newline");
  const auto again = ParseCounterLine(std::string_view(written).substr(0, written.size() - 1));
  Require(again.has_value(), "the written line is valid");
  Require(
      again->time == line->time && again->entity == line->entity && again->metrics == line->metrics,
      "the written line is equivalent");
}

}  // namespace
}  // namespace rocescope

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocescope;
  if (size == 0) return 0;
  const std::span<const uint8_t> bytes(data + 1, size - 1);
  if (CounterColumnsReader::Recognises(bytes)) return 0;  // fuzz_counter_columns reads these
  const Read whole = ReadAll(bytes, SIZE_MAX);
  const Read parts = ReadAll(bytes, (size_t{data[0]} + 1) * 16);
  Require(whole.ledger == parts.ledger, "the ledger does not depend on the split");
  Require(whole.records.counters.size() == parts.records.counters.size(),
          "the records do not depend on the split");
  RequireTheSameAgain({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return 0;
}
