// SPDX-License-Identifier: BSD-3-Clause
// Kills a writing process repeatedly.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <csignal>
#include <thread>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_fixture.h"
#include "appliance/daemon/history/history_store.h"

namespace rocescope {
namespace {

using Clock = std::chrono::steady_clock;
using testing::IsEmpty;

int64_t NowNs() { return Clock::now().time_since_epoch().count(); }

// Progress that the child reports continuously: the last row added, and the number of rows written.
struct Said {
  int64_t at_ns = 0;
  int64_t added = 0;
  int64_t written = 0;
};

// Adds rows `first`, `first` + 1, ... until the process is killed.
[[noreturn]] void Child(const HistoryOptions& options, int64_t first, int pipe) {
  const auto store = HistoryStore::Open(options, [](Severity, const std::string&) {});
  if (!store) _exit(2);
  for (int64_t number = first;; ++number) {
    (*store)->Add(PastEvent{.at_ns = number,
                            .kind = "fault_started",
                            .jobs = {"a", "b"},
                            .message = std::to_string(number)});
    const Said said = {.at_ns = NowNs(),
                       .added = number,
                       .written = first - 1 + static_cast<int64_t>((*store)->counts().written)};
    if (write(pipe, &said, sizeof(said)) != sizeof(said)) _exit(3);
    if (number % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

class HistoryKill : public HistoryTest {
 protected:
  // Returns the last progress of the child before it was killed.
  std::vector<Said> RunAndKill(const HistoryOptions& options, int64_t first,
                               std::chrono::milliseconds after) {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      close(ends[0]);
      Child(options, first, ends[1]);
    }
    close(ends[1]);
    std::vector<Said> said;
    Said one;
    // Start the timer at the first row, because opening takes longer on a busy machine.
    Clock::time_point kill_at = Clock::time_point::max();
    while (read(ends[0], &one, sizeof(one)) == sizeof(one)) {
      said.push_back(one);
      if (said.size() == 1) kill_at = Clock::now() + after;
      if (Clock::now() < kill_at) continue;
      kill(child, SIGKILL);
      kill_at = Clock::time_point::max();
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "ended by itself: " << status;
    return said;
  }

  // Returns the number of rows, which must be 1 to that number, each with both jobs.
  int64_t CheckRows() {
    auto database = OpenHistory(file_, FromNanoseconds(0), EventPublisher());
    EXPECT_TRUE(database);
    if (!database) return 0;
    EXPECT_EQ(database
                  ->execAndGet("SELECT count(*) FROM pragma_quick_check "
                               "WHERE quick_check != 'ok'")
                  .getInt64(),
              0);
    const int64_t rows = database->execAndGet("SELECT count(*) FROM events").getInt64();
    EXPECT_EQ(database->execAndGet("SELECT max(at_ns) FROM events").getInt64(), rows);
    EXPECT_EQ(database->execAndGet("SELECT count(DISTINCT at_ns) FROM events").getInt64(), rows);
    EXPECT_EQ(database->execAndGet("SELECT count(*) FROM event_jobs").getInt64(), 2 * rows);
    return rows;
  }
};

TEST_F(HistoryKill, TwentyKillsLoseNoWrittenRow) {
  int64_t rows = 0;
  for (int life = 0; life < 20; ++life) {
    const std::vector<Said> said =
        RunAndKill(Options(), rows + 1, std::chrono::milliseconds(3 + 7 * life % 40));
    ASSERT_FALSE(said.empty());
    rows = CheckRows();
    EXPECT_GE(rows, said.back().written);
    ASSERT_FALSE(HasFailure()) << "life " << life;
  }
  EXPECT_GT(rows, 20);
  EXPECT_THAT(notices_, IsEmpty()) << "the file was never damaged";
  EXPECT_THAT(FilesWith("broken"), IsEmpty());
}

TEST_F(HistoryKill, LosesTheLastSecondAtMost) {
  HistoryOptions options = Options();
  options.pace = HistoryOptions{}.pace;
  const std::vector<Said> said = RunAndKill(options, 1, std::chrono::milliseconds(1500));
  ASSERT_FALSE(said.empty());
  const int64_t rows = CheckRows();
  constexpr int64_t kSecond = 1'000'000'000;
  int64_t due = 0;
  for (const Said& one : said) {
    if (one.at_ns < said.back().at_ns - kSecond) due = one.added;
  }
  EXPECT_GT(due, 0);
  EXPECT_GE(rows, due);
  RecordProperty("rows_added", static_cast<int>(said.back().added));
  RecordProperty("rows_kept", static_cast<int>(rows));
}

}  // namespace
}  // namespace rocescope
