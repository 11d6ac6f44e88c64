// SPDX-License-Identifier: BSD-3-Clause
// JobFileTest tests what StateFile does for every file.
#include "appliance/daemon/history/finding_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "appliance/daemon/history/database.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr auto kPatient = std::chrono::seconds(20);

Timestamp Second(int64_t time) { return Timestamp(std::chrono::seconds(time)); }

FindingReviewState SomeReviews() {
  return {.acknowledgements = {{.kind = "gray_loss",
                                .place = "leaf1:3-spine0:1",
                                .direction = "leaf1:3",
                                .start = Second(100),
                                .last_active = Second(200),
                                .is_ongoing = true,
                                .time = Second(150),
                                .user = "ada",
                                .comment = "ticket \"7\"\n"},
                               {.kind = "flap",
                                .place = "leaf1:3-spine0:1",
                                .start = Second(10),
                                .last_active = Second(20),
                                .time = Second(15),
                                .user = "bob"}},
          .mutes = {{.kind = "nic_crash",
                     .place = "host0:mlx5_0",
                     .time = Second(300),
                     .expiry = Second(400),
                     .user = "local",
                     .comment = "maintenance"}}};
}

class FindingFileTest : public testing::Test {
 protected:
  FindingFileTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("rocescope-findings-" + std::to_string(getpid()))),
        path_((folder_ / "findings.db").string()) {
    std::filesystem::create_directories(folder_);
  }
  ~FindingFileTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<FindingFile> Open() {
    auto file =
        FindingFile::Open(path_, [&](Severity, const std::string& text) { notices_ += text; });
    EXPECT_TRUE(file) << file.error().message;
    return file ? *std::move(file) : nullptr;
  }
  void Execute(const char* sql) {
    auto database = OpenDatabase(path_, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    ASSERT_TRUE(database) << database.error().message;
    database->exec(sql);
  }

  std::filesystem::path folder_;
  std::string path_;
  std::string notices_;
};

TEST_F(FindingFileTest, RestoresTheState) {
  EXPECT_EQ(Open()->found(), FindingReviewState());
  Open()->Save(SomeReviews());
  const auto file = Open();
  EXPECT_EQ(file->found(), SomeReviews());
  EXPECT_EQ(notices_, "");
  ASSERT_TRUE(file->WaitFor(file->Save({.mutes = SomeReviews().mutes}), kPatient));
  ASSERT_TRUE(file->WaitFor(file->Save({}), kPatient)) << "a write replaces all rows";
  auto database = OpenDatabase(path_, SQLite::OPEN_READONLY);
  ASSERT_TRUE(database);
  EXPECT_EQ(database->execAndGet("SELECT count(*) FROM mutes").getInt(), 0);
  EXPECT_EQ(database->execAndGet("SELECT count(*) FROM acknowledgements").getInt(), 0);
}

TEST_F(FindingFileTest, DamagedFileIsMovedAsideAndReported) {
  Open()->Save(SomeReviews());
  std::filesystem::resize_file(path_, 4096 + 100);
  const auto file = Open();
  EXPECT_EQ(file->found(), FindingReviewState());
  EXPECT_THAT(file->losses(), ElementsAre(AllOf(HasSubstr(path_), HasSubstr(".broken-"))));
  EXPECT_TRUE(file->WaitFor(file->Save(SomeReviews()), kPatient)) << file->problem();
}

TEST_F(FindingFileTest, TextThatIsNotUtf8IsReportedAndOtherRowsAreRestored) {
  Open()->Save(SomeReviews());
  Execute("UPDATE acknowledgements SET comment = CAST(x'61ff' AS TEXT) WHERE user = 'ada'");
  Execute("UPDATE mutes SET user = CAST(x'61ff' AS TEXT)");
  const auto file = Open();
  EXPECT_THAT(file->found().acknowledgements, ElementsAre(SomeReviews().acknowledgements[1]));
  EXPECT_THAT(file->found().mutes, IsEmpty());
  EXPECT_THAT(file->losses(), ElementsAre(HasSubstr("an acknowledgement is not restored"),
                                          HasSubstr("a mute is not restored")));
}

TEST_F(FindingFileTest, FileOfAnotherKindIsAnError) {
  Execute("CREATE TABLE music (title TEXT); PRAGMA application_id = 0x526f4a46");  // a job file
  const auto file = FindingFile::Open(path_, [](Severity, const std::string&) {});
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, AllOf(HasSubstr(path_), HasSubstr("(key `findings.file`)")));
}

// A full disk, here: a file that cannot be written.
TEST_F(FindingFileTest, FailedWriteIsAProblemUntilItSucceeds) {
  const auto file = Open();
  std::filesystem::create_directories(path_);
  EXPECT_FALSE(file->WaitFor(file->Save(SomeReviews()), kPatient));
  EXPECT_THAT(file->problem(), HasSubstr("is a folder"));
  std::filesystem::remove(path_);
  EXPECT_TRUE(file->Flush(kPatient));
  EXPECT_EQ(file->problem(), "");
}

}  // namespace
}  // namespace rocescope
