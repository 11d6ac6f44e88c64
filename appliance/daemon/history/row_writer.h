// SPDX-License-Identifier: BSD-3-Clause
// Writes batches of rows to tables, each in one transaction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "appliance/daemon/history/answer_table.h"
#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/retention.h"
#include "appliance/daemon/history/rows.h"

namespace rocescope {

// Throws SQLite::Exception.
class RowWriter {
 public:
  // `database` must outlive the writer and must not move.
  explicit RowWriter(SQLite::Database& database);

  // Writes all rows in one transaction, which is rolled back on an error. Returns the number of
  // rows that were added; rows that were added to existing ones count, too.
  RowCounts Write(std::span<const HistoryRow> rows);

  // Clears the cached ids of names. Must be called after other code has deleted names.
  void ForgetNames();

 private:
  void Put(const PastEvent& event);
  void Put(const LinkMinute& link);
  void Put(const JobMinute& job);
  void Put(const PastAnswer& answer) { added_ += answers_.Put(answer) ? 1 : 0; }

  // Cache of the ids of recently written names.
  using Ids = std::unordered_map<std::string, int64_t>;
  template <typename... Values>
  int64_t IdOf(Ids& ids, const std::string& key, SQLite::Statement& make, const Values&... values);

  SQLite::Database& database_;
  SQLite::Statement event_, event_job_, port_, link_, job_, job_minute_;
  AnswerWriter answers_;
  int64_t added_ = 0;  // answers in the current transaction
  Ids ports_;
  Ids jobs_;
};

}  // namespace rocescope
