// SPDX-License-Identifier: BSD-3-Clause
#include "dataplane/run/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rocescope {
namespace {

using testing::HasSubstr;

const RunManifest kManifest = {.scenario = "gray-link",
                               .seed = UINT64_MAX,
                               .epoch = FromNanoseconds(1'750'000'000'000'000'001),
                               .duration = std::chrono::milliseconds(10),
                               .record_interval = std::chrono::milliseconds(1),
                               .analysis_window = std::chrono::milliseconds(2),
                               .counter_period = std::chrono::microseconds(500),
                               .time_scale = 0.01,
                               .ports = {.int_reports = 9555},
                               .telemetry = {.mirror = true, .int_reports = true, .rdma = true}};

std::string ErrorWith(std::string_view what, std::string_view by) {
  std::string text = RenderRunManifest(kManifest);
  const size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  text.replace(at, what.size(), by);
  const auto manifest = ParseRunManifest(text);
  return manifest ? "(none)" : manifest.error().message;
}

TEST(RunManifest, RoundTrips) {
  const auto read = ParseRunManifest(RenderRunManifest(kManifest));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, kManifest);
}

TEST(RunManifest, ParsesTheDocumentedExample) {
  const auto read = ParseRunManifest(R"({
    "schema_version": 1, "scenario": "incast", "seed": 7,
    "epoch_ns": 1750000000000000000, "duration_ns": 10000000,
    "record_interval_ns": 1000000, "analysis_window_ns": 2000000, "counter_period_ns": 0,
    "time_scale": 1,
    "ports": {"int_reports": 32766, "int_md": 555, "sflow": 6343},
    "telemetry": {"mirror": true, "int_reports": false, "sflow": true, "counters": false,
                  "nccl_logs": true, "rdma": false}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->scenario, "incast");
  EXPECT_EQ(read->epoch, FromNanoseconds(1'750'000'000'000'000'000));
  EXPECT_EQ(read->record_interval, std::chrono::milliseconds(1));
  EXPECT_TRUE(read->telemetry.sflow);
  EXPECT_FALSE(read->telemetry.int_reports);
}

TEST(RunManifest, ReportsErrors) {
  EXPECT_THAT(ErrorWith("\"schema_version\": 1", "\"schema_version\": 2"),
              HasSubstr("schema_version: expected an integer from 1 to 1"));
  EXPECT_THAT(ErrorWith("\"seed\"", "\"sead\""), HasSubstr("seed: missing"));
  EXPECT_THAT(ErrorWith("{\n", "{\n\"sead\": 1,"),
              HasSubstr("sead: unknown key; did you mean \"seed\"?"));
  EXPECT_THAT(ErrorWith("9555", "70000"), HasSubstr("ports.int_reports: expected"));
  for (const char* scale : {"0", "-1", "1e308", "1e-300"}) {
    EXPECT_THAT(ErrorWith("0.01", scale),
                HasSubstr("time_scale: expected a number from 1e-9 to 1e9"))
        << scale;
  }
  EXPECT_THAT(ErrorWith("2000000,", "1500000,"),
              HasSubstr("analysis_window_ns: expected a multiple of record_interval_ns"));
  EXPECT_THAT(ErrorWith("\"mirror\": true", "\"mirror\": 1"),
              HasSubstr("telemetry.mirror: expected true or false"));
  EXPECT_THAT(ErrorWith("{\n", "{\n\"seed\": 1,"), HasSubstr("duplicate key \"seed\""));
  EXPECT_THAT(ErrorWith("}", ""), testing::StartsWith("line "));
}

}  // namespace
}  // namespace rocescope
