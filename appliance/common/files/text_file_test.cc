// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace rocescope {
namespace {

using testing::HasSubstr;

class TextFileTest : public testing::Test {
 protected:
  TextFileTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("rocescope-text-" + std::to_string(getpid()))),
        path_((folder_ / "a").string()) {
    std::filesystem::create_directories(folder_);
  }
  ~TextFileTest() override { std::filesystem::remove_all(folder_); }

  std::string ErrorOf(const std::string& path) {
    const auto text = ReadTextFile(path, 10);
    return text ? "" : text.error().message;
  }

  std::filesystem::path folder_;
  std::string path_;
};

TEST_F(TextFileTest, ReadsAFileUpToItsLimit) {
  std::ofstream(path_) << "0123456789";
  EXPECT_EQ(ReadTextFile(path_, 10), "0123456789");
  std::ofstream(path_) << "0123456789A";
  EXPECT_THAT(ErrorOf(path_), HasSubstr(path_ + ": larger than"));
}

TEST_F(TextFileTest, ReportsAMissingFile) {
  const auto text = ReadTextFile(path_, 10);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(text.error().message, path_ + ": cannot be opened: No such file or directory");
}

TEST_F(TextFileTest, RefusesPipesAndDevices) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(path_), HasSubstr(path_ + ": not a regular file"));
  std::filesystem::create_symlink("/dev/zero", folder_ / "zero");
  EXPECT_THAT(ErrorOf((folder_ / "zero").string()), HasSubstr("not a regular file"));
  EXPECT_THAT(ErrorOf(folder_.string()), HasSubstr("is a directory"));
}

TEST_F(TextFileTest, ReadsAPipeIfAllowed) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  for (const char* written : {"0123456789", "0123456789A"}) {
    std::thread writer([&] { std::ofstream(path_) << written; });
    const auto text = ReadTextFile(path_, 10, Pipes::kRead);
    writer.join();
    EXPECT_EQ(text.value_or("too much"), std::string(written).size() > 10 ? "too much" : written);
  }
}

}  // namespace
}  // namespace rocescope
