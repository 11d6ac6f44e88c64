// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/agent/log_tail.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "dataplane/source/wall_clock.h"

namespace rocescope {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
namespace fs = std::filesystem;

class LogTailTest : public testing::Test {
 protected:
  LogTailTest() {
    std::string pattern = testing::TempDir() + "log_tail_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    Follow({});
  }
  ~LogTailTest() override { fs::remove_all(folder_); }

  void Follow(LogTail::Options options) {
    if (options.patterns.empty()) options.patterns = {(folder_ / "*.log*").string()};
    tail_ = std::make_unique<LogTail>(options);
  }
  void Append(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::app | std::ios::binary) << text;
  }
  void Rename(const std::string& from, const std::string& to) const {
    fs::rename(folder_ / from, folder_ / to);
  }
  void Truncate(const std::string& name) const { fs::resize_file(folder_ / name, 0); }
  void Copy(const std::string& from, const std::string& to) const {
    fs::copy_file(folder_ / from, folder_ / to);
  }
  void Age(const std::string& name, Duration age) const {
    fs::last_write_time(folder_ / name,
                        fs::file_time_type::clock::now() -
                            std::chrono::duration_cast<fs::file_time_type::duration>(age));
  }
  // Returns the new lines without their line ends.
  std::vector<std::string> Look(Duration later = {}) {
    std::vector<std::string> lines;
    const auto take = [&](const LogTail::Piece& piece) {
      logs_.push_back(piece.log);
      std::string_view text = piece.text;
      EXPECT_TRUE(text.ends_with('\n')) << "pieces contain complete lines";
      while (!text.empty()) {
        lines.emplace_back(text.substr(0, text.find('\n')));
        text.remove_prefix(lines.back().size() + 1);
      }
    };
    whole_ = tail_->Look(WallClock() + later, take, [&] { return lines.size() < space_; });
    return lines;
  }

  fs::path folder_;
  std::unique_ptr<LogTail> tail_;
  bool whole_ = false;
  size_t space_ = SIZE_MAX;  // a pass stops after this number of lines
  std::vector<uint64_t> logs_;
};

// Long enough to identify a position in the file. All lines differ.
std::string Lines(const std::string& name, int first, int count) {
  std::string text;
  for (int i = first; i < first + count; ++i) {
    text += name + " NCCL INFO line " + std::to_string(i) + "\n";
  }
  return text;
}

TEST_F(LogTailTest, ReportsOnlyCompleteLines) {
  Append("a.log", "NCCL one\nNCCL tw");
  EXPECT_THAT(Look(), ElementsAre("NCCL one"));
  EXPECT_THAT(Look(), IsEmpty());
  Append("a.log", "o");
  EXPECT_THAT(Look(), IsEmpty());
  Append("a.log", "\nNCCL three\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL two", "NCCL three"));
  EXPECT_EQ(tail_->counts().lines, 3u);
}

TEST_F(LogTailTest, IgnoresLinesWithoutNccl) {
  Append("a.log", "loss 3.1\nNCCL one\n\n\xff\xfe\x01garbage\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL one"));
  EXPECT_EQ(tail_->counts().passed_over, 3u);
}

TEST_F(LogTailTest, FindsNewFiles) {
  EXPECT_THAT(Look(), IsEmpty());
  Append("b.log", "NCCL b\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL b"));
}

TEST_F(LogTailTest, DropsLinesThatAreTooLong) {
  Follow({.longest_line = 20});
  Append("a.log", "NCCL " + std::string(30, 'x') + "\nNCCL one\nNCCL " + std::string(30, 'y'));
  EXPECT_THAT(Look(), ElementsAre("NCCL one"));
  Append("a.log", std::string(200'000, 'y'));
  EXPECT_THAT(Look(), IsEmpty());
  Append("a.log", "\nNCCL two\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL two"));
  EXPECT_EQ(tail_->counts().too_long, 2u);
}

TEST_F(LogTailTest, FollowsARenamedFileAndItsSuccessor) {
  Append("a.log", "NCCL one\nNCCL t");
  EXPECT_THAT(Look(), ElementsAre("NCCL one"));
  Rename("a.log", "a.log.1");
  Append("a.log.1", "wo\n");  // the writer keeps the file open
  Append("a.log", "NCCL three\n");
  EXPECT_THAT(Look(), testing::UnorderedElementsAre("NCCL two", "NCCL three"));
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_NE(logs_[1], logs_[2]) << "each file has its own number";
  EXPECT_TRUE(logs_[0] == logs_[1] || logs_[0] == logs_[2]) << "the renamed file keeps its number";
}

TEST_F(LogTailTest, FollowsAFileRenamedOutsideThePatterns) {
  Append("a.log", "NCCL one\n");
  Look();
  Rename("a.log", "gone");
  Append("gone", "NCCL two\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL two"));
}

TEST_F(LogTailTest, FollowsARemovedOpenFile) {
  std::ofstream open(folder_ / "a.log");
  open << "NCCL one\n" << std::flush;
  EXPECT_THAT(Look(), ElementsAre("NCCL one"));
  fs::remove(folder_ / "a.log");
  open << "NCCL two\n" << std::flush;
  EXPECT_THAT(Look(), ElementsAre("NCCL two"));
}

TEST_F(LogTailTest, RestartsAfterATruncation) {
  Append("a.log", "NCCL one\nNCCL two\nNCCL cu");
  Look();
  Truncate("a.log");
  Append("a.log", "NCCL three\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL three"));
  EXPECT_EQ(tail_->counts().truncations, 1u);
  EXPECT_EQ(tail_->counts().cut, 1u);
}

TEST_F(LogTailTest, DetectsATruncationOfAFileThatGrew) {
  Append("a.log", "NCCL one\n");
  Look();
  Truncate("a.log");
  Append("a.log", "NCCL three\nNCCL four\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL three", "NCCL four"));
}

TEST_F(LogTailTest, SkipsTheHoleOfAWriterThatKeepsItsOffset) {
  const int writer = open((folder_ / "a.log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string before = Lines("a", 0, 5000);
  ASSERT_EQ(write(writer, before.data(), before.size()), static_cast<ssize_t>(before.size()));
  EXPECT_EQ(Look().size(), 5000u);
  Truncate("a.log");
  ASSERT_EQ(write(writer, "NCCL next\n", 10), 10);
  close(writer);
  EXPECT_THAT(Look(), ElementsAre("NCCL next"));
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(LogTailTest, ContinuesInTheCopyOfATruncatedLog) {
  Append("a.log", Lines("a", 0, 20) + "a NCCL INFO li");
  EXPECT_EQ(Look().size(), 20u);
  Append("a.log", "ne 20\n" + Lines("a", 21, 2));
  Copy("a.log", "a.log.1");
  Truncate("a.log");
  Append("a.log", Lines("a", 23, 1));
  EXPECT_THAT(Look(), testing::UnorderedElementsAre("a NCCL INFO line 20", "a NCCL INFO line 21",
                                                    "a NCCL INFO line 22", "a NCCL INFO line 23"));
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_EQ(tail_->counts().cut, 0u) << "the copy has the rest";
}

TEST_F(LogTailTest, IgnoresACopyOfAnUntruncatedLog) {
  Append("a.log", Lines("a", 0, 20));
  EXPECT_EQ(Look().size(), 20u);
  Append("a.log", Lines("a", 20, 1));
  Copy("a.log", "a.log.1");
  EXPECT_EQ(Look().size(), 1u) << "between the copy and the truncation";
  Truncate("a.log");
  Append("a.log", Lines("a", 21, 1));
  EXPECT_THAT(Look(), ElementsAre("a NCCL INFO line 21"));
}

TEST_F(LogTailTest, ReadsALogThatStartsLikeAnother) {
  Append("a.log", "NCCL version 2.20.5\n");
  EXPECT_EQ(Look().size(), 1u);
  Append("b.log", "NCCL version 2.20.5\n");
  EXPECT_THAT(Look(), IsEmpty()) << "it may still be a copy";
  Append("b.log", "NCCL b\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL version 2.20.5", "NCCL b"));
}

TEST_F(LogTailTest, LimitsTheBytesOfAPass) {
  Follow({.bytes_a_look = 100'000});
  Append("a.log", Lines("a", 0, 10'000));
  size_t lines = Look().size();
  EXPECT_FALSE(whole_);
  for (int looks = 0; !whole_ && looks < 100; ++looks) lines += Look().size();
  EXPECT_EQ(lines, 10'000u);
}

// A large log of which only the first piece was read, because there was no space for the rest.
class LogTailSpaceTest : public LogTailTest {
 protected:
  LogTailSpaceTest() {
    Append("a.log", Lines("a", 0, kLines));
    space_ = 1;
    read_ = Look().size();
    EXPECT_LT(read_, kLines);
    space_ = 0;
    EXPECT_THAT(Look(), IsEmpty());
    EXPECT_FALSE(whole_);
  }
  // Returns the number of lines of this log and others that the first pieces did not contain.
  size_t LookWithSpace() {
    space_ = SIZE_MAX;
    return Look().size();
  }

  static constexpr size_t kLines = 10'000;
  size_t read_ = 0;
};

TEST_F(LogTailSpaceTest, ContinuesWhereItStopped) {
  EXPECT_EQ(LookWithSpace(), kLines - read_);
  EXPECT_TRUE(whole_);
  EXPECT_EQ(logs_.front(), logs_.back());
}

TEST_F(LogTailSpaceTest, ReadsOtherLogsBeforeTheRestOfALargeOne) {
  Append("b.log", "NCCL b\n");
  space_ = 1;
  EXPECT_THAT(Look(), ElementsAre("NCCL b"));
}

TEST_F(LogTailSpaceTest, ContinuesInARenamedFile) {
  Rename("a.log", "gone");
  Append("a.log", "NCCL next\n");
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_EQ(LookWithSpace(), kLines - read_ + 1);
  EXPECT_EQ(tail_->counts().unread_bytes, 0u);
}

TEST_F(LogTailSpaceTest, ContinuesInTheCopyOfATruncatedLog) {
  Copy("a.log", "a.log.1");
  Truncate("a.log");
  Append("a.log", "NCCL next\n");
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_EQ(tail_->counts().unread_bytes, 0u) << "the copy has the rest";
  EXPECT_EQ(LookWithSpace(), kLines - read_ + 1);
}

TEST_F(LogTailSpaceTest, CountsTheRestOfATruncatedLog) {
  Truncate("a.log");
  Append("a.log", "NCCL next\n");
  EXPECT_EQ(LookWithSpace(), 1u);
  EXPECT_EQ(tail_->counts().unread_bytes, Lines("a", 0, kLines).size() - (size_t{64} << 10));
}

TEST_F(LogTailSpaceTest, CountsALogThatIsTruncatedBeforeItsFirstByteIsRead) {
  Append("b.log", Lines("b", 0, 100));
  Append("c.log", Lines("c", 0, 100));
  EXPECT_THAT(Look(), IsEmpty());
  Copy("b.log", "b.log.1");
  Truncate("b.log");
  Truncate("c.log");
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_EQ(tail_->counts().unread_bytes, Lines("c", 0, 100).size()) << "b.log has a copy";
  EXPECT_EQ(LookWithSpace(), kLines - read_ + 100);
}

TEST_F(LogTailSpaceTest, KeepsARemovedFileForAnHour) {
  fs::remove(folder_ / "a.log");
  EXPECT_THAT(Look(std::chrono::minutes(59)), IsEmpty());
  EXPECT_EQ(tail_->counts().unread_bytes, 0u);
  EXPECT_THAT(Look(std::chrono::minutes(61)), IsEmpty());
  EXPECT_GT(tail_->counts().unread_bytes, 0u);
  EXPECT_EQ(LookWithSpace(), 0u);
}

TEST_F(LogTailTest, IgnoresOldLogsAndNonRegularFiles) {
  Append("old.log", "NCCL old\n");
  fs::last_write_time(folder_ / "old.log",
                      fs::file_time_type::clock::now() - std::chrono::hours(24 * 30));
  fs::create_directory(folder_ / "folder.log");
  ASSERT_EQ(mkfifo((folder_ / "pipe.log").c_str(), 0600), 0);
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_EQ(tail_->counts().files, 0u);
}

TEST_F(LogTailTest, ReportsTooManyFiles) {
  Follow({.most_places = 1});
  Append("a.log", "NCCL a\n");
  Append("b.log", "NCCL b\n");
  EXPECT_EQ(Look().size(), 1u);
  ASSERT_EQ(tail_->problems().size(), 1u);
  EXPECT_THAT(tail_->problems()[0], testing::HasSubstr("narrow the patterns"));
  EXPECT_TRUE(whole_) << "the limit does not change";
}

TEST_F(LogTailTest, ReadsMoreLogsThanItHoldsOpen) {
  Follow({.most_files = 2});
  std::vector<std::string> expected;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    Append(std::string(name) + ".log", Lines(name, 0, 20));
    for (int i = 0; i < 20; ++i) {
      expected.push_back(name + std::string(" NCCL INFO line ") + std::to_string(i));
    }
  }
  std::vector<std::string> lines = Look();
  EXPECT_FALSE(whole_) << "the other files are not read yet";
  for (int looks = 0; !whole_ && looks < 10; ++looks) {
    for (std::string& line : Look()) lines.push_back(std::move(line));
  }
  EXPECT_THAT(lines, testing::UnorderedElementsAreArray(expected));
  EXPECT_EQ(tail_->counts().files, 2u);
  EXPECT_EQ(tail_->counts().files_let_go, 3u);
  EXPECT_THAT(Look(), IsEmpty());
  EXPECT_THAT(tail_->problems(), IsEmpty());
  // Whichever files grow, all new lines are reported, and none twice.
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    Append(std::string(name) + ".log", Lines(name, 20, 1));
  }
  lines.clear();
  for (int looks = 0; looks < 10; ++looks) {
    for (std::string& line : Look()) lines.push_back(std::move(line));
  }
  EXPECT_THAT(lines, testing::UnorderedElementsAre("a NCCL INFO line 20", "b NCCL INFO line 20",
                                                   "c NCCL INFO line 20", "d NCCL INFO line 20",
                                                   "e NCCL INFO line 20"));
}

TEST_F(LogTailTest, CompletesASparseFileAtItsLastData) {
  Append("a.log", "NCCL a\n");
  fs::resize_file(folder_ / "a.log", uintmax_t{1} << 40);
  EXPECT_THAT(Look(), ElementsAre("NCCL a"));
  EXPECT_TRUE(whole_) << "only a hole follows";
}

TEST_F(LogTailTest, ReadsALogAfterSparseFilesThatUsedAllOpenFiles) {
  Follow({.most_files = 2});
  for (const char* name : {"a", "b", "c", "d"}) {
    Append(std::string(name) + ".log", std::string(name) + "\n");
    fs::resize_file(folder_ / (std::string(name) + ".log"), uintmax_t{1} << 40);
  }
  for (int looks = 0; looks < 3; ++looks) Look();
  EXPECT_TRUE(whole_);
  EXPECT_EQ(tail_->counts().files, 2u);
  Append("honest.log", "NCCL honest\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL honest"));
  const uint64_t refused = tail_->counts().files_refused;
  Look();
  EXPECT_EQ(tail_->counts().files_refused, refused) << "closed sparse files stay closed";
}

TEST_F(LogTailTest, ReplacesTheOldestLogWhenThePlacesRunOut) {
  Follow({.most_places = 2});
  for (const char* name : {"a.log", "b.log"}) Append(name, "NCCL " + std::string(name) + "\n");
  Age("a.log", std::chrono::hours(2));
  Age("b.log", std::chrono::hours(1));
  EXPECT_EQ(Look().size(), 2u);
  Append("c.log", "NCCL c\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL c"));
  for (int looks = 0; looks < 3; ++looks) EXPECT_THAT(Look(), IsEmpty()) << "a.log is not new";
  Append("b.log", "NCCL more\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL more"));
}

TEST_F(LogTailTest, FilesOfOneOwnerDoNotDisplaceThoseOfAnother) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can create files of another owner";
  Follow({.most_places = 4});
  Append("a.log", "NCCL honest\n");
  ASSERT_EQ(chown((folder_ / "a.log").c_str(), 12'345, 0), 0);
  Age("a.log", std::chrono::hours(1));
  EXPECT_EQ(Look().size(), 1u);
  for (int i = 0; i < 8; ++i) Append("many" + std::to_string(i) + ".log", "");
  Look();
  for (int i = 8; i < 16; ++i) Append("many" + std::to_string(i) + ".log", "");
  Look();
  EXPECT_THAT(Look(), IsEmpty());
  Append("b.log", "NCCL second\n");
  ASSERT_EQ(chown((folder_ / "b.log").c_str(), 12'345, 0), 0);
  Age("b.log", std::chrono::hours(2));
  EXPECT_THAT(Look(), ElementsAre("NCCL second")) << "older, but its owner has fewer files";
  Append("a.log", "NCCL more\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL more"));
}

TEST_F(LogTailTest, UnreadFilesOfOneOwnerDoNotOccupyAllOpenFiles) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can create files of another owner";
  Follow({.most_files = 3, .bytes_a_look = 1000});
  for (const char* name : {"a", "b", "c"}) Append(std::string(name) + ".log", Lines(name, 0, 9999));
  Look();
  Append("honest.log", "NCCL honest\n");
  ASSERT_EQ(chown((folder_ / "honest.log").c_str(), 12'345, 0), 0);
  std::vector<std::string> lines;
  for (int looks = 0; looks < 8; ++looks) {
    for (std::string& line : Look()) lines.push_back(std::move(line));
  }
  EXPECT_THAT(lines, testing::Contains("NCCL honest"));
}

// A pass that looks at all remembered files for each file takes seconds.
TEST_F(LogTailTest, PassesQuicklyOverManyFiles) {
  Follow({.most_files = 800});
  for (int i = 0; i < 20'000; ++i) Append(std::to_string(i) + ".log", "");
  const std::clock_t begin = std::clock();  // independent of the load of the machine
  constexpr int kLooks = 24;                // the last ones are without free places
  for (int looks = 0; looks < kLooks; ++looks) Look();
  Append("honest.log", "NCCL honest\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL honest"));
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  RecordProperty("seconds_per_pass", std::to_string(seconds / (kLooks + 1)));
  EXPECT_LT(seconds / (kLooks + 1), 0.7);
}

// A completely read log that was closed because it was not written for longer than `newest_age`.
class LogTailLetGoTest : public LogTailTest {
 protected:
  LogTailLetGoTest() {
    Append("a.log", Lines("a", 0, 20) + "a NCCL INFO li");
    EXPECT_EQ(Look().size(), 20u);
    SnapshotMetadata("a.log");
    EXPECT_THAT(Look(), IsEmpty());
    EXPECT_EQ(tail_->counts().files, 0u);
    EXPECT_EQ(tail_->counts().files_let_go, 1u);
  }
  void SnapshotMetadata(const std::string& name) const {
    fs::last_write_time(folder_ / name,
                        fs::file_time_type::clock::now() - std::chrono::hours(24 * 30));
  }
};

TEST_F(LogTailLetGoTest, ResumesWhenItGrowsAgain) {
  EXPECT_THAT(Look(), IsEmpty());
  Append("a.log", "ne 20\n");
  EXPECT_THAT(Look(), ElementsAre("a NCCL INFO line 20"));
  EXPECT_EQ(logs_.front(), logs_.back());
  EXPECT_EQ(tail_->counts().files, 1u);
  EXPECT_EQ(tail_->counts().cut, 0u);
}

TEST_F(LogTailLetGoTest, ResumesUnderAnotherName) {
  Rename("a.log", "a.log.1");
  Append("a.log.1", "ne 20\n");
  EXPECT_THAT(Look(), ElementsAre("a NCCL INFO line 20"));
  EXPECT_EQ(logs_.front(), logs_.back());
}

TEST_F(LogTailLetGoTest, RestartsAfterATruncation) {
  Truncate("a.log");
  Append("a.log", "NCCL next\n");
  EXPECT_THAT(Look(), ElementsAre("NCCL next"));
  EXPECT_EQ(tail_->counts().truncations, 1u);
}

TEST_F(LogTailLetGoTest, IgnoresItsCopy) {
  Copy("a.log", "a.log.1");
  EXPECT_THAT(Look(), IsEmpty()) << "between the copy and the truncation";
  Truncate("a.log");
  Append("a.log", Lines("b", 0, 1));
  EXPECT_THAT(Look(), ElementsAre("b NCCL INFO line 0"));
  EXPECT_THAT(Look(), IsEmpty());
}

TEST_F(LogTailLetGoTest, ContinuesInTheCopyAfterATruncation) {
  Append("a.log", "ne 20\n" + Lines("a", 21, 2));
  Copy("a.log", "a.log.1");
  Truncate("a.log");
  EXPECT_THAT(Look(),
              ElementsAre("a NCCL INFO line 20", "a NCCL INFO line 21", "a NCCL INFO line 22"));
}

TEST_F(LogTailLetGoTest, TreatsAReusedInodeAsANewFile) {
  Rename("a.log", "b.log");  // as if a.log had been removed and its inode reused
  Truncate("b.log");
  Append("b.log", Lines("b", 0, 1));
  EXPECT_THAT(Look(), ElementsAre("b NCCL INFO line 0"));
  EXPECT_NE(logs_.front(), logs_.back());
}

}  // namespace
}  // namespace rocescope
