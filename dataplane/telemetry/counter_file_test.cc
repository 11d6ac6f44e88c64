// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/telemetry/counter_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Delivers a few bytes at a time.
class TextStream final : public ByteStream {
 public:
  TextStream(std::string text, size_t at_a_time) : text_(std::move(text)), at_a_time_(at_a_time) {}
  Result<size_t> Read(std::span<uint8_t> out) override {
    const size_t count = std::min({out.size(), at_a_time_, text_.size() - at_});
    std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(at_), count, out.begin());
    at_ += count;
    return count;
  }

 private:
  std::string text_;
  size_t at_a_time_;
  size_t at_ = 0;
};

// Ends like a file whose reading a signal interrupts.
class InterruptedStream final : public ByteStream {
 public:
  explicit InterruptedStream(std::string text) : text_(std::move(text), SIZE_MAX) {}
  Result<size_t> Read(std::span<uint8_t> out) override { return text_.Read(out); }
  std::string EndNote() const override { return "interrupted by a signal"; }

 private:
  TextStream text_;
};

CounterFile FileOf(std::string text, size_t at_a_time = SIZE_MAX) {
  return {std::make_unique<TextStream>(std::move(text), at_a_time), "counters.jsonl"};
}

std::string Line(int64_t time_ns, uint64_t value, const std::string& metric = "pfc_rx") {
  return R"({"time_ns":)" + std::to_string(time_ns) +
         R"(,"kind":"port","entity":{"node":"leaf0","port":"Ethernet4","priority":3},"metrics":{")" +
         metric + "\":" + std::to_string(value) + "}}\n";
}

TEST(CounterFile, ReturnsTheTimeOfTheNextReading) {
  CounterFile file = FileOf(Line(5, 10));
  const auto time = file.NextTime();
  ASSERT_TRUE(time);
  EXPECT_EQ(*time, FromNanoseconds(5));
  for (const char* text : {"", "{\n"}) {  // an invalid line is not a reading
    const auto none = FileOf(text).NextTime();
    ASSERT_TRUE(none);
    EXPECT_EQ(*none, std::nullopt);
  }
}

TEST(CounterFile, IgnoresLinesOfOtherEntities) {
  CounterFile file = FileOf(
      Line(1, 10) +
      R"({"time_ns":2,"kind":"gpu","entity":{"node":"host0","index":0},"metrics":{"temperature":9}})"
      "\n" +
      Line(3, 11));
  file.KeepOnly(EntityKind::kPort);
  RecordBatch out;
  ASSERT_TRUE(file.TakeUntil(Timestamp::max(), out));
  ASSERT_EQ(out.counters.size(), 2u);
  EXPECT_EQ(out.counters[1].value, 11u);
  EXPECT_EQ(file.left_out(), 1u);
  EXPECT_EQ(file.ledger().received, 2u);
}

TEST(CounterFile, DoesNotBlameTheFileForAnInterruptedReading) {
  const std::string text = Line(1, 10) + Line(2, 11);
  CounterFile file(std::make_unique<InterruptedStream>(text.substr(0, text.size() - 9)),
                   "counters.jsonl");
  RecordBatch out;
  const Result<bool> taken = file.TakeUntil(Timestamp::max(), out);
  ASSERT_FALSE(taken);
  EXPECT_EQ(
      taken.error().message,
      "counters.jsonl: reading was interrupted by a signal; the readings before it were read");
  EXPECT_EQ(out.counters.size(), 1u);
  EXPECT_EQ(file.ledger().DroppedTotal(), 0u) << "the incomplete line";
  EXPECT_FALSE(file.TakeUntil(Timestamp::max(), out).value()) << "at its end";
}

TEST(CounterFile, EmitsARecordPerMetric) {
  CounterFile file = FileOf(
      R"({"time_ns":50,"kind":"port","entity":{"node":"leaf0","port":"Ethernet4","priority":3},)"
      R"("metrics":{"queue_bytes":4096,"pfc_rx":18446744073709551615}})"
      "\n");
  RecordBatch out;
  ASSERT_TRUE(file.TakeUntil(Timestamp::max(), out));
  ASSERT_EQ(out.counters.size(), 2u);
  const CounterRecord& record = out.counters[0];
  EXPECT_EQ(record.entity.kind, EntityKind::kPort);
  EXPECT_EQ(record.entity.node, "leaf0");
  EXPECT_EQ(record.entity.port, "Ethernet4");
  EXPECT_EQ(record.entity.priority, 3u);
  EXPECT_EQ(record.metric, Metric::kPfcRx);
  EXPECT_EQ(record.value, UINT64_MAX);
  EXPECT_EQ(record.event_time, FromNanoseconds(50));
  EXPECT_EQ(out.counters[1].metric, Metric::kQueueBytes);
  EXPECT_EQ(file.records(), 2u);
}

TEST(CounterFile, ReturnsLinesUpToATime) {
  CounterFile file = FileOf(Line(10, 1) + Line(20, 2) + Line(30, 3));
  RecordBatch out;
  ASSERT_TRUE(file.TakeUntil(FromNanoseconds(9), out));
  EXPECT_EQ(out.counters.size(), 0u);
  ASSERT_TRUE(file.TakeUntil(FromNanoseconds(20), out));
  EXPECT_EQ(out.counters.size(), 2u);
  EXPECT_EQ(file.ledger().received, 2u) << "the third line was read but not processed";
  ASSERT_TRUE(file.TakeUntil(Timestamp::max(), out));
  EXPECT_EQ(out.counters.size(), 3u);
}

TEST(CounterFile, ReturnsLinesByTheirArrival) {
  const auto arriving = [](const char* times) {
    return std::string("{") + times +
           R"(,"kind":"host","entity":{"node":"h"},"metrics":{"cpu_busy":1}})"
           "\n";
  };
  CounterFile file =
      FileOf(arriving(R"("time_ns":10,"arrival_ns":30)") + arriving(R"("time_ns":40)") +
             arriving(R"("time_ns":55,"arrival_ns":50)"));
  RecordBatch out;
  ASSERT_TRUE(file.TakeUntil(FromNanoseconds(29), out));
  EXPECT_EQ(out.counters.size(), 0u);
  ASSERT_TRUE(file.TakeUntil(FromNanoseconds(30), out));
  ASSERT_EQ(out.counters.size(), 1u);
  EXPECT_EQ(out.counters[0].event_time, FromNanoseconds(10));
  EXPECT_EQ(out.counters[0].arrival_time, FromNanoseconds(30));
  ASSERT_TRUE(file.TakeUntil(FromNanoseconds(50), out));
  ASSERT_EQ(out.counters.size(), 3u);
  EXPECT_EQ(out.counters[1].arrival_time, FromNanoseconds(40)) << "by default the timestamp";
  EXPECT_EQ(out.counters[2].event_time, FromNanoseconds(55)) << "by another clock";
}

TEST(CounterFile, IsIndependentOfReadSizes) {
  const std::string text = "\n" + Line(10, 1) + "{\n" + Line(20, 2) + "\r\n" + Line(30, 3) + "x";
  for (const size_t at_a_time : {1u, 7u, 100u, 100'000u}) {
    CounterFile file = FileOf(text, at_a_time);
    RecordBatch out;
    ASSERT_TRUE(file.TakeUntil(Timestamp::max(), out));
    EXPECT_EQ(out.counters.size(), 3u);
    EXPECT_EQ(file.ledger().received, 5u);
    EXPECT_TRUE(file.ledger().Balances());
    EXPECT_THAT(file.notes(),
                ElementsAre(HasSubstr("counters.jsonl:3: "), HasSubstr("counters.jsonl:7: ")));
  }
}

TEST(CounterFile, StopsAtTheLineLimit) {
  CounterFile file = FileOf(Line(10, 1) + Line(20, 2) + Line(30, 3));
  RecordBatch out;
  EXPECT_TRUE(file.TakeUntil(Timestamp::max(), out, 2).value());
  EXPECT_EQ(out.counters.size(), 2u);
  EXPECT_FALSE(file.TakeUntil(Timestamp::max(), out, 2).value());
  EXPECT_EQ(out.counters.size(), 3u);
}

TEST(CounterFile, CountsLinesOutsideTheWindowAsFiltered) {
  CounterFile file = FileOf(Line(10, 1) + Line(20, 2) + Line(30, 3));
  file.KeepWithin({.first = FromNanoseconds(15), .last = FromNanoseconds(25)});
  RecordBatch out;
  ASSERT_TRUE(file.TakeUntil(Timestamp::max(), out));
  EXPECT_EQ(out.counters.size(), 1u);
  EXPECT_EQ(file.ledger().filtered, 2u);
  EXPECT_TRUE(file.ledger().Balances());
}

TEST(CounterFile, LimitsLineLengthAndNotes) {
  std::string text = std::string(1'000'000, 'x') + "\n" + Line(10, 1);
  for (int i = 0; i < 100; ++i) text += "{}\n";
  CounterFile file = FileOf(text, 4096);
  RecordBatch out;
  ASSERT_TRUE(file.TakeUntil(Timestamp::max(), out));
  EXPECT_EQ(out.counters.size(), 1u);
  EXPECT_EQ(file.ledger().received, 102u);
  EXPECT_EQ(file.ledger().dropped[static_cast<size_t>(DropReason::kBadCounters)], 101u);
  EXPECT_EQ(file.notes().size(), CounterFile::kMaxNotes);
  EXPECT_THAT(file.notes()[0],
              HasSubstr("counters.jsonl:1: line exceeds the maximum length of 16384 bytes"));
  EXPECT_THAT(file.notes()[1], HasSubstr("counters.jsonl:3: "));
}

TEST(CounterFile, ReportsMissingPath) {
  const auto file = CounterFile::Open("/nonexistent/counters.jsonl");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("/nonexistent/counters.jsonl"));
}

}  // namespace
}  // namespace rocescope
