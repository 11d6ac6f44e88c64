// SPDX-License-Identifier: BSD-3-Clause
// Writes batches of rows to tables, each in one transaction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "appliance/daemon/history/database.h"
#include "appliance/daemon/history/rows.h"

namespace rocescope {

class RowWriter {
 public:
  // `database` must outlive the writer and must not move.
  static Result<RowWriter> Make(Database& database);

  // Writes all rows in one transaction, which is rolled back on an error.
  Status Write(std::span<const HistoryRow> rows);

  // Fault of the last write.
  DatabaseFault fault() const { return fault_; }

  // Clears the cached ids of names. Must be called after other code has deleted names.
  void ForgetNames();

 private:
  explicit RowWriter(Database& database) : database_(&database) {}

  Status WriteRows(std::span<const HistoryRow> rows);
  Status Put(const PastEvent& event);
  Status Put(const LinkMinute& link);
  Status Put(const JobMinute& job);

  // Cache of the ids of recently written names.
  using Ids = std::unordered_map<std::string, int64_t>;
  template <typename... Values>
  Result<int64_t> IdOf(Ids& ids, const std::string& key, Statement& make, const Values&... values);

  Status InTransaction(std::span<const HistoryRow> rows);

  Database* database_;
  DatabaseFault fault_ = DatabaseFault::kNone;
  Statement begin_, commit_, rollback_;
  Statement event_, event_job_, port_, link_, job_, job_minute_;
  Ids ports_;
  Ids jobs_;
};

}  // namespace rocescope
