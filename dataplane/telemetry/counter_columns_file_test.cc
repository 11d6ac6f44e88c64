// SPDX-License-Identifier: BSD-3-Clause
// CounterFile gives the same records for counters.columns as for counters.jsonl.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "dataplane/run/counter_columns.h"
#include "dataplane/run/counter_lines_writer.h"
#include "dataplane/telemetry/counter_file.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// Both forms of one recording: ports and GPUs, with readings that arrive late.
class CounterForms : public testing::Test {
 protected:
  CounterForms() {
    const auto lines = CounterLinesWriter::Open(lines_).value();
    const auto columns = CounterColumnsWriter::Open(columns_).value();
    for (CounterSink* sink :
         {static_cast<CounterSink*>(lines.get()), static_cast<CounterSink*>(columns.get())}) {
      Write(*sink);
    }
    EXPECT_TRUE(lines->Close());
    EXPECT_TRUE(columns->Close());
  }
  ~CounterForms() override {
    std::error_code ignored;
    for (const std::string& path : {lines_, columns_}) std::filesystem::remove(path, ignored);
  }

  static void Write(CounterSink& sink) {
    const std::vector<Metric> of_port = {Metric::kTxBytes, Metric::kRxBytes, Metric::kLinkUp};
    const std::vector<Metric> of_gpu = {Metric::kTemperature};
    for (int i = 0; i < kPorts; ++i) {
      sink.Announce({.node = "leaf0", .port = "Ethernet" + std::to_string(i)}, of_port);
    }
    sink.Announce({.kind = EntityKind::kGpu, .index = 0, .node = "host0"}, of_gpu);
    std::mt19937_64 random(3);
    uint64_t bytes = 0;
    for (int64_t round = 0; round < kRounds; ++round) {
      const Timestamp arrival = FromNanoseconds(round * 1000);
      for (uint32_t i = 0; i < kPorts; ++i) {
        const std::vector<uint64_t> values = {bytes += random() % 5000, bytes / 2, 1};
        const auto delay = static_cast<int64_t>(random() % 700);
        sink.Append(i, std::max(arrival - Duration(delay), FromNanoseconds(0)), arrival, values);
      }
      const std::vector<uint64_t> values = {60 + random() % 10};
      sink.Append(kPorts, arrival, arrival, values);
    }
  }

  static constexpr int kPorts = 4;
  static constexpr int64_t kRounds = 50;
  const std::string lines_ = testing::TempDir() + std::to_string(getpid()) + "_forms.jsonl";
  const std::string columns_ = testing::TempDir() + std::to_string(getpid()) + "_forms.columns";
};

std::string Text(const CounterRecord& record) {
  return std::string(InfoOf(record.entity.kind).name) + " " + record.entity.node + ":" +
         record.entity.port + " " + std::to_string(record.entity.index) + " " +
         std::string(InfoOf(record.metric).name) + "=" + std::to_string(record.value) + " at " +
         std::to_string(ToNanoseconds(record.event_time)) + " arrived " +
         std::to_string(ToNanoseconds(record.arrival_time));
}

std::vector<std::string> Texts(const RecordBatch& batch) {
  std::vector<std::string> texts;
  for (const CounterRecord& record : batch.counters) texts.push_back(Text(record));
  std::sort(texts.begin(), texts.end());  // lines have the metrics in the order of the table
  return texts;
}

TEST_F(CounterForms, GiveTheSameRecordsUpToEachTime) {
  const auto lines = CounterFile::Open(lines_).value();
  const auto columns = CounterFile::Open(columns_).value();
  RecordBatch of_lines;
  RecordBatch of_columns;
  for (int64_t until = 0; until < kRounds * 1000; until += 777) {
    for (const size_t most : {size_t{2}, SIZE_MAX}) {
      const Result<bool> more = lines->TakeUntil(FromNanoseconds(until), of_lines, most);
      ASSERT_TRUE(more);
      EXPECT_EQ(columns->TakeUntil(FromNanoseconds(until), of_columns, most).value(), *more);
      EXPECT_EQ(Texts(of_lines), Texts(of_columns));
      EXPECT_EQ(lines->ledger(), columns->ledger());
    }
  }
  EXPECT_FALSE(lines->TakeUntil(Timestamp::max(), of_lines).value());
  EXPECT_FALSE(columns->TakeUntil(Timestamp::max(), of_columns).value());
  EXPECT_EQ(Texts(of_lines), Texts(of_columns));
  EXPECT_EQ(columns->ledger().received, static_cast<uint64_t>((kPorts + 1) * kRounds));
  EXPECT_EQ(columns->records(), static_cast<uint64_t>((3 * kPorts + 1) * kRounds));
}

TEST_F(CounterForms, GroupsHaveTheSameValuesAsRecords) {
  const auto file = CounterFile::Open(columns_).value();
  const auto with_groups = CounterFile::Open(columns_).value();
  with_groups->EmitGroups();
  RecordBatch records;
  RecordBatch groups;
  ASSERT_TRUE(file->TakeUntil(Timestamp::max(), records));
  ASSERT_TRUE(with_groups->TakeUntil(Timestamp::max(), groups));
  EXPECT_THAT(groups.counters, IsEmpty());
  EXPECT_EQ(groups.readings.size(), static_cast<size_t>((kPorts + 1) * kRounds));
  RecordBatch expanded;
  for (const ReadingRecord& reading : groups.readings) {
    for (size_t i = 0; i < reading.group->metrics.size(); ++i) {
      expanded.counters.push_back({.entity = reading.group->entity,
                                   .metric = reading.group->metrics[i],
                                   .value = groups.ValuesOf(reading)[i],
                                   .event_time = reading.event_time,
                                   .arrival_time = reading.arrival_time});
    }
  }
  EXPECT_EQ(Texts(expanded), Texts(records));
  EXPECT_EQ(with_groups->records(), file->records());
  EXPECT_EQ(with_groups->ledger(), file->ledger());
}

TEST_F(CounterForms, FilterAlike) {
  for (const std::string& path : {lines_, columns_}) {
    const auto file = CounterFile::Open(path).value();
    file->KeepOnly(EntityKind::kPort);
    file->KeepWithin({.first = FromNanoseconds(10'000), .last = FromNanoseconds(19'999)});
    RecordBatch batch;
    ASSERT_TRUE(file->TakeUntil(Timestamp::max(), batch));
    EXPECT_EQ(file->left_out(), static_cast<uint64_t>(kRounds));
    EXPECT_EQ(file->ledger().decoded, static_cast<uint64_t>(10 * kPorts)) << "by arrival";
    EXPECT_TRUE(file->ledger().Balances());
    EXPECT_EQ(batch.counters.size(), 3u * 10 * kPorts);
  }
}

TEST_F(CounterForms, ATruncatedFileOfColumnsIsAnErrorAfterItsReadings) {
  std::ifstream in(columns_, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  text.resize(text.size() - 12);
  std::ofstream(columns_, std::ios::binary) << text;
  const auto file = CounterFile::Open(columns_).value();
  RecordBatch batch;
  const Result<bool> taken = file->TakeUntil(Timestamp::max(), batch);
  ASSERT_FALSE(taken);
  EXPECT_THAT(taken.error().message,
              HasSubstr(columns_ + ": block 2 at byte " + std::to_string(text.size()) +
                        ": missing: the file has no end mark"));
  EXPECT_EQ(batch.counters.size(), static_cast<size_t>((3 * kPorts + 1) * kRounds));
  EXPECT_FALSE(file->TakeUntil(Timestamp::max(), batch).value()) << "at its end";
  EXPECT_THAT(file->notes(), IsEmpty());
}

// Ends like a file whose reading a signal interrupts.
class InterruptedColumns final : public ByteStream {
 public:
  explicit InterruptedColumns(std::string text) : text_(std::move(text)) {}
  Result<size_t> Read(std::span<uint8_t> out) override {
    const size_t count = std::min(out.size(), text_.size() - at_);
    std::copy_n(text_.begin() + static_cast<std::ptrdiff_t>(at_), count, out.begin());
    at_ += count;
    return count;
  }
  std::string EndNote() const override { return "interrupted by a signal"; }

 private:
  std::string text_;
  size_t at_ = 0;
};

TEST_F(CounterForms, AnInterruptedReadingIsNotAMissingEndMark) {
  std::ifstream in(columns_, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  text.resize(text.size() - 12);
  CounterFile file(std::make_unique<InterruptedColumns>(text), "counters.columns");
  RecordBatch batch;
  const Result<bool> taken = file.TakeUntil(Timestamp::max(), batch);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message,
            "counters.columns: reading was interrupted by a signal; the readings before it were "
            "read");
  EXPECT_EQ(batch.counters.size(), static_cast<size_t>((3 * kPorts + 1) * kRounds));
}

}  // namespace
}  // namespace rocescope
