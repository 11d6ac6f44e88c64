// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/counter_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

constexpr std::string_view kPort =
    R"({"time_ns":1750000000000000001,"kind":"port","entity":{"node":"leaf0","port":"Ethernet4",)"
    R"("priority":3},"metrics":{"pfc_rx":12}})";

std::string Replaced(std::string_view what, std::string_view by) {
  std::string text(kPort);
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

std::string ErrorOf(const std::string& text) {
  const auto line = ParseCounterLine(text);
  return line ? "(none)" : line.error().message;
}

TEST(CounterLine, ParsesTheDocumentedExample) {
  const auto line = ParseCounterLine(kPort);
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(ToNanoseconds(line->time), 1750000000000000001) << "to the last digit";
  EXPECT_EQ(line->entity.kind, EntityKind::kPort);
  EXPECT_EQ(line->entity.node, "leaf0");
  EXPECT_EQ(line->entity.port, "Ethernet4");
  EXPECT_EQ(line->entity.priority, 3u);
  EXPECT_THAT(line->metrics, ElementsAre(Pair(Metric::kPfcRx, 12u)));
}

TEST(CounterLine, SupportsEveryKindOfEntity) {
  EXPECT_TRUE(ParseCounterLine(
      R"({"time_ns":0,"kind":"nic","entity":{"node":"h1","port":"mlx5_0"},"metrics":{"out_of_sequence":1}})"));
  const auto gpu = ParseCounterLine(
      R"({"time_ns":0,"kind":"gpu","entity":{"node":"h1","index":7},"metrics":{"gpu_busy":1}})");
  ASSERT_TRUE(gpu);
  EXPECT_EQ(gpu->entity.index, 7u);
  EXPECT_TRUE(ParseCounterLine(
      R"({"time_ns":0,"kind":"host","entity":{"node":"h1"},"metrics":{"cpu_busy":1}})"));
}

TEST(CounterLine, RoundTrips) {
  const CounterLine of_port = {.time = FromNanoseconds(7),
                               .entity = {.priority = 0, .node = "leaf \"0\"", .port = "p\n"},
                               .metrics = {{Metric::kRxBytes, UINT64_MAX}, {Metric::kPfcTx, 0}}};
  const CounterLine of_gpu = {.time = kLatestTime,
                              .entity = {.kind = EntityKind::kGpu, .index = 0, .node = "h"},
                              .metrics = {{Metric::kEnergy, 1}}};
  for (const CounterLine& line : {of_port, of_gpu}) {
    std::string text;
    AppendCounterLine(line, text);
    EXPECT_EQ(text.find('\n'), text.size() - 1);
    text.pop_back();
    const auto read = ParseCounterLine(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->time, line.time);
    EXPECT_EQ(read->entity, line.entity);
    EXPECT_EQ(read->metrics, line.metrics);
  }
  std::string text;
  AppendCounterLine(*ParseCounterLine(kPort), text);
  EXPECT_EQ(text, std::string(kPort) + "\n");
}

TEST(CounterLine, HasAnOptionalTimeOfArrival) {
  const auto without = ParseCounterLine(kPort);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->arrival, std::nullopt);
  EXPECT_EQ(without->Arrival(), without->time);
  for (const char* arrival : {"1750000000000000009", "1749999999999999999"}) {
    const std::string text =
        Replaced("\"kind\"", std::string("\"arrival_ns\":") + arrival + ",\"kind\"");
    const auto line = ParseCounterLine(text);
    ASSERT_TRUE(line) << line.error().message;
    EXPECT_EQ(std::to_string(ToNanoseconds(line->Arrival())), arrival);
    std::string written;
    AppendCounterLine(*line, written);
    EXPECT_EQ(written, text + "\n");
  }
  const auto equal =
      ParseCounterLine(Replaced("\"kind\"", "\"arrival_ns\":1750000000000000001,\"kind\""));
  ASSERT_TRUE(equal);
  EXPECT_EQ(equal->arrival, std::nullopt);
  EXPECT_THAT(ErrorOf(Replaced("\"kind\"", "\"arrival_ns\":-1,\"kind\"")),
              HasSubstr("arrival_ns: expected an integer"));
}

TEST(CounterLine, WritesMetricsInTheOrderOfTheTable) {
  const CounterLine line = {.time = FromNanoseconds(1),
                            .entity = {.node = "leaf0", .port = "1"},
                            .metrics = {{Metric::kPfcTx, 2}, {Metric::kRxBytes, 3}}};
  std::string text;
  AppendCounterLine(line, text);
  EXPECT_THAT(text, HasSubstr(R"("metrics":{"rx_bytes":3,"pfc_tx":2}})"));
}

TEST(CounterLine, ReportsErrors) {
  EXPECT_THAT(ErrorOf(Replaced("\"kind\":\"port\"", "\"kind\":\"prot\"")),
              HasSubstr("kind: expected one of port, nic, gpu, host"));
  EXPECT_THAT(ErrorOf(Replaced("priority\":3", "priority\":8")),
              HasSubstr("entity.priority: expected an integer from 0 to 7"));
  EXPECT_THAT(ErrorOf(Replaced("priority", "priorty")),
              HasSubstr("entity.priorty: unknown key; did you mean \"priority\"?"));
  EXPECT_THAT(ErrorOf(Replaced("pfc_rx\":12", "pfc_rx\":-1")),
              HasSubstr("metrics.pfc_rx: expected an integer"));
  EXPECT_THAT(ErrorOf(Replaced("pfc_rx\":12", "pfc_rx\":1.5")),
              HasSubstr("metrics.pfc_rx: expected an integer"));
  EXPECT_THAT(ErrorOf(Replaced("pfc_rx", "pfc")), HasSubstr("metrics: unknown metric \"pfc\""));
  EXPECT_THAT(ErrorOf(Replaced("\"pfc_rx\":12", "")), HasSubstr("metrics: expected at least one"));
  EXPECT_THAT(ErrorOf(Replaced("\"node\":\"leaf0\",", "")), HasSubstr("entity.node: missing"));
  EXPECT_THAT(ErrorOf(Replaced("\"port\":\"Ethernet4\",", "")), HasSubstr("entity.port: missing"));
  EXPECT_THAT(ErrorOf(Replaced("1750000000000000001", "-5")), HasSubstr("time_ns: expected"));
  EXPECT_THAT(ErrorOf(Replaced("\"pfc_rx\":12", "\"pfc_rx\":12,\"pfc_rx\":13")),
              HasSubstr("duplicate key \"pfc_rx\""));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(ErrorOf("{"), testing::StartsWith("column 2: "));
}

}  // namespace
}  // namespace rocescope
