// SPDX-License-Identifier: BSD-3-Clause
// Rows into tables: all of a batch, or none of it.
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
  // `database` must outlive it, where it is.
  static Result<RowWriter> Make(Database& database);

  // In one transaction, which the error has undone.
  Status Write(std::span<const HistoryRow> rows);

  // Of the last write.
  DatabaseFault fault() const { return fault_; }

  // Ids of names, as others may have deleted some of them.
  void ForgetNames();

 private:
  explicit RowWriter(Database& database) : database_(&database) {}

  Status WriteRows(std::span<const HistoryRow> rows);
  Status Put(const PastEvent& event);
  Status Put(const LinkMinute& link);
  Status Put(const JobMinute& job);

  // Of names that were written lately.
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
