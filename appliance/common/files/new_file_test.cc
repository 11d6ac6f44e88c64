// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/common/files/new_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace rocescope {
namespace {

using testing::HasSubstr;

class NewFileTest : public testing::Test {
 protected:
  NewFileTest() { std::filesystem::create_directories(folder_); }
  ~NewFileTest() override { std::filesystem::remove_all(folder_); }

  static std::string Content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t Files() const {
    size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++files;
    return files;
  }

  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                        ("rocescope-new-file-" + std::to_string(getpid()));
  const std::string path_ = (folder_ / "out").string();
};

TEST_F(NewFileTest, AppearsWhenItIsPublished) {
  auto file = NewFile::Create(path_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("one "));
  ASSERT_TRUE(file->Write("two"));
  EXPECT_FALSE(std::filesystem::exists(path_));
  ASSERT_TRUE(file->Publish());
  EXPECT_EQ(Content(path_), "one two");
  struct stat found = {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(Files(), 1u);
}

TEST_F(NewFileTest, LeavesNothingIfItIsNotPublished) {
  {
    auto file = NewFile::Create(path_);
    ASSERT_TRUE(file && file->Write("x"));
  }
  EXPECT_EQ(Files(), 0u);
}

TEST_F(NewFileTest, NeverReplacesAFile) {
  auto late = NewFile::Create(path_);
  ASSERT_TRUE(late && late->Write("late"));
  std::ofstream(path_) << "first";
  const Status published = late->Publish();
  ASSERT_FALSE(published);
  EXPECT_EQ(published.error().code, ErrorCode::kInvalidArgument);
  const auto refused = NewFile::Create(path_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr(path_ + ": exists"));
  EXPECT_EQ(Content(path_), "first");
}

TEST_F(NewFileTest, ReplacesAFileIfItIsAskedTo) {
  std::ofstream(path_) << "old";
  auto file = NewFile::Create(path_, Existing::kReplaced);
  ASSERT_TRUE(file && file->Write("new"));
  EXPECT_EQ(Content(path_), "old");
  ASSERT_TRUE(file->Publish());
  EXPECT_EQ(Content(path_), "new");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(NewFileTest, MissingDirectoryIsAnError) {
  const auto file = NewFile::Create((folder_ / "nowhere" / "out").string());
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace rocescope
