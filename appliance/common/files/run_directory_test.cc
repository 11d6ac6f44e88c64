// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace rocescope {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RunDirectoryTest : public testing::Test {
 protected:
  RunDirectoryTest() {
    const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::path(testing::TempDir()) /
              ("rocescope_" + std::string(test.name()) + "_" + std::to_string(getpid()));
    fs::create_directories(folder_);
    manifest_.scenario = "test";
    manifest_.duration = std::chrono::seconds(1);
    manifest_.record_interval = std::chrono::milliseconds(1);
    manifest_.analysis_window = std::chrono::milliseconds(1);
  }
  ~RunDirectoryTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  void Write(const std::string& name, std::string_view text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  Result<RunDirectory> Open(const RunParts& parts = {}) {
    Write("run.json", RenderRunManifest(manifest_));
    return OpenRunDirectory(folder_.string(), parts);
  }
  std::string PathOf(const std::string& name) { return (folder_ / name).string(); }

  fs::path folder_;
  RunManifest manifest_;
};

TEST_F(RunDirectoryTest, FindsExistingParts) {
  Write("int.pcap", "");
  Write("mirror.pcap", "");
  Write("counters.jsonl", "");
  Write("nccl/h0-1.log", "");
  Write("slurm.json", "");
  Write("truth.json", "");
  const auto run = Open();
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->manifest, manifest_);
  EXPECT_THAT(run->captures, ElementsAre(PathOf("mirror.pcap"), PathOf("int.pcap")));
  EXPECT_EQ(run->counters, PathOf("counters.jsonl"));
  EXPECT_THAT(run->nccl_logs, ElementsAre(PathOf("nccl")));
  EXPECT_THAT(run->rdma, IsEmpty());
  EXPECT_THAT(run->slurm, ElementsAre(PathOf("slurm.json")));
  EXPECT_THAT(run->notes, IsEmpty());
}

TEST_F(RunDirectoryTest, NotesMissingParts) {
  manifest_.telemetry.sflow = true;
  const auto run = Open();
  ASSERT_TRUE(run);
  EXPECT_THAT(run->notes,
              ElementsAre(HasSubstr(PathOf("sflow.pcap") + ": listed in run.json but missing")));
}

TEST_F(RunDirectoryTest, IgnoresUnselectedParts) {
  manifest_.telemetry.sflow = true;
  Write("mirror.pcap", "");
  Write("int.pcap", "");
  const auto run = Open({.mirror = MirrorSessions::kNone, .sflow = false});
  ASSERT_TRUE(run);
  EXPECT_THAT(run->captures, ElementsAre(PathOf("int.pcap")));
  EXPECT_THAT(run->notes, IsEmpty());
}

TEST_F(RunDirectoryTest, FindsCountersInEitherForm) {
  Write("counters.columns", "");
  const auto run = Open();
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->counters, PathOf("counters.columns"));

  Write("counters.jsonl", "");
  const auto both = Open();
  ASSERT_FALSE(both) << "they could contain different readings";
  EXPECT_THAT(both.error().message,
              HasSubstr(folder_.string() + ": contains both counters.jsonl and counters.columns"));
  const auto neither = Open({.counters = false});
  ASSERT_TRUE(neither) << neither.error().message;
  EXPECT_EQ(neither->counters, "");
}

TEST_F(RunDirectoryTest, ReportsAMissingOrInvalidManifest) {
  const auto missing = OpenRunDirectory(folder_.string());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().message,
              HasSubstr(folder_.string() + ": directory without a run.json"));
  Write("run.json", "{}");
  const auto wrong = OpenRunDirectory(folder_.string());
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().message, HasSubstr(PathOf("run.json") + ": schema_version: missing"));
}

}  // namespace
}  // namespace rocescope
