// SPDX-License-Identifier: BSD-3-Clause
// Decides when old rows are deleted, and logs how many: measures ages against a trusted time,
// limits the number of rows per hour, and stores the trusted time in the file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "appliance/common/process/notice.h"
#include "appliance/daemon/history/purge_budget.h"
#include "appliance/daemon/history/retention.h"
#include "appliance/daemon/history/rows.h"
#include "appliance/daemon/history/trusted_time.h"
#include "base/time.h"

namespace SQLite {
class Database;
}

namespace rocescope {

// What was deleted, and why rows are not deleted although they may be too old.
struct RetentionState {
  bool is_suspended = false;  // the clock is not trusted
  Timestamp clock;            // while suspended: the clock, and the time that was expected
  Timestamp expected;
  Duration remaining{};  // time until the clock is trusted
  FutureRows future;     // unless suspended: rows dated more than a day in the future
  uint64_t deleted_by_age = 0;
  uint64_t deleted_by_size = 0;
};
// Returns a sentence without a full stop; empty: not suspended.
std::string SuspensionText(const RetentionState& state);

class Retainer {
 public:
  // `file` is for messages.
  Retainer(std::string file, const Retention& retention, Notify notify);
  ~Retainer() { LogDeleted(); }
  Retainer(const Retainer&) = delete;
  Retainer& operator=(const Retainer&) = delete;

  // These throw SQLite::Exception.

  // Must be called once for each opened file. `monotonic` is a clock that is never set.
  void Begin(SQLite::Database& database, Timestamp clock, Duration monotonic);
  // Counts the rows of the file, for at most two seconds.
  void Count(SQLite::Database& database);
  // Deletes a limited number of rows. Returns true if there is more to delete now.
  bool Step(SQLite::Database& database, Timestamp clock, Duration monotonic);

  // Must be called after rows were added; negative: deleted by others.
  void Wrote(const RowCounts& added);
  const RetentionState& state() const { return state_; }

 private:
  void Store(SQLite::Database& database) const;
  void Observe(Timestamp clock, Duration monotonic);
  void Record(const Deleted& deleted);
  void LogDeleted();

  const std::string file_;
  const Retention retention_;
  const Notify notify_;
  std::optional<TrustedTime> time_;
  std::array<PurgeBudget, std::tuple_size_v<RowCounts>> budgets_;
  RowCounts rows_{};
  RetentionState state_;
  // Deletions since the last message about them.
  RowCounts by_age_{};
  RowCounts by_size_{};
  std::optional<Duration> log_at_;  // when the message is due
};

}  // namespace rocescope
