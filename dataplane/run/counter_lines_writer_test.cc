// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/counter_lines_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataplane/run/counter_columns_fixture.h"
#include "dataplane/run/counter_line.h"

namespace rocescope {
namespace {

using testing::HasSubstr;

TEST(CounterLinesWriter, WritesTheDocumentedLines) {
  const TemporaryPath file("lines.jsonl");
  const auto writer = CounterLinesWriter::Open(file.path()).value();
  const std::vector<Metric> port = {Metric::kQueueBytes, Metric::kPfcRx};
  const std::vector<Metric> gpu = {Metric::kTemperature};
  EXPECT_EQ(writer->Announce({.priority = 3, .node = "leaf0", .port = "Ethernet4"}, port), 0u);
  EXPECT_EQ(writer->Announce({.kind = EntityKind::kGpu, .index = 7, .node = "h\"1"}, gpu), 1u);
  const std::vector<uint64_t> of_port = {4096, UINT64_MAX};
  const std::vector<uint64_t> of_gpu = {61};
  writer->Append(0, FromNanoseconds(20), FromNanoseconds(20), of_port);
  writer->Append(1, FromNanoseconds(15), FromNanoseconds(21), of_gpu);
  ASSERT_TRUE(writer->Close());
  EXPECT_EQ(
      file.Content(),
      R"({"time_ns":20,"kind":"port","entity":{"node":"leaf0","port":"Ethernet4","priority":3},)"
      R"("metrics":{"pfc_rx":18446744073709551615,"queue_bytes":4096}})"
      "\n"
      R"({"time_ns":15,"arrival_ns":21,"kind":"gpu","entity":{"node":"h\"1","index":7},)"
      R"("metrics":{"temperature":61}})"
      "\n");
}

TEST(CounterLinesWriter, WritesTheLinesOfAppendCounterLine) {
  const CounterLine line = {.time = FromNanoseconds(7),
                            .arrival = FromNanoseconds(6),
                            .entity = {.kind = EntityKind::kNic, .node = "h\n", .port = "mlx5_0"},
                            .metrics = {{Metric::kPfcTx, 0}, {Metric::kRxBytes, 5}}};
  std::string expected;
  AppendCounterLine(line, expected);
  const TemporaryPath file("same.jsonl");
  const auto writer = CounterLinesWriter::Open(file.path()).value();
  const std::vector<Metric> metrics = {Metric::kPfcTx, Metric::kRxBytes};
  const std::vector<uint64_t> values = {0, 5};
  writer->Append(writer->Announce(line.entity, metrics), line.time, *line.arrival, values);
  ASSERT_TRUE(writer->Close());
  EXPECT_EQ(file.Content(), expected);
}

TEST(CounterLinesWriter, ReportsTheFirstError) {
  const TemporaryPath file("refused.jsonl");
  const auto writer = CounterLinesWriter::Open(file.path()).value();
  const std::vector<Metric> metrics = {Metric::kPfcTx};
  writer->Announce({.node = "leaf0"}, metrics);
  writer->Append(5, FromNanoseconds(1), FromNanoseconds(1), {});
  const Status closed = writer->Close();
  ASSERT_FALSE(closed);
  EXPECT_THAT(closed.error().message, HasSubstr("refused.jsonl: entity 0: port: expected a name"));
  const auto full = CounterLinesWriter::Open("/dev/full").value();
  const std::vector<uint64_t> values = {1};
  full->Append(full->Announce({.node = "leaf0", .port = "1"}, metrics), FromNanoseconds(1),
               FromNanoseconds(1), values);
  const Status failed = full->Close();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kResourceExhausted);
}

}  // namespace
}  // namespace rocescope
