// SPDX-License-Identifier: BSD-3-Clause
// Examples adapted from Prometheus' documentation of its exposition formats.
#include "dataplane/telemetry/prometheus_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

struct Kept {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value;
  std::optional<int64_t> time_ms;
};

std::vector<Kept> Parse(std::string_view text, uint64_t broken = 0) {
  std::vector<Kept> kept;
  const PrometheusLines lines = ParsePrometheusText(text, [&](const PrometheusSample& sample) {
    Kept& one = kept.emplace_back(
        Kept{.name = std::string(sample.name), .value = sample.value, .time_ms = sample.time_ms});
    for (const auto& [name, value] : sample.labels) one.labels.emplace_back(name, value);
  });
  EXPECT_EQ(lines.samples, kept.size());
  EXPECT_EQ(lines.broken, broken) << lines.first_broken;
  return kept;
}

TEST(PrometheusText, FindsALabelByItsName) {
  std::vector<std::string> found;
  ParsePrometheusText("a{b=\"1\",c=\"2\"} 3\n", [&](const PrometheusSample& sample) {
    found = {std::string(sample.Label("c")), std::string(sample.Label("d"))};
  });
  EXPECT_THAT(found, ElementsAre("2", ""));
}

TEST(PrometheusText, ParsesNamesLabelsValuesAndTimes) {
  const auto samples = Parse(
      "# HELP http_requests_total The total number of HTTP requests.\n"
      "# TYPE http_requests_total counter\n"
      "http_requests_total{method=\"post\",code=\"200\"} 1027 1395066363000\n"
      "\n"
      "metric_without_timestamp_and_labels 12.47\n"
      "something_weird{problem=\"division by zero\"} +Inf -3982045\n");
  ASSERT_THAT(samples, SizeIs(3));
  EXPECT_EQ(samples[0].name, "http_requests_total");
  EXPECT_THAT(samples[0].labels, ElementsAre(Pair("method", "post"), Pair("code", "200")));
  EXPECT_EQ(samples[0].value, 1027);
  EXPECT_EQ(samples[0].time_ms, 1395066363000);
  EXPECT_EQ(samples[1].value, 12.47);
  EXPECT_EQ(samples[1].time_ms, std::nullopt);
  EXPECT_TRUE(std::isinf(samples[2].value));
}

TEST(PrometheusText, LimitsTimesToInt64Nanoseconds) {
  const auto samples = Parse(
      "a 1 9000000000000\n"
      "a 1 -9000000000000\n"
      "a 1 9000000000001\n"
      "a 1 -9e15\n"
      "a 1 1e10\n"  // seconds
      "a 1 NaN\n",
      4);
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[0].time_ms, 9'000'000'000'000);
  EXPECT_EQ(samples[1].time_ms, -9'000'000'000'000);
}

TEST(PrometheusText, ParsesEscapesInLabelValues) {
  const auto samples = Parse(
      "msdos_file_access_time_seconds{path=\"C:\\\\DIR\\\\FILE.TXT\",error=\"Cannot find "
      "file:\\n\\\"FILE.TXT\\\"\"} 1.458255915e9\n");
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_THAT(samples[0].labels, ElementsAre(Pair("path", "C:\\DIR\\FILE.TXT"),
                                             Pair("error", "Cannot find file:\n\"FILE.TXT\"")));
  EXPECT_EQ(samples[0].value, 1.458255915e9);
}

TEST(PrometheusText, ParsesCommonPartOfOpenMetrics) {
  const auto samples = Parse(
      "foo_total 17.0 1520879607.789\n"
      "foo_bucket{le=\"0.1\"} 8 # {trace_id=\"a\"} 0.07\n"
      "# EOF\n");
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_EQ(samples[0].time_ms, 1520879607789);
  EXPECT_EQ(samples[1].value, 8);
}

TEST(PrometheusText, IgnoresBlanksAndTrailingCommas) {
  const auto samples = Parse("  a { b = \"c\" , } \t 1 \r\nd 2");
  ASSERT_THAT(samples, SizeIs(2));
  EXPECT_THAT(samples[0].labels, ElementsAre(Pair("b", "c")));
  EXPECT_EQ(samples[1].name, "d");
}

TEST(PrometheusText, SkipsInvalidLines) {
  EXPECT_THAT(
      Parse("a\n{b=\"c\"} 1\n9a 1\na{b=c} 1\na{b=\"c} 1\na 1 2 3\na x\na 1 x\na{b=\"c\"\nok 1\n",
            9),
      SizeIs(1));
}

TEST(PrometheusText, SkipsLinesWithLabelsThatAreNotUtf8) {
  const auto samples = Parse(
      "a{b=\"lea\xff"
      "9\"} 1\na{b=\"\xe2\x82\"} 1\na{b=\"\xe2\x82\xac\"} 1\n",
      2);
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_THAT(samples[0].labels, ElementsAre(Pair("b", "\xe2\x82\xac")));
}

}  // namespace
}  // namespace rocescope
