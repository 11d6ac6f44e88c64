// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/cli/command/counter_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "appliance/cli/command/exit_code.h"
#include "appliance/cli/command/score.h"
#include "dataplane/run/manifest.h"

namespace rocescope {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

class RunFilesTest : public testing::Test {
 protected:
  RunFilesTest() {
    std::string pattern = testing::TempDir() + "run_files_XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~RunFilesTest() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(RunFilesTest, RefusesCountersThatAreNoRegularFile) {
  const fs::path counters = folder_ / "counters.jsonl";
  fs::create_symlink("/dev/null", counters);
  const auto device = OpenCountersOfRun(counters);
  ASSERT_FALSE(device);
  EXPECT_THAT(device.error().message, HasSubstr("counters.jsonl: not a regular file"));
  fs::remove(counters);
  ASSERT_EQ(mkfifo(counters.c_str(), 0600), 0);
  EXPECT_FALSE(OpenCountersOfRun(counters));
  fs::remove(counters);
  EXPECT_FALSE(OpenCountersOfRun(counters)) << "missing";
  std::ofstream(counters) << "";
  EXPECT_TRUE(OpenCountersOfRun(counters));
}

TEST_F(RunFilesTest, RefusesATruthThatIsNoRegularFile) {
  const RunManifest manifest = {.scenario = "test",
                                .duration = std::chrono::seconds(1),
                                .record_interval = std::chrono::milliseconds(100),
                                .analysis_window = std::chrono::seconds(1)};
  std::ofstream(folder_ / "run.json") << RenderRunManifest(manifest);
  fs::create_symlink("/dev/null", folder_ / "truth.json");
  testing::internal::CaptureStderr();
  EXPECT_NE(RunScore({.path = folder_}), kExitSuccess);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("truth.json: not a regular file"));
}

}  // namespace
}  // namespace rocescope
