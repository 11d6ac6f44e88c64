// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/telemetry/counter_readings.h"

#include <fmt/format.h>

#include <utility>

#include "dataplane/run/counter_columns_reader.h"
#include "dataplane/telemetry/counter_line_readings.h"

namespace rocescope {
namespace {

class CounterColumnReadings final : public CounterReadings {
 public:
  CounterColumnReadings(std::unique_ptr<ByteStream> stream, const std::string& name)
      : stream_(std::move(stream)),
        name_(name),
        reader_([this](std::span<uint8_t> out) { return stream_->Read(out); }, name) {}

  Result<const CounterReading*> Next() override {
    const Result<bool> next = reader_.Next(next_);
    if (!next || !*next) {
      if (const Status ended = CheckEnd(*stream_, name_); !ended) {
        return tl::unexpected(ended.error());
      }
    }
    if (!next) return tl::unexpected(next.error());
    if (!*next) return nullptr;
    const CounterColumnsReader::Entity& of = reader_.entity(next_.number);
    reading_ = {.entity = &of.entity,
                .time = next_.time,
                .arrival = next_.arrival,
                .metrics = of.metrics,
                .values = next_.values,
                .group = &reader_.group(next_.number)};
    return &reading_;
  }
  const std::vector<std::string>& notes() const override { return notes_; }

 private:
  std::unique_ptr<ByteStream> stream_;
  const std::string name_;
  CounterColumnsReader reader_;
  CounterColumnsReader::Reading next_;
  CounterReading reading_;
  const std::vector<std::string> notes_;  // none: damage is an error
};

}  // namespace

Status CheckEnd(const ByteStream& stream, const std::string& name) {
  const std::string note = stream.EndNote();
  if (note.empty()) return {};
  return MakeError(ErrorCode::kUnavailable,
                   fmt::format("{}: reading was {}; the readings before it were read", name, note));
}

Result<std::unique_ptr<CounterReadings>> MakeCounterReadings(std::unique_ptr<ByteStream> stream,
                                                             const std::string& name) {
  static_assert(CounterColumnsReader::kHeadBytes <= PeekStream::kMaxPeek);
  auto peeked = std::make_unique<PeekStream>(std::move(stream));
  const auto head = peeked->Peek(CounterColumnsReader::kHeadBytes);
  if (!head) return tl::unexpected(head.error());
  if (CounterColumnsReader::Recognises(*head)) {
    return std::make_unique<CounterColumnReadings>(std::move(peeked), name);
  }
  return std::make_unique<CounterLineReadings>(std::move(peeked), name);
}

}  // namespace rocescope
