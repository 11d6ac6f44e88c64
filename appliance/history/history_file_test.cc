// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/history/history_file.h"

#include <gmock/gmock.h>

#include <fstream>

#include "appliance/history/history_fixture.h"

namespace rocescope {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// 2026-01-02T03:04:05Z: 20,455 days and 11,045 seconds since the epoch.
constexpr Timestamp kNow = FromNanoseconds((int64_t{20'455} * 86'400 + 11'045) * 1'000'000'000);

class HistoryFile : public HistoryTest {
 protected:
  Result<Database> OpenFile() { return OpenHistory(file_, kNow, Teller()); }
  void Execute(const char* sql) {
    auto database = Database::Open(file_, Database::Access::kWrite);
    ASSERT_TRUE(database);
    const Status done = database->Execute(sql);
    ASSERT_TRUE(done) << done.error().message;
  }
};

TEST_F(HistoryFile, IsMadeAndFoundAgain) {
  ASSERT_TRUE(OpenFile());
  Execute("INSERT INTO ports (name) VALUES ('leaf0:Ethernet1')");
  auto again = OpenFile();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->Value("SELECT count(*) FROM ports").value(), 1);
  EXPECT_EQ(again->Value("PRAGMA user_version").value(), kHistorySchema);
  EXPECT_EQ(again->Value("PRAGMA auto_vacuum").value(), 2) << "incremental";
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(HistoryFile, ThatIsNoDatabaseIsMovedAside) {
  std::ofstream(file_) << std::string(5000, 'x');
  ASSERT_TRUE(OpenFile());
  EXPECT_THAT(FilesWith("broken"), ElementsAre("history.db.broken-20260102T030405Z"));
  EXPECT_EQ(std::filesystem::file_size(folder_ / FilesWith("broken")[0]), 5000u);
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_THAT(told_[0], AllOf(HasSubstr(file_), HasSubstr("not a database"),
                              HasSubstr("history begins anew")));
}

TEST_F(HistoryFile, OfAnotherProgramIsMovedAside) {
  Execute("CREATE TABLE music (title TEXT)");
  ASSERT_TRUE(OpenFile());
  EXPECT_THAT(FilesWith("broken"), SizeIs(1));
  ASSERT_THAT(told_, SizeIs(1));
  EXPECT_THAT(told_[0], HasSubstr("a database of another program"));
}

TEST_F(HistoryFile, ThatWasCutShortIsMovedAsideAndASecondOneToo) {
  for (size_t count = 1; count <= 2; ++count) {
    ASSERT_TRUE(OpenFile());
    std::filesystem::resize_file(file_, 3 * 4096);
    ASSERT_TRUE(OpenFile());
    EXPECT_THAT(FilesWith("broken"), SizeIs(count));
  }
}

TEST_F(HistoryFile, OfANewerRocescopeIsLeftAlone) {
  ASSERT_TRUE(OpenFile());
  Execute("PRAGMA user_version = 7");
  const auto again = OpenFile();
  ASSERT_FALSE(again);
  EXPECT_THAT(again.error().message,
              AllOf(HasSubstr(file_), HasSubstr("schema 7"), HasSubstr("newer")));
  EXPECT_THAT(FilesWith("broken"), IsEmpty());
}

TEST_F(HistoryFile, WithoutAFolderSaysWhatToDo) {
  const auto store = HistoryStore::Open({.file = (folder_ / "nowhere" / "h.db").string()}, {});
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, AllOf(HasSubstr("nowhere/h.db"), HasSubstr("history.file")));
}

TEST_F(HistoryFile, IsOneBoxs) {
  const auto first = Open(Options());
  ASSERT_TRUE(first);
  const auto second = Open(Options());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another rocescope writes to it"));
}

}  // namespace
}  // namespace rocescope
