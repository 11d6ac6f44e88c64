// SPDX-License-Identifier: BSD-3-Clause
#include "appliance/daemon/history/retainer.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "appliance/api/message_value.h"
#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/history_file.h"
#include "base/count_text.h"

namespace rocescope {
namespace {

constexpr auto kLongestCount = std::chrono::seconds(2);
constexpr Duration kLogEvery = std::chrono::hours(1);

std::optional<TrustedTimeState> StoredTime(SQLite::Database& database) {
  if (database.tableExists("trusted_time")) {
    SQLite::Statement row(database,
                          "SELECT trusted_ns, candidate_ns, confirmed_ns FROM trusted_time");
    if (row.executeStep()) {
      TrustedTimeState state = {.trusted = FromNanoseconds(row.getColumn(0).getInt64()),
                                .confirmed = Duration(row.getColumn(2).getInt64())};
      if (!row.isColumnNull(1)) state.candidate = FromNanoseconds(row.getColumn(1).getInt64());
      return state;
    }
  }
  const auto end = EndOfFirstStretch(database, TrustedTime::kMaxJump);
  return end ? std::optional(TrustedTimeState{.trusted = *end}) : std::nullopt;
}

std::string TimeText(Timestamp t) { return ToText(TimestampMessage(t)); }

std::string LengthText(Duration length) {
  const std::chrono::duration<double, std::ratio<3600>> hours = std::chrono::abs(length);
  return hours.count() < 72 ? fmt::format("{:.0f} h", hours.count())
                            : fmt::format("{:.0f} days", hours.count() / 24);
}

// "3 events, 40 minutes of links, 2 blocks of links, 0 minutes of jobs and 7 answers".
std::string RowsText(const RowCounts& rows) {
  return fmt::format("{}, {} of links, {} of links, {} of jobs and {}",
                     Counted(rows[kEventRows], "event"), Counted(rows[kLinkRows], "minute"),
                     Counted(rows[kBlockRows], "hourly block"), Counted(rows[kJobRows], "minute"),
                     Counted(rows[kAnswerRows], "answer"));
}

int64_t Sum(const RowCounts& rows) { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }

}  // namespace

std::string SuspensionText(const RetentionState& state) {
  if (!state.is_suspended) return "";
  return fmt::format(
      "rows are not deleted because of their age: the clock ({}) is {} {} the time that the "
      "history leads to ({}); the appliance was off, or its clock is wrong",
      TimeText(state.clock), LengthText(state.clock - state.expected),
      state.clock > state.expected ? "ahead of" : "behind", TimeText(state.expected));
}

Retainer::Retainer(std::string file, const Retention& retention, Notify notify)
    : file_(std::move(file)),
      retention_(retention),
      notify_(std::move(notify)),
      budgets_{PurgeBudget(PurgeShare(retention.keep_events)),
               PurgeBudget(PurgeShare(retention.keep_series)),
               PurgeBudget(PurgeShare(retention.keep_series)),
               PurgeBudget(PurgeShare(retention.keep_series)),
               PurgeBudget(PurgeShare(retention.keep_series))} {}

void Retainer::Begin(SQLite::Database& database, Timestamp clock, Duration monotonic) {
  time_.emplace(StoredTime(database), clock, monotonic);
  Observe(clock, monotonic);
  Store(database);
  rows_ = {};
}

void Retainer::Count(SQLite::Database& database) {
  const auto end = std::chrono::steady_clock::now() + kLongestCount;
  LimitTo(database, end);
  const auto rows = Caught(database, [&] { return CountRows(database); });
  RemoveLimit(database);
  if (!rows && rows.error().fault != DatabaseFault::kInterrupted) return;  // a later step fails too
  const RowCounts stored = rows ? *rows : EstimateRows(database);
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i] += stored[i];
}

void Retainer::Observe(Timestamp clock, Duration monotonic) {
  time_->Observe(clock, monotonic);
  const bool was_suspended = state_.is_suspended;
  state_.is_suspended = !time_->now();
  state_.clock = clock;
  state_.expected = time_->state().trusted;
  state_.remaining = time_->remaining();
  if (state_.is_suspended == was_suspended) return;
  if (state_.is_suspended) {
    notify_(Severity::kWarning,
            fmt::format("{}: {}; deletion resumes when the clock is corrected, or after {} in "
                        "which the clock is not set",
                        file_, SuspensionText(state_), LengthText(state_.remaining)));
  } else {
    notify_(Severity::kInfo,
            fmt::format("{}: the clock ({}) is trusted again; rows beyond their retention time "
                        "are deleted again, at a limited rate",
                        file_, TimeText(clock)));
  }
}

void Retainer::Store(SQLite::Database& database) const {
  const auto stored = Caught(database, [&] {
    const TrustedTimeState state = time_->state();
    database.exec(kCreateTrustedTime);
    SQLite::Statement store(database, "INSERT OR REPLACE INTO trusted_time VALUES (1, ?1, ?2, ?3)");
    Bound(store, ToNanoseconds(state.trusted),
          state.candidate ? std::optional(ToNanoseconds(*state.candidate)) : std::nullopt,
          state.confirmed.count())
        .exec();
  });
  // On a full disk the history must open, and rows must be deleted. An older stored time is safe.
  if (!stored && stored.error().fault == DatabaseFault::kDamaged) {
    throw SQLite::Exception(stored.error().message, SQLITE_CORRUPT);
  }
}

bool Retainer::Step(SQLite::Database& database, Timestamp clock, Duration monotonic) {
  Observe(clock, monotonic);
  RowCounts allowed{};
  for (size_t i = 0; i < allowed.size(); ++i) {
    if (state_.is_suspended) budgets_[i].Restart();
    allowed[i] = budgets_[i].Allowed(monotonic, rows_[i]);
  }
  const Deleted deleted = Retain(database, retention_, time_->now(), allowed);
  if (!log_at_ && Sum(deleted.by_age) + Sum(deleted.by_size) > 0) log_at_ = monotonic + kLogEvery;
  Record(deleted);
  if (log_at_ && monotonic >= *log_at_) LogDeleted();
  state_.future =
      time_->now() ? FindFutureRows(database, *time_->now() + TrustedTime::kMaxJump) : FutureRows{};
  if (!deleted.more) Store(database);
  return deleted.more;
}

void Retainer::Record(const Deleted& deleted) {
  const auto is_limited = [](const PurgeBudget& budget) { return budget.is_limited(); };
  const bool was_limited = std::ranges::any_of(budgets_, is_limited);
  for (size_t i = 0; i < rows_.size(); ++i) {
    state_.deleted_by_age += static_cast<uint64_t>(deleted.by_age[i]);
    state_.deleted_by_size += static_cast<uint64_t>(deleted.by_size[i]);
    by_age_[i] += deleted.by_age[i];
    by_size_[i] += deleted.by_size[i];
    rows_[i] = std::max<int64_t>(0, rows_[i] - deleted.by_age[i] - deleted.by_size[i]);
    budgets_[i].Use(deleted.by_age[i],
                    deleted.is_limited[i] || (deleted.more && budgets_[i].is_limited()));
  }
  if (was_limited || std::ranges::none_of(budgets_, is_limited)) return;
  notify_(Severity::kInfo,
          fmt::format("{}: many rows are older than the retention time; they are deleted within "
                      "about a day",
                      file_));
}

void Retainer::LogDeleted() {
  if (Sum(by_age_) > 0) {
    notify_(Severity::kInfo, fmt::format("{}: deleted {} that were older than the retention time "
                                         "(`history.keep_events`, `history.keep_series`)",
                                         file_, RowsText(by_age_)));
  }
  if (Sum(by_size_) > 0) {
    notify_(Severity::kInfo,
            fmt::format("{}: deleted the oldest {} because the file reached its maximum size "
                        "(`history.max_bytes`)",
                        file_, RowsText(by_size_)));
  }
  by_age_ = {};
  by_size_ = {};
  log_at_.reset();
}

void Retainer::Wrote(const RowCounts& added) {
  for (size_t i = 0; i < rows_.size(); ++i) rows_[i] = std::max<int64_t>(0, rows_[i] + added[i]);
}

}  // namespace rocescope
